// SPDX-License-Identifier: Apache-2.0
//! The RTL of a pipeline: its elements behind each other, as the module `fb_pe_chain`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf, absolute};
use std::{fs, io};

use forebay_spec::codegen::render_rom;
use forebay_spec::store::schema::Schema;

use super::adapters::Adapters;
use super::element::WIDTH;
use super::stage::Way;
use super::{Pipeline, STAGES, Stage};

/// The chain of no elements, in whose place another one is built.
const NONE: &str = include_str!("../../../rtl/pe/fb_pe_chain.sv");
/// Where it lies in a checkout.
const PLACE: &str = "rtl/pe/fb_pe_chain.sv";
/// What a chain needs besides its elements.
const NEEDED: [&str; 20] = [
    "rtl/common/fb_spec_pkg.sv",
    "rtl/common/fb_common_fifo.sv",
    "rtl/common/fb_common_fifo_bram.sv",
    "rtl/common/fb_common_lutram.sv",
    "rtl/common/fb_common_gray_sync.sv",
    "rtl/common/fb_common_async.sv",
    "rtl/common/fb_common_value_cdc.sv",
    "rtl/axis/fb_axis_check.sv",
    "rtl/axis/fb_axis_arbiter.sv",
    "rtl/axis/fb_axis_narrow.sv",
    "rtl/axis/fb_axis_widen.sv",
    "rtl/axi/fb_axil_if.sv",
    "rtl/pe/fb_pe_pkg.sv",
    "rtl/pe/fb_pe_check.sv",
    "rtl/pe/fb_pe_check_result.sv",
    "rtl/pe/fb_pe_cdc.sv",
    "rtl/pe/fb_pe_registers_cdc.sv",
    "rtl/pe/fb_pe_tap.sv",
    "rtl/pe/fb_pe_windows.sv",
    "rtl/pe/fb_pe_settings.sv",
];
/// Signals of a stream, and their widths.
pub(super) const SIGNALS: [(&str, &str); 7] = [
    ("tvalid", ""),
    ("tready", ""),
    ("tdata", "[USER_DATA_BITS-1:0] "),
    ("tkeep", "[USER_BEAT_BYTES-1:0] "),
    ("tlast", ""),
    ("tuser", "[1:0] "),
    ("tid", "[PACKET_TAG_BITS-1:0] "),
];
/// Streams of what was received, and of what is read to be sent: into the chain, and out of it.
const RECEIVED: (&str, &str) = ("s_axis_object", "m_axis_object");
const READ: (&str, &str) = ("s_axis_back", "m_axis_back");
/// Signals of the stream of results, and their widths.
pub(super) const RESULT: [(&str, &str); 5] = [
    ("tvalid", ""),
    ("tready", ""),
    ("tdata", "[ResultBits-1:0] "),
    ("tuser", ""),
    ("tid", "[PACKET_TAG_BITS-1:0] "),
];
/// Signals of an element's registers, those that it is asked by first, and what the windows call them.
const REGISTERS: [(&str, &str); 17] = [
    ("awvalid", "awvalid"),
    ("awaddr", "addr"),
    ("wvalid", "wvalid"),
    ("wdata", "wdata"),
    ("wstrb", "wstrb"),
    ("bready", "bready"),
    ("arvalid", "arvalid"),
    ("araddr", "addr"),
    ("rready", "rready"),
    ("awready", "awready"),
    ("wready", "wready"),
    ("bvalid", "bvalid"),
    ("bresp", "bresp"),
    ("arready", "arready"),
    ("rvalid", "rvalid"),
    ("rdata", "rdata"),
    ("rresp", "rresp"),
];
/// How many of them it is asked by.
const ASKED: usize = 9;
/// What the recorder's hardware is made of where a pipeline says nothing of results.
const FORM: &str = "rtl/store/fb_store_rom_pkg.sv";

/// What is to be built in the place of the chain of no elements, and how it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainSource {
    /// The module `fb_pe_chain`.
    pub text: String,
    /// What it needs, in dependency order.
    pub files: Vec<PathBuf>,
    /// The settings of each element, by its place.
    pub cfg: [u64; STAGES],
    /// The package `fb_store_rom_pkg`, where results are other than what is there anyway.
    pub form: Option<String>,
    root: PathBuf,
}

