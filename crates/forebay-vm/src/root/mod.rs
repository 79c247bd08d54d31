// SPDX-License-Identifier: Apache-2.0
//! A root port of QEMU, and what is below it, for the program that brings drives up without a CPU.
//!
//! The machine's processor is halted: each access of the program is one of qtest. [`QemuRoot`] is for
//! the interpreted program: windows that drives reach are guest memory. [`QemuHierarchy`] is for the
//! RTL: these windows are a PCI function of the machine, which the RTL is behind.

mod bridge;
mod hierarchy;
mod inbound;

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use forebay_qtest::{BAR_SPACE, BAR_SPACE_END, Machine, PROGRAM};
pub use forebay_qtest::{Error, Result};
use forebay_seq::boot::{Root, Settings};
use forebay_spec::boot::ram;
use serde_json::json;

use crate::guest::{self, Image, Ssd, device};
use bridge::{Access, Bridge};
pub use hierarchy::QemuHierarchy;

/// What the program is told of QEMU's machine.
pub const SETTINGS: Settings = Settings {
    admin_base: 0x20_0000,
    queue_base: 0x30_0000,
    // A page for 64 submission entries, one for completion entries.
    queue_step: 0x2000,
    // Of a streamer, which is not there.
    data_base: 0x80_0000,
    room_first: BAR_SPACE,
    room_end: BAR_SPACE_END,
    root_bar: 0,
    drives_most: ram::DRIVES_MOST as u8,
    queue_entries: 64,
    together: false,
    reset_us: 100_000,
    watch: false,
};

/// Identifier of the root port, which is also that of the bus below it.
const PORT: &str = "root";
/// Of a wait of the program, what really passes.
const WAIT_MOST: Duration = Duration::from_micros(200);

/// QEMU from `PATH` with the root port; devices below are put on the bus `root`.
pub fn qemu() -> Command {
    with_port(Command::new(PROGRAM))
}

/// The same with QEMU of a guest's image, for [`QemuHierarchy`]: older ones know no vfio-user.
pub fn qemu_of(image: &Image) -> Command {
    with_port(image.qemu())
}

fn with_port(mut qemu: Command) -> Command {
    // Where ACPI does hot-plug, no port says whether its link is up.
    qemu.args([
        "-global",
        "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
    ]);
    // QEMU makes devices given as JSON behind all others: this is not, so that these can be on it.
    let slot = bridge::SLOT;
    let port = format!("pcie-root-port,id={PORT},bus=pcie.0,chassis=1,slot=1,addr={slot:#x}");
    qemu.args(["-device", &port]);
    qemu
}

/// Puts drives below the root port: one, or several behind a switch. Images that are missing are
/// made where their size is given.
///
/// # Errors
/// Where an image is missing, or a value is none that QEMU takes.
pub fn attach(qemu: &mut Command, drives: &[Ssd], switch: bool) -> guest::Result<()> {
    let most = if switch { ram::DRIVES_MOST.into() } else { 1 };
    if drives.len() > most {
        return Err(guest::Error::Setting {
            field: "the number of drives",
            value: drives.len().to_string(),
            limit: format!("{most} can be there"),
            remedy: match switch {
                true => "leave some out",
                false => "put a switch below the root port: +switch behind a drive",
            },
        });
    }
    if switch {
        let up = json!({"driver": "x3130-upstream", "id": "switch", "bus": PORT});
        device(qemu, &up);
    }
    for (number, drive) in drives.iter().enumerate() {
        let mut bus = PORT.to_owned();
        if switch {
            bus = format!("port{number}");
            let down = json!({
                "driver": "xio3130-downstream", "id": bus, "bus": "switch", "chassis": 2 + number,
                "slot": number, "addr": format!("{number:#x}"),
            });
            device(qemu, &down);
        }
        drive.arguments(number, &bus, qemu)?;
    }
    Ok(())
}

/// A root port of QEMU, as an FPGA's bridge gives it to the program.
///
/// PERST# is the port's Secondary Bus Reset; while it is asserted, the link is down. Time is the
/// clock's, and each wait is cut short and moves it on. Once QEMU does not answer, every access ends
/// in error and the link is down; [`Self::failure`] says why.
#[derive(Debug)]
pub struct QemuRoot {
    machine: Machine,
    bridge: Bridge,
    started: Instant,
    skipped_us: u64,
    failure: Option<Error>,
}

impl QemuRoot {
    /// Starts QEMU, which is that of [`qemu`] with devices; the machine's files are in `folder`.
    pub fn start(folder: &Path, qemu: Command) -> Result<Self> {
        let mut machine = Machine::start(folder, qemu)?;
        Ok(Self {
            bridge: Bridge::find(|line| machine.exchange(line))?,
            machine,
            started: Instant::now(),
            skipped_us: 0,
            failure: None,
        })
    }

    /// The machine below.
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Why QEMU does not answer any more, if so; this is told once.
    pub fn failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Asks QEMU, unless it has not answered before.
    fn ask<T>(&mut self, what: impl FnOnce(&mut Machine) -> Result<T>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        match what(&mut self.machine) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.failure = Some(error);
                None
            }
        }
    }

    /// What an access yields.
    fn carry_out(&mut self, access: Access) -> Option<u32> {
        match access {
            Access::Line(line) => self.ask(|machine| Ok(machine.exchange(line)? as u32)),
            Access::Known(value) => value,
        }
    }
}

impl Root for QemuRoot {
    fn config_read(&mut self, ecam: u32) -> Option<u32> {
        self.carry_out(self.bridge.config_read(ecam))
    }

    fn config_write(&mut self, ecam: u32, value: u32) -> bool {
        self.carry_out(self.bridge.config_write(ecam, value))
            .is_some()
    }

    fn memory_read(&mut self, address: u64) -> Option<u32> {
        self.carry_out(self.bridge.memory_read(address))
    }

    fn memory_write(&mut self, address: u64, value: u32) -> bool {
        self.carry_out(self.bridge.memory_write(address, value))
            .is_some()
    }

    fn link_up(&mut self) -> bool {
        let line = self.bridge.link_status();
        let status = self.ask(|machine| machine.exchange(line));
        status.is_some_and(|status| self.bridge.is_up(status))
    }

    fn perst(&mut self, asserted: bool) {
        self.bridge.reset = asserted;
        let bridge = &self.bridge;
        if self.failure.is_none() {
            let control = self.machine.exchange(bridge.control());
            let done = control.and_then(|control| {
                let line = bridge.set_reset(control, asserted);
                self.machine.exchange(line)
            });
            self.failure = done.err();
        }
    }

    fn window_read(&mut self, offset: u16, data: &mut [u8]) {
        let at = SETTINGS.admin_base + u64::from(offset);
        self.ask(|machine| machine.read_memory(at, data));
    }

    fn window_write(&mut self, offset: u16, data: &[u8]) {
        let at = SETTINGS.admin_base + u64::from(offset);
        self.ask(|machine| machine.write_memory(at, data));
    }

    fn now_us(&mut self) -> u64 {
        self.started.elapsed().as_micros() as u64 + self.skipped_us
    }

    fn wait_us(&mut self, us: u64) {
        let passing = Duration::from_micros(us).min(WAIT_MOST);
        thread::sleep(passing);
        self.skipped_us += us - passing.as_micros() as u64;
    }
}
