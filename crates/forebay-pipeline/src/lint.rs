// SPDX-License-Identifier: Apache-2.0
//! What Verilator thinks of RTL, without building it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use forebay_rtl::{Source, Toolchain};

use super::chain::ChainSource;
use super::{Element, Error, Result};

/// What it may overlook of any RTL here.
const WAIVERS: &str = "rtl/lint.vlt";
/// What every element may use.
const SHARED: &str = "rtl/pe/elements.f";

/// The sources of a filelist of the checkout.
fn design(root: &Path, filelist: &str) -> Result<Vec<PathBuf>> {
    let source = Source::new("").filelist(root.join(filelist)).root(root);
    Ok(source.all_files()?)
}

/// Lints an element with all warnings on, as if it stood alone.
///
/// # Errors
/// Where Verilator is missing or complains.
pub fn element(root: &Path, element: &Element) -> Result<()> {
    let shared = design(root, SHARED)?;
    let own = element.files.iter().filter(|file| !shared.contains(file));
    let files: Vec<_> = shared.iter().chain(own).cloned().collect();
    run(root, &format!("fb_pe_{}", element.name), &files, &["-Wall"])
}

/// Whether Verilator takes the chain: an element may have other ports, or none of its name.
///
/// # Errors
/// Where Verilator is missing or complains.
pub fn chain(root: &Path, chain: &ChainSource) -> Result<()> {
    let failed = |error| Error::file("making", &env::temp_dir(), error);
    let folder = tempfile::tempdir().map_err(failed)?;
    let design = design(root, "rtl/pe/pe.f")?;
    let files = chain.put(&design, folder.path()).map_err(failed)?;
    run(root, "fb_pe_chain", &files, &[])
}

/// Lints a module.
fn run(root: &Path, top: &str, files: &[PathBuf], flags: &[&str]) -> Result<()> {
    let tools = Toolchain::find()?;
    let done = Command::new(&tools.verilator)
        .env("VERILATOR_ROOT", &tools.verilator_root)
        .args(["--lint-only", "--quiet", "--assert", "--top-module", top])
        .args(flags)
        .arg(root.join(WAIVERS))
        .args(files)
        .output()
        .map_err(|error| Error::file("starting", &tools.verilator, error))?;
    if done.status.success() {
        return Ok(());
    }
    Err(Error::Lint {
        top: top.to_owned(),
        output: String::from_utf8_lossy(&done.stderr).trim_end().to_owned(),
    })
}
