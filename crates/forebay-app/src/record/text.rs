// SPDX-License-Identifier: Apache-2.0
//! A recording and a replay as pages of text.

use forebay_draw::text::{Grid, Page, seconds};
use forebay_net::send::Left;
use forebay_pipeline::units::{bytes, count};
use forebay_pipeline::{Kind, Way};
use forebay_spec::net::{Arrival, Place};

use super::run::{ReplayReport, Report};
use super::{Named, Results, Shares, Summary};

/// Gaps listed one by one in the text; JSON has more.
const LISTED: usize = 8;

impl Report {
    /// As text.
    pub fn page(&self) -> Page {
        let summary = &self.summary;
        let title = "Forebay record: from the network to flash";
        let mut page = match self.header.simulated {
            true => Page::simulated(title),
            false => Page::of_hardware(title),
        };
        page.field("drives", drives(self));
        page.field("streamer", self.header.streamer());
        page.field(
            "elements",
            elements(self, false, "none: objects are stored as they come"),
        );
        if self.outputs.back.is_some() {
            page.field("way back", elements(self, true, "no elements"));
        }
        page.line("");
        page.grid(outcomes(self));
        page.heading("On the drives");
        let stored = summary.stored;
        page.field(
            "stored",
            format!(
                "{} in {} extents, {} of them whole objects",
                bytes(stored.bytes),
                count(stored.count),
                count(summary.whole_objects),
            ),
        );
        page.field(
            "rate",
            format!(
                "{:.2} GB/s of payload over {}",
                summary.gigabytes_per_second,
                seconds(summary.nanoseconds as f64 * 1e-9)
            ),
        );
        for (name, extents) in [("not stored", summary.skipped), ("failed", summary.failed)] {
            if extents.count > 0 {
                let text = format!("{} extents, {}", extents.count, bytes(extents.bytes));
                page.field(name, text);
            }
        }
        if let Some(results) = &summary.results {
            page.field("results", self::results(results));
        }
        for element in &summary.elements {
            let status = element.status.iter();
            let parts: Vec<_> = status
                .map(|(name, value)| format!("{name}: {value}"))
                .collect();
            page.field(
                &format!("pe {}, {}", element.pe, element.name),
                parts.join(", "),
            );
        }
        if let Some(shares) = summary.wire {
            page.field("wire", wire(shares));
        }
        page.field("pause", pause(self));
        if let Some(switch) = summary.switch {
            let text = format!(
                "held up to {}, asked the peer {} times for silence; {} frames refused, {} without room",
                bytes(switch.most_bytes),
                count(switch.xoff),
                count(switch.refused),
                count(switch.overflow)
            );
            page.field("switch", text);
        }
        if summary.link_cut + summary.link_lost > 0 {
            let text = format!(
                "{} frames were cut where it went down, {} lost while the MAC's clock stood still",
                count(summary.link_cut),
                count(summary.link_lost)
            );
            page.field("link", text);
        }
        if let Some(drive) = summary.missing {
            let text = "failed: what came since is on the others; `forebay store repair --replace` fills a new one";
            page.field(&format!("drive {drive}"), text);
        }
        if summary.still_arriving {
            page.field(
                "the end",
                "frames still came: each is counted, and none of them stored",
            );
        }
        streams(&mut page, self);
        gaps(&mut page, self);
        extras(&mut page, self);
        let (good, sentence) = verdict(self);
        page.verdict(good, sentence);
        for wrong in &summary.wrong {
            page.line(format!("  {wrong}"));
        }
        page
    }
}

fn drives(report: &Report) -> String {
    if !report.header.simulated {
        return report.header.profile.description.clone();
    }
    let names: Vec<&str> = report
        .pipeline
        .ssds
        .iter()
        .map(|ssd| &*ssd.profile)
        .collect();
    let buffer = &report.pipeline.buffer;
    let memory = buffer.memory.name();
    format!(
        "{}, buffer {memory} {}",
        names.join(" + "),
        bytes(buffer.size)
    )
}

/// The elements of a direction, or `none`.
fn elements(report: &Report, back: bool, none: &str) -> String {
    let stages = report.pipeline.pes.iter();
    let names = stages.filter(|stage| (stage.way == Way::Back) == back);
    let names = names.map(|stage| {
        let name = &stage.element.name;
        match stage.way {
            Way::Through | Way::Back => name.clone(),
            Way::Tap { skips: false } => format!("a copy to {name}"),
            Way::Tap { skips: true } => format!("a copy, if there is room, to {name}"),
            Way::Follow => format!("in the branch to {name}"),
        }
    });
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => none.to_owned(),
        false => names.join(" → "),
    }
}

