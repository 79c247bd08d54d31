// SPDX-License-Identifier: Apache-2.0
//! A program as a SystemVerilog package, from which synthesis fills the ROM.

use super::{Instruction, Program, WORDS_MOST, list};

/// The package of a program, as verible-verilog-format would write it: `PROGRAM`, an array of
/// [`WORDS_MOST`] words, of which those behind the program's are `stop`.
pub fn package(program: &Program, name: &str) -> String {
    let rows = list::rows(program).into_iter();
    let rows = rows.map(|row| (row.word, row.instruction));
    let unused = (Instruction::Stop.encode(), "unused".to_owned());
    let rows = rows.chain(std::iter::repeat(unused)).take(WORDS_MOST);
    let lines = rows.zip(1..).map(|((word, instruction), count)| {
        let comma = if count == WORDS_MOST { "" } else { "," };
        format!("      32'h{word:08x}{comma}  // {instruction}\n")
    });
    format!(
        "`default_nettype none\n\npackage {name};\n\n  \
         localparam logic [31:0] PROGRAM[{WORDS_MOST}] = '{{\n{}  }};\n\n\
         endpackage\n\n`default_nettype wire\n",
        lines.collect::<String>(),
    )
}
