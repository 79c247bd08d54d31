// SPDX-License-Identifier: Apache-2.0
//! Options of every command: the report, messages, colours.

use std::path::PathBuf;

use clap::{Args, ColorChoice, ValueEnum};

use super::{Command, PeCommand, StoreCommand, VmCommand, values};
use crate::failure::{Failure, Result};
use crate::report::Destination;

/// Options of every command.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Report and messages")]
pub struct GlobalArgs {
    /// Form of the report; csv and arrow: of the rows of `store sql`
    #[arg(
        short,
        long,
        value_name = "FORM",
        value_enum,
        default_value = "text",
        global = true
    )]
    pub output: Output,
    /// Write the report into this file in that form; text still goes to standard output
    #[arg(long, value_name = "FILE", global = true)]
    pub output_file: Option<PathBuf>,
    /// Say on standard error when each stage begins and how long it took
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Show no progress and, with --output-file, no text; warnings and errors stay
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// When to use colours; auto: on a terminal, unless NO_COLOR is set
    #[arg(
        long,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        global = true
    )]
    pub color: ColorChoice,
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// Comma-separated values with a header
    Csv,
    /// An Arrow IPC stream
    Arrow,
}

impl GlobalArgs {
    /// Where the report of this command goes.
    pub fn destination(&self, command: &Command) -> Result<Destination> {
        let forms = command.forms();
        if !forms.contains(&self.output) && self.output != Output::Text {
            let known: Vec<_> = forms.iter().map(values::name_of).collect();
            let (limit, remedy) = match known.is_empty() {
                true => ("this command has no report".to_owned(), "leave it out"),
                false => (
                    format!(
                        "the forms of this command's report are: {}",
                        known.join(", ")
                    ),
                    "choose one of these",
                ),
            };
            return Err(Failure::input(
                "--output",
                values::name_of(&self.output),
                &limit,
                remedy,
            ));
        }
        if let (Some(path), true) = (&self.output_file, forms.is_empty()) {
            return Err(Failure::input(
                "--output-file",
                path.display(),
                "this command has no report",
                "leave it out, or redirect standard output",
            ));
        }
        Ok(Destination {
            form: self.output,
            file: self.output_file.clone(),
            quiet: self.quiet,
        })
    }
}

impl Command {
    /// Forms of its report; none: it has none.
    const fn forms(&self) -> &'static [Output] {
        match self {
            Self::Store {
                store: StoreCommand::Sql(_),
            } => &[Output::Text, Output::Json, Output::Csv, Output::Arrow],
            Self::Spec { .. }
            | Self::Completion { .. }
            | Self::Man { .. }
            | Self::Schema { .. }
            | Self::New { .. }
            | Self::Vm {
                vm: VmCommand::Image,
            } => &[Output::Text],
            Self::Store {
                store: StoreCommand::Cat(_) | StoreCommand::Tar(_) | StoreCommand::Mount(_),
            }
            | Self::Vm {
                vm: VmCommand::Run(_) | VmCommand::Shell(_) | VmCommand::Serve { .. },
            }
            | Self::Pe {
                pe: PeCommand::Test(_),
            } => &[],
            _ => &[Output::Text, Output::Json],
        }
    }
}
