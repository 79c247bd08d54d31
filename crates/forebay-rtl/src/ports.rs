// SPDX-License-Identifier: Apache-2.0
//! The port list of a Verilated model, read from the header that Verilator writes.

use std::fmt::Write as _;

/// Which way a port goes, seen from the RTL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Driven by us.
    Input,
    /// Driven by the RTL.
    Output,
}

/// A port of the top module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Name as in the RTL.
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Direction seen from the RTL.
    pub direction: Direction,
}

/// A port as the header declares it: the C++ member may be named unlike the port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declared {
    pub member: String,
    pub port: Port,
}

/// Reads lines such as `VL_IN8(&clk,0,0);`, `VL_OUT64(&x,63,0);`, `VL_INW(&data,511,0,16);`.
pub(crate) fn parse_header(header: &str) -> Vec<Declared> {
    header.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Declared> {
    let (macro_name, rest) = line.trim().strip_prefix("VL_")?.split_once('(')?;
    let direction = if macro_name.starts_with("INOUT") {
        return None;
    } else if macro_name.starts_with("IN") {
        Direction::Input
    } else if macro_name.starts_with("OUT") {
        Direction::Output
    } else {
        return None;
    };
    let mut fields = rest.strip_suffix(");")?.split(',');
    let member = fields
        .next()?
        .trim()
        .trim_start_matches('&')
        .trim_matches(['(', ')']);
    let high: i64 = fields.next()?.trim().parse().ok()?;
    let low: i64 = fields.next()?.trim().parse().ok()?;
    let width = u32::try_from(high.checked_sub(low)?.checked_add(1)?).ok()?;
    let port = Port {
        name: rtl_name(member),
        width,
        direction,
    };
    Some(Declared {
        member: member.to_owned(),
        port,
    })
}

/// Undoes Verilator's escapes: `__` in a name becomes `___05F`, other characters `__0xx`.
fn rtl_name(member: &str) -> String {
    let mut name = String::new();
    let mut rest = member;
    while let Some(at) = rest.find("__0") {
        let code = rest
            .get(at + 3..at + 5)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let Some(code) = code else { break };
        name.push_str(&rest[..at]);
        name.push(char::from(code));
        rest = &rest[at + 5..];
    }
    name.push_str(rest);
    name
}

/// The generated part of the shim.
pub(crate) fn include_text(ports: &[Declared]) -> String {
    let mut text = String::new();
    for Declared { member, port } in ports {
        let input = u32::from(port.direction == Direction::Input);
        let _ = writeln!(
            text,
            "FB_PORT({member}, \"{}\", {}, {input})",
            port.name, port.width
        );
    }
    text
}

/// A memory of the design whose words are 512 bits and which fills whole pages, as the root header
/// declares it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Memory<'h> {
    line: &'h str,
    member: &'h str,
    bytes: u64,
}

/// Memories in the order of the header; lines such as
/// `VlUnpacked<VlWide<16>/*511:0*/, 65536> top__DOT__store;`.
pub(crate) fn memories(root_header: &str) -> Vec<Memory<'_>> {
    const WORD_BYTES: u64 = 64;
    let parse = |line| {
        let line = str::trim(line);
        let rest = line.strip_prefix("VlUnpacked<VlWide<16>/*511:0*/, ")?;
        let (words, member) = rest.strip_suffix(';')?.split_once("> ")?;
        let bytes = words.parse::<u64>().ok()?.checked_mul(WORD_BYTES)?;
        bytes.is_multiple_of(PAGE_BYTES).then_some(Memory {
            line,
            member,
            bytes,
        })
    };
    root_header.lines().filter_map(parse).collect()
}

