// SPDX-License-Identifier: Apache-2.0
//! `forebay ssd`: from a drive of this machine to a profile that behaves like it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use forebay_app::report::store_whole;
use forebay_draw::text::Page;
use forebay_lab::measure::{Row, grid, worst};
use forebay_lab::qualify::{self, Target};
use serde::Serialize;

use crate::args::{QualifyArgs, SsdCommand};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

/// A model that is further off, in percent, is said so.
const NEAR_PERCENT: f64 = 25.0;
/// The longest report that is read from a file.
const LONGEST_REPORT: u64 = 64 << 20;

#[derive(Serialize)]
struct Fitted<'a> {
    /// The profile's file.
    profile: &'a Path,
    fio: &'a str,
    wrote: bool,
    curve_percent: f64,
    worst_percent: f64,
    rows: &'a [Row],
}

/// Runs a command on drives.
pub fn run(command: &SsdCommand) -> Result<Exit> {
    match command {
        SsdCommand::Qualify(args) => qualify_drive(args),
    }
}

/// Measures a drive, writes its profile, and shows how well the model follows.
fn qualify_drive(args: &QualifyArgs) -> Result<Exit> {
    let out = args.save.clone();
    let out = out.unwrap_or_else(|| PathBuf::from(format!("{}.toml", args.name)));
    if out.exists() {
        return Err(Failure::input(
            "--save",
            out.display(),
            "it exists, and nothing is overwritten",
            "give another --save or --name, or remove it",
        ));
    }
    let (text, target) = match (&args.from, &args.target) {
        (None, Some(path)) => {
            let spec = args.spec();
            let target = Target::of(&spec, path)?;
            if args.write {
                crate::store::consent(std::slice::from_ref(path), &args.consent)?;
            }
            (qualify::run_fio(&spec, &target)?, Some(target))
        }
        (Some(path), _) => (stored(path)?, None),
        (None, None) => {
            return Err(Failure::input(
                "DEVICE|FILE",
                "missing",
                "needed",
                "name it",
            ));
        }
    };
    if let Some(path) = &args.keep {
        create(path, &text)?;
    }
    let found = qualify::fit_profile(&args.name, &text, target.as_ref(), args.capacity, args.seed)?;
    create(&out, &found.toml)?;
    let worst = worst(&found.rows);
    let fitted = Fitted {
        profile: &out,
        fio: &found.fio,
        wrote: found.wrote,
        curve_percent: (found.curve_percent * 100.0).round() / 100.0,
        worst_percent: worst,
        rows: &found.rows,
    };
    report::show(&Report::new("forebay.qualify/1", fitted), || {
        let model = target.as_ref().map_or("a drive", |target| &target.model);
        let mut page = Page::of_hardware(&format!("{model}, measured and as a model"));
        page.grid(grid(&found.rows));
        if !found.wrote {
            page.line(
                "\n  Writes were not measured: --write does so, and overwrites what is there.",
            );
        }
        let near = worst <= NEAR_PERCENT;
        if !near {
            page.line("\n  Where the model is faster, more than the drive was the limit: processor, kernel or")
                .line("  another load on this machine. Where it is slower, the model has no word for the drive.");
        }
        let words = format!(
            "{} written; the model is off by at most {worst:.1} %",
            out.display()
        );
        page.verdict(near, words);
        page
    })?;
    Ok(Exit::Good)
}

/// A stored report, of a size that makes sense.
fn stored(path: &Path) -> Result<String> {
    let fails = |source| Failure::file("reading", path, source);
    let bytes = fs::metadata(path).map_err(fails)?.len();
    if bytes > LONGEST_REPORT {
        let limit = "64 MiB are the most of a report";
        let value = format!("{} with {bytes} bytes", path.display());
        return Err(Failure::input("--from", value, limit, "give fio's JSON"));
    }
    fs::read_to_string(path).map_err(fails)
}

/// Nothing is overwritten, and who waits for the file finds it whole.
fn create(path: &Path, text: &str) -> Result<()> {
    let file = File::options().write(true).create_new(true).open(path);
    file.map_err(|source| Failure::file("creating", path, source))?;
    store_whole(path, text)
}
