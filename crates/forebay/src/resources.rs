// SPDX-License-Identifier: Apache-2.0
//! `forebay resources`: asks the project's Python side, which runs Yosys.

use std::process::Command;

use crate::args::ResourcesArgs;
use crate::failure::{Exit, Failure, Result};
use crate::home;

/// Runs it.
///
/// # Errors
/// Where no checkout or no Python is found.
pub fn run(args: &ResourcesArgs) -> Result<Exit> {
    let root = home::find()?;
    let python = home::python(&root);
    let mut command = Command::new(&python);
    command.args(["-m", "forebay.resources"]).args(&args.rest);
    if let Some(json) = &args.report.json {
        command.arg("--json").arg(json);
    }
    command.env("PYTHONPATH", home::python_path(&root));
    let status = command.status().map_err(|error| {
        Failure::new(
            Exit::Impossible,
            format!("{} cannot be started: {error}", python.display()),
            "`make setup` makes the Python environment .venv with Yosys",
        )
    })?;
    // 130 and such: the shell's convention for an end by a signal has no code here.
    match status.code() {
        Some(0) => Ok(Exit::Good),
        Some(2) => Ok(Exit::BadInput),
        Some(7) => Ok(Exit::OffTolerance),
        Some(130) | None => Ok(Exit::Interrupted),
        Some(_) => Ok(Exit::Impossible),
    }
}
