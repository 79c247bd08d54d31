// SPDX-License-Identifier: Apache-2.0
//! `forebay spec`: the constants that hardware and software share.

use forebay_spec::codegen::{render_c, render_python, render_systemverilog, render_wireshark};

use crate::args::Language;
use crate::failure::{Exit, Failure, Result};
use crate::report;

/// Runs it.
pub fn run(language: Language) -> Result<Exit> {
    let mut text = String::new();
    let rendered = match language {
        Language::Sv => render_systemverilog(&mut text),
        Language::C => render_c(&mut text),
        Language::Python => render_python(&mut text),
        Language::Wireshark => render_wireshark(&mut text),
    };
    rendered.map_err(|_| {
        Failure::new(
            Exit::Impossible,
            "the constants cannot be rendered",
            "report this defect",
        )
    })?;
    report::say(&text);
    Ok(Exit::Good)
}
