// SPDX-License-Identifier: Apache-2.0
//! Files that the simulated link partner sends as objects.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_model::net::{Content, Object};
use forebay_net::send::{Files, Left};
use serde::Serialize;

use crate::failure::{Exit, Failure, Result};

/// What became of files that were to be sent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FilesReport {
    /// Files that were found, an object each.
    pub found: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Objects that were begun.
    pub begun: u64,
    /// What is no object, by sender.
    pub left_out: Vec<Left>,
}

/// The report, which the senders write on.
#[derive(Clone, Debug, Default)]
pub struct SharedReport(Arc<Mutex<FilesReport>>);

impl SharedReport {
    /// As it is now.
    pub fn report(&self) -> FilesReport {
        self.open().clone()
    }

    fn open(&self) -> MutexGuard<'_, FilesReport> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FilesReport {
    /// Whether each file that was found and its turn came could be read.
    pub fn is_good(&self) -> bool {
        self.left_out.iter().all(|left| left.failed == 0)
    }
}

/// Looks for the files of each sender.
///
/// # Errors
/// What is not there, and where a sender has none.
pub fn find(paths: &[PathBuf]) -> Result<(Vec<Files>, SharedReport)> {
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
        report.found += files.found.len() as u64;
        report.bytes = report.bytes.saturating_add(files.bytes());
        report.left_out.push(std::mem::take(&mut files.left));
        all.push(files);
    }
    Ok((all, SharedReport(Arc::new(Mutex::new(report)))))
}

/// The files of a sender as objects, numbered from 0. Each is opened when its turn comes; one that
/// cannot be is passed over, and its number left out.
pub fn objects(
    files: &Files,
    sender: usize,
    sent: &SharedReport,
) -> impl Iterator<Item = Object> + Send + 'static {
    let (files, sent) = ((0..).zip(files.found.clone()), sent.clone());
    files.filter_map(move |(number, (path, bytes))| {
        let mut report = sent.open();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => {
                report.left_out[sender].problem(&path, &error.to_string());
                return None;
            }
        };
        report.begun += 1;
        let file = BufReader::new(file);
        Some(Object {
            number,
            bytes,
            content: Content::Reader(Box::new(Named { path, file })),
        })
    })
}

/// A file whose failures say its name.
struct Named {
    path: PathBuf,
    file: BufReader<File>,
}

impl Read for Named {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into).and_then(|count| match count {
            0 if !into.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        });
        let path = self.path.display();
        read.map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_cannot_be_opened_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), name).expect("a file");
        }
        let (files, sent) = find(&[folder.path().to_owned()]).expect("files");
        fs::remove_file(folder.path().join("b")).expect("removed");
        fs::write(folder.path().join("c"), "").expect("a file");
        let mut objects: Vec<_> = objects(&files[0], 0, &sent).collect();
        let numbers: Vec<_> = objects.iter().map(|object| object.number).collect();
        assert_eq!(numbers, [0, 2]);
        let report = sent.report();
        assert_eq!((report.found, report.begun), (3, 2));
        assert!(!report.is_good() && report.left_out[0].problems[0].contains("/b: "));
        let mut read = |at: usize| {
            let Content::Reader(reader) = &mut objects[at].content else {
                panic!("no reader")
            };
            reader
                .read_exact(&mut [0])
                .map_err(|error| error.to_string())
        };
        assert_eq!(read(0), Ok(()));
        // It has shrunk since it was looked at.
        assert!(read(1).expect_err("nothing there").contains("/c: "));
    }
}
