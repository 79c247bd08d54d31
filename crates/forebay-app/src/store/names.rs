// SPDX-License-Identifier: Apache-2.0
//! Names of classes.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use crate::failure::{Failure, Result};

/// Bytes of a file of names.
const BYTES_MOST: u64 = 8 << 20;

/// Names of classes, by their numbers; those without a name have their number only.
#[derive(Clone, Debug, Default)]
pub struct ClassNames(Vec<String>);

impl ClassNames {
    /// Those of a text file, a line each, class 0 first.
    ///
    /// # Errors
    /// A file that cannot be read, is longer than 8 MiB or is no text.
    pub fn read(path: &Path) -> Result<Self> {
        let refused = |limit: &str| {
            let remedy = "give a text file with the name of a class in each line";
            Failure::input("--classes", path.display(), limit, remedy)
        };
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::InvalidData => refused("it is no text in UTF-8"),
            _ => Failure::file("reading", path, error),
        };
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        let mut file = file.take(BYTES_MOST + 1);
        file.read_to_string(&mut text).map_err(failed)?;
        if text.len() as u64 > BYTES_MOST {
            return Err(refused("a file of names has 8 MiB at most"));
        }
        let text = text.trim_start_matches('\u{feff}');
        let names = text.lines().map(|line| line.trim().to_owned());
        Ok(Self(names.collect()))
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name of a class, and its number.
    #[must_use]
    pub fn of(&self, class: u16) -> String {
        match self
            .0
            .get(usize::from(class))
            .filter(|name| !name.is_empty())
        {
            Some(name) => format!("{class} {name}"),
            None => class.to_string(),
        }
    }
}
