// SPDX-License-Identifier: Apache-2.0
//! `forebay store format`: an empty recording.

use forebay_app::store::drive;
use forebay_draw::text::Page;
use forebay_pipeline::units::count;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::Mode;
use forebay_store::{Disk, Facts, FileDisk, Form, Format, IndexSize};

use super::info::show_geometry;
use crate::args::{StoreFormatArgs, StoreMode};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

fn settings(args: &StoreFormatArgs) -> Format {
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
        block_bytes: block.unwrap_or_else(|| forebay_store::block_bytes(&args.disk)),
        ring: args.ring,
        ahead: None,
        small: args.mode == StoreMode::Small,
        index: match args.index {
            Some(percent) => IndexSize::Share(percent / 100.0),
            None => IndexSize::SmallestObject(args.smallest_object),
        },
        drive: drive(&args.disk),
        schema: Schema::default(),
        key: None,
    }
}

/// Runs it.
pub fn run(args: &StoreFormatArgs) -> Result<Exit> {
    super::consent(&args.disk, &args.consent)?;
    let settings = settings(args);
    let fresh = args.size.filter(|_| !args.disk.exists());
    if let (Some(size), None) = (args.size, fresh) {
        return Err(Failure::input(
            "--size",
            size,
            &format!("{} is there already", args.disk.display()),
            "leave --size out to format what is there, or name another file",
        ));
    }
    let disk = match fresh {
        Some(size) => FileDisk::create(&args.disk, size)?,
        None => FileDisk::open_to_write(&args.disk)?,
    };
    let made = make(args, &settings, &disk);
    if made.is_err() && fresh.is_some() {
        // What could not become a recording is not left behind.
        let _ = std::fs::remove_file(&args.disk);
    }
    made
}

fn make(args: &StoreFormatArgs, settings: &Format, disk: &dyn Disk) -> Result<Exit> {
    if !args.force && !forebay_store::is_blank(disk)? {
        return Err(Failure::input(
            "what lies there",
            "not blank",
            "formatting would overwrite it",
            "look at it with `forebay store info`; --force overwrites it",
        ));
    }
    let superblock = forebay_store::format(disk, settings)?;
    let report = Report::new("forebay.store-format/1", Facts::of(&superblock));
    report::show(&report, || {
        let mut page = Page::of_hardware("Forebay store: a new recording");
        show_geometry(&mut page, &report.found);
        let in_block = Form::of(superblock).layout().rows as u64;
        let rows = count(superblock.index_slots() * in_block);
        page.verdict(true, format!("there is room for up to {rows} extents"));
        page
    })?;
    Ok(Exit::Good)
}
