// SPDX-License-Identifier: Apache-2.0
//! The command line: streams bytes through the streamer's RTL onto simulated drives.
//!
//! Every crate below this one is a library; only this one prints. A command makes a report (a
//! plain structure), which goes out as JSON, as text, or both.

mod args;
mod bench;
mod boot;
mod demo;
mod devices;
mod dnn;
mod doctor;
mod inspect;
mod io;
mod measure;
mod pe;
mod pipeline;
mod plan;
mod profiles;
mod python;
mod record;
mod render;
mod report;
mod repro;
mod send;
mod seq;
mod serve;
mod shell;
mod ssd;
mod store;
mod swarm;
mod terminal;
mod vm;

use std::env;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use forebay_app::failure;

use args::{Cli, Command, NewCommand};
use failure::{Exit, Failure, Result};

fn main() -> ExitCode {
    let mut words: Vec<_> = env::args_os().collect();
    if let Some(successor) = args::run::successor(&words) {
        let shown: Vec<_> = successor[1..]
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        eprintln!(
            "warning: `run` is now io, record and replay: forebay {}",
            shown.join(" ")
        );
        words = successor;
    }
    let matches = Cli::command()
        .color(terminal::wanted_color())
        .get_matches_from(words);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    terminal::listen();
    terminal::set_up(&cli.global);
    ExitCode::from(run(&cli).unwrap_or_else(show))
}

/// Tells of a failure on standard error; returns the exit code.
fn show(mut failure: Failure) -> u8 {
    let option = failure.field.as_deref().and_then(args::option_of);
    if let (Some(option), Some(help)) = (option, &mut failure.help) {
        help.push_str(&format!(" (option --{option})"));
    }
    let exit = failure.exit;
    eprintln!("{:?}", miette::Report::new(failure));
    exit as u8
}

fn run(cli: &Cli) -> Result<u8> {
    cli.global.destination(&cli.command)?.set()?;
    let code = dispatch(&cli.command);
    report::finish()?;
    code
}

fn dispatch(command: &Command) -> Result<u8> {
    let exit: Result<Exit> = match command {
        Command::Vm { vm } => return vm::run(vm),
        Command::Demo(args) => demo::run(args),
        Command::Io(args) => io::run(args),
        Command::Record(args) => record::run(args),
        Command::Replay(args) => record::replay(args),
        Command::Bench { bench } => bench::run(bench),
        Command::Swarm(args) => swarm::run(args),
        Command::Inspect(args) => inspect::run(args),
        Command::Resources(args) => python::report(
            "forebay.resources",
            args.rest.iter().map(Into::into).collect(),
        ),
        Command::Dnn { dnn } => dnn::run(dnn),
        Command::Profiles(args) => profiles::run(args),
        Command::Repro(args) => repro::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Devices(args) => devices::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Send(args) => send::run(args),
        Command::Store { store } => store::run(store),
        Command::Ssd { ssd } => ssd::run(ssd),
        Command::Boot(args) => boot::run(args),
        Command::Seq { seq } => seq::run(seq),
        Command::Pipeline { pipeline } => pipeline::run(pipeline),
        Command::Pe { pe } => pe::run(pe),
        Command::New {
            new: NewCommand::Pe(args),
        } => pe::new(args),
        Command::Completion { shell } => Ok(shell::completion(*shell)),
        Command::Man { folder } => shell::man(folder),
        Command::Schema { of } => shell::schema(*of),
        Command::Spec { language } => shell::spec(*language),
    };
    exit.map(|exit| exit as u8)
}
