// SPDX-License-Identifier: Apache-2.0
//! `forebay pipeline check`: what a pipeline's file says, with all that it leaves out.

use std::fs;
use std::path::Path;

use forebay_app::home;
use forebay_draw::text::{Grid, Page, seconds};
use forebay_pipeline::units::bytes;
use forebay_pipeline::{Kind, Paths, Pipeline, STAGES, Way, lint};
use serde::Serialize;

use crate::args::{PipelineCheckArgs, PipelineCommand};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};

#[derive(Serialize)]
struct Checked<'a> {
    pipeline: &'a Pipeline,
    /// The settings of each element's place, as the RTL has them.
    cfg: [u64; STAGES],
}

/// What the recorder's hardware is made of where results have columns of their own.
const FORM: &str = "fb_store_rom_pkg.sv";

/// Runs a command on pipelines.
pub fn run(command: &PipelineCommand) -> Result<Exit> {
    match command {
        PipelineCommand::Check(args) => check(args),
    }
}

/// Reads a file, shows what was read, and writes the chain where that is asked for.
fn check(args: &PipelineCheckArgs) -> Result<Exit> {
    let root = home::find()?;
    let paths = Paths::new(&root, &args.path.pe_path);
    let pipeline = Pipeline::load(&args.file, &paths)?;
    let chain = pipeline.chain();
    lint::chain(&root, &chain)?;
    if let Some(path) = &args.chain {
        let write = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|error| Failure::file("writing", path, error))
        };
        write(path, &chain.text)?;
        if let Some(text) = &chain.form {
            write(&path.with_file_name(FORM), text)?;
        }
    }
    let checked = Checked {
        cfg: chain.cfg,
        pipeline: &pipeline,
    };
    report::show(&Report::new("forebay.pipeline/1", checked), || {
        let mut page = Page::of_hardware(&format!("Pipeline {}", args.file.display()));
        page.grid(grid(&pipeline));
        if let Some(path) = &args.chain {
            page.line(format!(
                "\n  {} takes the place of rtl/pe/fb_pe_chain.sv; with it:",
                path.display()
            ));
            if chain.form.is_some() {
                let path = path.with_file_name(FORM);
                page.line(format!(
                    "    {} in place of rtl/store/{FORM}",
                    path.display()
                ));
            }
            for file in &chain.files {
                page.line(format!("    {}", home::short(file)));
            }
        }
        page.verdict(true, "can be built");
        page
    })?;
    Ok(Exit::Good)
}

/// A frequency as one would write it.
fn hertz(hertz: u64) -> String {
    format!("{} MHz", hertz as f64 / 1e6)
}

fn grid(pipeline: &Pipeline) -> Grid {
    let mut grid = Grid::new("stage | is | how").wrap(2, 76);
    for (index, how) in source(pipeline).into_iter().enumerate() {
        let stage = if index == 0 {
            ("source", "network")
        } else {
            ("", "")
        };
        grid.row([stage.0, stage.1, &how]);
    }
    for (index, stage) in pipeline.pes.iter().enumerate() {
        let values: Vec<_> = stage
            .values
            .iter()
            .map(|(name, value)| match stage.element.settings.get(name) {
                Some(setting) => format!("{name} = {}", setting.show(*value)),
                None => format!("{name} = {value}"),
            })
            .collect();
        let mut how = match values.is_empty() {
            true => stage.element.description.clone(),
            false => format!("{}; cfg {:#018x}", values.join(", "), stage.cfg),
        };
        if stage.element.own_clock {
            how += &format!("; on its own clock, {}", hertz(pipeline.element_clock));
        }
        for (stream, cfg) in &stage.streams {
            how += &format!("; of stream {stream} {cfg:#018x}");
        }
        for (name, value) in &stage.parameters {
            how += &format!("; built with {name} = {value}");
        }
        for (name, value) in &stage.registers {
            how += &format!("; {name} = {}", value.shown);
        }
        let how = match stage.way {
            Way::Through => how,
            Way::Tap { skips: false } => format!("of a copy, for which the original waits: {how}"),
            Way::Tap { skips: true } => format!("of a copy, where there is room for it: {how}"),
            Way::Follow => format!("in the same branch: {how}"),
            Way::Back => format!("of what is read to be sent: {how}"),
        };
        grid.row([&format!("pe {index}"), &stage.element.name, &how]);
    }
    let buffer = &pipeline.buffer;
    let size = bytes(buffer.size);
    grid.row([
        "buffer",
        buffer.memory.name(),
        &match &buffer.dram {
            Some(dram) => format!("{size} for each direction, {dram}"),
            None if buffer.pages().is_some() => size,
            None => format!("{size} for each direction"),
        },
    ]);
    for (index, ssd) in pipeline.ssds.iter().enumerate() {
        let keeps = match &ssd.image {
            Some(image) => format!("kept in {}", image.display()),
            None => "forgotten at the end".to_owned(),
        };
        let how = format!("{}, {keeps}", bytes(ssd.bytes));
        grid.row([&format!("ssd {index}"), &ssd.profile, &how]);
    }
    for (index, how) in sink(pipeline).into_iter().enumerate() {
        let stage = if index == 0 {
            ("sink", "recorder")
        } else {
            ("", "")
        };
        grid.row([stage.0, stage.1, &how]);
    }
    grid
}

