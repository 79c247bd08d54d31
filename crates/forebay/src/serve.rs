// SPDX-License-Identifier: Apache-2.0
//! `forebay vm serve`: a model as a PCIe device of a virtual machine.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_app::progress::Progress;
use forebay_app::record::{LinkPartner, PartnerSpec, SourceSpec, Written};
use forebay_app::recorded::Recorded;
use forebay_app::{home, interrupt};
use forebay_cosim::{Card, Config, Direction, Read, Sink, Write};
use forebay_draw::text::Page;
use forebay_model::net::Network;
use forebay_model::{Medium, Profile};
use forebay_pipeline::units::{bytes, count};
use forebay_pipeline::{Paths, Pipeline};
use forebay_vm::{Device, End, Event, Options, SsdDevice, StreamerDevice, Transaction};

use crate::args::{ServeCommand, ServeSsdArgs, ServeStreamerArgs, SocketArgs};
use crate::failure::{Exit, Failure, Result};
use crate::{record, report};

/// Refused accesses that are told one by one; all are counted.
const COMPLAINTS: u64 = 10;

/// Runs it.
pub fn run(command: &ServeCommand) -> Result<Exit> {
    match command {
        ServeCommand::Ssd(args) => ssd(args),
        ServeCommand::Streamer(args) => streamer(args),
    }
}

fn ssd(args: &ServeSsdArgs) -> Result<Exit> {
    let mut profile = Profile::load(&args.profile)?;
    if let Some(namespace) = profile.ssd.namespaces.first_mut() {
        namespace.bytes = args.size.unwrap_or(namespace.bytes);
        match args.block.as_deref() {
            Some("512") => namespace.block_shift = 9,
            Some("4096") => namespace.block_shift = 12,
            _ => {}
        }
        // The profile's size may be no multiple of the block asked for.
        namespace.bytes &= !((1 << namespace.block_shift) - 1);
    }
    let size = profile.ssd.bytes();
    let medium = match &args.backing {
        Some(path) => Medium::in_file(path, size)?,
        None => Medium::in_memory(size),
    };
    let mut device = SsdDevice::new(&profile, medium, args.seed)?;
    let (exit, refused) = match &args.record {
        None => serve(&mut device, &args.socket)?,
        Some(path) => {
            let mut recorded = Recorded::new(&mut device, &profile.name, path, |failure| {
                eprintln!("warning: {failure}");
            })?;
            let served = serve(&mut recorded, &args.socket);
            // A device that has broken down has something to tell, too.
            let stored = recorded.store();
            let served = served?;
            stored?;
            served
        }
    };
    let stats = device.stats();
    let mut page = Page::simulated("SSD model");
    page.field("profile", &profile.name);
    page.field("commands", count(stats.commands));
    page.field("read", bytes(stats.bytes_read));
    page.field("written", bytes(stats.bytes_written));
    page.field("failed", count(stats.failed));
    page.field("refused", count(refused));
    report::print_page(&page);
    Ok(exit)
}

fn streamer(args: &ServeStreamerArgs) -> Result<Exit> {
    if let Some(pipeline) = &args.net {
        return network(args, pipeline);
    }
    let mut plan = Vec::new();
    if let Some(path) = &args.write {
        let data = fs::read(path).map_err(|error| Failure::file("reading", path, error))?;
        let (data, length) = (Arc::<[u8]>::from(data.as_slice()), data.len() as u64);
        plan.push(Transaction::Write(Write::new(args.at, Arc::clone(&data))));
        let sink = Sink::Compare(data);
        plan.push(Transaction::Read(Read::new(args.at, length, sink)));
    }
    let planned = plan.len();
    // Streams that are fed from in here, or by the guest through the card's host port.
    let config = match args.write {
        Some(_) => args.machine.config()?,
        None => args.machine.config_of_card()?,
    };
    let (mut device, mapped) = card(args, config, plan)?;
    let (exit, refused) = serve(&mut device, &args.socket)?;
    let outcomes = device.outcomes();
    let good = outcomes.iter().filter(|outcome| outcome.is_good()).count();
    let mut page = Page::simulated("Streamer");
    of_card(&mut page, &device, mapped, refused);
    for outcome in outcomes {
        let way = match outcome.direction {
            Direction::Write => "written",
            Direction::Read => "read back",
        };
        let verdict = match (outcome.error, outcome.mismatch, outcome.aborted) {
            (_, _, true) => "cut off by a reset".to_owned(),
            (Some(error), ..) => format!("failed: {error:?}"),
            (_, Some(mismatch), _) => format!("differs: {mismatch:?}"),
            _ => "right".to_owned(),
        };
        let moved = bytes(outcome.transferred);
        page.field(way, format_args!("{moved}, {verdict}"));
    }
    if planned > 0 {
        let sentence = format!("{good} of {planned} transactions went through");
        page.verdict(good == planned, sentence);
    }
    report::print_page(&page);
    Ok(match exit {
        Exit::Good if good < planned => Exit::BadResult,
        exit => exit,
    })
}

