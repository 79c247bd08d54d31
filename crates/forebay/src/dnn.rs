// SPDX-License-Identifier: Apache-2.0
//! `forebay dnn`: asks the project's Python side, where ONNX and numpy are.

use std::ffi::OsString;

use forebay_lab::classify::{Check, NetworkSpec, TrialSpec};

use crate::args::{
    DnnCheckArgs, DnnCommand, DnnCompileArgs, DnnDrawArgs, DnnNetArgs, DnnRunArgs, DnnSpeedArgs,
};
use crate::failure::{Exit, Result};
use crate::python::{self, plain};
use crate::report;

/// Runs it.
pub fn run(command: &DnnCommand) -> Result<Exit> {
    let words = match command {
        DnnCommand::Compile(args) => compile(args),
        DnnCommand::Run(args) => judge(args),
        DnnCommand::Check(args) => return check(args),
        DnnCommand::Draw(args) => draw(args),
    };
    python::report("forebay.dnn", words)
}

fn compile(args: &DnnCompileArgs) -> Vec<OsString> {
    let mut words = vec!["compile".into()];
    words.extend(options(&args.of));
    words.extend(speed(&args.speed));
    if let Some(device) = &args.device {
        words.extend(["--device".into(), device.into()]);
    }
    if args.own_clock {
        words.push("--own-clock".into());
    }
    if let Some(into) = &args.into {
        words.extend(["--into".into(), plain(into)]);
    }
    words.push(plain(&args.of.net));
    words
}

fn judge(args: &DnnRunArgs) -> Vec<OsString> {
    let mut words = vec!["run".into()];
    words.extend(options(&args.of));
    words.push(plain(&args.of.net));
    words.extend(args.images.iter().map(|image| plain(image)));
    words
}

fn draw(args: &DnnDrawArgs) -> Vec<OsString> {
    let mut words = vec![
        "draw".into(),
        "--count".into(),
        args.count.to_string().into(),
    ];
    words.extend(["--size".into(), args.size.clone().into()]);
    words.extend(["--seed".into(), args.seed.to_string().into()]);
    words.push(plain(&args.into));
    words
}

/// Records pictures through the RTL of a network, and compares.
fn check(args: &DnnCheckArgs) -> Result<Exit> {
    let mut words = options(&args.of);
    words.extend(speed(&args.speed));
    let spec = TrialSpec {
        network: NetworkSpec::Onnx(args.of.net.clone(), words),
        count: args.count,
        clock: None,
        size: args.size.clone(),
        seed: args.seed,
    };
    let check = Check::run(&spec, args.senders)?;
    report::show(&check, || check.page())?;
    Ok(match check.is_good() {
        true => Exit::Good,
        false => Exit::BadResult,
    })
}

fn options(of: &DnnNetArgs) -> Vec<OsString> {
    let mut words = vec!["--divide".into(), of.divide.to_string().into()];
    if let Some(name) = &of.name {
        words.extend(["--name".into(), name.into()]);
    }
    words
}

fn speed(args: &DnnSpeedArgs) -> Vec<OsString> {
    let (fps, clock) = (args.fps.to_string(), args.clock.clone());
    vec!["--fps".into(), fps.into(), "--clock".into(), clock.into()]
}
