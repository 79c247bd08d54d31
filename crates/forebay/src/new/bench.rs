// SPDX-License-Identifier: Apache-2.0
//! `forebay pe test`: is an element what it says it is?

use std::path::Path;
use std::process::Command;

use forebay_pipeline::{Element, Paths, lint};

use crate::args::PeTestArgs;
use crate::failure::{Exit, Failure, Result};
use crate::home;
use crate::home::{python, python_path};
use crate::render::Page;

/// Checks the manifests of a folder, lints their RTL, runs the test benches in `tb`.
pub fn run(args: &PeTestArgs) -> Result<Exit> {
    let root = home::find()?;
    let folder = std::path::absolute(&args.folder)
        .map_err(|error| Failure::file("looking for", &args.folder, error))?;
    let names = Paths::of(&folder).elements();
    if names.is_empty() {
        return Err(Failure::input(
            "DIR",
            args.folder.display(),
            "there is no manifest fb_pe_NAME.toml in it",
            "name the folder of an element; `forebay new pe NAME` makes one",
        ));
    }
    let mut page = Page::of_hardware(&format!("Processing elements in {}", args.folder.display()));
    for name in names.keys() {
        let element = Element::load(&folder, name)?;
        lint::element(&root, &element)?;
        let settings = match element.settings.len() {
            1 => "1 setting".to_owned(),
            many => format!("{many} settings"),
        };
        page.line(format!(
            "  {name}: manifest with {settings}, lint without a warning"
        ));
    }
    page.print();
    bench(&root, &folder)
}

/// Runs the test benches; what they say goes to the user as it is.
fn bench(root: &Path, folder: &Path) -> Result<Exit> {
    let benches = folder.join("tb");
    if !benches.is_dir() {
        return Err(Failure::input(
            "DIR",
            folder.display(),
            "there is no test bench in it, in a folder tb",
            "write one; `forebay new pe NAME` makes an element with one",
        ));
    }
    let python = python(root);
    let status = Command::new(&python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c"])
        .arg(root.join("pyproject.toml"))
        .arg("--rootdir")
        .arg(root)
        .arg(&benches)
        .env("PYTHONPATH", python_path(root))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .status()
        .map_err(|error| {
            Failure::new(
                Exit::Impossible,
                format!("{} cannot be started: {error}", python.display()),
                "`make setup` makes the Python environment .venv with cocotb",
            )
        })?;
    match status.code() {
        Some(0) => Ok(Exit::Good),
        Some(1) => Ok(Exit::BadResult),
        Some(2 | 130) | None => Ok(Exit::Interrupted),
        Some(_) => Err(Failure::new(
            Exit::Impossible,
            format!("no test bench ran in {}", benches.display()),
            "look at what Python says above; `make setup` makes the Python environment",
        )),
    }
}