/// The card with this configuration, and how many bytes of its payload are mapped.
fn card(
    args: &ServeStreamerArgs,
    config: Config,
    plan: Vec<Transaction>,
) -> Result<(StreamerDevice, u64)> {
    let progress = Progress::stage("looking for the RTL's library");
    let card = Card::new(config, &mut |step| progress.build(step))?;
    drop(progress);
    let mut device = StreamerDevice::new(card, plan);
    let mapped = match args.trap_payload {
        true => 0,
        false => device.map_payload()?,
    };
    if !args.trap_payload && mapped == 0 {
        eprintln!("warning: this RTL's payload cannot be mapped: all of it is trapped");
    }
    Ok((device, mapped))
}

/// A card with a network side, and a link partner that sends.
fn network(args: &ServeStreamerArgs, pipeline: &Path) -> Result<Exit> {
    record::check_given(&args.machine.given)?;
    let sender = &args.sender;
    let paths = Paths::new(&home::find()?, &sender.path.pe_path);
    let pipeline = Pipeline::load(pipeline, &paths)?;
    let source = match &sender.pcap {
        Some(path) => SourceSpec::Capture {
            path: path.clone(),
            flat_out: sender.flat_out,
        },
        None => SourceSpec::Generator {
            bytes: sender.generate.unwrap_or(record::GENERATED),
            object: sender.object,
            senders: None,
        },
    };
    let partner = PartnerSpec {
        offered: sender.offered,
        ..PartnerSpec::new(source, args.machine.seed)
    };
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
    let mut config = forebay_app::record::machine(&args.machine, &pipeline, folder.path())?;
    // The guest has drives of its own, and QEMU's way between them and the card.
    (config.profile, _) = args.machine.load_profile()?;
    let written = sender
        .pcap_out
        .as_deref()
        .map(Written::create)
        .transpose()?;
    let (partner, network) = LinkPartner::connect(&partner, &pipeline, written.as_ref())?;
    config.network = Some(network);
    let (mut device, mapped) = card(args, config, Vec::new())?;
    let (exit, refused) = serve(&mut device, &args.socket)?;
    if let Some(written) = &written {
        written.finish()?;
    }
    let network = device.card().network();
    let counters = network.map(Network::counters).unwrap_or_default();
    let handed = counters.delivered.total();
    let mut page = Page::simulated("Streamer with a network side");
    of_card(&mut page, &device, mapped, refused);
    page.field(
        "frames",
        format!(
            "{} handed to the card, {}",
            count(handed.frames),
            bytes(handed.bytes)
        ),
    );
    let complaints = partner.capture().map(|seen| seen.complaints());
    for complaint in complaints.into_iter().flatten() {
        page.field("capture", complaint);
    }
    let failure = network.and_then(Network::source_failure);
    if let Some(failure) = failure {
        page.verdict(false, format_args!("{failure}; {}", failure.remedy()));
    }
    report::print_page(&page);
    Ok(match (exit, failure) {
        (Exit::Good, Some(_)) => Exit::BadResult,
        (exit, _) => exit,
    })
}

/// What every card says of itself at the end.
fn of_card(page: &mut Page, device: &StreamerDevice, mapped: u64, refused: u64) {
    page.field("cycles", count(device.card().cycle()));
    page.field("mapped", format_args!("{} bytes", count(mapped)));
    page.field("refused", count(refused));
}

/// Serves a device until its virtual machine has gone; also returns how many accesses were refused.
fn serve(device: &mut dyn Device, socket: &SocketArgs) -> Result<(Exit, u64)> {
    let options = Options {
        by_messages: socket.by_messages,
        ..Options::default()
    };
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::also(Arc::clone(&stop));
    let mut refused = 0;
    let mut watch = |event: &Event| match event {
        Event::Listening => println!("listening at {}", socket.path.display()),
        Event::Connected => println!("a virtual machine has connected"),
        Event::Reset => {}
        Event::Malformed(error) => eprintln!("warning: {error}"),
        // A doorbell of a drive that was reset or removed goes nowhere: there may be many.
        Event::Refused(access) => {
            refused += 1;
            if refused <= COMPLAINTS {
                eprintln!("warning: {access}");
            }
        }
        Event::NoAnswer { bar, offset } => {
            eprintln!("warning: the guest's read of BAR {bar} at {offset:#x} got no answer");
        }
    };
    let end = forebay_vm::serve(device, &socket.path, &options, &stop, &mut watch)?;
    let exit = match end {
        End::Gone => Exit::Good,
        End::Stopped => Exit::Interrupted,
    };
    Ok((exit, refused))
}
