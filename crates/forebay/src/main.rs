// SPDX-License-Identifier: Apache-2.0
//! The command line: streams bytes through the streamer's RTL onto simulated drives.
//!
//! Every crate below this one is a library; only this one prints. A command makes a report (a
//! plain structure), which goes out as JSON, as text, or both.

mod args;
mod bench;
mod demo;
mod devices;
mod doctor;
mod flight;
mod inspect;
mod inspection;
mod io;
mod measure;
mod new;
mod pipeline;
mod plan;
mod profiles;
mod python;
mod record;
mod recorded;
mod render;
mod report;
mod repro;
mod resources;
mod send;
mod serve;
mod shell;
mod spec;
mod ssd;
mod store;
mod swarm;
mod terminal;
mod traffic;
mod vm;

use std::env;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use forebay_app::{failure, home, interrupt, progress, session, workload};

use args::{Cli, Command, PeCommand};
use failure::{Exit, Result};

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
    let code = run(&cli).unwrap_or_else(|failure| failure.show() as u8);
    ExitCode::from(code)
}

fn run(cli: &Cli) -> Result<u8> {
    cli.global.destination(&cli.command)?.set()?;
    let code = dispatch(&cli.command)?;
    report::finish()?;
    Ok(code)
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
        Command::Resources(args) => resources::run(args),
        Command::Profiles(args) => profiles::run(args),
        Command::Repro(args) => repro::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Devices(args) => devices::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Send(args) => send::run(args),
        Command::Store { store } => store::run(store),
        Command::Ssd { ssd } => ssd::run(ssd),
        Command::Pipeline { pipeline } => pipeline::show::run(pipeline),
        Command::Pe { pe } => match pe {
            PeCommand::List(args) => pipeline::list::run(args),
            PeCommand::Test(args) => new::bench::run(args),
        },
        Command::New { new } => new::run(new),
        Command::Completion { shell } => Ok(shell::completion(*shell)),
        Command::Man { folder } => shell::man(folder),
        Command::Schema { of } => shell::schema(*of),
        Command::Spec { language } => spec::run(*language),
    };
    exit.map(|exit| exit as u8)
}
