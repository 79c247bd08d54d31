// SPDX-License-Identifier: Apache-2.0
//! `forebay resources`: asks the project's Python side, which runs Yosys.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
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
    let python = python(&root);
    let mut command = Command::new(&python);
    command.args(["-m", "forebay.resources"]).args(&args.rest);
    if let Some(json) = &args.report.json {
        command.arg("--json").arg(json);
    }
    command.env("PYTHONPATH", python_path(&root));
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
        Some(130) | None => Ok(Exit::Interrupted),
        Some(_) => Ok(Exit::Impossible),
    }
}

/// The environment's Python, or the system's.
pub fn python(root: &Path) -> PathBuf {
    let ours = root.join(".venv/bin/python");
    if ours.is_file() {
        ours
    } else {
        "python3".into()
    }
}

/// Where Python finds the project, before what the user has.
pub fn python_path(root: &Path) -> OsString {
    let ours = root.join("python");
    let others = env::var_os("PYTHONPATH").unwrap_or_default();
    let paths = std::iter::once(ours.clone()).chain(env::split_paths(&others));
    env::join_paths(paths).unwrap_or(ours.into_os_string())
}
