// SPDX-License-Identifier: Apache-2.0
//! `forebay vm test`: what we made, judged by Linux and QEMU in one guest.
//!
//! The guest has two NVMe controllers of QEMU's, the SSD model, and the streamer's RTL as cards with
//! each of the memories for the payload, mapped, or with all of it trapped. Steps run one after the other; a step
//! that fails does not keep the others from running. What only the host can see, the raw images and
//! the reports, is checked at the end.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use forebay_cosim::{Card, Config};
use forebay_model::{Medium, Profile};
use forebay_pipeline::Memory;
use forebay_vm::guest::{self, Access, Inject, Iommu, Job, Machine, Namespace, Ssd};
use forebay_vm::{Device, Event, SsdDevice, StreamerDevice};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;

use super::steps::{self, Amounts, BAD_LBA, Images, Step};
use forebay_app::machine::{card_rtl, mapped_bytes};

use crate::args::VmTestArgs;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::render::{self, Grid, Page};
use crate::{home, interrupt, report, serve};

/// Kind and version of the report.
const SCHEMA: &str = "forebay.vm-test/1";
/// Pages of the card's payload buffer.
const PAGES: u32 = 1024;
/// The cards: where their payload is, and whether it is mapped.
const CARDS: [(&str, Memory, bool); 5] = [
    ("card", Memory::Onchip, true),
    ("card, trapped", Memory::Onchip, false),
    ("DRAM card", Memory::Dram, true),
    ("DRAM card, trapped", Memory::Dram, false),
    ("host DRAM card", Memory::Host, true),
];
/// Before a line of the guest that is for us.
const MARK: &str = "::";

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    command_line: Vec<String>,
    simulated: bool,
    full: bool,
    /// Of this machine, the start of the guest included.
    host_seconds: f64,
    steps: Vec<Outcome>,
}

/// What came of a step.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    name: &'static str,
    shows: &'static str,
    good: bool,
    /// What was seen, or what went wrong.
    seen: String,
}

/// Runs it.
pub fn run(args: &VmTestArgs) -> Result<u8> {
    let started = Instant::now();
    let amounts = if args.full {
        Amounts::FULL
    } else {
        Amounts::SHORT
    };
    let folder = tempfile::Builder::new()
        .prefix("forebay-vm-test-")
        .tempdir()
        .map_err(|error| Failure::file("making a folder in", &std::env::temp_dir(), error))?;
    let images = Images::in_folder(folder.path());
    let share = folder.path().join("share");
    let steps = chosen(steps::all(&amounts), &args.steps)?;
    prepare(&share, &amounts, &steps).map_err(|error| Failure::file("writing", &share, error))?;

    let image = super::image()?;
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::also(Arc::clone(&stop));
    let devices = Devices::serve(folder.path(), amounts.drive(), &stop)?;
    let machine = machine(&images, &amounts, &devices);
    let serial_log = folder.path().join("serial.log");
    let mut listener = Listener::new(&steps);
    let job = Job {
        programs: vec![super::own_program()],
        share: Some(&share),
        serial_log: &serial_log,
        limit: Some(args.timeout),
        stop: &stop,
    };
    let command = ["sh", "-c", "sh ./all.sh 2>&1"].map(str::to_owned);
    let ended = guest::run(
        &image,
        &machine,
        &job,
        &command,
        &mut listener,
        &mut io::sink(),
    );
    let served = devices.end();
    if let Some(keep) = &args.keep {
        copy(folder.path(), keep).map_err(|error| Failure::file("writing", keep, error))?;
    }
    // Also of a guest that has not come to its end it is told how far it came, and what the
    // devices say of it.
    let mut outcomes = listener.outcomes;
    for (outcome, step) in outcomes.iter_mut().zip(&steps) {
        look(outcome, step, &share, &images, &amounts);
    }
    outcomes.extend(served);
    let report = Report {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        command_line: report::command_line(),
        simulated: true,
        full: args.full,
        host_seconds: started.elapsed().as_secs_f64(),
        steps: outcomes,
    };
    let good = report.steps.iter().all(|step| step.good);
    if !report::emit(&report)? {
        show(&report, good);
    }
    ended?;
    Ok(if good { Exit::Good } else { Exit::BadResult } as u8)
}

/// The steps of these names, or all.
fn chosen(all: Vec<Step>, names: &[String]) -> Result<Vec<Step>> {
    let known: Vec<_> = all.iter().map(|step| step.name).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        return Err(Failure::input(
            "--step",
            unknown,
            &format!("there are: {}", known.join(", ")),
            "name one of these, or leave it out for all",
        ));
    }
    let wanted = |step: &Step| names.is_empty() || names.iter().any(|name| name == step.name);
    Ok(all.into_iter().filter(wanted).collect())
}

