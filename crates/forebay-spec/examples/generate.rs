// SPDX-License-Identifier: Apache-2.0
//! Prints the shared constants: `cargo run -p forebay-spec --example generate -- sv|rom|c|python|store|columns`.

use forebay_spec::codegen::{
    render_c, render_columns, render_python, render_rom, render_store, render_systemverilog,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut text = String::new();
    let rendered = match std::env::args().nth(1).as_deref() {
        Some("sv") => render_systemverilog(&mut text),
        Some("rom") => render_rom(&mut text),
        Some("columns") => render_columns(&mut text),
        Some("c") => render_c(&mut text),
        Some("python") => render_python(&mut text),
        Some("store") => render_store(&mut text),
        _ => {
            eprintln!("usage: generate sv|rom|c|python|store|columns");
            return ExitCode::from(2);
        }
    };
    match rendered {
        Ok(()) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cannot render: {error}");
            ExitCode::FAILURE
        }
    }
}
