// SPDX-License-Identifier: Apache-2.0
//! The project's Python side, where Yosys and the compiler of networks are, asked for a report.

use std::ffi::OsString;
use std::process::{Command, ExitStatus};

use serde::de::DeserializeOwned;

use crate::failure::{Exit, Failure, Result};
use crate::home;

/// A module of the project's, to be run.
///
/// # Errors
/// Where there is no checkout.
pub fn module(name: &str) -> Result<Command> {
    let root = home::find()?;
    let mut command = Command::new(home::python(&root));
    command
        .args(["-m", name])
        .env("PYTHONPATH", home::python_path(&root));
    Ok(command)
}

/// What is said where it cannot be started.
pub fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Impossible,
        format!(
            "{} cannot be started: {error}",
            command.get_program().display()
        ),
        "`make setup` in the checkout makes the Python environment .venv",
    )
}

/// Its exit code as ours.
pub fn exit_of(status: ExitStatus) -> Exit {
    // None: ended by a signal, such as that of Ctrl-C.
    let code = status.code().unwrap_or(Exit::Interrupted as i32);
    let mut all = Exit::ALL.into_iter().map(|(exit, _)| exit);
    all.find(|exit| *exit as i32 == code)
        .unwrap_or(Exit::Impossible)
}

/// Runs a module with `--json -` and these words; returns what it wrote. Warnings are passed on.
///
/// # Errors
/// Where it cannot be started, or fails: with its own words and exit code.
pub fn ask<T: DeserializeOwned>(name: &str, words: &[OsString]) -> Result<T> {
    let mut command = module(name)?;
    command.args(["--json", "-"]).args(words);
    let done = command.output();
    let done = done.map_err(|error| not_started(&command, &error))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() {
        eprint!("{said}");
        return Ok(serde_json::from_slice(&done.stdout)?);
    }
    match exit_of(done.status) {
        Exit::Interrupted => Err(Failure::interrupted()),
        exit => Err(failure(exit, name, &said)),
    }
}

/// What a module said, in the form of its `failure`; of anything else the last line, without the
/// name of a program in front of `error:`.
fn failure(exit: Exit, module: &str, said: &str) -> Failure {
    let lines = || said.lines().map(str::trim);
    let words: Vec<_> = lines()
        .filter_map(|line| line.strip_prefix("× ").or(line.strip_prefix("│ ")))
        .collect();
    let message = match words.as_slice() {
        [] => {
            let last = lines().next_back().unwrap_or("it failed");
            match last.split_once(": error: ") {
                Some((_, what)) => what.to_owned(),
                None => format!("{module}: {last}"),
            }
        }
        words => words.join("\n"),
    };
    let mut told = Failure::new(exit, message, "");
    told.help = lines()
        .find_map(|line| line.strip_prefix("help: "))
        .map(str::to_owned);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_keeps_its_words() {
        let said = "warning: x\n  × no such layer\n  │ of this kind\n  help: take another\n";
        let told = failure(Exit::BadInput, "forebay.dnn", said);
        assert_eq!(told.to_string(), "no such layer\nof this kind");
        assert_eq!(told.help.as_deref(), Some("take another"));
        let other = failure(Exit::Impossible, "forebay.dnn", "Traceback\nKeyError: 1\n");
        assert_eq!(other.to_string(), "forebay.dnn: KeyError: 1");
        assert_eq!(other.help, None);
        let option = failure(
            Exit::BadInput,
            "forebay.dnn",
            "usage: …\nx trial: error: no --y\n",
        );
        assert_eq!(option.to_string(), "no --y");
    }
}
