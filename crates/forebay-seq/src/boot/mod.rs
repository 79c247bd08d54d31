// SPDX-License-Identifier: Apache-2.0
//! The spaces of the program that brings drives up without a CPU, for the interpreter: what
//! `rtl/boot` has around the sequencer. Below it is a [`Root`]: a model, or another simulator.

mod drive;
mod streamer;

use forebay_spec::boot::{admin, port, ram, space};
use forebay_spec::nvme::{Cqe, Sqe};

use crate::Spaces;

pub use drive::Drive;
pub use streamer::{Fault, Streamer};

/// The program, `rtl/boot/boot.seq`.
pub const PROGRAM: &str = include_str!("../../../../rtl/boot/boot.seq");

/// What is below a root port, and the window that drives see of us.
pub trait Root {
    /// Reads a dword of configuration space by its ECAM offset; none: the bridge answers in error.
    fn config_read(&mut self, ecam: u32) -> Option<u32>;
    /// Writes a dword of configuration space; false: the bridge answers in error.
    fn config_write(&mut self, ecam: u32, value: u32) -> bool;
    /// Reads a dword of memory by its bus address; none: the bridge answers in error.
    fn memory_read(&mut self, address: u64) -> Option<u32>;
    /// Writes a dword of memory; false: the bridge answers in error.
    fn memory_write(&mut self, address: u64, value: u32) -> bool;
    /// The link is up.
    fn link_up(&mut self) -> bool;
    /// The bridge of the root port has left an access without an answer.
    fn bridge_hung(&mut self) -> bool {
        false
    }
    /// Asserts PERST#, or releases it.
    fn perst(&mut self, asserted: bool);
    /// Reads the memory behind the admin window, [`admin::WINDOW_BYTES`].
    fn window_read(&mut self, offset: u16, data: &mut [u8]);
    /// Writes the memory behind the admin window.
    fn window_write(&mut self, offset: u16, data: &[u8]);
    /// The time in microseconds, from any moment on.
    fn now_us(&mut self) -> u64;
    /// Lets this time pass.
    fn wait_us(&mut self, us: u64);
}

/// What the program is told of the place that it runs at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bus address of the admin window.
    pub admin_base: u64,
    /// Bus address of the first submission queue.
    pub queue_base: u64,
    /// Bytes from a drive's submission queue to that of the next.
    pub queue_step: u64,
    /// Bus address of the streamer's data window.
    pub data_base: u64,
    /// First bus address for windows of bridges and BARs.
    pub room_first: u64,
    /// First bus address behind them.
    pub room_end: u64,
    /// What the root port's own BAR 0 is set to; 0: it is left alone.
    pub root_bar: u64,
    /// Most drives, 1 to 8.
    pub drives_most: u8,
    /// Entries of an I/O queue, at most.
    pub queue_entries: u16,
    /// For how long PERST# is asserted, and what passes from link-up to the first request.
    pub reset_us: u64,
    /// The failure of one drive ends the program.
    pub together: bool,
    /// Once drives are ready the program watches them.
    pub watch: bool,
}

/// What the program tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it is at.
    pub state: u8,
    /// Drives that are ready, a bit each.
    pub drives_ready: u8,
    /// How often each code was counted.
    pub codes: [u32; 256],
    /// Bytes that the streamer's drives have together.
    pub media_bytes: u64,
    /// log2 of the bytes of their logical blocks.
    pub block_shift: u8,
}

/// The spaces around a root.
#[derive(Debug)]
pub struct Boot<R> {
    root: R,
    settings: Settings,
    ram: [u64; ram::BYTES as usize / 8],
    window: Window,
    streamer: Streamer,
    told: Told,
    said: Vec<u8>,
}

/// The admin window's registers.
#[derive(Debug, Default)]
struct Window {
    entry: [u32; Sqe::BYTES / 4],
    cid: u16,
    tail: u16,
    head: u16,
    /// The phase of completion entries that are to come.
    phase: bool,
    caught: Option<Cqe>,
    /// An entry came that is no answer.
    stray: bool,
}

/// Cycles after which a streamer gives a command up: 5 s at 250 MHz.
pub const COMMAND_CYCLES: u64 = 1_250_000_000;

/// What a line of the page for data holds until a drive writes it.
pub const UNWRITTEN: [u8; 64] =
    *b"no drive has written this line of the page for data: 64 bytes...";

impl<R: Root> Boot<R> {
    /// Spaces as after a reset.
    pub fn new(root: R, settings: Settings) -> Self {
        Self {
            root,
            settings,
            ram: [0; _],
            window: Window::default(),
            streamer: Streamer::new(settings.drives_most),
            told: Told {
                state: 0,
                drives_ready: 0,
                codes: [0; 256],
                media_bytes: 0,
                block_shift: 0,
            },
            said: Vec::new(),
        }
    }

