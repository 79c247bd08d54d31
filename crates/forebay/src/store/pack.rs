// SPDX-License-Identifier: Apache-2.0
//! `forebay store pack`: files of a folder as objects, written by software.

use forebay_app::interrupt;
use forebay_app::progress::Progress;
use forebay_draw::text::Page;
use forebay_pipeline::units::{bytes, count};
use forebay_store::{Files, Packed, Packing};

use super::disks;
use crate::args::StorePackArgs;
use crate::failure::{Exit, Result};
use crate::report::{self, Report};

/// Runs it.
pub fn run(args: &StorePackArgs) -> Result<Exit> {
    let paths = disks::named(&args.disks);
    disks::consent(&paths, &args.consent)?;
    let packing = Packing {
        stream: args.stream,
        extent_bytes: args.extent,
        small: args.small,
        leave_open: args.leave_open,
    };
    let files = Files::of(&args.folder)?;
    let disk = match &paths[..] {
        [path] if !path.exists() => Box::new(files.image(path, &packing)?),
        paths => disks::write(paths, false)?,
    };
    let progress = Progress::bytes("packing", files.bytes());
    let packed = files.pack(&*disk, &packing, &mut |bytes| {
        progress.at(bytes);
        !interrupt::wanted()
    })?;
    drop(progress);
    let report = Report::new("forebay.store-pack/1", packed);
    report::show(&report, || page(&report.found))?;
    Ok(match (interrupt::wanted(), report.found.skipped_bytes) {
        (true, _) => Exit::Interrupted,
        (false, 0) => Exit::Good,
        (false, _) => Exit::BadResult,
    })
}

fn page(packed: &Packed) -> Page {
    let mut page = Page::of_hardware("Forebay store: packed");
    page.field("session", &packed.session);
    let text = format!(
        "{} objects in {} extents, {}",
        count(packed.objects),
        count(packed.rows),
        bytes(packed.bytes)
    );
    page.field("stored", text);
    if packed.unnamed > 0 {
        let count = count(packed.unnamed);
        page.field("names", format_args!("of {count} files are not kept"));
    }
    match packed.skipped_bytes {
        0 => page.verdict(true, "all of them are there"),
        skipped => page.verdict(false, format!("there was no room for {}", bytes(skipped))),
    };
    page
}
