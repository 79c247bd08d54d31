// SPDX-License-Identifier: Apache-2.0
//! Built artefacts under the hash of what they were built from.
//!
//! An entry is a folder that appears by one rename, so that it is either whole or absent. A file
//! `sum` in it holds the hash of each of its files; an entry that does not match is built again.
//! Builders of the same entry wait for one another by a lock on a file beside it.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const SUM: &str = "sum";

/// A folder of built artefacts.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The user's cache: `$FOREBAY_CACHE`, else `$XDG_CACHE_HOME/forebay`, else `~/.cache/forebay`.
    ///
    /// # Errors
    /// [`Error::NoCache`] where none of these variables is set.
    pub fn of_user() -> Result<Self> {
        Self::of(|name| env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let set = |name| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let folder = set("FOREBAY_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("forebay")))
            .or_else(|| set("HOME").map(|dir| dir.join(".cache/forebay")))
            .ok_or(Error::NoCache)?;
        Ok(Self::at(folder.join("rtl")))
    }

    /// A cache in this folder, which is made when first needed.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The entry of this key, built by `build` into an empty folder if it is not there or damaged.
    /// The flag says whether it was there.
    pub(crate) fn entry(
        &self,
        key: &str,
        build: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<(PathBuf, bool)> {
        fs::create_dir_all(&self.folder)
            .map_err(|e| Error::io("making the cache folder", &self.folder, e))?;
        let entry = self.folder.join(key);
        if is_whole(&entry) {
            return Ok((entry, true));
        }
        let lock_path = self.folder.join(format!("{key}.lock"));
        let lock = File::create(&lock_path)
            .map_err(|e| Error::io("making the lock file", &lock_path, e))?;
        lock.lock()
            .map_err(|e| Error::io("waiting for the lock", &lock_path, e))?;
        // Another process may have built it while this one waited.
        if is_whole(&entry) {
            return Ok((entry, true));
        }
        if entry.exists() {
            fs::remove_dir_all(&entry)
                .map_err(|e| Error::io("removing the damaged cache entry", &entry, e))?;
        }
        let work = tempfile::Builder::new()
            .prefix(&format!("{key}.work-"))
            .tempdir_in(&self.folder)
            .map_err(|e| Error::io("making a folder in", &self.folder, e))?;
        build(work.path())?;
        let sums = sums_of(work.path()).map_err(|e| Error::io("reading", work.path(), e))?;
        let sum = work.path().join(SUM);
        fs::write(&sum, sums).map_err(|e| Error::io("writing", &sum, e))?;
        let built = work.keep();
        fs::rename(&built, &entry).map_err(|e| Error::io("renaming to", &entry, e))?;
        Ok((entry, false))
    }
}

fn is_whole(entry: &Path) -> bool {
    let Ok(expected) = fs::read_to_string(entry.join(SUM)) else {
        return false;
    };
    sums_of(entry).is_ok_and(|found| found == expected)
}

fn sums_of(folder: &Path) -> std::io::Result<String> {
    let mut names: Vec<_> = fs::read_dir(folder)?
        .map(|entry| entry.map(|e| e.file_name()))
        .collect::<std::io::Result<_>>()?;
    names.sort();
    let mut text = String::new();
    for name in names.iter().filter(|name| *name != SUM) {
        let bytes = fs::read(folder.join(name))?;
        text += &format!(
            "{} {}\n",
            hex(&Sha256::digest(&bytes)),
            name.to_string_lossy()
        );
    }
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Collects what a key is made of. Each part is hashed with its length, so that no two different
/// lists of parts hash alike.
pub(crate) struct Key(Sha256);

impl Key {
    pub fn new(kind: &str) -> Self {
        let mut key = Self(Sha256::new());
        key.part(kind);
        key
    }

    pub fn part(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    pub fn file(&mut self, path: &Path) -> Result<()> {
        self.part(path.file_name().unwrap_or_default().as_encoded_bytes());
        self.part(fs::read(path).map_err(|e| Error::io("reading", path, e))?);
        Ok(())
    }

    pub fn finish(self) -> String {
        hex(&self.0.finalize()[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn an_entry_is_built_once_and_again_when_damaged() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let cache = Cache::at(folder.path().join("cache"));
        let built = Cell::new(0);
        let get = || {
            cache.entry("k", |work| {
                built.set(built.get() + 1);
                fs::write(work.join("artefact"), "content").expect("written");
                Ok(())
            })
        };
        let (entry, hit) = get().expect("built");
        assert!(!hit);
        assert!(get().expect("found").1);
        fs::write(entry.join("artefact"), "damaged").expect("written");
        assert!(!get().expect("built again").1);
        fs::remove_file(entry.join("artefact")).expect("removed");
        assert!(!get().expect("built again").1);
        assert_eq!(built.get(), 3);
        assert_eq!(
            fs::read_to_string(entry.join("artefact")).expect("read"),
            "content"
        );
    }

    #[test]
    fn the_cache_is_the_users_or_none() {
        let folder = |set: &[(&str, &str)]| {
            Cache::of(|name| {
                let value = set.iter().find(|(known, _)| *known == name);
                value.map(|(_, value)| value.into())
            })
            .map(|cache| cache.folder)
        };
        let home = ("HOME", "/h");
        let cases = [
            (vec![home], "/h/.cache/forebay/rtl"),
            (vec![home, ("XDG_CACHE_HOME", "/x")], "/x/forebay/rtl"),
            (vec![home, ("FOREBAY_CACHE", "/f")], "/f/rtl"),
            (vec![home, ("FOREBAY_CACHE", "")], "/h/.cache/forebay/rtl"),
        ];
        for (set, expected) in cases {
            assert_eq!(folder(&set).expect("set"), Path::new(expected));
        }
        // Others may write to the folder for temporary files.
        for set in [vec![], vec![("HOME", ""), ("TMPDIR", "/tmp")]] {
            let error = folder(&set).expect_err("no folder");
            assert!(error.to_string().contains("set $FOREBAY_CACHE"), "{error}");
        }
    }

    #[test]
    fn a_failed_build_leaves_nothing() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let cache = Cache::at(folder.path());
        let failed = cache.entry("k", |_| Err(Error::NoTrace));
        assert!(matches!(failed, Err(Error::NoTrace)));
        assert!(!folder.path().join("k").exists());
        let left = fs::read_dir(folder.path()).expect("read").count();
        assert_eq!(left, 1, "only the lock file stays");
    }

    #[test]
    fn keys_tell_parts_apart() {
        let key = |parts: &[&str]| {
            let mut key = Key::new("test");
            parts.iter().for_each(|part| key.part(part));
            key.finish()
        };
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
    }
}
