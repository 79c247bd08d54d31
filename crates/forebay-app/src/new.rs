// SPDX-License-Identifier: Apache-2.0
//! A processing element to begin with, that works from the first minute.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use forebay_pipeline::name_fault;

use crate::failure::{Failure, Result};

/// What the template is called where the element's name will stand.
const NAME: &str = "NAME";
/// Files of an element: paths in its folder, and what is in them.
type Template = [(&'static str, &'static str); 5];

macro_rules! template {
    ($folder:literal) => {
        [
            ("fb_pe_NAME.sv", template!($folder, "fb_pe_NAME.sv")),
            ("fb_pe_NAME.toml", template!($folder, "fb_pe_NAME.toml")),
            (
                "tb/test_fb_pe_NAME.py",
                template!($folder, "tb/test_fb_pe_NAME.py"),
            ),
            ("pipeline.toml", template!($folder, "pipeline.toml")),
            ("README.md", include_str!("new/README.md")),
        ]
    };
    ($folder:literal, $path:literal) => {
        include_str!(concat!("new/", $folder, "/", $path))
    };
}

/// The template of one that changes objects.
const PE: Template = template!("pe");
/// The template of one that judges them.
const PE_RESULT: Template = template!("pe_result");
/// The template of one with registers.
const PE_REGISTERS: Template = template!("pe_registers");

/// What an element has, beside two streams and 64 bits of settings.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Nothing.
    Plain,
    /// Results.
    Result,
    /// Registers.
    Registers,
}

/// How its streams are clocked, and how wide they are.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bits of a beat.
    pub bits: u32,
    /// It has a clock of its own.
    pub own_clock: bool,
}

/// Bits of a stream of the chain.
const BITS_MOST: u32 = 512;
/// Bits that the template with registers works on at once.
const BITS_OF_REGISTERS: u32 = 128;

/// Makes the folder of an element of this name in `into`; returns it, and its files.
///
/// # Errors
/// A name or a width that cannot be, a folder that is there already, or a file that cannot be written.
pub fn element(
    name: &str,
    into: &Path,
    kind: Kind,
    shape: Shape,
) -> Result<(PathBuf, Vec<PathBuf>)> {
    let least = match kind {
        Kind::Registers => BITS_OF_REGISTERS,
        Kind::Plain | Kind::Result => 32,
    };
    if !shape.bits.is_power_of_two() || !(least..=BITS_MOST).contains(&shape.bits) {
        return Err(Failure::input(
            "--width",
            shape.bits,
            &format!("it is a power of two from {least} to {BITS_MOST}"),
            "choose such a number of bits, or leave it out",
        ));
    }
    if let Some(fault) = name_fault(name) {
        return Err(Failure::input(
            "NAME",
            format_args!("`{name}`"),
            &format!("{fault}: it is part of the name of a module, fb_pe_NAME"),
            "choose a name such as scale or threshold_2",
        ));
    }
    let folder = into.join(name);
    let failed = |error| Failure::file("making", &folder, error);
    fs::create_dir_all(into).map_err(failed)?;
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::input(
            "NAME",
            format_args!("`{name}`"),
            &format!("{} exists already", folder.display()),
            "choose another name, or another folder",
        ),
        _ => failed(error),
    })?;
    let mut written = Vec::new();
    let template = match kind {
        Kind::Plain => PE,
        Kind::Result => PE_RESULT,
        Kind::Registers => PE_REGISTERS,
    };
    for (path, text) in template {
        let path = folder.join(path.replace(NAME, name));
        write(&path, &shaped(&filled(text, name), shape))?;
        written.push(path);
    }
    Ok((folder, written))
}

/// A file of the template with the name in it. The template's licence is not the user's: what comes
/// of it is theirs.
fn filled(text: &str, name: &str) -> String {
    let body = match text.split_once('\n') {
        Some((first, rest)) if first.contains("SPDX-License-Identifier") => rest,
        _ => text,
    };
    body.replace(NAME, name)
}

/// The same with its width and clock, in RTL and manifest.
fn shaped(text: &str, shape: Shape) -> String {
    let clock = if shape.own_clock { "own" } else { "chain" };
    text.replace("Bits = 512", &format!("Bits = {}", shape.bits))
        .replace("width = 512", &format!("width = {}", shape.bits))
        .replace("clock = \"chain\"", &format!("clock = \"{clock}\""))
}

fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error| Failure::file("writing", path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut file = fs::File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
