// SPDX-License-Identifier: Apache-2.0
//! Prints the shared constants: `cargo run -p forebay-spec --example generate -- sv|rom|c|python|store`; the package of
//! another schema: `rom "top u16[5], score f32"`.

use forebay_spec::codegen::{
    render_c, render_python, render_rom, render_store, render_systemverilog,
};
use forebay_spec::store::schema::Schema;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut text = String::new();
    let rendered = match std::env::args().nth(1).as_deref() {
        Some("sv") => render_systemverilog(&mut text),
        Some("rom") => match std::env::args().nth(2).map(|schema| schema.parse()) {
            None => render_rom(&mut text, &Schema::default()),
            Some(Ok(schema)) => render_rom(&mut text, &schema),
            Some(Err(error)) => {
                eprintln!("no schema: {error}");
                return ExitCode::from(2);
            }
        },
        Some("c") => render_c(&mut text),
        Some("python") => render_python(&mut text),
        Some("store") => render_store(&mut text),
        _ => {
            eprintln!("usage: generate sv|rom|c|python|store");
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