/// Puts data and scripts where the guest finds them.
fn prepare(share: &Path, amounts: &Amounts, steps: &[Step]) -> io::Result<()> {
    fs::create_dir(share)?;
    let mut data = vec![0; amounts.stream as usize];
    Pcg64Mcg::seed_from_u64(1).fill_bytes(&mut data);
    fs::write(share.join(steps::DATA), data)?;
    fs::write(share.join("common.sh"), steps::COMMON)?;
    let mut all = String::new();
    for step in steps {
        let name = step.name;
        fs::write(share.join(format!("{name}.sh")), &step.script)?;
        // The last line that a step says is what is seen of it.
        all.push_str(&format!(
            "echo '{MARK}begin {name}'\n\
             code=0; sh -ec '. ./common.sh; . ./{name}.sh' >{name}.log 2>&1 || code=$?\n\
             echo \"{MARK}end {name} $code $(tail -n 1 {name}.log)\"\n"
        ));
    }
    fs::write(share.join("all.sh"), all)
}

fn machine(images: &Images, amounts: &Amounts, devices: &Devices) -> Machine {
    let namespace = |image: &Path, bytes, block, errors| Namespace {
        image: image.to_owned(),
        size: Some(bytes),
        block,
        errors,
    };
    let inject = |access, lba| Inject {
        access,
        lba,
        once: false,
    };
    let large = Ssd {
        transfer: Some(1 << 20),
        namespaces: vec![
            namespace(&images.small_blocks, amounts.drive(), 512, Vec::new()),
            namespace(&images.large_blocks, amounts.drive(), 4096, Vec::new()),
        ],
        ..Ssd::default()
    };
    let bad = vec![
        inject(Access::Write, BAD_LBA.write),
        inject(Access::Read, BAD_LBA.read),
    ];
    let small = Ssd {
        transfer: Some(8 << 10),
        namespaces: vec![namespace(&images.failing, 4 << 20, 512, bad)],
        ..Ssd::default()
    };
    Machine {
        memory: 1 << 30,
        iommu: Iommu::Translate,
        ssds: vec![large, small],
        devices: devices.sockets.clone(),
        qmp: None,
    }
}

/// Our devices, each served by a thread of its own.
struct Devices {
    sockets: Vec<PathBuf>,
    threads: Vec<(&'static str, JoinHandle<Served>)>,
    stop: Arc<AtomicBool>,
}

type Served = std::result::Result<String, String>;

impl Devices {
    /// In the order of [`steps::COMMON`]: the SSD model of so many bytes, and the cards.
    fn serve(folder: &Path, model: u64, stop: &Arc<AtomicBool>) -> Result<Self> {
        let mut devices = Self {
            sockets: Vec::new(),
            threads: Vec::new(),
            stop: Arc::clone(stop),
        };
        let mut profile = Profile::builtin("ideal")?;
        if let Some(namespace) = profile.ssd.namespaces.first_mut() {
            namespace.bytes = model;
        }
        let model = SsdDevice::new(&profile, Medium::in_memory(profile.ssd.bytes()), 1)?;
        devices.add(folder, "model", model, |model| {
            let stats = model.stats();
            let commands = render::count(stats.commands);
            format!("{commands} commands, {} failed", stats.failed)
        });
        for (name, memory, mapped) in CARDS {
            let mut card = StreamerDevice::new(card(memory)?, []);
            if mapped {
                check_mapped(card.map_payload()?, mapped_bytes(memory, PAGES))?;
            }
            devices.add(folder, name, card, |card| {
                format!("{} cycles", render::count(card.card().cycle()))
            });
        }
        Ok(devices)
    }

    fn add<D: Device + Send + 'static>(
        &mut self,
        folder: &Path,
        name: &'static str,
        mut device: D,
        tell: fn(&D) -> String,
    ) {
        let socket = folder.join(format!("{}.sock", self.sockets.len()));
        let (path, stop) = (socket.clone(), Arc::clone(&self.stop));
        let thread = thread::spawn(move || {
            let options = forebay_vm::Options::default();
            let (mut fault, mut refused) = (None, 0);
            let mut watch = |event: &Event| match event {
                // A doorbell of a drive that was reset or removed rings nowhere.
                Event::Refused(_) => refused += 1,
                event => fault = fault.take().or_else(|| serve::complaint(event)),
            };
            let end = forebay_vm::serve(&mut device, &path, &options, &stop, &mut watch);
            match (end, fault) {
                (Err(error), _) => Err(error.to_string()),
                (Ok(_), Some(fault)) => Err(fault),
                (Ok(_), None) => Ok(format!("{}, {refused} requests refused", tell(&device))),
            }
        });
        let limit = Instant::now() + Duration::from_secs(10);
        while !socket.exists() && !thread.is_finished() && Instant::now() < limit {
            thread::sleep(Duration::from_millis(5));
        }
        self.sockets.push(socket);
        self.threads.push((name, thread));
    }

