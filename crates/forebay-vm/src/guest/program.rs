// SPDX-License-Identifier: Apache-2.0
//! Programs of this machine in the guest: each goes there with its own loader and libraries, so
//! that the guest's need not be as new, and no second build is due.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cpio::Writer;
use super::error::{Error, Result};

/// Where they lie in the guest.
const FOLDER: &str = "forebay";
/// The loader of glibc on x86-64; its path is part of the ABI.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// A program of this machine for the guest, which finds it on its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// How the guest calls it.
    pub name: String,
    /// Where it lies here.
    pub path: PathBuf,
}

impl Program {
    /// Under the name of its file.
    ///
    /// # Errors
    /// Where that cannot be a program's name in the guest.
    pub fn of_file(path: &Path) -> Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| is_plain(name)) else {
            return Err(Error::Setting {
                field: "a program's name",
                value: path.display().to_string(),
                limit: "only letters, digits and . _ - can be in it".into(),
                remedy: "rename it",
            });
        };
        let (name, path) = (name.to_owned(), path.to_owned());
        Ok(Self { name, path })
    }

    /// The program that runs now, also where its file has been replaced meanwhile.
    #[must_use]
    pub fn this(name: &str) -> Self {
        // Not `self`: the loader, another process, is asked for the libraries.
        let path = format!("/proc/{}/exe", std::process::id()).into();
        let name = name.to_owned();
        Self { name, path }
    }
}

/// Adds programs.
///
/// # Errors
/// Where one cannot be read, or misses a library here.
pub fn add(archive: &mut Writer, programs: &[Program]) -> Result<()> {
    let mut libraries = Vec::new();
    for folder in ["", "/bin", "/lib"] {
        archive.folder(&format!("{FOLDER}{folder}"));
    }
    for Program { name, path } in programs {
        let data = fs::read(path).map_err(Error::io("reading", path))?;
        archive.file(&format!("{FOLDER}/bin/{name}"), true, &data)?;
        let needed = libraries_of(path)?;
        let run = match needed.is_empty() {
            true => format!("/{FOLDER}/bin/{name}"),
            false => format!(
                "/{FOLDER}/lib/ld-linux-x86-64.so.2 --library-path /{FOLDER}/lib \
                 /{FOLDER}/bin/{name}"
            ),
        };
        let script = format!("#!/bin/sh\nexec {run} \"$@\"\n");
        archive.file(&format!("usr/sbin/{name}"), true, script.as_bytes())?;
        libraries.extend(needed);
    }
    libraries.sort();
    libraries.dedup();
    for library in libraries {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        let data = fs::read(&library).map_err(Error::io("reading the library", &library))?;
        archive.file(&format!("{FOLDER}/lib/{name}"), true, &data)?;
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !name.is_empty() && name.bytes().all(plain)
}

/// The loader and all libraries of a program; none where it is linked statically.
fn libraries_of(program: &Path) -> Result<Vec<PathBuf>> {
    let listed = Command::new(LOADER).arg("--list").arg(program).output();
    let listed = match listed {
        Ok(listed) if listed.status.success() => listed,
        // The loader refuses a static program; so does a machine without glibc, where all are.
        _ => return Ok(Vec::new()),
    };
    let text = String::from_utf8_lossy(&listed.stdout);
    if let Some(line) = text.lines().find(|line| line.contains("not found")) {
        return Err(Error::Setting {
            field: "a library",
            value: line.trim().to_owned(),
            limit: format!("{} needs it", program.display()),
            remedy: "install it",
        });
    }
    Ok(parse(&text))
}

/// Paths in what the loader lists: `name => path (address)`, or `path (address)`.
fn parse(listed: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let path = line.rsplit_once(" (")?.0;
        let path = path
            .rsplit_once("=> ")
            .map_or(path, |(_, path)| path)
            .trim();
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    listed.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found() {
        let listed = "\tlinux-vdso.so.1 (0x0000)\n\tlibc.so.6 => /lib/libc.so.6 (0x0001)\n\
                      \t/lib64/ld-linux-x86-64.so.2 (0x0002)\n";
        let found = parse(listed);
        assert_eq!(
            found,
            ["/lib/libc.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from)
        );
        assert!(parse("\tstatically linked\n").is_empty());
        assert!(is_plain("forebay") && !is_plain("a b") && !is_plain(""));
    }
}
