// SPDX-License-Identifier: Apache-2.0
//! What to build: files, filelists, top module, parameters.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A design to be built: the sources, the top module and how it is set up.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Source {
    /// Top module.
    pub top: String,
    /// Source files, packages before their users.
    pub files: Vec<PathBuf>,
    /// Filelists (`.f`), read after `files`.
    pub filelists: Vec<PathBuf>,
    /// Folder that relative paths inside filelists start from; none: the current folder.
    pub root: Option<PathBuf>,
    /// Folders for `` `include``.
    pub include_dirs: Vec<PathBuf>,
    /// Folders in which missing modules are looked for, by file name.
    pub library_dirs: Vec<PathBuf>,
    /// Top-level parameters: name and value, the value as Verilog text (`64`, `"text"`, `1'b1`).
    pub parameters: Vec<(String, String)>,
    /// Preprocessor definitions.
    pub defines: Vec<(String, String)>,
    /// Build with FST tracing. Slower even when nothing is recorded, so it is a build of its own.
    pub trace: bool,
    /// Check the assertions of the design (on by default).
    pub assertions: bool,
    /// Start uninitialised registers at random values that follow from the seed given to
    /// [`crate::Model::load_seeded`], instead of zero.
    pub random_init: bool,
}

/// Everything a source consists of once its filelists are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub files: Vec<PathBuf>,
    pub include_dirs: Vec<PathBuf>,
    pub library_dirs: Vec<PathBuf>,
    pub defines: Vec<(String, String)>,
}

impl Source {
    /// A design with this top module and nothing else yet.
    #[must_use]
    pub fn new(top: impl Into<String>) -> Self {
        Self {
            top: top.into(),
            assertions: true,
            ..Self::default()
        }
    }

    /// Adds a source file.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.files.push(path.into());
        self
    }

    /// Adds a filelist.
    #[must_use]
    pub fn filelist(mut self, path: impl Into<PathBuf>) -> Self {
        self.filelists.push(path.into());
        self
    }

    /// Sets the folder that relative paths inside filelists start from.
    #[must_use]
    pub fn root(mut self, path: impl Into<PathBuf>) -> Self {
        self.root = Some(path.into());
        self
    }

    /// Sets a top-level parameter.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        let (name, value) = (name.into(), value.to_string());
        match (self.parameters).binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => self.parameters[at].1 = value,
            Err(at) => self.parameters.insert(at, (name, value)),
        }
        self
    }

    /// What a top-level parameter is set to; none: its default.
    #[must_use]
    pub fn parameter_value(&self, name: &str) -> Option<&str> {
        let mut all = self.parameters.iter();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Sets whether to build with FST tracing.
    #[must_use]
    pub fn trace(mut self, on: bool) -> Self {
        self.trace = on;
        self
    }

    /// All Verilog files (`.v`, `.sv`) directly in a folder, in the order of their names: for
    /// third-party RTL that comes as a folder without a filelist.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn files_of_folder(mut self, folder: &Path) -> Result<Self> {
        self.files
            .extend(files_with_extension(folder, &["v", "sv"])?);
        Ok(self)
    }

    /// All source files, those of the filelists included.
    ///
    /// # Errors
    /// When a filelist cannot be read, or there is no file at all.
    pub fn all_files(&self) -> Result<Vec<PathBuf>> {
        Ok(self.resolve()?.files)
    }

    /// Reads the filelists and returns all there is.
    pub(crate) fn resolve(&self) -> Result<Resolved> {
        let mut all = Resolved {
            files: self.files.clone(),
            include_dirs: self.include_dirs.clone(),
            library_dirs: self.library_dirs.clone(),
            defines: self.defines.clone(),
        };
        let root = self.root.clone().unwrap_or_default();
        let mut seen = BTreeSet::new();
        for list in &self.filelists {
            read_filelist(list, &root, &mut all, &mut seen)?;
        }
        if all.files.is_empty() {
            return Err(Error::NoFiles {
                top: self.top.clone(),
            });
        }
        // A file that two filelists name is read once, where it is first named.
        let mut once = BTreeSet::new();
        all.files.retain(|file| once.insert(file.clone()));
        Ok(all)
    }
}