    /// Waits for the end of all; a device that has failed is told.
    fn end(self) -> Vec<Outcome> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.threads.into_iter().map(|(name, thread)| {
            let served = thread
                .join()
                .unwrap_or_else(|_| Err("it has panicked".into()));
            Outcome {
                name,
                shows: "the device was served to the end",
                good: served.is_ok(),
                seen: served.unwrap_or_else(|error| error),
            }
        });
        ended.collect()
    }
}

/// That all of it is mapped hangs on names in the RTL and on what Verilator writes.
fn check_mapped(bytes: u64, wanted: u64) -> Result<()> {
    if bytes == wanted {
        return Ok(());
    }
    Err(Failure::new(
        Exit::Impossible,
        format!("of the card's memories {bytes} bytes can be mapped, not {wanted}"),
        "this is a defect: the RTL's memories are called otherwise than the card expects",
    ))
}

fn card(memory: Memory) -> Result<Card> {
    let source = card_rtl(memory, &home::find()?, steps::DEPTH, PAGES);
    let config = Config::new(source, Profile::builtin("ideal")?);
    let progress = Progress::stage("looking for the RTL's library");
    Ok(Card::new(config, &mut |step| progress.build(step))?)
}

/// Follows the guest's steps line by line.
struct Listener {
    line: Vec<u8>,
    outcomes: Vec<Outcome>,
    progress: Progress,
}

impl Listener {
    fn new(steps: &[Step]) -> Self {
        let outcome = |step: &Step| Outcome {
            name: step.name,
            shows: step.shows,
            good: false,
            seen: "it was not reached".into(),
        };
        let progress = Progress::count("the guest starts", steps.len() as u64);
        Self {
            line: Vec::new(),
            outcomes: steps.iter().map(outcome).collect(),
            progress,
        }
    }

    fn take(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix(MARK) else {
            return;
        };
        let mut words = rest.splitn(4, ' ');
        let (event, name) = (words.next(), words.next().unwrap_or_default());
        let Some(index) = self.outcomes.iter().position(|it| it.name == name) else {
            return;
        };
        match event {
            Some("begin") => {
                self.progress.at(index as u64);
                self.progress.rename(name);
                self.outcomes[index].seen = "it did not end".into();
            }
            Some("end") => {
                self.outcomes[index].good = words.next() == Some("0");
                self.outcomes[index].seen = words.next().unwrap_or_default().trim().to_owned();
            }
            _ => {}
        }
    }
}

impl io::Write for Listener {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    self.take(&String::from_utf8_lossy(&line));
                }
                // A line without end is none of ours.
                byte if self.line.len() < 4096 => self.line.push(*byte),
                _ => {}
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the host sees of a step: images and reports.
fn look(outcome: &mut Outcome, step: &Step, share: &Path, images: &Images, amounts: &Amounts) {
    if !outcome.good {
        // The last lines of what it said, where the last one alone says too little.
        let log = fs::read_to_string(share.join(format!("{}.log", step.name))).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(12).collect();
        if !lines.is_empty() {
            outcome.seen = lines.into_iter().rev().collect::<Vec<_>>().join("\n");
        }
        return;
    }
    let Some(check) = step.check else { return };
    match check(share, images, amounts) {
        Ok(seen) => outcome.seen = seen,
        Err(wrong) => {
            outcome.good = false;
            outcome.seen = wrong;
        }
    }
}

/// Copies files and folders.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    File::create(to.join("README"))?.write_all(
        b"What `forebay vm test` left: share/ holds each step's script and log, *.img the drives.\n",
    )
}

fn show(report: &Report, good: bool) {
    let mut page = Page::new("Forebay vm test");
    let mut grid = Grid::new(&["", "step", "shows", "seen"])
        .wrap(2, 44)
        .wrap(3, 60);
    for step in &report.steps {
        grid.row([&render::mark(step.good), step.name, step.shows, &step.seen]);
    }
    page.grid(grid);
    let failed = report.steps.iter().filter(|step| !step.good).count();
    let sentence = match failed {
        0 => format!("all {} steps went through", report.steps.len()),
        failed => format!("{failed} of {} steps failed", report.steps.len()),
    };
    page.verdict(good, sentence);
    page.print();
}
