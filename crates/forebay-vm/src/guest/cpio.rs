// SPDX-License-Identifier: Apache-2.0
//! Archives in the "newc" form of cpio, which the kernel unpacks as its first file system and
//! busybox writes (Linux, `Documentation/driver-api/early-userspace/buffer-format.rst`).

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use super::error::{Error, Result};

const MAGIC: &[u8] = b"070701";
const HEADER_BYTES: usize = 110;
const TRAILER: &str = "TRAILER!!!";
const KIND: u32 = 0o170_000;
const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
/// Names are paths; the kernel's limit.
const NAME_MOST: usize = 4096;

/// An archive being written.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    entries: u32,
}

impl Writer {
    /// Adds a folder.
    pub fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER | 0o755, &[]);
    }

    /// Adds a file.
    ///
    /// # Errors
    /// Where it is too long for the form: 4 GiB.
    pub fn file(&mut self, name: &str, executable: bool, data: &[u8]) -> Result<()> {
        if u32::try_from(data.len()).is_err() {
            return Err(Error::Setting {
                field: "a file for the guest",
                value: format!("{name} with {} bytes", data.len()),
                limit: "an archive holds files below 4 GiB".into(),
                remedy: "give it to the guest as a drive: --ssd FILE",
            });
        }
        let mode = if executable { 0o755 } else { 0o644 };
        self.entry(name, FILE | mode, data);
        Ok(())
    }

    /// Adds what is in a folder, under this name; links are followed.
    ///
    /// # Errors
    /// Where something cannot be read, or is neither file nor folder.
    pub fn tree(&mut self, name: &str, from: &Path) -> Result<()> {
        self.folder(name);
        let mut paths = fs::read_dir(from)
            .and_then(|all| {
                all.map(|entry| Ok(entry?.path()))
                    .collect::<io::Result<Vec<_>>>()
            })
            .map_err(Error::io("reading the folder", from))?;
        paths.sort();
        for path in paths {
            let Some(last) = path.file_name().and_then(|name| name.to_str()) else {
                return Err(Error::Setting {
                    field: "a shared file's name",
                    value: path.display().to_string(),
                    limit: "names are UTF-8".into(),
                    remedy: "rename it",
                });
            };
            let name = format!("{name}/{last}");
            let about = fs::metadata(&path).map_err(Error::io("reading", &path))?;
            if about.is_dir() {
                self.tree(&name, &path)?;
            } else if about.is_file() {
                let data = fs::read(&path).map_err(Error::io("reading", &path))?;
                self.file(&name, about.permissions().mode() & 0o100 != 0, &data)?;
            } else {
                return Err(Error::Setting {
                    field: "a shared file",
                    value: path.display().to_string(),
                    limit: "only plain files and folders can be shared".into(),
                    remedy: "share another folder",
                });
            }
        }
        Ok(())
    }

    /// The archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, data: &[u8]) {
        self.entries += 1;
        let links = 1;
        let (length, name_length) = (data.len() as u32, name.len() as u32 + 1);
        // Inode, mode, user, group, links, time, length, four device numbers, name, checksum.
        let fields = [
            self.entries,
            mode,
            0,
            0,
            links,
            0,
            length,
            0,
            0,
            0,
            0,
            name_length,
            0,
        ];
        self.bytes.extend(MAGIC);
        for field in fields {
            self.bytes.extend(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(data);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A file in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its path, as the archive has it.
    pub name: &'a str,
    /// Whether its owner may run it.
    pub executable: bool,
    /// What is in it.
    pub data: &'a [u8],
}

/// The plain files of an archive, which is not trusted.
///
/// # Errors
/// Where the bytes are no such archive.
pub fn files(mut bytes: &[u8]) -> Result<Vec<Entry<'_>>> {
    let whole = bytes;
    let bad = |field, value: String, limit| Error::Archive {
        field,
        value,
        limit,
    };
    let mut found = Vec::new();
    loop {
        let at = whole.len() - bytes.len();
        let cut = || bad("its length", whole.len().to_string(), "the archive goes on");
        let header = bytes.get(..HEADER_BYTES).ok_or_else(cut)?;
        if !header.starts_with(MAGIC) {
            let seen = String::from_utf8_lossy(&header[..6]).into_owned();
            return Err(bad(
                "the magic",
                format!("`{seen}` at {at}"),
                "070701 is due",
            ));
        }
        let number = |index: usize| {
            let digits = &header[6 + 8 * index..14 + 8 * index];
            std::str::from_utf8(digits)
                .ok()
                .and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .ok_or_else(|| bad("a header", format!("no number at {at}"), "digits are due"))
        };
        let (mode, length, name_length) = (number(1)?, number(6)? as usize, number(11)? as usize);
        if !(1..=NAME_MOST).contains(&name_length) {
            return Err(bad(
                "a name's length",
                name_length.to_string(),
                "1 to 4096 is due",
            ));
        }
        let data_at = (HEADER_BYTES + name_length).next_multiple_of(4);
        let name = bytes
            .get(HEADER_BYTES..HEADER_BYTES + name_length - 1)
            .ok_or_else(cut)?;
        let name = std::str::from_utf8(name)
            .map_err(|_| bad("a name", format!("no UTF-8 at {at}"), "UTF-8 is due"))?;
        if name == TRAILER {
            return Ok(found);
        }
        let data = bytes.get(data_at..data_at + length).ok_or_else(cut)?;
        if mode & KIND == FILE {
            found.push(Entry {
                name,
                executable: mode & 0o100 != 0,
                data,
            });
        }
        bytes = bytes
            .get((data_at + length).next_multiple_of(4)..)
            .ok_or_else(cut)?;
    }
}