/// Files in a folder with one of these extensions, sorted by name.
pub(crate) fn files_with_extension(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|e| Error::io("reading the folder", folder, e))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|e| Error::io("reading the folder", folder, e))?
            .path();
        let wanted = path
            .extension()
            .and_then(|e| e.to_str())
            .is_some_and(|e| extensions.contains(&e.to_ascii_lowercase().as_str()));
        if wanted && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn read_filelist(
    list: &Path,
    root: &Path,
    all: &mut Resolved,
    seen: &mut BTreeSet<PathBuf>,
) -> Result<()> {
    if !seen.insert(list.to_owned()) {
        return Ok(());
    }
    let text = fs::read_to_string(list).map_err(|e| Error::io("reading the filelist", list, e))?;
    for (index, line) in text.lines().enumerate() {
        let wrong = |what: String| Error::Filelist {
            file: list.to_owned(),
            line: index + 1,
            what,
        };
        let line = strip_comment(line).trim();
        if line.is_empty() {
            continue;
        }
        if let Some(dirs) = line.strip_prefix("+incdir+") {
            all.include_dirs.extend(
                dirs.split('+')
                    .filter(|d| !d.is_empty())
                    .map(|d| root.join(d)),
            );
        } else if let Some(define) = line.strip_prefix("+define+") {
            let (name, value) = define.split_once('=').unwrap_or((define, ""));
            all.defines.push((name.to_owned(), value.to_owned()));
        } else if let Some(path) = option_argument(line, "-f").or(option_argument(line, "-F")) {
            read_filelist(&root.join(path), root, all, seen)?;
        } else if let Some(path) = option_argument(line, "-y") {
            all.library_dirs.push(root.join(path));
        } else if let Some(path) = option_argument(line, "-v") {
            all.files.push(root.join(path));
        } else if line.starts_with(['-', '+']) {
            return Err(wrong(format!("the option '{line}' is not understood")));
        } else {
            let path = root.join(line);
            if !path.is_file() {
                return Err(wrong(format!("there is no file {}", path.display())));
            }
            all.files.push(path);
        }
    }
    Ok(())
}

fn option_argument<'a>(line: &'a str, option: &str) -> Option<&'a str> {
    line.strip_prefix(option)
        .filter(|rest| rest.starts_with(char::is_whitespace))
        .map(str::trim)
}

fn strip_comment(line: &str) -> &str {
    let end = [line.find("//"), line.find('#')]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(line.len());
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("folder made");
        fs::write(&path, text).expect("file written");
        path
    }

    #[test]
    fn nested_filelists_keep_order_and_name_each_file_once() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let root = folder.path();
        for name in ["rtl/a/pkg.sv", "rtl/a/x.sv", "rtl/b/y.sv"] {
            write(root, name, "");
        }
        write(
            root,
            "rtl/a/a.f",
            "// area a\nrtl/a/pkg.sv # package first\n\nrtl/a/x.sv\n",
        );
        let top = write(
            root,
            "rtl/top.f",
            "+incdir+rtl/a+rtl/b\n+define+WIDTH=4\n-f rtl/a/a.f\nrtl/b/y.sv\n-f rtl/a/a.f\nrtl/a/x.sv\n",
        );
        let all = Source::new("t")
            .filelist(top)
            .root(root)
            .resolve()
            .expect("resolves");
        let expected = ["rtl/a/pkg.sv", "rtl/a/x.sv", "rtl/b/y.sv"].map(|f| root.join(f));
        assert_eq!(all.files, expected);
        assert_eq!(all.include_dirs, [root.join("rtl/a"), root.join("rtl/b")]);
        assert_eq!(all.defines, [("WIDTH".to_owned(), "4".to_owned())]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let list = write(folder.path(), "bad.f", "\n--what-is-this\n");
        let error = Source::new("t")
            .filelist(list)
            .resolve()
            .expect_err("bad option");
        assert!(
            error
                .to_string()
                .contains("bad.f:2: the option '--what-is-this'"),
            "{error}"
        );
        let list = write(folder.path(), "gone.f", "nowhere.sv\n");
        let error = Source::new("t")
            .filelist(list)
            .resolve()
            .expect_err("missing file");
        assert!(error.to_string().contains("there is no file"), "{error}");
    }

    #[test]
    fn nothing_to_build_is_an_error() {
        assert!(matches!(
            Source::new("t").resolve(),
            Err(Error::NoFiles { .. })
        ));
    }
}
