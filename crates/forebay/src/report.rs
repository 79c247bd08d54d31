// SPDX-License-Identifier: Apache-2.0
//! Reports as JSON files, and text on standard output.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::{Exit, Failure, Result};

pub use forebay_app::report::{Header, ProfileName, Rate, Rtl, command_line};

/// Makes sure that a report can be written, before the work that it is of.
pub fn check(to: Option<&Path>) -> Result<()> {
    match to {
        Some(path) if path != Path::new("-") => fs::File::options()
            .append(true)
            .create(true)
            .open(path)
            .map(drop)
            .map_err(|error| Failure::file("creating", path, error)),
        _ => Ok(()),
    }
}

/// Writes a report as JSON where `--json` says; true where the text is not wanted then.
pub fn emit(report: &impl Serialize, to: Option<&Path>) -> Result<bool> {
    let Some(path) = to else { return Ok(false) };
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    let to_stdout = path == Path::new("-");
    if to_stdout {
        say(&text);
    } else {
        fs::write(path, text).map_err(|error| Failure::file("writing", path, error))?;
    }
    Ok(to_stdout)
}

/// Reads a report that was stored, of this kind and no other.
pub fn load<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T> {
    /// What tells the kinds apart.
    #[derive(Deserialize)]
    struct Kind {
        schema: String,
    }
    let no_report = |error: serde_json::Error| {
        Failure::new(
            Exit::BadInput,
            format!("{} is no report of forebay: {error}", path.display()),
            "give a file that --json, --inspect or --record wrote",
        )
    };
    let text = fs::read(path).map_err(|error| Failure::file("reading", path, error))?;
    let Kind { schema: found } = serde_json::from_slice(&text).map_err(no_report)?;
    if found != schema {
        return Err(Failure::input(
            &path.display().to_string(),
            format_args!("a {found:?}"),
            &format!("{schema:?} is needed here"),
            "--inspect writes a forebay.inspect, --record of `vm serve ssd` a forebay.record",
        ));
    }
    serde_json::from_slice(&text).map_err(no_report)
}

/// Prints to standard output; a reader who has gone (`| head`) is no failure.
pub fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _gone = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
