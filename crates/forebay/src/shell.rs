// SPDX-License-Identifier: Apache-2.0
//! What shells, readers, editors and other languages want: completion, manual pages, schemas of files,
//! the constants that hardware and software share.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use forebay_draw::text::Page;
use forebay_model::Profile;
use forebay_pipeline::Pipeline;
use forebay_spec::codegen::{render_c, render_python, render_systemverilog, render_wireshark};

use crate::args::{Cli, Language, SchemaOf};
use crate::failure::{Exit, Failure, Result};
use crate::report;

/// Prints the script that completes command lines.
pub fn completion(shell: Shell) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "forebay", &mut text);
    report::say(&String::from_utf8_lossy(&text));
    Exit::Good
}

/// Writes a manual page for each command into a folder.
pub fn man(folder: &Path) -> Result<Exit> {
    let failed = |error| Failure::file("writing the pages to", folder, error);
    fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    let mut page = Page::of_hardware("Manual pages");
    page.field("folder", folder.display());
    page.field(
        "read",
        format_args!("man {}", folder.join("forebay.1").display()),
    );
    report::print_page(&page);
    Ok(Exit::Good)
}

/// Prints the JSON Schema of a file.
pub fn schema(of: SchemaOf) -> Result<Exit> {
    let schema = match of {
        SchemaOf::Pipeline => Pipeline::schema(),
        SchemaOf::Profile => Profile::schema(),
    };
    report::say(&format!("{}\n", serde_json::to_string_pretty(&schema)?));
    Ok(Exit::Good)
}

/// Prints the constants that hardware and software share.
pub fn spec(language: Language) -> Result<Exit> {
    let mut text = String::new();
    let rendered = match language {
        Language::Sv => render_systemverilog(&mut text),
        Language::C => render_c(&mut text),
        Language::Python => render_python(&mut text),
        Language::Wireshark => render_wireshark(&mut text),
    };
    let what = "the constants cannot be rendered";
    rendered.map_err(|_| Failure::new(Exit::Impossible, what, "report this defect"))?;
    report::say(&text);
    Ok(Exit::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_knows_every_command_and_option() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "forebay", &mut text);
            let text = String::from_utf8(text).expect("it is text");
            // clap's script for fish knows commands and theirs, but none below.
            let deepest = if shell == Shell::Fish { 2 } else { usize::MAX };
            let mut commands = vec![(0, Cli::command())];
            while let Some((depth, command)) = commands.pop() {
                assert!(
                    text.contains(command.get_name()),
                    "{shell}: {}",
                    command.get_name()
                );
                for long in command.get_arguments().filter_map(clap::Arg::get_long) {
                    assert!(
                        text.contains(long),
                        "{shell}: {} --{long}",
                        command.get_name()
                    );
                }
                if depth < deepest {
                    let next = command.get_subcommands().cloned();
                    commands.extend(next.map(|command| (depth + 1, command)));
                }
            }
        }
    }

    #[test]
    fn short_help_is_short() {
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            let shown = command.get_arguments().filter(|option| {
                !(option.is_positional()
                    || option.is_hide_short_help_set()
                    || option.is_global_set())
            });
            let shown = shown.count();
            assert!(
                shown <= 25,
                "{} -h shows {shown} options",
                command.get_name()
            );
            commands.extend(command.get_subcommands().cloned());
        }
    }
}
