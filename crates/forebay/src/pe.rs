// SPDX-License-Identifier: Apache-2.0
//! `forebay pe` and `forebay new pe`: which processing elements there are, a new one, and whether one
//! is what it says it is.

use std::path::Path;
use std::process::Command;

use forebay_app::{home, new};
use forebay_draw::text::{Grid, Page};
use forebay_pipeline::{Element, Paths, lint};
use serde::Serialize;

use crate::args::{NewPeArgs, PeCommand, PeListArgs, PeTestArgs};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

#[derive(Serialize)]
struct Elements {
    elements: Vec<Element>,
}

/// Runs one.
pub fn run(command: &PeCommand) -> Result<Exit> {
    match command {
        PeCommand::List(args) => list(args),
        PeCommand::Test(args) => test(args),
    }
}

fn list(args: &PeListArgs) -> Result<Exit> {
    let paths = Paths::new(&home::find()?, &args.path.pe_path);
    let elements = paths
        .elements()
        .iter()
        .map(|(name, folder)| Element::load(folder, name))
        .collect::<forebay_pipeline::Result<Vec<_>>>()?;
    let report = Report::new("forebay.elements/2", Elements { elements });
    report::show(&report, || listed(&report.found.elements))?;
    Ok(Exit::Good)
}

fn listed(elements: &[Element]) -> Page {
    let mut page = Page::of_hardware("Processing elements");
    let mut grid = Grid::new("element | setting | bits, place | >default | range | is").wrap(5, 60);
    for element in elements {
        grid.row([&element.name, "", "", "", "", &element.description]);
        for column in &element.result {
            let (name, kind) = (&column.name, &column.r#type);
            grid.row(["", name, kind, "", "result", &column.description]);
        }
        for (name, setting) in &element.settings {
            grid.row([
                String::new(),
                name.clone(),
                format!("{}:{}", setting.high, setting.low),
                setting.show(setting.default),
                match setting.flag {
                    true => "true, false".to_owned(),
                    false => format!("{} … {}", setting.least, setting.most),
                } + if setting.per_stream {
                    ", per stream"
                } else {
                    ""
                },
                setting.description.clone(),
            ]);
        }
        for (name, parameter) in &element.parameters {
            let values: Vec<_> = parameter.values.iter().map(i64::to_string).collect();
            grid.row([
                String::new(),
                name.clone(),
                parameter.parameter.clone(),
                parameter.default.to_string(),
                values.join(", "),
                parameter.description.clone(),
            ]);
        }
        for (name, register) in &element.registers {
            grid.row([
                String::new(),
                name.clone(),
                format!("{:#x}", register.offset),
                register.default.map_or(String::new(), |of| of.to_string()),
                match register.secret {
                    true => format!("{}, secret", register.size()),
                    false => register.size(),
                },
                register.description.clone(),
            ]);
        }
    }
    page.grid(grid);
    page
}

/// Makes a new one.
pub fn new(args: &NewPeArgs) -> Result<Exit> {
    let kind = match (args.result, args.registers) {
        (true, _) => new::Kind::Result,
        (_, true) => new::Kind::Registers,
        _ => new::Kind::Plain,
    };
    let shape = new::Shape {
        bits: args.width,
        own_clock: args.own_clock,
    };
    let (folder, files) = new::element(&args.name, &args.into, kind, shape)?;
    let mut page = Page::of_hardware(&format!("Processing element {}", args.name));
    for file in files {
        page.line(format_args!("  {}", file.display()));
    }
    let shown = folder.display();
    page.line(format_args!("\n  forebay pe test {shown}"))
        .line(format_args!(
            "  forebay pipeline check {shown}/pipeline.toml"
        ));
    report::print_page(&page);
    Ok(Exit::Good)
}

/// Checks the manifests of a folder, lints their RTL, runs the test benches in `tb`.
fn test(args: &PeTestArgs) -> Result<Exit> {
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
    report::print_page(&page);
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
    let python = home::python(root);
    let status = Command::new(&python)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c"])
        .arg(root.join("pyproject.toml"))
        .arg("--rootdir")
        .arg(root)
        .arg(&benches)
        .env("PYTHONPATH", home::python_path(root))
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
