// SPDX-License-Identifier: Apache-2.0
//! A root port of QEMU, and what is below it, for the program that brings drives up without a CPU.
//!
//! The machine's processor is halted: each access of the program is one of qtest. Windows that drives
//! reach are guest memory. Bus 0 has the root port alone, as device 0; QEMU's other devices on its
//! bus 0 read as absent. Memory is what a bridge passes on: the room for windows and BARs.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use forebay_qtest::{BAR_SPACE, BAR_SPACE_END, ECAM, Machine, PROGRAM};
pub use forebay_qtest::{Error, Result};
use forebay_seq::boot::{Root, Settings};
use forebay_spec::boot::ram;
use forebay_spec::pci::{capability, offset};
use serde_json::json;

use crate::guest::{self, Ssd, device};

/// What the program is told of QEMU's machine.
pub const SETTINGS: Settings = Settings {
    admin_base: 0x20_0000,
    queue_base: 0x30_0000,
    // A page for 64 submission entries, one for completion entries.
    queue_step: 0x2000,
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
/// Its slot on QEMU's bus 0.
const SLOT: u64 = 3;
/// Bytes of configuration space of a function, and of a bus.
const FUNCTION_BYTES: u32 = 0x1000;
const BUS_BYTES: u32 = 0x10_0000;
/// Capabilities of a function: more do not fit.
const CAPABILITIES_MOST: usize = 48;
/// Link Status, in the upper half of the dword, bit 13: the data link layer is active (7.5.3.8).
const LINK_STATUS: u64 = 0x10;
const LINK_ACTIVE: u32 = 1 << 29;
/// Bridge Control, in the upper half of the dword, bit 6: Secondary Bus Reset (7.5.1.3.13).
const BUS_RESET: u32 = 1 << 22;
/// Of a wait of the program, what really passes.
const WAIT_MOST: Duration = Duration::from_micros(200);

/// QEMU with the root port; devices below are put on the bus `root`.
pub fn qemu() -> Command {
    let mut qemu = Command::new(PROGRAM);
    // Where ACPI does hot-plug, no port says whether its link is up.
    qemu.args([
        "-global",
        "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
    ]);
    // QEMU makes devices given as JSON behind all others: this is not, so that these can be on it.
    let port = format!("pcie-root-port,id={PORT},bus=pcie.0,chassis=1,slot=1,addr={SLOT:#x}");
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
    /// Where the port's PCI Express capability is.
    express: u64,
    reset: bool,
    started: Instant,
    skipped_us: u64,
    failure: Option<Error>,
}

impl QemuRoot {
    /// Starts QEMU, which is that of [`qemu`] with devices; the machine's files are in `folder`.
    pub fn start(folder: &Path, qemu: Command) -> Result<Self> {
        let mut machine = Machine::start(folder, qemu)?;
        Ok(Self {
            express: find_express(&mut machine)?,
            machine,
            reset: false,
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

    /// Where QEMU has a dword of configuration space; none: nothing is there.
    fn place(ecam: u32) -> Option<u64> {
        match ecam {
            0..FUNCTION_BYTES => Some(port(ecam.into())),
            FUNCTION_BYTES..BUS_BYTES => None,
            _ => Some(ECAM + u64::from(ecam)),
        }
    }

    /// A bridge answers in error what is below a link that is down.
    fn unreachable(&self, ecam: u32) -> bool {
        self.reset && ecam >= BUS_BYTES
    }
}

impl Root for QemuRoot {
    fn config_read(&mut self, ecam: u32) -> Option<u32> {
        if self.unreachable(ecam) {
            return None;
        }
        match Self::place(ecam) {
            Some(at) => self.ask(|machine| machine.read32(at)),
            None => Some(u32::MAX),
        }
    }

    fn config_write(&mut self, ecam: u32, value: u32) -> bool {
        if self.unreachable(ecam) {
            return false;
        }
        match Self::place(ecam) {
            Some(at) => self.ask(|machine| machine.write32(at, value)).is_some(),
            None => true,
        }
    }

    fn memory_read(&mut self, address: u64) -> Option<u32> {
        if self.reset || !(BAR_SPACE..BAR_SPACE_END).contains(&address) {
            return None;
        }
        self.ask(|machine| machine.read32(address))
    }

    fn memory_write(&mut self, address: u64, value: u32) -> bool {
        if self.reset || !(BAR_SPACE..BAR_SPACE_END).contains(&address) {
            return false;
        }
        self.ask(|machine| machine.write32(address, value))
            .is_some()
    }

    fn link_up(&mut self) -> bool {
        let at = self.express + LINK_STATUS;
        let status = self.ask(|machine| machine.read32(at));
        !self.reset && status.is_some_and(|status| status & LINK_ACTIVE != 0)
    }

    fn perst(&mut self, asserted: bool) {
        let at = port(offset::INTERRUPT.into());
        self.ask(|machine| {
            let control = machine.read32(at)? & !BUS_RESET;
            machine.write32(at, control | if asserted { BUS_RESET } else { 0 })
        });
        self.reset = asserted;
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

/// Where QEMU has the root port's configuration space.
const fn port(offset: u64) -> u64 {
    ECAM + (SLOT << 15) + offset
}

/// Where the port's PCI Express capability is.
fn find_express(machine: &mut Machine) -> Result<u64> {
    let mut next = machine.read32(port(offset::CAPABILITIES.into()))?;
    for _ in 0..CAPABILITIES_MOST {
        let at = port(u64::from(next & 0xfc));
        let found = machine.read32(at)?;
        if found as u8 == capability::PCI_EXPRESS {
            return Ok(at);
        }
        next = found >> 8;
    }
    Err(Error::Answer {
        line: "the capabilities of the root port".into(),
        answer: format!("{next:#x}"),
    })
}
