// SPDX-License-Identifier: Apache-2.0
//! `forebay store format`: an empty recording.

use std::path::{Path, PathBuf};

use forebay_app::store::drive;
use forebay_draw::text::Page;
use forebay_pipeline::units::count;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::Mode;
use forebay_spec::stripes::Stripes;
use forebay_store::{Array, ArrayFacts, Disk, Facts, FileDisk, Form, Format, IndexSize};
use serde::Serialize;

use super::disks;
use super::info::{show_array, show_geometry};
use crate::args::{StoreFormatArgs, StoreMode};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

#[derive(Serialize)]
struct Found {
    #[serde(flatten)]
    facts: Facts,
    array: Option<ArrayFacts>,
}

fn settings(args: &StoreFormatArgs, first: &Path) -> Format {
    let block = args.block.as_ref().and_then(|block| block.parse().ok());
    Format {
        mode: match args.mode {
            StoreMode::Objects | StoreMode::Small => Mode::Objects,
            StoreMode::Samples => Mode::Samples,
            StoreMode::Packets => Mode::Packets,
        },
        stride: match args.mode {
            StoreMode::Objects | StoreMode::Small | StoreMode::Packets => 0,
            StoreMode::Samples => args.stride.unwrap_or(0),
        },
        extension: args.extension.clone(),
        block_bytes: block.unwrap_or_else(|| forebay_store::block_bytes(first)),
        ring: args.ring,
        ahead: None,
        small: args.mode == StoreMode::Small,
        alignment: args.alignment as u32,
        index: match args.index {
            Some(percent) => IndexSize::Share(percent / 100.0),
            None => IndexSize::SmallestObject(args.smallest_object),
        },
        drive: drive(first),
        schema: Schema::default(),
        key: None,
    }
}

/// Runs it.
pub fn run(args: &StoreFormatArgs) -> Result<Exit> {
    let paths = disks::named(&args.disks);
    disks::consent(&paths, &args.consent)?;
    disks::distinct(&paths)?;
    let there: Vec<_> = paths.iter().filter(|disk| disk.exists()).collect();
    if let (Some(size), [first, ..]) = (args.size, &there[..]) {
        return Err(Failure::input(
            "--size",
            size,
            &format!("{} is there already", first.display()),
            "leave --size out to format what is there, or name another file",
        ));
    }
    if args.parity && paths.len() < 2 {
        return Err(Failure::input(
            "--parity",
            "given",
            "one drive holds the parity of others: there must be 2 or more",
            "name more images or drives, or leave it out",
        ));
    }
    let made = make(args, &paths);
    if made.is_err() && args.size.is_some() {
        // What could not become a recording is not left behind.
        for disk in &paths {
            let _ = std::fs::remove_file(disk);
        }
    }
    made
}

fn make(args: &StoreFormatArgs, paths: &[PathBuf]) -> Result<Exit> {
    let mut parts = match args.size {
        Some(size) => {
            let made = |path: &PathBuf| disks::part(path, |path| FileDisk::create(path, size));
            paths.iter().map(made).collect::<Result<Vec<_>>>()?
        }
        None => disks::to_write(paths)?,
    };
    for part in &parts {
        if !args.force && !forebay_store::is_blank(&*part.disk)? {
            return Err(Failure::input(
                &format!("the content of {}", part.name),
                "not blank",
                "formatting would overwrite it",
                "look at it with `forebay store info`; --force overwrites it",
            ));
        }
    }
    let settings = settings(args, &paths[0]);
    let disk: Box<dyn Disk> = match parts.len() {
        1 => parts.remove(0).disk,
        drives => {
            let stripes = Stripes {
                drives: drives as u64,
                stripe_unit: args.stripe_unit,
                parity: args.parity,
            };
            // Nothing is written before it is known to fit.
            forebay_store::fits(Array::bytes_of(&parts, stripes)?, &settings)?;
            Box::new(Array::create(parts, stripes, settings.block_bytes)?)
        }
    };
    let superblock = forebay_store::format(&*disk, &settings)?;
    let found = Found {
        facts: Facts::of(&superblock),
        array: disk.array().map(Array::facts),
    };
    let report = Report::new("forebay.store-format/1", found);
    report::show(&report, || {
        let mut page = Page::of_hardware("Forebay store: a new recording");
        show_geometry(&mut page, &report.found.facts);
        if let Some(array) = &report.found.array {
            show_array(&mut page, array);
        }
        let in_block = Form::of(superblock).layout().rows as u64;
        let rows = count(superblock.index_slots() * in_block);
        page.verdict(true, format!("there is room for up to {rows} extents"));
        page
    })?;
    Ok(Exit::Good)
}
