// SPDX-License-Identifier: Apache-2.0
//! `forebay dnn`: asks the project's Python side, where ONNX and numpy are.

use std::ffi::OsString;

use crate::args::{DnnCommand, DnnCompileArgs, DnnDrawArgs, DnnNetArgs, DnnRunArgs};
use crate::failure::{Exit, Result};
use crate::python::{self, plain};

/// Runs it.
pub fn run(command: &DnnCommand) -> Result<Exit> {
    let words = match command {
        DnnCommand::Compile(args) => compile(args),
        DnnCommand::Run(args) => judge(args),
        DnnCommand::Draw(args) => draw(args),
    };
    python::report("forebay.dnn", words)
}

fn compile(args: &DnnCompileArgs) -> Vec<OsString> {
    let mut words = with_options("compile", &args.of);
    words.extend(["--fps".into(), args.fps.to_string().into()]);
    words.extend(["--clock".into(), args.clock.clone().into()]);
    if let Some(into) = &args.into {
        words.extend(["--into".into(), plain(into)]);
    }
    words.push(plain(&args.of.net));
    words
}

fn judge(args: &DnnRunArgs) -> Vec<OsString> {
    let mut words = with_options("run", &args.of);
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

fn with_options(command: &str, of: &DnnNetArgs) -> Vec<OsString> {
    let mut words = vec![
        command.into(),
        "--divide".into(),
        of.divide.to_string().into(),
    ];
    if let Some(name) = &of.name {
        words.extend(["--name".into(), name.into()]);
    }
    words
}
