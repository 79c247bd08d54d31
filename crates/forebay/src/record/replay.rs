// SPDX-License-Identifier: Apache-2.0
//! `forebay replay`: objects that the drives have onto the network.

use forebay_app::record::{
    self, LINE_RATE, LinkPartner, PartnerSpec, Replayed, SourceSpec, Written,
};
use serde::Serialize;

use super::command::pipeline;
use crate::args::{BusKind, ReplayArgs};
use crate::failure::{Exit, Failure, Result};
use crate::render::{self, Page};
use crate::report::{self, Header};
use crate::session::{Ended, Session};

/// Kind and version of the report.
const SCHEMA: &str = "forebay.replay/1";

/// What is reported.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    #[serde(flatten)]
    replayed: Replayed,
}

/// Runs it.
pub fn run(args: &ReplayArgs) -> Result<Exit> {
    let pipeline = pipeline(Some(&args.pipeline), &args.path, BusKind::Sim)?;
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
    let mut config = record::machine(&args.machine.spec(), &pipeline, folder.path())?;
    let written = args.pcap_out.as_deref();
    let written = written.map(Written::create).transpose()?;
    let silence = PartnerSpec::new(SourceSpec::Silence, args.machine.seed);
    let (_, network) = LinkPartner::connect(&silence, &pipeline, written.as_ref())?;
    config.network = Some(network);
    let mut session = Session::of(config, SCHEMA)?;
    let rate = args.rate.unwrap_or(LINE_RATE);
    let replayed = record::replay(&mut session, &pipeline, args.objects, rate)?;
    if let Some(written) = &written {
        written.finish()?;
    }
    let report = Report {
        header: session.header(&Ended::Done),
        replayed,
    };
    session.shut_down()?;
    let good = report.replayed.is_good();
    if !report::emit(&report)? {
        show(&report, args);
    }
    Ok(Ended::Done.exit(good))
}

fn show(report: &Report, args: &ReplayArgs) {
    let replayed = &report.replayed;
    let sent = &replayed.sent;
    let mut page = Page::new("Forebay replay: from flash to the network");
    page.field("recording", replayed.session.clone());
    page.field(
        "asked for",
        format!(
            "objects {} to {} of stream {}",
            replayed.objects[0], replayed.objects[1], replayed.stream
        ),
    );
    page.field(
        "found",
        format!(
            "{} objects in {} blocks of the index",
            render::count(sent.found),
            render::count(sent.blocks)
        ),
    );
    for (name, count, what) in [
        ("passed over", sent.passed, "rows that are no whole object"),
        ("damaged", sent.damaged, "blocks of the index"),
        ("unreadable", sent.unreadable, "objects, which ended early"),
    ] {
        if count > 0 {
            page.field(name, format!("{} {what}", render::count(count)));
        }
    }
    page.field(
        "sent",
        format!(
            "{} frames, {}",
            render::count(sent.frames),
            render::bytes(sent.frame_bytes)
        ),
    );
    page.field(
        "rate",
        format!(
            "{:.2} GB/s of payload over {}",
            sent.gigabytes_per_second,
            render::seconds(sent.nanoseconds as f64 * 1e-9)
        ),
    );
    if let Some(path) = &args.pcap_out {
        page.field("capture", format!("written to {}", path.display()));
    }
    let good = replayed.is_good();
    let verdict = ["not all were sent", "all were sent"][usize::from(good)];
    page.verdict(good, verdict);
    for wrong in &replayed.wrong {
        page.line(format!("  {wrong}"));
    }
    page.print();
}
