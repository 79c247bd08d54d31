// SPDX-License-Identifier: Apache-2.0
//! A dissector for Wireshark: the constants that it needs, and what it does with them.

use super::GROUPS;
use core::fmt::{Result, Write};

/// The part that uses the constants.
const PROGRAM: &str = include_str!("wireshark.lua");
/// The constants that it uses, by how their names begin.
const NEEDED: [&str; 3] = ["FRAMING_", "UDP_PORT", "ETHERTYPE_FOREBAY"];

/// Writes the script.
pub fn render_wireshark(out: &mut impl Write) -> Result {
    // REUSE-IgnoreStart
    writeln!(out, "-- SPDX-License-Identifier: Apache-2.0")?;
    // REUSE-IgnoreEnd
    writeln!(
        out,
        "-- Shows frames of Forebay: tshark -X lua_script:FILE, or among Wireshark's plugins."
    )?;
    writeln!(out, "\nlocal spec = {{")?;
    let constants = GROUPS.iter().flat_map(super::Group::constants);
    let needed = |name: &str| NEEDED.iter().any(|begin| name.starts_with(begin));
    for constant in constants.filter(|constant| needed(constant.name)) {
        writeln!(out, "    {} = 0x{:x},", constant.name, constant.value)?;
    }
    writeln!(out, "}}")?;
    out.write_str(PROGRAM)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::String;

    #[test]
    fn every_constant_that_is_used_is_there() {
        let mut text = String::new();
        render_wireshark(&mut text).unwrap();
        for used in PROGRAM.split("spec.").skip(1) {
            let end = used
                .find(|c: char| !c.is_ascii_uppercase() && c != '_')
                .unwrap_or(used.len());
            let name = &used[..end];
            assert!(text.contains(&std::format!("    {name} = 0x")), "{name}");
        }
    }
}