/// What became of the frames: the line of all, and below it what it is the sum of.
fn outcomes(report: &Report) -> Grid {
    let summary = &report.summary;
    let mut grid = Grid::new("frames | >number | >bytes");
    let offered = summary.offered;
    grid.row([
        "offered".to_owned(),
        count(offered.count),
        count(offered.bytes),
    ]);
    let mut add = |named: &Named, indent: &str| {
        if named.frames.frames > 0 {
            grid.row([
                format!("{indent}{}", named.name),
                count(named.frames.frames),
                count(named.frames.bytes),
            ]);
        }
    };
    for (number, arrival) in summary.arrivals.iter().enumerate() {
        add(arrival, "  ");
        if number == Arrival::Datagram as usize {
            summary.places.iter().for_each(|place| add(place, "    "));
        }
    }
    grid
}

fn results(results: &Results) -> String {
    let classes = results.classes.iter();
    let classes = classes.map(|(class, number)| format!("class {class}: {}", count(*number)));
    let mut parts: Vec<String> = classes.collect();
    if parts.is_empty() {
        parts.push(format!("judged: {}", count(results.judged)));
    }
    for (name, number) in [
        ("late", results.late),
        ("not judged", results.unjudged),
        ("not seen by the branch", results.unseen),
        ("for no waiting record", results.stray),
    ] {
        if number > 0 {
            parts.push(format!("{name}: {}", count(number)));
        }
    }
    parts.join(", ")
}

fn wire(shares: Shares) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    format!(
        "{} busy, {} silent by our pause, {} without work",
        percent(shares.busy),
        percent(shares.paused),
        percent(shares.idle)
    )
}

fn pause(report: &Report) -> String {
    let summary = &report.summary;
    let pause = summary.pause;
    let ended = match pause.ended {
        0 => String::new(),
        times => format!(", limit reached: {}", count(times)),
    };
    format!(
        "{} frames asked for silence, {} took it back{ended}; at most {} held",
        count(pause.xoff),
        count(pause.xon),
        bytes(summary.memory_most_bytes)
    )
}

/// Each stream by itself, where there are several.
fn streams(page: &mut Page, report: &Report) {
    let streams = &report.summary.streams;
    if streams.len() < 2 {
        return;
    }
    page.line("");
    let mut grid = Grid::new(">stream | >extents | >whole objects | >bytes | >frames missing");
    for each in streams {
        let row = [
            each.stream.into(),
            each.extents,
            each.whole_objects,
            each.stored_bytes,
            each.missing_frames,
        ];
        grid.row(row.map(count));
    }
    page.grid(grid);
}

fn gaps(page: &mut Page, report: &Report) {
    let summary = &report.summary;
    if summary.gap_count == 0 {
        return;
    }
    page.heading(&format!(
        "Gaps: {}, of {} frames",
        count(summary.gap_count),
        count(summary.missing_frames)
    ));
    let mut grid =
        Grid::new(">after ns | >frames missing | >in stream | >before object | >at offset");
    for gap in summary.gaps.iter().take(LISTED) {
        let stream = gap.stream.into();
        grid.row([gap.nanoseconds, gap.frames, stream, gap.object, gap.offset].map(count));
    }
    page.grid(grid);
}

fn extras(page: &mut Page, report: &Report) {
    if let Some(files) = &report.files {
        let text = format!(
            "{} found, {}; {} begun as objects",
            count(files.found),
            bytes(files.bytes),
            count(files.begun)
        );
        page.field("files", text);
        for line in files.left_out.iter().flat_map(Left::lines) {
            page.field("", line);
        }
    }
    if let Some(seen) = &report.capture {
        for complaint in seen.complaints() {
            page.field("capture", complaint);
        }
    }
    if let Some(dropped) = report.dropped_by_linux.filter(|dropped| *dropped > 0) {
        page.field(
            "Linux",
            format!("dropped {dropped} frames before they reached the interface"),
        );
    }
    let [fetched, failed] = report.summary.fetched;
    if report.outputs.back.is_some() {
        let sent = report
            .summary
            .sent
            .iter()
            .map(|named| format!("{} {} frames", count(named.frames.frames), named.name));
        let sent: Vec<String> = sent.collect();
        page.field(
            "sent back",
            format!(
                "{fetched} objects, {failed} unreadable; {}",
                sent.join(", ")
            ),
        );
    }
    if let Some(folder) = &report.outputs.extract {
        page.field(
            "extracted",
            format!("{} files in {}", report.extracted, folder.display()),
        );
    }
    if let Some(path) = &report.outputs.pcap_out {
        page.field("capture", format!("written to {}", path.display()));
    }
}