    /// What is below.
    pub fn root(&mut self) -> &mut R {
        &mut self.root
    }

    /// The streamer's registers.
    pub const fn streamer(&mut self) -> &mut Streamer {
        &mut self.streamer
    }

    /// What the program has told.
    pub const fn told(&self) -> &Told {
        &self.told
    }

    /// What it has written to the console.
    pub fn console(&self) -> String {
        String::from_utf8_lossy(&self.said).into_owned()
    }

    /// Its memory.
    pub const fn ram(&self) -> &[u64; ram::BYTES as usize / 8] {
        &self.ram
    }

    fn port_read(&mut self, offset: u16) -> Option<u64> {
        let of = &self.settings;
        Some(match offset {
            port::LINK => u64::from(self.root.link_up()) | u64::from(self.root.bridge_hung()) << 1,
            port::ADMIN_BASE => of.admin_base,
            port::QUEUE_BASE => of.queue_base,
            port::QUEUE_STEP => of.queue_step,
            port::ROOM_FIRST => of.room_first,
            port::ROOM_END => of.room_end,
            port::ROOT_BAR => of.root_bar,
            port::DRIVES_MOST => of.drives_most.into(),
            port::QUEUE_ENTRIES => of.queue_entries.into(),
            port::OPTIONS => u64::from(of.together) | u64::from(of.watch) << 1,
            port::RESET_US => of.reset_us,
            port::DATA_BASE => of.data_base,
            port::MMIO_OFFSET => 0,
            port::COMMAND_CYCLES => COMMAND_CYCLES,
            _ => return None,
        })
    }

    fn port_write(&mut self, offset: u16, value: u64) -> bool {
        match offset {
            port::PERST => self.root.perst(value & 1 != 0),
            port::STATE => self.told.state = value as u8,
            port::COUNT => {
                let count = &mut self.told.codes[usize::from(value as u8)];
                *count = count.saturating_add(1);
            }
            port::DRIVES_READY => self.told.drives_ready = value as u8,
            port::MEDIA_BYTES => self.told.media_bytes = value,
            port::BLOCK_SHIFT => self.told.block_shift = value as u8,
            _ => return false,
        }
        true
    }

    /// Looks whether the completion of the command has come.
    fn catch(&mut self) {
        let window = &mut self.window;
        if window.caught.is_some() {
            return;
        }
        let mut bytes = [0; Cqe::BYTES];
        let at = admin::CQ + window.head * Cqe::BYTES as u16;
        self.root.window_read(at, &mut bytes);
        let entry = Cqe::from_bytes(&bytes);
        if entry.phase != window.phase {
            return;
        }
        if entry.cid != window.cid {
            window.stray = true;
            return;
        }
        window.caught = Some(entry);
        window.head = (window.head + 1) % admin::ENTRIES;
        window.phase ^= window.head == 0;
    }

    fn admin_read(&mut self, offset: u16, bytes: u8) -> Option<u64> {
        if offset >= admin::DATA {
            return self.data_read(offset - admin::DATA, bytes);
        }
        match offset {
            admin::TAIL => Some(self.window.tail.into()),
            admin::HEAD => Some(self.window.head.into()),
            admin::STATUS => {
                self.catch();
                let status = self
                    .window
                    .caught
                    .map_or(0, |entry| 1 << 31 | u64::from(entry.status.bits()) & 0x7fff);
                Some(status | u64::from(self.window.stray) << 30)
            }
            admin::RESULT => Some(self.window.caught.map_or(0, |entry| entry.result).into()),
            _ => None,
        }
    }

    /// A part of the page for data, where a drive has written its line.
    fn data_read(&mut self, offset: u16, bytes: u8) -> Option<u64> {
        let mut line = [0; 64];
        if offset >= 4096 {
            return None;
        }
        let at = admin::DATA_PAGE + (offset & !63);
        self.root.window_read(at, &mut line);
        let first = usize::from(offset % 64);
        let part = line.get(first..first + usize::from(bytes))?;
        let mut value = [0; 8];
        value[..part.len()].copy_from_slice(part);
        (line != UNWRITTEN).then(|| u64::from_le_bytes(value))
    }