fn source(pipeline: &Pipeline) -> Vec<String> {
    let source = &pipeline.source;
    let whose = match source.class {
        Some(class) => format!("of class {class}"),
        None => "of the link".to_owned(),
    };
    let pause = match source.pause {
        Some(pause) => format!(
            "pause {whose} from {} held, until {}",
            bytes(pause.xoff.into()),
            bytes(pause.xon.into())
        ),
        None => "the peer is not asked to pause".to_owned(),
    };
    vec![
        format!(
            "{} port {}, {}, {}",
            source.address,
            source.port,
            source.mac,
            source.which()
        ),
        format!("MTU {}, {} m of cable", source.mtu, source.metres),
        pause,
    ]
}

fn sink(pipeline: &Pipeline) -> Vec<String> {
    let sink = &pipeline.sink;
    let layout = match &sink.layout {
        Kind::Objects { extension } => format!("a tar file of objects, *.{extension}"),
        Kind::Small { extension } => {
            format!("a tar file of small objects that share pages, *.{extension}")
        }
        Kind::Samples { stride: 0 } => "samples, as they come".to_owned(),
        Kind::Packets => "all frames, as a capture".to_owned(),
        Kind::Samples { stride } => format!("samples, one in {}", bytes(*stride)),
    };
    let wait = match sink.wait_ps {
        0 => "when it is full".to_owned(),
        time => format!("after {}", seconds(time as f64 * 1e-12)),
    };
    let flush = if sink.flush {
        "with a flush before and after"
    } else {
        "no flush"
    };
    let end = match sink.ring {
        true => "full: the oldest is overwritten",
        false => "full: it stops, and counts what finds no room",
    };
    let mut lines = vec![
        layout,
        format!("an index for objects of {} and more", bytes(sink.smallest)),
        format!("a block of it is written {wait}, {flush}"),
        end.to_owned(),
    ];
    let results = pipeline.results();
    if pipeline.has_results() || results.received {
        lines.push(format!("results: {}", results.encrypted(None)));
    }
    if let Some(cipher) = results.cipher {
        lines.push(format!("payload is encrypted with {}", cipher.name()));
    }
    if pipeline.has_results() {
        let time = seconds(sink.result_ps as f64 * 1e-12);
        lines.push(format!("rows wait up to {time} for their result"));
    }
    if sink.parity {
        let drives = pipeline.ssds.len() as u64;
        let (chunk, stripe) = (bytes(sink.chunk), bytes(sink.chunk * (drives - 1)));
        lines.push(format!(
            "stripes of {stripe}, {chunk} a drive, the last one for the parity: any of {drives} may be lost"
        ));
    } else if pipeline.ssds.len() > 1 {
        lines.push(format!(
            "chunks of {} go round the drives",
            bytes(sink.chunk)
        ));
    }
    lines
}
