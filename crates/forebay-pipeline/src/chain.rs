// SPDX-License-Identifier: Apache-2.0
//! The RTL of a pipeline: its elements behind each other, as the module `fb_pe_chain`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{Element, Pipeline, STAGES, Stage};

/// The chain of no elements, in whose place another one is built.
const NONE: &str = include_str!("../../../rtl/pe/fb_pe_chain.sv");
/// Where it lies in a checkout.
const PLACE: &str = "rtl/pe/fb_pe_chain.sv";
/// What a chain needs besides its elements.
const NEEDED: [&str; 6] = [
    "rtl/common/fb_spec_pkg.sv",
    "rtl/common/fb_common_lutram.sv",
    "rtl/axis/fb_axis_check.sv",
    "rtl/pe/fb_pe_pkg.sv",
    "rtl/pe/fb_pe_check.sv",
    "rtl/pe/fb_pe_check_result.sv",
];
/// Signals of a stream, and their widths.
const SIGNALS: [(&str, &str); 7] = [
    ("tvalid", ""),
    ("tready", ""),
    ("tdata", "[USER_DATA_BITS-1:0] "),
    ("tkeep", "[USER_BEAT_BYTES-1:0] "),
    ("tlast", ""),
    ("tuser", "[1:0] "),
    ("tid", "[PACKET_TAG_BITS-1:0] "),
];
/// Signals of the stream of results.
const RESULT: [&str; 5] = ["tvalid", "tready", "tdata", "tuser", "tid"];

/// What is to be built in the place of the chain of no elements, and how it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainSource {
    /// The module `fb_pe_chain`.
    pub text: String,
    /// What it needs, in dependency order.
    pub files: Vec<PathBuf>,
    /// The settings of each element, by its place.
    pub cfg: [u64; STAGES],
    own: PathBuf,
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
        ChainSource {
            text: text(&self.pes),
            files: needed
                .chain(elements)
                .filter(|file| once.insert(file.clone()))
                .collect(),
            cfg,
            own: self.root.join(PLACE),
        }
    }
}

impl ChainSource {
    /// The files of a design with this chain in it: `chain` holds its text, in the place of the chain
    /// of no elements; what it needs comes before it.
    pub fn replaced(&self, design: &[PathBuf], chain: &Path) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = Vec::new();
        for file in design {
            if *file == self.own {
                files.extend(self.files.iter().cloned());
                files.push(chain.to_owned());
            } else {
                files.push(file.clone());
            }
        }
        let mut once = BTreeSet::new();
        files.retain(|file| once.insert(file.clone()));
        files
    }
}

/// A signal of the stream behind the first `behind` of `all` elements.
fn signal(behind: usize, all: usize, name: &str) -> String {
    match behind {
        0 => format!("s_axis_object_{name}"),
        last if last == all => format!("m_axis_object_{name}"),
        link => format!("link_{link}_{name}"),
    }
}

/// The module; of no elements the one that is there anyway.
fn text(stages: &[Stage]) -> String {
    if stages.is_empty() {
        return NONE.to_owned();
    }
    let names: Vec<_> = stages.iter().map(|stage| &*stage.element.name).collect();
    let mut text = head(&names);
    for link in 1..stages.len() {
        for (name, width) in SIGNALS {
            let _ = writeln!(text, "  logic {width}link_{link}_{name};");
        }
    }
    for (index, _) in asking(stages) {
        let _ = writeln!(text, "  extent_t extent_{index};");
    }
    for (index, name) in asking(stages) {
        let _ = write!(text, "\n{}", known(index, names.len(), name));
    }
    for (index, each) in stages.iter().enumerate() {
        let _ = write!(text, "\n{}", stage(index, names.len(), &each.element));
    }
    if !stages.iter().any(|stage| stage.element.result) {
        text.push('\n');
        for port in RESULT.iter().filter(|port| **port != "tready") {
            let _ = writeln!(text, "  assign m_axis_result_{port} = '0;");
        }
    }
    text.push_str("\nendmodule\n\n`default_nettype wire\n");
    text
}