/// Writes the plain files of an archive into a folder, and never outside it.
///
/// # Errors
/// Where the bytes are no archive, a name leads out of the folder, or a file cannot be written.
pub fn unpack(bytes: &[u8], folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = files(bytes)?;
    let inside = |name: &str| {
        Path::new(name)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    if let Some(entry) = entries.iter().find(|entry| !inside(entry.name)) {
        return Err(Error::Archive {
            field: "a name",
            value: entry.name.to_owned(),
            limit: "it must stay in the folder",
        });
    }
    let mut written = Vec::new();
    for entry in entries {
        let path = folder.join(entry.name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io("making the folder", parent))?;
        }
        fs::write(&path, entry.data).map_err(Error::io("writing", &path))?;
        if entry.executable {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                .map_err(Error::io("making executable", &path))?;
        }
        written.push(path);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut writer = Writer::default();
        writer.folder("a");
        writer.file("a/empty", false, &[]).expect("short");
        writer.file("a/b/odd", true, b"12345").expect("short");
        writer.finish()
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = archive();
        let entries = files(&bytes).expect("an archive");
        let names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["a/empty", "a/b/odd"]);
        assert_eq!(
            (entries[1].data, entries[1].executable),
            (&b"12345"[..], true)
        );
        let folder = tempfile::tempdir().expect("folder");
        let paths = unpack(&bytes, folder.path()).expect("unpacked");
        assert_eq!(fs::read(&paths[1]).expect("a file"), b"12345");
        let mut again = Writer::default();
        again.tree("top", folder.path()).expect("packed");
        let again = again.finish();
        let names: Vec<_> = files(&again)
            .expect("read")
            .iter()
            .map(|e| e.name)
            .collect();
        assert_eq!(names, ["top/a/b/odd", "top/a/empty"]);
    }

    #[test]
    fn names_do_not_lead_out() {
        let folder = tempfile::tempdir().expect("folder");
        for name in ["../x", "/x", "a/../../x"] {
            let mut writer = Writer::default();
            writer.file(name, false, b"x").expect("short");
            let error = unpack(&writer.finish(), folder.path()).expect_err("refused");
            assert!(error.to_string().contains(name), "{error}");
        }
        assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 0);
    }

    #[test]
    fn damaged_archives_are_errors() {
        let bytes = archive();
        for length in 0..bytes.len() - 14 {
            assert!(files(&bytes[..length]).is_err(), "cut at {length}");
        }
        for at in 0..bytes.len() {
            for value in [0, b'0', b'f', 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _any_but_a_panic = files(&damaged);
            }
        }
    }
}
