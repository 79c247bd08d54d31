// SPDX-License-Identifier: Apache-2.0
//! What is to be sent: the files that were named, and those in folders.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

use super::sender::Left;

/// Files to send, in their order, with their lengths at this moment.
#[derive(Debug, Default)]
pub struct Files {
    /// The files.
    pub found: Vec<(PathBuf, u64)>,
    /// What cannot be sent, and why.
    pub left: Left,
}

impl Files {
    /// Looks at what was named.
    ///
    /// # Errors
    /// If something that was named is not there, or neither file nor folder.
    pub fn of(paths: &[PathBuf]) -> Result<Self> {
        let mut files = Self::default();
        for path in paths {
            let about = fs::metadata(path).map_err(|error| Error::file("reading", path, error))?;
            if about.is_dir() {
                files.folder(path)?;
            } else if about.is_file() {
                files.file(path.clone(), about.len());
            } else {
                return Err(Error::setting(
                    "what is to be sent",
                    path.display(),
                    "it is neither a file nor a folder",
                    "store what comes out of it in a file, and send that",
                ));
            }
        }
        Ok(files)
    }

    /// Bytes of all.
    pub fn bytes(&self) -> u64 {
        self.found
            .iter()
            .fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// All files of a folder and of those in it, by name. A link to a folder is not followed, so
    /// that there is an end.
    fn folder(&mut self, path: &Path) -> Result<()> {
        let mut next = list(path).map_err(|error| Error::file("reading", path, error))?;
        while let Some(path) = next.pop() {
            let is_link = fs::symlink_metadata(&path).is_ok_and(|about| about.is_symlink());
            match fs::metadata(&path) {
                Ok(about) if about.is_file() => self.file(path, about.len()),
                Ok(about) if about.is_dir() && !is_link => match list(&path) {
                    Ok(inner) => next.extend(inner),
                    Err(error) => self.left.problem(&path, &error.to_string()),
                },
                Ok(_) => self.left.other += 1,
                Err(error) => self.left.problem(&path, &error.to_string()),
            }
        }
        Ok(())
    }

    fn file(&mut self, path: PathBuf, bytes: u64) {
        if bytes == 0 {
            self.left.empty += 1;
        } else {
            self.found.push((path, bytes));
        }
    }
}

/// What is in a folder, the first by name last.
fn list(path: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut inner = fs::read_dir(path)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    inner.sort_unstable_by(|a, b| b.file_name().cmp(&a.file_name()));
    Ok(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn folders_are_walked_by_name() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path();
        fs::create_dir_all(root.join("b/inner")).expect("folders");
        for (name, bytes) in [
            ("c", 3),
            ("a", 1),
            ("b/z", 2),
            ("b/inner/x", 5),
            ("empty", 0),
        ] {
            fs::write(root.join(name), vec![7; bytes]).expect("a file");
        }
        symlink(root, root.join("b/loop")).expect("a link");
        symlink(root.join("c"), root.join("d")).expect("a link");
        symlink(root.join("nowhere"), root.join("e")).expect("a link");
        let files = Files::of(&[root.to_owned(), root.join("a")]).expect("files");
        let names: Vec<_> = files
            .found
            .iter()
            .map(|(path, bytes)| (path.strip_prefix(root).expect("in it"), *bytes))
            .collect();
        let expected = [
            ("a", 1),
            ("b/inner/x", 5),
            ("b/z", 2),
            ("c", 3),
            ("d", 3),
            ("a", 1),
        ];
        assert_eq!(
            names,
            expected.map(|(name, bytes)| (Path::new(name), bytes))
        );
        assert_eq!(files.bytes(), 15);
        assert_eq!((files.left.empty, files.left.other), (1, 1));
        assert_eq!(files.left.failed, 1);
        assert!(files.left.problems[0].contains("/e: "), "{files:?}");
    }

    #[test]
    fn what_was_named_must_be_there() {
        assert!(Files::of(&["no/such/file".into()]).is_err());
        let failure = Files::of(&["/dev/null".into()]).expect_err("no file");
        assert!(failure.to_string().contains("/dev/null"));
    }
}