/// From the first line to the end of the ports, which are those of the chain of no elements.
fn head(names: &[&str]) -> String {
    let ports = NONE
        .split_once("`default_nettype none")
        .and_then(|(_, rest)| rest.split_once(");\n"))
        .map_or("", |(ports, _)| ports);
    // REUSE-IgnoreStart
    format!(
        "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1\n\
         //\n\
         // fb_pe_chain: what happens to objects between network and store.\n\
         //\n\
         // Made from a pipeline's file: change that, not this. Built in the place of the chain of no\n\
         // elements, which has the same ports. The elements, in order:\n\
         //   {}\n\
         \n\
         `default_nettype none{ports});\n\n",
        names.join("\n//   ")
    )
    // REUSE-IgnoreEnd
}

/// Places and names of the elements that are told what a packet is.
fn asking(stages: &[Stage]) -> impl Iterator<Item = (usize, &str)> {
    let numbered = stages.iter().enumerate();
    numbered
        .filter(|(_, stage)| stage.element.extent)
        .map(|(index, stage)| (index, &*stage.element.name))
}

/// What is known of the packets that are inside, in front of an element that asks for it.
fn known(index: usize, all: usize, name: &str) -> String {
    let entry = |tag: &str| format!("{tag}[$clog2(INSIDE)-1:0]");
    format!(
        "  fb_common_lutram #(\n      .Width($bits(extent_t)),\n      .Depth(INSIDE)\n  ) \
         u_extent_{index}_{name} (\n      .clk,\n      .we(extent_valid),\n      .waddr({}),\n      \
         .wdata(extent),\n      .raddr({}),\n      .rdata(extent_{index})\n  );\n",
        entry("extent_tid"),
        entry(&signal(index, all, "tid")),
    )
}

/// An element and its checkers: it may be a user's.
fn stage(index: usize, all: usize, element: &Element) -> String {
    let name = &element.name;
    let before = |port: &str| signal(index, all, port);
    let after = |port: &str| signal(index + 1, all, port);
    let result = |port: &str| format!("m_axis_result_{port}");

    let mut ports = vec![("cfg".to_owned(), format!("cfg[64*{index}+:64]"))];
    ports.extend(SIGNALS.map(|(port, _)| (format!("s_axis_object_{port}"), before(port))));
    if element.extent {
        ports.push(("extent".to_owned(), format!("extent_{index}")));
    }
    ports.extend(SIGNALS.map(|(port, _)| (format!("m_axis_object_{port}"), after(port))));
    if element.result {
        ports.extend(RESULT.map(|port| (result(port), result(port))));
    }
    let mut text = instance(
        &format!("fb_pe_{name}"),
        &format!("u_{index}_{name}"),
        &ports,
    );

    let watched = |side: &str, ports: &[(&str, &str)], wire: &dyn Fn(&str) -> String| {
        let named = ports.iter();
        named
            .map(|(port, of)| (format!("{side}{port}"), wire(of)))
            .collect::<Vec<_>>()
    };
    let [valid, ready, data, keep, last, user, tid] = [
        ("valid", "tvalid"),
        ("ready", "tready"),
        ("data", "tdata"),
        ("keep", "tkeep"),
        ("last", "tlast"),
        ("user", "tuser"),
        ("tid", "tid"),
    ];
    let came = watched("in_", &[valid, ready, last, user, tid], &before);
    let gone = watched("out_", &[valid, ready, data, keep, last, user, tid], &after);
    text.push('\n');
    let both = [came.clone(), gone].concat();
    text += &instance("fb_pe_check", &format!("u_check_{index}_{name}"), &both);
    if element.result {
        let given = watched("", &[valid, ready, data, user, tid], &result);
        let module = format!(
            "fb_pe_check_result #(\n      .Patience({})\n  )",
            element.patience
        );
        text.push('\n');
        text += &instance(
            &module,
            &format!("u_result_{index}_{name}"),
            &[came, given].concat(),
        );
    }
    text
}

/// An instance of a module, on the clock of the chain.
fn instance(module: &str, name: &str, ports: &[(String, String)]) -> String {
    let mut lines = vec!["      .clk".to_owned(), "      .rst".to_owned()];
    let connected = ports.iter();
    lines.extend(connected.map(|(port, wire)| format!("      .{port}({wire})")));
    format!("  {module} {name} (\n{}\n  );\n", lines.join(",\n"))
}
