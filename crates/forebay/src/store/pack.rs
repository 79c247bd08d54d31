// SPDX-License-Identifier: Apache-2.0
//! `forebay store pack`: files of a folder as objects, written by software.

use forebay_store::{FileDisk, Files, Packed, Packing};

use super::Report;
use crate::args::StorePackArgs;
use crate::failure::{Exit, Result};
use crate::interrupt;
use crate::progress::Progress;
use crate::render::{self, Page};
use crate::report;

/// Runs it.
pub fn run(args: &StorePackArgs) -> Result<Exit> {
    super::consent(&args.disk, &args.consent)?;
    let packing = Packing {
        stream: args.stream,
        extent_bytes: args.extent,
        small: args.small,
        leave_open: args.leave_open,
    };
    let files = Files::of(&args.folder)?;
    let disk = match args.disk.exists() {
        true => FileDisk::open_to_write(&args.disk)?,
        false => files.image(&args.disk, &packing)?,
    };
    let progress = Progress::bytes("packing", files.bytes());
    let packed = files.pack(&disk, &packing, &mut |bytes| {
        progress.at(bytes);
        !interrupt::wanted()
    })?;
    drop(progress);
    let report = Report::new("forebay.store-pack/1", packed);
    if !report::emit(&report)? {
        show(&report.found);
    }
    Ok(match (interrupt::wanted(), report.found.skipped_bytes) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Good,
        (false, _) => Exit::BadResult,
    })
}

fn show(packed: &Packed) {
    let mut page = Page::of_hardware("Forebay store: packed");
    page.field("session", &packed.session);
    let text = format!(
        "{} objects in {} extents, {}",
        render::count(packed.objects),
        render::count(packed.rows),
        render::bytes(packed.bytes)
    );
    page.field("stored", text);
    if packed.unnamed > 0 {
        let count = render::count(packed.unnamed);
        page.field("names", format_args!("of {count} files are not kept"));
    }
    match packed.skipped_bytes {
        0 => page.verdict(true, "all of them are there"),
        bytes => page.verdict(
            false,
            format!("there was no room for {}", render::bytes(bytes)),
        ),
    };
    page.print();
}