/// What reached the recorder and is not on the drives.
fn not_stored(report: &Report) -> Option<String> {
    let Summary {
        skipped, failed, ..
    } = report.summary;
    let skipped_for = match &report.pipeline.sink.layout {
        Kind::Samples { stride } => format!(
            "is beyond the stride of {} or found no room on the drives",
            bytes(*stride)
        ),
        _ => "found no room on the drives".to_owned(),
    };
    let parts = [
        (skipped, skipped_for),
        (failed, "could not be written".to_owned()),
    ];
    let parts = parts.iter().filter(|(lost, _)| lost.count > 0);
    let parts: Vec<_> = parts
        .map(|(lost, why)| format!("{} {why}", bytes(lost.bytes)))
        .collect();
    (!parts.is_empty()).then(|| format!("not all is stored: {}", parts.join("; ")))
}

fn verdict(report: &Report) -> (bool, String) {
    let summary = &report.summary;
    if let Some(failure) = &report.source_failure {
        return (false, failure.clone());
    }
    if !summary.wrong.is_empty() {
        return (false, "not all is right:".into());
    }
    let lost = summary.lost();
    if lost.count > 0 {
        let text = format!(
            "{} frames found no room, each counted: offered = stored + counted",
            count(lost.count)
        );
        return (false, text);
    }
    if let Some(text) = not_stored(report) {
        return (false, text);
    }
    if summary.rows_lost > 0 {
        let text = format!(
            "{} index records were lost: the index had no room (`smallest` of [sink] makes it larger), \
             or the drive refused them; `forebay store ls` lists what could be recovered",
            count(summary.rows_lost)
        );
        return (false, text);
    }
    if !report.closed {
        let text = "what came is stored, but the recording stays open";
        return (false, text.into());
    }
    if report.files.as_ref().is_some_and(|files| !files.is_good()) {
        return (
            false,
            "what came is stored, but not all files could be read".into(),
        );
    }
    let delivered = summary.placed(Place::Delivered);
    if delivered.count == 0 && report.pipeline.sink.layout == Kind::Packets {
        return (false, "no frame came".into());
    }
    if delivered.count == 0 {
        let address = &report.pipeline.source;
        let text = format!(
            "nothing was for us: {} at {}, UDP port {}, {}",
            address.mac,
            address.address,
            address.port,
            address.which()
        );
        return (false, text);
    }
    if report.header.interrupted {
        return (true, "ended by Ctrl-C: what had come is stored".into());
    }
    if summary.missing_frames > 0 {
        let text = format!(
            "nothing was lost here; {} frames never came to the port",
            count(summary.missing_frames)
        );
        return (true, text);
    }
    (true, "nothing was lost".into())
}

impl ReplayReport {
    /// As text.
    pub fn page(&self) -> Page {
        let replayed = &self.replayed;
        let sent = &replayed.sent;
        let mut page = Page::simulated("Forebay replay: from flash to the network");
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
                count(sent.found),
                count(sent.blocks)
            ),
        );
        for (name, number, what) in [
            ("passed over", sent.passed, "rows that are no whole object"),
            ("damaged", sent.damaged, "blocks of the index"),
            ("unreadable", sent.unreadable, "objects, which ended early"),
        ] {
            if number > 0 {
                page.field(name, format!("{} {what}", count(number)));
            }
        }
        page.field(
            "sent",
            format!("{} frames, {}", count(sent.frames), bytes(sent.frame_bytes)),
        );
        page.field(
            "rate",
            format!(
                "{:.2} GB/s of payload over {}",
                sent.gigabytes_per_second,
                seconds(sent.nanoseconds as f64 * 1e-9)
            ),
        );
        if let Some(path) = &self.pcap_out {
            page.field("capture", format!("written to {}", path.display()));
        }
        let good = replayed.is_good();
        let verdict = ["not all were sent", "all were sent"][usize::from(good)];
        page.verdict(good, verdict);
        for wrong in &replayed.wrong {
            page.line(format!("  {wrong}"));
        }
        page
    }
}