    fn admin_write(&mut self, offset: u16, bytes: u8, value: u64) -> bool {
        match (offset, bytes) {
            (admin::RESTART, _) => {
                self.root
                    .window_write(admin::CQ, &[0; Cqe::BYTES * admin::ENTRIES as usize]);
                self.window = Window {
                    cid: self.window.cid,
                    phase: true,
                    ..Window::default()
                };
            }
            (admin::SUBMIT, _) => self.submit(),
            (admin::ENTRY.., _) => {
                let dword = usize::from((offset - admin::ENTRY) / 4);
                match (dword, bytes) {
                    (0, 4) => self.window.entry[0] = value as u32 & 0xff,
                    (1 | 6 | 7 | 10 | 11, 4) => self.window.entry[dword] = value as u32,
                    (0 | 6 | 10, 8) => {
                        let mask = if dword == 0 { 0xff } else { u32::MAX };
                        self.window.entry[dword] = value as u32 & mask;
                        self.window.entry[dword + 1] = (value >> 32) as u32;
                    }
                    _ => return false,
                }
            }
            _ => return false,
        }
        true
    }

    fn submit(&mut self) {
        let window = &mut self.window;
        window.cid = window.cid.wrapping_add(1);
        window.tail = (window.tail + 1) % admin::ENTRIES;
        (window.caught, window.stray) = (None, false);
        window.entry[0] = window.entry[0] & 0xff | u32::from(window.cid) << 16;
        let entry: Vec<u8> = window.entry.iter().flat_map(|d| d.to_le_bytes()).collect();
        for line in (0..4096).step_by(UNWRITTEN.len()) {
            self.root.window_write(admin::DATA_PAGE + line, &UNWRITTEN);
        }
        for place in 0..admin::ENTRIES {
            self.root
                .window_write(admin::SQ + place * Sqe::BYTES as u16, &entry);
        }
    }

    /// An access of one or two dwords, the lower one first.
    fn dwords(&mut self, of: u8, address: u64, bytes: u8) -> Option<u64> {
        let mut value = 0;
        for dword in 0..u64::from(bytes / 4) {
            let at = address.checked_add(4 * dword)?;
            let part = match of {
                space::CFG => self.root.config_read(ecam(at)?),
                _ => self.root.memory_read(at),
            };
            value |= u64::from(part?) << (32 * dword);
        }
        Some(value)
    }

    fn put_dwords(&mut self, of: u8, address: u64, bytes: u8, value: u64) -> Option<()> {
        for dword in 0..u64::from(bytes / 4) {
            let at = address.checked_add(4 * dword)?;
            let part = (value >> (32 * dword)) as u32;
            let good = match of {
                space::CFG => self.root.config_write(ecam(at)?, part),
                _ => self.root.memory_write(at, part),
            };
            good.then_some(())?;
        }
        Some(())
    }

    fn word(&mut self, address: u64, bytes: u8) -> Option<&mut u64> {
        let at = usize::try_from(address / 8).ok()?;
        (bytes == 8).then(|| self.ram.get_mut(at))?
    }
}

/// An offset in configuration space.
fn ecam(address: u64) -> Option<u32> {
    u32::try_from(address).ok().filter(|at| at >> 28 == 0)
}

impl<R: Root> Spaces for Boot<R> {
    fn read(&mut self, of: u8, address: u64, bytes: u8) -> Option<u64> {
        if !address.is_multiple_of(bytes.into()) {
            return None;
        }
        let offset = u16::try_from(address).ok();
        match of {
            space::CFG | space::MMIO => self.dwords(of, address, bytes),
            space::CTL if bytes == 8 => self.streamer.read(address),
            space::ADM => self.admin_read(offset?, bytes),
            space::RAM => self.word(address, bytes).copied(),
            space::PORT if bytes == 8 => self.port_read(offset?),
            _ => None,
        }
    }

    fn write(&mut self, of: u8, address: u64, bytes: u8, value: u64) -> bool {
        if !address.is_multiple_of(bytes.into()) {
            return false;
        }
        let offset = u16::try_from(address).ok();
        match of {
            space::CFG | space::MMIO => self.put_dwords(of, address, bytes, value).is_some(),
            space::CTL => bytes == 8 && self.streamer.write(address, value),
            space::ADM => offset.is_some_and(|at| self.admin_write(at, bytes, value)),
            space::RAM => self
                .word(address, bytes)
                .map(|word| *word = value)
                .is_some(),
            space::PORT => bytes == 8 && offset.is_some_and(|at| self.port_write(at, value)),
            _ => false,
        }
    }

    fn now_us(&mut self) -> u64 {
        self.root.now_us()
    }

    fn wait_us(&mut self, us: u64) {
        self.root.wait_us(us);
    }

    fn say(&mut self, byte: u8) {
        self.said.push(byte);
    }
}