impl Pipeline {
    /// The RTL of its elements.
    pub fn chain(&self) -> ChainSource {
        let needed = NEEDED.iter().map(|file| self.root.join(file));
        let elements = self
            .pes
            .iter()
            .flat_map(|stage| stage.element.files.clone());
        let mut once = BTreeSet::new();
        let mut cfg = [0; STAGES];
        for (word, stage) in cfg.iter_mut().zip(&self.pes) {
            *word = stage.cfg;
        }
        let results = self.results();
        let form = (results != Schema::default()).then(|| {
            let mut form = String::new();
            // The manifest's columns were checked: they find room.
            let _ = render_rom(&mut form, &results);
            form
        });
        ChainSource {
            text: text(&self.pes, 8 * results.bytes()),
            form,
            files: needed
                .chain(elements)
                .filter(|file| once.insert(file.clone()))
                .collect(),
            cfg,
            root: self.root.clone(),
        }
    }
}

impl ChainSource {
    /// Writes it into a folder, and says which files a design has with it: each stands in the place
    /// of the checkout's, and what the chain needs comes before it.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn put(&self, design: &[PathBuf], folder: &Path) -> io::Result<Vec<PathBuf>> {
        let chain = folder.join("fb_pe_chain.sv");
        fs::write(&chain, &self.text)?;
        let form = folder.join("fb_store_rom_pkg.sv");
        if let Some(text) = &self.form {
            fs::write(&form, text)?;
        }
        let mut files: Vec<PathBuf> = Vec::new();
        for file in design {
            if *file == self.root.join(PLACE) {
                files.extend(self.files.iter().cloned());
                files.push(chain.clone());
            } else if *file == self.root.join(FORM) && self.form.is_some() {
                files.push(form.clone());
            } else {
                files.push(file.clone());
            }
        }
        let mut once = BTreeSet::new();
        files.retain(|file| once.insert(file.clone()));
        Ok(files)
    }
}

/// A branch off the chain: a copy for some elements, whose results count. A pipeline has one at most,
/// since a branch makes results and an object has one.
struct Tap {
    /// The place of its first element.
    at: usize,
    /// What it has no room for is not copied.
    skips: bool,
    /// Streams of the original, by the beginning of their signals' names.
    before: String,
    after: String,
}

/// An element and the streams at both of its sides.
struct Placed<'a> {
    index: usize,
    stage: &'a Stage,
    before: String,
    after: String,
    /// The tap whose branch it is in, by the place of its first element.
    tap: Option<usize>,
    /// The stream of its results.
    result: String,
}

