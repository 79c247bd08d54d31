// SPDX-License-Identifier: Apache-2.0
//! Files that the simulated link partner sends as objects.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;

use forebay_model::net::{Content, Object};
use forebay_net::send::{Files, Left};
use serde::Serialize;

use crate::failure::{Exit, Failure, Result};

/// What was found to be sent.
#[derive(Debug, Default, Serialize)]
pub struct FilesReport {
    /// Files, an object each.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What else was there, by sender.
    pub left: Vec<Left>,
}

impl FilesReport {
    /// Whether all that was named can be sent, but for what is empty or no file.
    pub fn is_good(&self) -> bool {
        self.left.iter().all(|left| left.failed == 0)
    }
}

/// Looks for the files of each sender.
///
/// # Errors
/// What is not there, and where a sender has none.
pub fn find(paths: &[PathBuf]) -> Result<(Vec<Files>, FilesReport)> {
    let mut report = FilesReport::default();
    let mut all = Vec::new();
    for path in paths {
        let mut files = Files::of(std::slice::from_ref(path))?;
        if files.found.is_empty() {
            let problems = files.left.problems.iter();
            let problems: String = problems.map(|problem| format!("; {problem}")).collect();
            return Err(Failure::new(
                Exit::BadInput,
                format!("{}: no file to send{problems}", path.display()),
                "name a folder with files of at least one byte: an object without bytes cannot be sent",
            ));
        }
        report.count += files.found.len() as u64;
        report.bytes = report.bytes.saturating_add(files.bytes());
        report.left.push(std::mem::take(&mut files.left));
        all.push(files);
    }
    Ok((all, report))
}

/// Files as objects, numbered from 0.
pub fn objects(files: &Files) -> impl Iterator<Item = Object> + Send + 'static {
    let files = (0..).zip(files.found.clone());
    files.map(|(number, (path, bytes))| Object {
        number,
        bytes,
        content: Content::Reader(Box::new(Later::Path(path))),
    })
}

/// A file that is opened when its first byte is due.
enum Later {
    Path(PathBuf),
    Open(PathBuf, BufReader<File>),
}

impl Read for Later {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match self {
            Self::Path(path) => {
                let opened = File::open(&*path).map_err(|error| named(path, &error))?;
                *self = Self::Open(std::mem::take(path), BufReader::new(opened));
                return self.read(into);
            }
            Self::Open(path, file) => file.read(into).map_err(|error| named(path, &error)),
        };
        match (self, read) {
            (Self::Open(path, _), Ok(0)) if !into.is_empty() => {
                let why = io::Error::from(io::ErrorKind::UnexpectedEof);
                Err(named(path, &why))
            }
            (_, read) => read,
        }
    }
}

fn named(path: &std::path::Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
