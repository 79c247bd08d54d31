// SPDX-License-Identifier: Apache-2.0
//! The SystemVerilog package `fb_spec_pkg`.

use super::{BANNER, Constant, GROUPS};
use core::fmt::{Result, Write};

/// Writes the package, formatted as verible-verilog-format would.
pub fn render_systemverilog(out: &mut impl Write) -> Result {
    // REUSE-IgnoreStart
    writeln!(out, "// SPDX-License-Identifier: Apache-2.0 WITH SHL-2.1")?;
    // REUSE-IgnoreEnd
    writeln!(out, "// {BANNER}")?;
    writeln!(
        out,
        "// Constants that RTL and software share; the one source is crates/forebay-spec."
    )?;
    writeln!(out, "`default_nettype none\n")?;
    writeln!(out, "/* verilator lint_off UNUSEDPARAM */")?;
    writeln!(out, "package fb_spec_pkg;")?;
    for group in GROUPS {
        writeln!(out, "\n  // {}", group.title)?;
        for constant in group.constants() {
            line(out, constant)?;
        }
    }
    writeln!(out, "\nendpackage")?;
    writeln!(out, "/* verilator lint_on UNUSEDPARAM */\n")?;
    writeln!(out, "`default_nettype wire")
}

fn line(out: &mut impl Write, constant: &Constant) -> Result {
    let Constant { name, bits, value } = *constant;
    match bits {
        0 if value >= 4096 => writeln!(out, "  localparam int unsigned {name} = 'h{value:x};"),
        0 => writeln!(out, "  localparam int unsigned {name} = {value};"),
        bits => writeln!(
            out,
            "  localparam logic [{}:0] {name} = {bits}'h{value:x};",
            bits - 1
        ),
    }
}
