// SPDX-License-Identifier: Apache-2.0
//! The project's Python side, where DuckDB, Arrow and Yosys are.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use forebay_app::python;

use crate::args::Output;
use crate::args::values::name_of;
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Destination};

/// A path that cannot be taken for an option.
pub fn plain(path: &Path) -> OsString {
    let dashed = path.as_os_str().as_encoded_bytes().starts_with(b"-");
    if dashed {
        Path::new(".").join(path).into_os_string()
    } else {
        path.as_os_str().to_owned()
    }
}

/// Runs a module that writes a report: text to standard output and, with `--json FILE|-`, JSON.
pub fn report(module: &str, mut words: Vec<OsString>) -> Result<Exit> {
    let to = Destination::of_all();
    match (to.form, &to.file) {
        (Output::Text, _) => {}
        (_, file) => {
            let file = file.as_ref().map_or("-".into(), OsString::from);
            words.splice(0..0, ["--json".into(), file]);
        }
    }
    let shown = match (to.file_of(Output::Text), to.shows_text()) {
        (Some(_), _) => Stdio::piped(),
        (None, false) if to.file.is_some() => Stdio::null(),
        _ => Stdio::inherit(),
    };
    run(module, words, shown)
}

/// Runs a module that writes rows in the form `--output FORM`: to the file of the report alone,
/// where there is one.
pub fn rows(module: &str, mut words: Vec<OsString>) -> Result<Exit> {
    let to = Destination::of_all();
    words.splice(0..0, ["--output".into(), name_of(&to.form).into()]);
    let rows = match &to.file {
        None => Stdio::inherit(),
        Some(path) => {
            let file =
                File::create(path).map_err(|error| Failure::file("creating", path, error))?;
            file.into()
        }
    };
    run(module, words, rows)
}

fn run(module: &str, words: Vec<OsString>, out: Stdio) -> Result<Exit> {
    let mut command = python::module(module)?;
    command.args(words).stdout(out).stderr(Stdio::inherit());
    let ended = command
        .spawn()
        .and_then(std::process::Child::wait_with_output);
    let ended = ended.map_err(|error| python::not_started(&command, &error))?;
    report::say(&String::from_utf8_lossy(&ended.stdout));
    Ok(python::exit_of(ended.status))
}