/// Where each element stands, and the taps.
fn laid_out(stages: &[Stage]) -> (Vec<Placed<'_>>, Vec<Tap>) {
    let (mut placed, mut taps): (Vec<_>, Vec<Tap>) = (Vec::new(), Vec::new());
    let mut original = RECEIVED.0.to_owned();
    let mut read = READ.0.to_owned();
    for (index, stage) in stages.iter().enumerate() {
        // Behind the last one of a direction it goes on to the port.
        let next = |port: &str, goes_on: fn(Way) -> bool| {
            let mut behind = (index + 1..).zip(&stages[index + 1..]);
            let found = behind.find(|(_, stage)| goes_on(stage.way));
            found.map_or(port.to_owned(), |(next, _)| format!("link_{next}"))
        };
        let passes = |way| matches!(way, Way::Through | Way::Tap { .. });
        let branch = |place: usize| format!("copy_{place}");
        let (before, after) = match stage.way {
            Way::Back => {
                let next = next(READ.1, |way| way == Way::Back);
                (std::mem::replace(&mut read, next.clone()), next)
            }
            Way::Through => {
                let next = next(RECEIVED.1, passes);
                (std::mem::replace(&mut original, next.clone()), next)
            }
            Way::Tap { skips } => {
                let after = next(RECEIVED.1, passes);
                let before = std::mem::replace(&mut original, after.clone());
                taps.push(Tap {
                    at: index,
                    skips,
                    before,
                    after,
                });
                (branch(index), branch(index + 1))
            }
            Way::Follow => {
                let last = placed.iter().rfind(|each: &&Placed<'_>| each.tap.is_some());
                let before = last.map_or(String::new(), |each| each.after.clone());
                (before, branch(index + 1))
            }
        };
        let branches = matches!(stage.way, Way::Tap { .. } | Way::Follow);
        let tap = taps.last().filter(|_| branches);
        placed.push(Placed {
            index,
            stage,
            before,
            after,
            tap: tap.map(|tap| tap.at),
            result: tap.map_or("m_axis_result".to_owned(), |tap| {
                format!("result_{}", tap.at)
            }),
        });
    }
    (placed, taps)
}

/// Wires from one port to another.
fn wires((from, to): (&str, &str)) -> String {
    let wire = |(signal, _): &(&str, &str)| match *signal {
        "tready" => format!("  assign {from}_tready = {to}_tready;\n"),
        _ => format!("  assign {to}_{signal} = {from}_{signal};\n"),
    };
    SIGNALS.iter().map(wire).collect()
}

/// Declares the signals of a stream.
pub(super) fn stream(signals: &[(&str, &str)], name: &str) -> String {
    let lines = signals.iter();
    lines
        .map(|(signal, width)| format!("  logic {width}{name}_{signal};\n"))
        .collect()
}

/// The module, with results of N bits; of no elements the one that is there anyway.
fn text(stages: &[Stage], result_bits: usize) -> String {
    if stages.is_empty() {
        return NONE.to_owned();
    }
    let (placed, taps) = laid_out(stages);
    let mut text = head(stages, result_bits);
    let inner = |name: &&String| ![RECEIVED.0, READ.0].contains(&name.as_str());
    for name in placed.iter().map(|each| &each.before).filter(inner) {
        text += &stream(&SIGNALS, name);
    }
    for name in taps.iter().map(|tap| &tap.before).filter(inner) {
        text += &stream(&SIGNALS, name);
    }
    for each in placed.iter().filter(|each| each.asks()) {
        let _ = writeln!(text, "  extent_t extent_{};", each.index);
    }
    for Placed { index, stage, .. } in &placed {
        if !stage.streams.is_empty() {
            let _ = writeln!(text, "  logic [63:0] settings_{index};");
        }
    }
    if stages.iter().any(has_registers) {
        text += "  axil_request_t [7:0] request;\n  axil_response_t [7:0] response;\n";
    }
    if stages.iter().any(has_streams) {
        text += "  setting_write_t [7:0] setting;\n";
    }
    for each in &placed {
        text += &each.adapters().declarations();
    }
    for tap in &taps {
        let (at, end) = (tap.at, tap.end(&placed));
        text += &stream(&SIGNALS, end);
        text += &stream(&RESULT, &format!("result_{at}"));
        let _ = writeln!(text, "  logic known_{at}_valid;");
        let _ = writeln!(text, "  logic [PACKET_TAG_BITS-1:0] known_{at}_tid;");
        let _ = writeln!(text, "  extent_t original_{at}, known_{at};");
    }
    for each in placed.iter().filter(|each| each.asks()) {
        let (index, name) = (each.index, &each.stage.element.name);
        let wire = format!("extent_{index}");
        let _ = write!(
            text,
            "\n{}",
            known(
                &format!("{wire}_{name}"),
                &wire,
                &each.source(),
                &each.adapters().near()
            )
        );
    }
    for tap in &taps {
        let (wire, name) = (
            format!("original_{}", tap.at),
            format!("extent_{}_tap", tap.at),
        );
        let _ = write!(text, "\n{}", known(&name, &wire, "extent", &tap.before));
        let _ = write!(text, "\n{}", tap.text(&placed));
    }
    for each in &placed {
        let _ = write!(text, "\n{}", each.text());
    }
    text.push('\n');
    for way in [RECEIVED, READ] {
        let mut ends = placed.iter().map(|each| &each.after);
        let ends = ends.any(|end| end == way.1) || taps.iter().any(|tap| tap.after == way.1);
        if !ends {
            text += &wires(way);
        }
    }
    for tap in &taps {
        let _ = writeln!(text, "  // Behind the branch nothing is stored.");
        let _ = writeln!(text, "  assign {}_tready = 1'b1;", tap.end(&placed));
    }
    if !stages.iter().any(|stage| stage.element.judges()) {
        for (port, _) in RESULT.iter().filter(|(port, _)| *port != "tready") {
            let _ = writeln!(text, "  assign m_axis_result_{port} = '0;");
        }
    }
    if taps.is_empty() {
        text.push_str("  assign unseen = 1'b0;\n");
    }
    text += &unused("status", 64, stages, |stage| {
        !stage.element.status.is_empty()
    });
    text += &windows(stages);
    text.push_str("\nendmodule\n\n`default_nettype wire\n");
    text
}

impl Pipeline {
    /// Which elements have registers, and which have per-stream settings: a bit for each, the first one
    /// lowest.
    #[must_use]
    pub fn windows(&self) -> (u8, u8) {
        let of = |has: fn(&Stage) -> bool| places(&self.pes, has);
        (of(has_registers), of(has_streams))
    }
}

fn has_registers(stage: &Stage) -> bool {
    !stage.element.registers.is_empty()
}

fn has_streams(stage: &Stage) -> bool {
    !stage.streams.is_empty()
}

/// The places of elements that have something, one bit each.
fn places(stages: &[Stage], has: impl Fn(&Stage) -> bool) -> u8 {
    let stages = stages.iter().enumerate();
    stages.fold(0, |bits, (at, stage)| bits | u8::from(has(stage)) << at)
}

/// Zeros for the words of a signal that no element drives.
fn unused(name: &str, bits: usize, stages: &[Stage], driven: impl Fn(&Stage) -> bool) -> String {
    let drives = |at: usize| stages.get(at).is_some_and(&driven);
    let (mut text, mut at) = (String::new(), 0);
    while at < STAGES {
        let words = (at..STAGES).take_while(|at| !drives(*at)).count();
        match words {
            0 => at += 1,
            STAGES => return format!("  assign {name} = '0;\n"),
            1 => text += &format!("  assign {name}[{bits}*{at}+:{bits}] = '0;\n"),
            _ => text += &format!("  assign {name}[{bits}*{at}+:{bits}*{words}] = '0;\n"),
        }
        at += words;
    }
    text
}

/// What leads to the registers of the elements, and to their per-stream settings.
fn windows(stages: &[Stage]) -> String {
    let (registers, streams) = (places(stages, has_registers), places(stages, has_streams));
    let mut text = String::from("\n");
    if registers != 0 {
        let stages = (0..STAGES).filter(|at| registers >> at & 1 == 0);
        for at in stages {
            let _ = writeln!(text, "  assign response[{at}] = '0;");
        }
    }
    let module = format!(
        "fb_pe_windows #(\n      .Present (8'b{registers:08b}),\n      \
         .Settings(8'b{streams:08b})\n  )"
    );
    let wire = |there: u8, name: &str, none: &str| match there {
        0 => none.to_owned(),
        _ => name.to_owned(),
    };
    let ports = [
        ("request", wire(registers, "request", "")),
        ("response", wire(registers, "response", "'0")),
        ("setting", wire(streams, "setting", "")),
    ];
    let ports = ports.map(|(port, wire)| format!("      .{port:<8}({wire}),\n"));
    text += &format!("  {module} u_windows (\n{}      .*\n  );\n", ports.concat());
    text
}

/// Files that the RTL reads, with their hashes: another content is another chain.
fn data(stages: &[Stage]) -> String {
    let mut text = String::new();
    for Stage { element, .. } in stages {
        for file in &element.data {
            let _ = writeln!(text, "//   {}: {} {}", element.name, file.name, file.sha256);
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("// What they read, with its SHA-256:\n{text}"),
    }
}

/// From the first line to the end of the ports, which are those of the chain of no elements.
fn head(stages: &[Stage], result_bits: usize) -> String {
    let names = stages.iter().map(|stage| match stage.way {
        Way::Back => format!("{}, on the way back", stage.element.name),
        _ => stage.element.name.clone(),
    });
    let names: Vec<_> = names.collect();
    let ports = NONE
        .split_once("`default_nettype none")
        .and_then(|(_, rest)| rest.split_once(");\n"))
        .map_or("", |(ports, _)| ports);
    let usual = format!("ResultBits = {}", 8 * Schema::default().bytes());
    let ports = ports.replace(&usual, &format!("ResultBits = {result_bits}"));
    // REUSE-IgnoreStart
    format!(
        "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1\n\
         //\n\
         // fb_pe_chain: what happens to objects between network and store, and on the way back.\n\
         //\n\
         // Made from a pipeline's file: change that, not this. Built in the place of the chain of no\n\
         // elements, which has the same ports. The elements, in order:\n\
         //   {}\n\
         {}\n\
         `default_nettype none{ports});\n\n",
        names.join("\n//   "),
        data(stages)
    )
    // REUSE-IgnoreEnd
}

/// What is known of the packets that are inside, in front of who asks for it: `from` announces them.
fn known(name: &str, wire: &str, from: &str, before: &str) -> String {
    let entry = |tag: &str| format!("{tag}[$clog2(INSIDE)-1:0]");
    format!(
        "  fb_common_lutram #(\n      .Width($bits(extent_t)),\n      .Depth(INSIDE)\n  ) \
         u_{name} (\n      .clk,\n      .we({from}_valid),\n      .waddr({}),\n      \
         .wdata({from}),\n      .raddr({}),\n      .rdata({wire})\n  );\n",
        entry(&format!("{from}_tid")),
        entry(&format!("{before}_tid")),
    )
}

/// Ports of a module and the signals of a stream that they are connected to.
pub(super) fn ports(signals: &[(&str, &str)], port: &str, wire: &str) -> Vec<(String, String)> {
    let signals = signals.iter();
    signals
        .map(|(signal, _)| (format!("{port}_{signal}"), format!("{wire}_{signal}")))
        .collect()
}

impl Tap {
    /// The stream behind the last element of the branch.
    fn end<'a>(&self, placed: &'a [Placed<'_>]) -> &'a str {
        let mut inside = placed.iter().rev();
        let last = inside.find(|each| each.tap == Some(self.at));
        last.map_or("", |each| &each.after)
    }

    fn text(&self, placed: &[Placed<'_>]) -> String {
        let (at, end) = (self.at, self.end(placed));
        let mut all = ports(&SIGNALS, "s_axis_object", &self.before);
        all.push(("extent".to_owned(), format!("original_{at}")));
        all.extend(ports(&SIGNALS, "m_axis_object", &self.after));
        all.extend(ports(&SIGNALS, "m_axis_copy", &format!("copy_{at}")));
        let rest = [
            ("copy_valid", format!("known_{at}_valid")),
            ("copy_tid", format!("known_{at}_tid")),
            ("copy", format!("known_{at}")),
            ("leaves", format!("{end}_tvalid && {end}_tlast")),
            ("leaves_tid", format!("{end}_tid")),
        ];
        all.extend(rest.map(|(port, wire)| (port.to_owned(), wire)));
        all.extend(ports(&RESULT, "s_axis_result", &format!("result_{at}")));
        all.extend(ports(&RESULT, "m_axis_result", "m_axis_result"));
        all.push(("unseen".to_owned(), "unseen".to_owned()));
        let module = format!(
            "fb_pe_tap #(\n      .Skips(1'b{}),\n      .ResultBits(ResultBits)\n  )",
            u8::from(self.skips)
        );
        instance(&module, &format!("u_tap_{at}"), &all)
    }
}

impl Placed<'_> {
    fn adapters(&self) -> Adapters<'_> {
        Adapters {
            index: self.index,
            element: &self.stage.element,
            before: &self.before,
            after: &self.after,
            per_stream: has_streams(self.stage),
            result: &self.result,
        }
    }

    /// Who announces the packets that come to it: the port of its direction, or its branch's tap.
    fn source(&self) -> String {
        match (self.stage.way, self.tap) {
            (Way::Back, _) => "back".to_owned(),
            (_, Some(at)) => format!("known_{at}"),
            (_, None) => "extent".to_owned(),
        }
    }

    /// It, or who has its per-stream settings, is told what a packet is.
    fn asks(&self) -> bool {
        self.stage.element.extent || has_streams(self.stage)
    }

    /// The element and its checkers: it may be a user's.
    fn text(&self) -> String {
        let (index, element) = (self.index, &self.stage.element);
        let name = &element.name;
        let adapters = self.adapters();

        let mut text = String::new();
        let mut cfg = format!("cfg[64*{index}+:64]");
        if has_streams(self.stage) {
            let settings = format!("settings_{index}");
            let ports = [
                ("write", format!("setting[{index}]")),
                ("cfg", cfg),
                ("stream", format!("extent_{index}.stream")),
                ("settings", settings.clone()),
            ];
            let ports = ports.map(|(port, wire)| (port.to_owned(), wire));
            text += &instance(
                "fb_pe_settings",
                &format!("u_settings_{index}_{name}"),
                &ports,
            );
            text.push('\n');
            cfg = settings;
        }
        text += &adapters.text(&cfg);
        let mut all = vec![("cfg".to_owned(), adapters.cfg(cfg))];
        all.extend(ports(&SIGNALS, "s_axis_object", &adapters.input()));
        if element.extent {
            all.push(("extent".to_owned(), adapters.extent()));
        }
        if !element.status.is_empty() {
            all.push(("status".to_owned(), adapters.status()));
        }
        all.extend(ports(&SIGNALS, "m_axis_object", &adapters.output()));
        if element.judges() {
            all.extend(ports(&RESULT, "m_axis_result", &adapters.results()));
        }
        if has_registers(self.stage) {
            let wires = REGISTERS.iter().enumerate();
            all.extend(wires.map(|(at, (port, wire))| {
                let of = if at < ASKED { "request" } else { "response" };
                let of = adapters.access(of);
                (format!("s_axil_{port}"), format!("{of}.{wire}"))
            }));
        }
        let mut parameters: Vec<_> = self
            .stage
            .parameters
            .iter()
            .map(|(parameter, value)| format!("      .{parameter}({value})"))
            .collect();
        if !element.data.is_empty() {
            let folder = absolute(&element.folder).unwrap_or_else(|_| element.folder.clone());
            parameters.push(format!("      .DataFolder(\"{}\")", folder.display()));
        }
        let mut module = format!("fb_pe_{name}");
        if !parameters.is_empty() {
            let _ = write!(module, " #(\n{}\n  )", parameters.join(",\n"));
        }
        let clocks = adapters.clocks();
        text += &instance_on(clocks, &module, &format!("u_{index}_{name}"), &all);

        let watched = |side: &str, signals: &[&str], of: &str| {
            let signals = signals.iter();
            signals
                .map(|signal| {
                    let wire = format!("{of}_{}{signal}", if *signal == "tid" { "" } else { "t" });
                    (format!("{side}{signal}"), wire)
                })
                .collect::<Vec<_>>()
        };
        let came = ["valid", "ready", "last", "user", "tid"];
        let came = watched("in_", &came, &adapters.input());
        let sent = ["valid", "ready", "data", "keep", "last", "user", "tid"];
        let gone = watched("out_", &sent, &adapters.output());
        text.push('\n');
        let both = [came.clone(), gone].concat();
        let module = match element.width {
            WIDTH => "fb_pe_check".to_owned(),
            bits => format!("fb_pe_check #(\n      .Bits({bits})\n  )"),
        };
        let check = format!("u_check_{index}_{name}");
        text += &instance_on(clocks, &module, &check, &both);
        if element.judges() {
            let given = watched(
                "",
                &["valid", "ready", "data", "user", "tid"],
                &adapters.results(),
            );
            let module = format!(
                "fb_pe_check_result #(\n      .ResultBits(ResultBits),\n      .Patience  ({})\n  )",
                element.patience
            );
            text.push('\n');
            text += &instance_on(
                clocks,
                &module,
                &format!("u_result_{index}_{name}"),
                &[came, given].concat(),
            );
        }
        text
    }
}

/// An instance of a module, on the clock of the chain.
fn instance(module: &str, name: &str, ports: &[(String, String)]) -> String {
    instance_on(["clk", "rst"], module, name, ports)
}

/// The same on this clock, with this reset; or on those that `ports` say.
pub(super) fn instance_on<const N: usize>(
    clocks: [&str; N],
    module: &str,
    name: &str,
    ports: &[(String, String)],
) -> String {
    let clocks = clocks.iter().zip(["clk", "rst"]).map(|(wire, port)| {
        if *wire == port {
            format!("      .{port}")
        } else {
            format!("      .{port}({wire})")
        }
    });
    let connected = ports.iter();
    let connected = connected.map(|(port, wire)| format!("      .{port}({wire})"));
    let lines: Vec<_> = clocks.chain(connected).collect();
    format!("  {module} {name} (\n{}\n  );\n", lines.join(",\n"))
}
