// SPDX-License-Identifier: Apache-2.0
//! `forebay vm`: a Linux guest with devices from sockets and images.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_app::progress::Progress;
use forebay_app::{home, interrupt};
use forebay_draw::text::{Grid, Page};
use forebay_rtl::Cache;
use forebay_vm::guest::{self, Image, Job, Machine, Program};

use crate::args::{VmArgs, VmCommand, VmRunArgs};
use crate::failure::{Exit, Failure, Result};
use crate::{report, serve};

/// Runs it; returns the exit code, which is the guest command's own where one was run.
pub fn run(command: &VmCommand) -> Result<u8> {
    match command {
        VmCommand::Run(args) => run_command(args),
        VmCommand::Shell(args) => shell(args),
        VmCommand::Serve { device } => serve::run(device).map(|exit| exit as u8),
        VmCommand::Image => list(&image()?),
    }
}

fn run_command(args: &VmRunArgs) -> Result<u8> {
    let guest = Prepared::new(&args.vm)?;
    let job = Job {
        limit: Some(args.timeout),
        ..guest.job(&args.vm)
    };
    let image = image()?;
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let code = guest::run(
        &image,
        &guest.machine,
        &job,
        &args.command,
        &mut out,
        &mut err,
    )?;
    Ok(code)
}

fn shell(args: &VmArgs) -> Result<u8> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(
            Exit::BadInput,
            "standard input is no terminal, but a shell needs one",
            "run a command instead: forebay vm run -- COMMAND",
        ));
    }
    let guest = Prepared::new(args)?;
    let image = image()?;
    guest::shell(&image, &guest.machine, &guest.job(args))?;
    Ok(Exit::Good as u8)
}

/// The image, made if need be.
pub fn image() -> Result<Image> {
    let cache = Cache::of_user()?.folder().with_file_name("guest");
    let mut progress = None;
    let image = Image::get(&cache, || {
        progress = Some(Progress::stage("making the guest from packages (once)"));
    });
    Ok(image?)
}

fn list(image: &Image) -> Result<u8> {
    let mut page = Page::of_hardware("Guest image");
    page.field("folder", home::short(image.folder()));
    let mut grid = Grid::new("package | version | sha256");
    for line in image.packages()?.lines() {
        grid.row(line.split('\t'));
    }
    report::print_page(page.grid(grid));
    Ok(Exit::Good as u8)
}

/// What a guest is started with.
struct Prepared {
    machine: Machine,
    programs: Vec<Program>,
    serial_log: PathBuf,
    stop: Arc<AtomicBool>,
}

impl Prepared {
    fn new(args: &VmArgs) -> Result<Self> {
        if let Some(share) = args.share.as_deref().filter(|share| !share.is_dir()) {
            return Err(Failure::input(
                "--share",
                share.display(),
                "there is no such folder",
                "make it first",
            ));
        }
        let further = args.program.iter().map(|path| Program::of_file(path));
        let programs = [Ok(Program::this("forebay"))].into_iter().chain(further);
        let programs = programs.collect::<guest::Result<_>>()?;
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        Ok(Self {
            machine: Machine {
                memory: args.memory,
                iommu: args.iommu,
                ssds: args.ssd.clone(),
                devices: args.device.clone(),
                qmp: args.qmp.clone(),
            },
            programs,
            serial_log: args.serial_log.clone().unwrap_or_else(|| {
                let home = home::find().unwrap_or_default();
                home.join("build/vm/serial.log")
            }),
            stop,
        })
    }

    fn job<'a>(&'a self, args: &'a VmArgs) -> Job<'a> {
        Job {
            programs: self.programs.clone(),
            share: args.share.as_deref(),
            serial_log: &self.serial_log,
            limit: None,
            stop: &self.stop,
        }
    }
}
