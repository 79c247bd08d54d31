// SPDX-License-Identifier: Apache-2.0
//! What stands between an element and its chain where it is narrower, or has a clock of its own.

use super::chain::{RESULT, SIGNALS, instance_on, ports, stream};
use super::element::{Element, WIDTH};

/// The clock of the chain, and that of such elements, each with its reset.
const CHAIN: [&str; 2] = ["clk", "rst"];
const OWN: [&str; 2] = ["clk_pe", "rst_pe"];

/// The adapters of an element, by the chain's streams at both of its sides.
#[derive(Clone, Copy)]
pub(super) struct Adapters<'a> {
    pub index: usize,
    pub element: &'a Element,
    pub before: &'a str,
    pub after: &'a str,
    /// It has per-stream settings.
    pub per_stream: bool,
    /// The stream of its results in the chain.
    pub result: &'a str,
}

impl Adapters<'_> {
    const fn is_narrow(&self) -> bool {
        self.element.width != WIDTH
    }

    /// Where what is known of a packet is looked up: the last stream to the element in the chain's clock.
    pub fn near(&self) -> String {
        match self.is_narrow() {
            true => format!("narrow_{}", self.index),
            false => self.before.to_owned(),
        }
    }

    /// The first stream from the element in the chain's clock.
    fn far(&self) -> String {
        match self.is_narrow() {
            true => format!("parts_{}", self.index),
            false => self.after.to_owned(),
        }
    }

    /// The stream at the element's target.
    pub fn input(&self) -> String {
        self.own("in", self.near())
    }

    /// The stream at its initiator.
    pub fn output(&self) -> String {
        self.own("out", self.far())
    }

    /// The stream of its results.
    pub fn results(&self) -> String {
        self.own("judged", self.result.to_owned())
    }

    /// Its settings, where they are `chains` in the chain's clock.
    pub fn cfg(&self, chains: String) -> String {
        self.own("cfg", chains)
    }

    /// What it is told of a packet.
    pub fn extent(&self) -> String {
        self.own("told", format!("extent_{}", self.index))
    }

    /// Its status.
    pub fn status(&self) -> String {
        self.own("status", self.status_of_chain())
    }

    fn status_of_chain(&self) -> String {
        format!("status[64*{}+:64]", self.index)
    }

    /// A part of an access of its registers: of `request` or `response`.
    pub fn access(&self, part: &str) -> String {
        self.own(part, format!("{part}[{}]", self.index))
    }

    /// Its clock and reset.
    pub const fn clocks(&self) -> [&'static str; 2] {
        if self.element.own_clock { OWN } else { CHAIN }
    }

    fn own(&self, name: &str, chains: String) -> String {
        match self.element.own_clock {
            true => format!("{name}_{}", self.index),
            false => chains,
        }
    }

    /// Declares what is between.
    pub fn declarations(&self) -> String {
        let (element, index) = (self.element, self.index);
        let bits = format!("[{}:0] ", element.width - 1);
        let bytes = format!("[{}:0] ", element.width / 8 - 1);
        let signals = SIGNALS.map(|(signal, width)| match signal {
            "tdata" => (signal, bits.as_str()),
            "tkeep" => (signal, bytes.as_str()),
            _ => (signal, width),
        });
        let mut text = String::new();
        if self.is_narrow() {
            text += &(stream(&signals, &self.near()) + &stream(&signals, &self.far()));
        }
        if !element.own_clock {
            return text;
        }
        text += &(stream(&signals, &self.input()) + &stream(&signals, &self.output()));
        text += &format!("  logic [63:0] cfg_{index};\n");
        if element.extent {
            text += &format!("  extent_t told_{index};\n");
        }
        if !element.status.is_empty() {
            text += &format!("  logic [63:0] status_{index};\n");
        }
        if element.judges() {
            text += &stream(&RESULT, &self.results());
        }
        if !element.registers.is_empty() {
            text += &format!("  axil_request_t request_{index};\n");
            text += &format!("  axil_response_t response_{index};\n");
        }
        text
    }

    /// The adapters; `settings` are those of the packet that goes in, or of all.
    pub fn text(&self, settings: &str) -> String {
        let (element, index) = (self.element, self.index);
        let mut all = Vec::new();
        if self.is_narrow() {
            all.push(self.width("narrow", self.before, &self.near()));
            all.push(self.width("widen", &self.far(), self.after));
        }
        if element.own_clock {
            all.push(self.way_in(settings));
            all.push(self.crossing("out", (OWN, &self.output()), (CHAIN, &self.far()), &[]));
            if !self.per_stream {
                let to = (OWN, format!("cfg_{index}"));
                all.push(self.value("cfg", (CHAIN, settings), (to.0, &to.1)));
            }
            if !element.status.is_empty() {
                let (from, to) = (self.status(), self.status_of_chain());
                all.push(self.value("status", (OWN, &from), (CHAIN, &to)));
            }
            if element.judges() {
                all.push(self.results_back());
            }
            if !element.registers.is_empty() {
                all.push(self.registers());
            }
        }
        all.iter().map(|text| format!("{text}\n")).collect()
    }

    fn width(&self, what: &str, from: &str, to: &str) -> String {
        let bits = self.element.width;
        let module = format!(
            "fb_axis_{what} #(\n      .Bits({bits}),\n      .UserBits(2),\n      .TagBits(PACKET_TAG_BITS)\n  )"
        );
        let all = [
            ports(&SIGNALS, "s_axis", from),
            ports(&SIGNALS, "m_axis", to),
        ];
        let name = format!("u_{what}_{}_{}", self.index, self.element.name);
        instance_on(CHAIN, &module, &name, &all.concat())
    }

    /// Beats to the element, and what belongs to each: what it is told of the packet, and settings.
    fn way_in(&self, settings: &str) -> String {
        let index = self.index;
        let settings = [settings.to_owned(), format!("cfg_{index}"), "64".to_owned()];
        let extent = [
            format!("extent_{index}"),
            format!("told_{index}"),
            "$bits(extent_t)".to_owned(),
        ];
        let mut beside = Vec::new();
        beside.extend(self.per_stream.then_some(settings));
        beside.extend(self.element.extent.then_some(extent));
        let (from, to) = (self.near(), self.input());
        self.crossing("in", (CHAIN, &from), (OWN, &to), &beside)
    }

    /// A stream from one clock to another, with these beside it: from, to, bits.
    fn crossing(
        &self,
        name: &str,
        (from_clock, from): ([&str; 2], &str),
        (to_clock, to): ([&str; 2], &str),
        beside: &[[String; 3]],
    ) -> String {
        let all = |at: usize| {
            let parts: Vec<_> = beside.iter().map(|parts| &*parts[at]).collect();
            parts.join(", ")
        };
        let (side, from_side, to_side) = match beside {
            [] => ("1".to_owned(), "1'b0".to_owned(), String::new()),
            _ => (
                all(2).replace(", ", " + "),
                format!("{{{}}}", all(0)),
                format!("{{{}}}", all(1)),
            ),
        };
        let bits = self.element.width;
        let module = format!("fb_pe_cdc #(\n      .Bits({bits}),\n      .Side({side})\n  )");
        let mut wires = clocks("s", from_clock);
        wires.extend(ports(&SIGNALS, "s_axis_object", from));
        wires.push(("s_side".to_owned(), from_side));
        wires.extend(clocks("m", to_clock));
        wires.extend(ports(&SIGNALS, "m_axis_object", to));
        wires.push(("m_side".to_owned(), to_side));
        let name = format!("u_{name}_{}_{}", self.index, self.element.name);
        instance_on([], &module, &name, &wires)
    }

    fn value(&self, name: &str, from: ([&str; 2], &str), to: ([&str; 2], &str)) -> String {
        let mut wires = clocks("s", from.0);
        wires.push(("s_value".to_owned(), from.1.to_owned()));
        wires.extend(clocks("m", to.0));
        wires.push(("m_value".to_owned(), to.1.to_owned()));
        let name = format!("u_{name}_{}_{}", self.index, self.element.name);
        instance_on([], "fb_common_value_cdc", &name, &wires)
    }

    fn results_back(&self) -> String {
        let word = |of: &str| format!("{{{of}_tdata, {of}_tuser, {of}_tid}}");
        let (from, to) = (self.results(), self.result);
        let mut wires = clocks("s", OWN);
        wires.extend([
            ("s_valid".to_owned(), format!("{from}_tvalid")),
            ("s_ready".to_owned(), format!("{from}_tready")),
            ("s_data".to_owned(), word(&from)),
            ("s_level".to_owned(), String::new()),
        ]);
        wires.extend(clocks("m", CHAIN));
        wires.extend([
            ("m_valid".to_owned(), format!("{to}_tvalid")),
            ("m_ready".to_owned(), format!("{to}_tready")),
            ("m_data".to_owned(), word(to)),
        ]);
        let module = "fb_common_async #(\n      .Width(ResultBits + 1 + PACKET_TAG_BITS),\n      \
                      .Depth(16)\n  )";
        let name = format!("u_results_{}_{}", self.index, self.element.name);
        instance_on([], module, &name, &wires)
    }

    fn registers(&self) -> String {
        let index = self.index;
        let wires = [
            ("request", format!("request[{index}]")),
            ("response", format!("response[{index}]")),
            ("clk_pe", "clk_pe".to_owned()),
            ("rst_pe", "rst_pe".to_owned()),
            ("request_pe", format!("request_{index}")),
            ("response_pe", format!("response_{index}")),
        ];
        let wires = wires.map(|(port, wire)| (port.to_owned(), wire));
        let name = format!("u_registers_{index}_{}", self.element.name);
        instance_on(CHAIN, "fb_pe_registers_cdc", &name, &wires)
    }
}

/// Clock and reset of a side.
fn clocks(side: &str, [clock, reset]: [&str; 2]) -> Vec<(String, String)> {
    vec![
        (format!("{side}_clk"), clock.to_owned()),
        (format!("{side}_rst"), reset.to_owned()),
    ]
}