/// Bytes of a page of shared memory.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// The root header with these memories on pages of their own.
pub(crate) fn on_pages(root_header: &str, memories: &[Memory<'_>]) -> String {
    memories.iter().fold(root_header.to_owned(), |text, it| {
        text.replace(it.line, &format!("alignas({PAGE_BYTES}) {}", it.line))
    })
}

/// The generated part of the shim that tells of memories.
pub(crate) fn memories_text(memories: &[Memory<'_>]) -> String {
    let mut text = String::new();
    for Memory { member, bytes, .. } in memories {
        let name = rtl_name(member).replace("__DOT__", ".");
        let _ = writeln!(text, "FB_MEMORY({member}, \"{name}\", {bytes})");
    }
    text
}

/// The clocks of a design in which nothing but their rising edges is waited for, as one line
/// `FB_CLOCK(member, "port", last value)` for each. Verilator keeps the last value of everything that
/// has an edge, and writes down which edges there are for debugging.
///
/// # Errors
/// The clock of which no edge is written down: then Verilator writes other words than these, and which
/// edges there are is not known.
pub(crate) fn tick_text<'c>(
    root_header: &str,
    code: impl Iterator<Item = &'c str>,
) -> Result<String, String> {
    const LAST: &str = "__Vtrigprevexpr_";
    const EVENT: &str = " is active: @(";
    let events: Vec<_> = code.flat_map(|file| file.split(EVENT).skip(1)).collect();
    let rising: Vec<_> = (events.iter())
        .filter_map(|event| event.strip_prefix("posedge "))
        .collect();
    if rising.len() != events.len() {
        return Ok(String::new());
    }
    let members = root_header.lines().filter_map(|line| {
        let member = line
            .trim()
            .strip_suffix(';')?
            .rsplit([' ', '*', '&'])
            .next()?;
        member.starts_with(LAST).then_some(member)
    });
    let clocks = members.map(|member| {
        let clock = member.strip_prefix("__Vtrigprevexpr___TOP__")?;
        let clock = clock.strip_suffix("__0")?;
        // A name with a dot in it would be a net inside the design.
        let port = (!clock.contains("__DOT__")).then(|| rtl_name(clock))?;
        Some((clock, port, member))
    });
    let Some(clocks) = clocks.collect::<Option<Vec<_>>>() else {
        return Ok(String::new());
    };
    let mut text = String::new();
    for (clock, port, member) in clocks {
        // What follows the name is not compared: a condition (`iff`) comes without a space.
        if !rising.iter().any(|event| event.starts_with(&port)) {
            return Err(port);
        }
        let _ = writeln!(text, "FB_CLOCK({clock}, \"{port}\", {member})");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rising_edges_of_clocks_can_tick() {
        let last = |name: &str| format!("        CData/*0:0*/ __Vtrigprevexpr___TOP__{name}__0;\n");
        let tick = |header: &str, code| tick_text(header, std::iter::once(code));
        let rising = "trigger index 0 is active: @(posedge aclk)\\n";
        let line = "FB_CLOCK(aclk, \"aclk\", __Vtrigprevexpr___TOP__aclk__0)\n";
        let ticks = |header: &str, code| tick(header, code).expect("known words");
        assert_eq!(ticks(&last("aclk"), rising), line);
        let headers = last("aclk") + &last("bclk");
        let both = format!("{rising}index 1 is active: @(posedge bclk)\\n");
        let lines = format!("{line}{}", line.replace("aclk", "bclk"));
        assert_eq!(ticks(&headers, &both), lines);
        let both = "0 is active: @(posedge aclk) 1 is active: @(negedge aclk)";
        assert_eq!(ticks(&last("aclk"), both), "");
        assert_eq!(ticks(&last("top__DOT__gated"), rising), "");
        assert_eq!(
            ticks(&(last("aclk") + &last("top__DOT__gated")), rising),
            ""
        );
        assert_eq!(ticks("CData/*0:0*/ clk;\n", rising), "");
        assert_eq!(ticks("", ""), "", "no clock at all");

        // No clock may tick of which it is not known that only rising edges are waited for.
        assert_eq!(tick(&headers, rising), Err("bclk".into()));
        for other in ["", "index 0 fires: @(posedge aclk)", "is active: posedge"] {
            assert_eq!(tick(&last("aclk"), other), Err("aclk".into()), "{other}");
        }
    }

    #[test]
    fn memories_of_whole_pages_come_to_stand_on_pages() {
        let header = "  VlUnpacked<VlWide<16>/*511:0*/, 128> top__DOT__store;\n  \
                      VlUnpacked<VlWide<16>/*511:0*/, 16> top__DOT__words;\n  \
                      VlUnpacked<VlWide<17>/*527:0*/, 128> top__DOT__beats;\n";
        let found = memories(header);
        assert_eq!(
            memories_text(&found),
            "FB_MEMORY(top__DOT__store, \"top.store\", 8192)\n"
        );
        let text = on_pages(header, &found);
        assert_eq!(text.matches("alignas(4096) VlUnpacked").count(), 1);
        assert_eq!(text.replace("alignas(4096) ", ""), header);
    }

    #[test]
    fn header_lines_are_read() {
        let ports = parse_header(
            "class Vfb {\n    VL_IN8(&clk,0,0);\n    VL_OUT64(&x,63,0);\n    \
             VL_INW(&data,511,0,16);\n    VL_OUT16(&a___05Fb,12,0);\n    int other;\n",
        );
        let seen: Vec<_> = ports
            .iter()
            .map(|d| (d.port.name.as_str(), d.port.width, d.port.direction))
            .collect();
        assert_eq!(
            seen,
            [
                ("clk", 1, Direction::Input),
                ("x", 64, Direction::Output),
                ("data", 512, Direction::Input),
                ("a__b", 13, Direction::Output),
            ]
        );
    }
}
