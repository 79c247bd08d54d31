// SPDX-License-Identifier: Apache-2.0
//! `forebay new`: something of one's own to begin with, that works from the first minute.

pub mod bench;

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use forebay_pipeline::name_fault;

use crate::args::{NewCommand, NewPeArgs};
use crate::failure::{Exit, Failure, Result};
use crate::render::Page;

/// What the template is called where the element's name will stand.
const NAME: &str = "NAME";
/// The template of an element: paths in its folder, and what is in them.
const PE: [(&str, &str); 5] = [
    ("fb_pe_NAME.sv", include_str!("pe/fb_pe_NAME.sv")),
    ("fb_pe_NAME.toml", include_str!("pe/fb_pe_NAME.toml")),
    (
        "tb/test_fb_pe_NAME.py",
        include_str!("pe/tb/test_fb_pe_NAME.py"),
    ),
    ("pipeline.toml", include_str!("pe/pipeline.toml")),
    ("README.md", include_str!("pe/README.md")),
];

/// Makes something.
pub fn run(command: &NewCommand) -> Result<Exit> {
    match command {
        NewCommand::Pe(args) => pe(args),
    }
}

/// Makes the folder of an element.
fn pe(args: &NewPeArgs) -> Result<Exit> {
    let name = &args.name;
    if let Some(fault) = name_fault(name) {
        return Err(Failure::input(
            "NAME",
            format_args!("`{name}`"),
            &format!("{fault}: it is part of the name of a module, fb_pe_NAME"),
            "choose a name such as scale or threshold_2",
        ));
    }
    let folder = args.into.join(name);
    let failed = |error| Failure::file("making", &folder, error);
    fs::create_dir_all(&args.into).map_err(failed)?;
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::input(
            "NAME",
            format_args!("`{name}`"),
            &format!("{} exists already", folder.display()),
            "choose another name, or another folder with --into",
        ),
        _ => failed(error),
    })?;
    let mut page = Page::of_hardware(&format!("Processing element {name}"));
    for (path, text) in PE {
        let path = folder.join(path.replace(NAME, name));
        write(&path, &filled(text, name))?;
        page.line(format!("  {}", path.display()));
    }
    let shown = folder.display();
    page.line(format!("\n  forebay pe test {shown}"))
        .line(format!("  forebay pipeline check {shown}/pipeline.toml"));
    page.print();
    Ok(Exit::Good)
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

fn write(path: &Path, text: &str) -> Result<()> {
    let failed = |error| Failure::file("writing", path, error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut file = fs::File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}
