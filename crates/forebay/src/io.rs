// SPDX-License-Identifier: Apache-2.0
//! `forebay io`: a file or a pattern to drives, bytes from drives. The same options on a simulated
//! machine and on devices of this one.

use std::fs;
use std::io::Read as _;
use std::sync::Arc;

use forebay_app::inject;
use forebay_app::io::{DevicesSpec, IoSpec, on_devices, simulated};
use forebay_driver::Options;
use rand_core::{RngCore as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

use crate::args::{BusKind, ConsentArgs, HardwareBusArgs, IoArgs};
use crate::failure::{Exit, Failure, Result};
use crate::report;

/// Runs it.
pub fn run(args: &IoArgs) -> Result<Exit> {
    check_options(args)?;
    let spec = spec(args)?;
    let (report, ended) = match args.bus {
        BusKind::Sim => simulated(&args.machine, &args.backing, &spec, |config| {
            if let Some(block) = &args.block {
                inject::set_block(config, block);
            }
            args.faults.apply(config)?;
            adjust_driver(args, &mut config.driver);
            Ok(())
        })?,
        BusKind::Vfio => {
            let mut options = args.hardware.options(args.machine.queue_depth);
            adjust_driver(args, &mut options);
            let devices = DevicesSpec {
                settings: args.hardware.settings([]),
                options,
                seed: args.machine.seed,
            };
            on_devices(&devices, &spec, |drive, serial| {
                args.consent.check(drive, Some(serial))
            })?
        }
    };
    report::show(&report, || {
        let mut page = report.page();
        for path in &args.backing {
            page.field("backing", format_args!("file {}", path.display()));
        }
        page
    })?;
    ended.exit(report.is_good())
}

fn spec(args: &IoArgs) -> Result<IoSpec> {
    let data = data(args)?;
    let length = data.as_ref().map(|data| data.len() as u64);
    let length = args.length.or(length);
    if args.read && length.is_none() {
        return Err(Failure::new(
            Exit::BadInput,
            "--read without --write or --generate needs --length",
            "say how much to read, such as --length 1MiB",
        ));
    }
    Ok(IoSpec {
        at: args.at,
        data,
        read: length.filter(|_| args.read),
        transaction: args.transaction,
        fua: args.fua,
        flush: args.flush,
        fence: args.fence,
        save: args.save.clone(),
        inspect: args.inspect.clone(),
    })
}

/// Refuses options of the one machine on the other.
fn check_options(args: &IoArgs) -> Result<()> {
    let mut simulated = args.faults.simulated();
    if !args.backing.is_empty() {
        simulated.push("--backing".into());
    }
    if args.block.is_some() {
        simulated.push("--block".into());
    }
    // The seed decides what is generated, too.
    if !(args.generate.is_some() && args.machine.given == ["seed"]) {
        simulated.extend(args.machine.given.iter().map(|name| format!("--{name}")));
    }
    let devices = (args.bus, &args.hardware, &args.consent);
    check_devices(devices, &simulated)?;
    match (args.bus, args.writes()) {
        (BusKind::Vfio, true) => args.consent.require(),
        (BusKind::Vfio, false) if args.consent.is_given() => Err(Failure::input(
            "--yes or --serial",
            "given",
            "nothing is written to the drive",
            "leave it out",
        )),
        _ => Ok(()),
    }
}

/// Refuses options of the one machine on the other; `simulated`: those given that only the simulated
/// one has.
pub fn check_devices(
    (bus, hardware, consent): (BusKind, &HardwareBusArgs, &ConsentArgs),
    simulated: &[String],
) -> Result<()> {
    let devices = [
        (hardware.ssd.is_some(), "--ssd"),
        (hardware.fpga.is_some(), "--fpga"),
        (hardware.no_iommu, "--no-iommu"),
        (hardware.huge_pages, "--huge-pages"),
        (consent.yes, "--yes"),
        (consent.serial.is_some(), "--serial"),
    ];
    let first = |list: &[(bool, &'static str)], given| {
        let found = list.iter().find(|(is_given, _)| *is_given == given);
        found.map(|(_, option)| (*option).to_owned())
    };
    let (option, value, limit, remedy) = match (bus, simulated.first()) {
        (BusKind::Sim, _) => (
            first(&devices, true),
            "given",
            "it names this machine's own hardware, and the machine is simulated",
            "add --bus vfio, or leave the option out",
        ),
        (BusKind::Vfio, Some(option)) => (
            Some(option.clone()),
            "given",
            "it is of the simulated machine, and devices of this one are asked for",
            "leave the option out, or take the simulated machine (--bus sim)",
        ),
        (BusKind::Vfio, None) => (
            first(&devices[..2], false),
            "missing",
            "--bus vfio takes a drive and a card, and never chooses one by itself",
            "`forebay devices` lists what is there",
        ),
    };
    match option {
        None => Ok(()),
        Some(option) => Err(Failure::input(&option, value, limit, remedy)),
    }
}

/// What the options change about the driver, on any bus.
fn adjust_driver(args: &IoArgs, options: &mut Options) {
    options.nsid = args.namespace;
    options.max_transfer = args.max_transfer;
    args.faults.adjust(options);
}

/// What is to be written, if anything is.
fn data(args: &IoArgs) -> Result<Option<Arc<[u8]>>> {
    let mut data = Vec::new();
    match (&args.write, args.generate) {
        (Some(path), _) => {
            let read = match path.as_os_str() == "-" {
                true => std::io::stdin().lock().read_to_end(&mut data).map(drop),
                false => fs::read(path).map(|bytes| data = bytes),
            };
            read.map_err(|error| Failure::file("reading", path, error))?;
        }
        (None, Some(bytes)) => {
            let room = usize::try_from(bytes).ok();
            let room = room.filter(|room| data.try_reserve_exact(*room).is_ok());
            let too_much = || {
                Failure::input(
                    "--generate",
                    bytes,
                    "this machine's memory does not hold it",
                    "generate less",
                )
            };
            data.resize(room.ok_or_else(too_much)?, 0);
            Pcg64Mcg::seed_from_u64(args.machine.seed).fill_bytes(&mut data);
        }
        (None, None) => return Ok(None),
    }
    Ok(Some(data.into()))
}
