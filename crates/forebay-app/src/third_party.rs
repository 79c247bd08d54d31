// SPDX-License-Identifier: Apache-2.0
//! RTL of the user's own, as `--rtl` names it.

use std::io::ErrorKind;
use std::path::PathBuf;

use forebay_cosim::rtl;
use forebay_rtl::Source;

use crate::failure::{Failure, Result};

/// RTL from what the user named: one filelist or folder, or any number of Verilog files.
///
/// # Errors
/// Where something is not there, or no module has the pins of a streamer.
pub fn source(paths: &[PathBuf], top: Option<&str>) -> Result<Source> {
    if let Some(path) = paths.iter().find(|path| !path.exists()) {
        return Err(Failure::file("reading", path, ErrorKind::NotFound.into()));
    }
    match paths {
        [path] => Ok(rtl::third_party(path, top)?),
        paths => files(paths, top),
    }
}

/// Verilog files, the top module in the last that has one, as in dependency order.
fn files(paths: &[PathBuf], top: Option<&str>) -> Result<Source> {
    let is_verilog = |path: &&PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "v" || extension == "sv")
    };
    if let Some(other) = paths.iter().find(|path| !is_verilog(path)) {
        return Err(Failure::input(
            "--rtl",
            other.display(),
            "of several paths each must be a Verilog file (.v, .sv)",
            "put them all into one filelist",
        ));
    }
    let top = top.map_or_else(|| last_top(paths), |top| Ok(top.to_owned()))?;
    Ok(paths.iter().fold(Source::new(top), Source::file))
}

/// The last module that has the pins of a streamer.
fn last_top(files: &[PathBuf]) -> Result<String> {
    let with_pins = files
        .iter()
        .rev()
        .find_map(|file| rtl::third_party(file, None).ok());
    with_pins.map(|source| source.top).ok_or_else(|| {
        Failure::input(
            "--rtl",
            format_args!("{} files", files.len()),
            "no module has the pins s_axis_wr_tvalid or S_AXIS_WRITE_tvalid",
            "name the top module with --top; it needs the pins of fb_top_onchip or of SNAcc's \
             streamer",
        )
    })
}
