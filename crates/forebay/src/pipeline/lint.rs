// SPDX-License-Identifier: Apache-2.0
//! What Verilator thinks of RTL, without building it.

use std::path::{Path, PathBuf};
use std::process::Command;

use forebay_rtl::{Source, Toolchain};

use crate::failure::{Exit, Failure, Result};

/// What it may overlook of any RTL here.
const WAIVERS: &str = "rtl/lint.vlt";

/// The sources of a filelist of the checkout.
///
/// # Errors
/// Where it cannot be read.
pub fn design(root: &Path, filelist: &str) -> Result<Vec<PathBuf>> {
    let source = Source::new("").filelist(root.join(filelist)).root(root);
    Ok(source.all_files()?)
}

/// Lints a module.
///
/// # Errors
/// Where Verilator is missing or complains.
pub fn run(root: &Path, top: &str, files: &[PathBuf], flags: &[&str]) -> Result<()> {
    let tools = Toolchain::find()?;
    let done = Command::new(&tools.verilator)
        .env("VERILATOR_ROOT", &tools.verilator_root)
        .args(["--lint-only", "--quiet", "--assert", "--top-module", top])
        .args(flags)
        .arg(root.join(WAIVERS))
        .args(files)
        .output()
        .map_err(|error| Failure::file("starting", &tools.verilator, error))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(Failure::new(
        Exit::BadInput,
        format!("{top} does not pass lint:\n{}", said.trim_end()),
        "mend the first complaint first; docs/guide/pe.md says which ports an element has",
    ))
}
