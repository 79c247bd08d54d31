// SPDX-License-Identifier: Apache-2.0
//! QEMU's devices as a `Bus`: its qtest protocol over a Unix socket.
//!
//! The guest has no operating system: its firmware is a halted processor (`cli; hlt`), and every
//! access to registers that a CPU would make is sent as a line of text. So QEMU's NVMe controller
//! sees exactly the driver's accesses, fetches queue entries and PRP lists from guest memory, and
//! writes into a raw image file. Guest memory is a shared file, which the driver reads and writes
//! as it is. `-qtest` works beside the TCG accelerator, which distributions ship, unlike the
//! `qtest` accelerator.
//!
//! Protocol: QEMU 7.2, `softmmu/qtest.c`.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use forebay_driver::{Bus, BusError, BusResult, DmaBuffer, PciAddress};

/// Program that the tests start.
pub const PROGRAM: &str = "qemu-system-x86_64";
/// Set by `make test`: without QEMU the tests then fail instead of being left out.
const REQUIRE: &str = "FOREBAY_REQUIRE_QEMU";

/// Where the q35 machine's memory-mapped configuration space stands after `connect`.
const ECAM: u64 = 0xb000_0000;
/// The PCIEXBAR register of the host bridge (0000:00:00.0, offset 0x60).
const PCIEXBAR_CONFIG: u32 = 0x8000_0060;
/// Where BARs are placed, as firmware would do.
const BAR_SPACE: u64 = 0xc000_0000;
/// Guest memory for DMA: above the low megabyte, below the machine's end.
const MEMORY: std::ops::Range<u64> = 0x10_0000..MEMORY_BYTES;
/// A lost answer shows as an error, not as a hang.
const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Guest memory.
const MEMORY_BYTES: u64 = 128 << 20;

/// A running QEMU, its socket, and what the test has given out of its address space.
pub struct Qtest {
    process: Child,
    socket: BufReader<UnixStream>,
    memory: File,
    log: PathBuf,
    line: String,
    functions: Vec<(PciAddress, [u64; 6])>,
    next_byte: u64,
    origin: Instant,
}

/// Whether the tests can run; says why not, and panics where they must.
pub fn available() -> bool {
    let found = Command::new(PROGRAM)
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let reason = match found {
        Ok(status) if status.success() => return true,
        Ok(status) => format!("{PROGRAM} --version ended with {status}"),
        Err(error) => format!("{PROGRAM} cannot be started: {error}"),
    };
    let needed = std::env::var_os(REQUIRE).is_some_and(|value| value == "1");
    assert!(!needed, "{REQUIRE}=1, but {reason}");
    // Not by `eprintln`, which the test harness keeps to itself when a test passes.
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let advice = "install Debian's package qemu-system-x86";
        let _ = writeln!(
            io::stderr(),
            "SKIPPED all tests against QEMU: {reason}; {advice}"
        );
    });
    false
}

impl Qtest {
    /// Starts QEMU with these devices (arguments after the machine's), in `directory`.
    pub fn start(directory: &Path, devices: &[String]) -> io::Result<Self> {
        let firmware = directory.join("halt.bin");
        fs::write(&firmware, halted_firmware())?;
        let memory_path = directory.join("memory");
        let memory = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&memory_path)?;
        memory.set_len(MEMORY_BYTES)?;
        let log = directory.join("qemu.log");
        let path = directory.join("qtest.sock");
        let listener = UnixListener::bind(&path)?;
        let mut process = Command::new(PROGRAM)
            .args(["-machine", "q35,memory-backend=m0", "-accel", "tcg"])
            .args(["-m", "128M", "-object"])
            .arg(format!(
                "memory-backend-file,id=m0,size={MEMORY_BYTES},share=on,mem-path={}",
                memory_path.display()
            ))
            .args(["-nodefaults", "-display", "none", "-bios"])
            .arg(&firmware)
            .arg("-qtest")
            .arg(format!("unix:{}", path.display()))
            .args(["-qtest-log", "/dev/null"])
            .args(["-trace", "pci_nvme_ub*", "-trace", "pci_nvme_err*"])
            .args(devices)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()?;
        let socket = match accept(&listener, &mut process) {
            Ok(socket) => socket,
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                let log = fs::read_to_string(&log).unwrap_or_default();
                return Err(io::Error::other(format!("{error}: {log}")));
            }
        };
        socket.set_read_timeout(Some(ANSWER_LIMIT))?;
        let mut qtest = Self {
            process,
            socket: BufReader::new(socket),
            memory,
            log,
            line: String::new(),
            functions: Vec::new(),
            next_byte: MEMORY.start,
            origin: Instant::now(),
        };
        qtest.assign_addresses().map_err(io::Error::other)?;
        Ok(qtest)
    }

    /// What QEMU's controller has to say against the driver: every undefined behaviour and every
    /// error that it knows by name.
    pub fn complaints(&self) -> io::Result<Vec<String>> {
        let log = fs::read_to_string(&self.log)?;
        Ok(log
            .lines()
            .filter(|line| line.contains("pci_nvme_"))
            .map(str::to_owned)
            .collect())
    }

    /// Does what firmware does: opens configuration space and gives every memory BAR an address.
    fn assign_addresses(&mut self) -> BusResult<()> {
        self.command(format_args!("outl 0xcf8 {PCIEXBAR_CONFIG:#x}"))?;
        self.command(format_args!("outl 0xcfc {:#x}", ECAM | 1))?;
        let mut next = BAR_SPACE;
        for device in 0..32 {
            let address = PciAddress::new(0, device, 0);
            if self.config_read32(address, 0)? as u16 == 0xffff {
                continue;
            }
            let mut bars = [0; 6];
            // Bridges and the chipset's own functions are of no interest here.
            if self.config_read32(address, 8)? >> 24 == 0x01 {
                self.assign_bars(address, &mut bars, &mut next)?;
            }
            self.functions.push((address, bars));
        }
        Ok(())
    }

    fn assign_bars(
        &mut self,
        address: PciAddress,
        bars: &mut [u64; 6],
        next: &mut u64,
    ) -> BusResult<()> {
        let mut index = 0;
        while index < 6 {
            let at = 0x10 + 4 * index as u16;
            self.config_write32(address, at, u32::MAX)?;
            let mask = self.config_read32(address, at)?;
            let wide = mask & 0b111 == 0b100;
            if mask & !0xf != 0 && mask & 1 == 0 {
                let size = u64::from(!(mask & !0xf)) + 1;
                *next = next.next_multiple_of(size);
                bars[index] = *next;
                self.config_write32(address, at, *next as u32)?;
                if wide {
                    self.config_write32(address, at + 4, (*next >> 32) as u32)?;
                }
                *next += size;
            }
            index += if wide { 2 } else { 1 };
        }
        Ok(())
    }

    /// Sends a line and returns what follows `OK` in the answer.
    fn command(&mut self, line: fmt::Arguments<'_>) -> BusResult<&str> {
        self.exchange(line).map_err(|source| BusError::Carrier {
            what: format!("qtest `{:.40}`", line.to_string()),
            source: source.into(),
        })?;
        Ok(self.line.strip_prefix("OK").unwrap_or_default().trim())
    }

    fn exchange(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        let mut text = line.to_string();
        text.push('\n');
        self.socket.get_mut().write_all(text.as_bytes())?;
        loop {
            self.line.clear();
            if self.socket.read_line(&mut self.line)? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            match self.line.split_whitespace().next() {
                Some("OK") => return Ok(()),
                // Interrupt lines are reported unasked.
                Some("IRQ") => {}
                _ => return Err(io::Error::other(self.line.clone())),
            }
        }
    }

    fn number(&mut self, line: fmt::Arguments<'_>) -> BusResult<u64> {
        let answer = self.command(line)?;
        let digits = answer.trim_start_matches("0x");
        u64::from_str_radix(digits, 16).map_err(|source| BusError::Carrier {
            what: format!("qtest answered `{answer}`"),
            source: source.into(),
        })
    }

    fn place(&self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u64> {
        let bars = self
            .functions
            .iter()
            .find(|(address, _)| *address == device);
        let (_, bars) = bars.ok_or(BusError::NoDevice { device })?;
        match bars.get(usize::from(bar)) {
            Some(base) if *base != 0 => Ok(base + offset),
            _ => Err(BusError::OutsideBar {
                device,
                bar,
                offset,
                size: 0,
            }),
        }
    }
}

impl Bus for Qtest {
    fn devices(&mut self) -> BusResult<Vec<PciAddress>> {
        Ok(self.functions.iter().map(|(address, _)| *address).collect())
    }

    fn config_read32(&mut self, device: PciAddress, offset: u16) -> BusResult<u32> {
        Ok(self.number(format_args!("readl {:#x}", ecam(device, offset)))? as u32)
    }

    fn config_write32(&mut self, device: PciAddress, offset: u16, value: u32) -> BusResult<()> {
        self.command(format_args!(
            "writel {:#x} {value:#x}",
            ecam(device, offset)
        ))
        .map(drop)
    }

    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u32> {
        let at = self.place(device, bar, offset)?;
        Ok(self.number(format_args!("readl {at:#x}"))? as u32)
    }

    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> BusResult<u64> {
        let at = self.place(device, bar, offset)?;
        self.number(format_args!("readq {at:#x}"))
    }

    fn bar_write32(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u32,
    ) -> BusResult<()> {
        let at = self.place(device, bar, offset)?;
        self.command(format_args!("writel {at:#x} {value:#x}"))
            .map(drop)
    }

    fn bar_write64(
        &mut self,
        device: PciAddress,
        bar: u8,
        offset: u64,
        value: u64,
    ) -> BusResult<()> {
        let at = self.place(device, bar, offset)?;
        self.command(format_args!("writeq {at:#x} {value:#x}"))
            .map(drop)
    }

    fn bar_address(&mut self, device: PciAddress, bar: u8) -> BusResult<u64> {
        self.place(device, bar, 0)
    }

    fn dma_alloc(&mut self, len: usize, align: usize) -> BusResult<DmaBuffer> {
        let address = self.next_byte.next_multiple_of(align as u64);
        let end = address.saturating_add(len as u64);
        if end > MEMORY.end {
            let free = (MEMORY.end - self.next_byte) as usize;
            return Err(BusError::OutOfMemory { len, align, free });
        }
        self.next_byte = end;
        self.memory
            .write_all_at(&vec![0; len], address)
            .map_err(memory_error)?;
        Ok(DmaBuffer { address, len })
    }

    fn dma_read(&mut self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> BusResult<()> {
        buffer.check(offset, data.len())?;
        let at = buffer.address + offset as u64;
        self.memory.read_exact_at(data, at).map_err(memory_error)
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> BusResult<()> {
        buffer.check(offset, data.len())?;
        let at = buffer.address + offset as u64;
        self.memory.write_all_at(data, at).map_err(memory_error)
    }

    fn now(&mut self) -> Duration {
        self.origin.elapsed()
    }

    fn relax(&mut self, _: Duration) -> BusResult<()> {
        std::thread::sleep(Duration::from_micros(50));
        Ok(())
    }
}

impl Drop for Qtest {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits for QEMU to connect, but not for one that has ended.
fn accept(listener: &UnixListener, process: &mut Child) -> io::Result<UnixStream> {
    listener.set_nonblocking(true)?;
    let start = Instant::now();
    loop {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(false)?;
                return Ok(socket);
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) => {}
        }
        if let Some(status) = process.try_wait()? {
            return Err(io::Error::other(format!("QEMU ended with {status}")));
        }
        if start.elapsed() > ANSWER_LIMIT {
            return Err(io::Error::from(io::ErrorKind::TimedOut));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// 64 KiB of `hlt`, with `cli; hlt; jmp -3` where the processor starts.
fn halted_firmware() -> Vec<u8> {
    let mut image = vec![0xf4; 0x1_0000];
    image[0xfff0..0xfff4].copy_from_slice(&[0xfa, 0xf4, 0xeb, 0xfd]);
    image
}

fn ecam(device: PciAddress, offset: u16) -> u64 {
    let function = u64::from(device.device) << 3 | u64::from(device.function);
    ECAM | u64::from(device.bus) << 20 | function << 12 | u64::from(offset)
}

fn memory_error(source: io::Error) -> BusError {
    BusError::Carrier {
        what: "guest memory".into(),
        source: source.into(),
    }
}

/// A raw image and the arguments that make it a drive of the guest.
pub struct Image {
    /// The file.
    pub path: PathBuf,
    /// Its bytes as they should be.
    pub expected: Vec<u8>,
}

impl Image {
    /// Makes an image of random content.
    pub fn new(
        directory: &Path,
        name: &str,
        bytes: usize,
        random: &mut super::Random,
    ) -> io::Result<Self> {
        let path = directory.join(name);
        let expected = random.bytes(bytes);
        fs::write(&path, &expected)?;
        Ok(Self { path, expected })
    }

    /// `-drive` arguments under this identifier.
    pub fn drive(&self, id: &str) -> [String; 2] {
        let path = self.path.display();
        [
            "-drive".into(),
            format!("file={path},if=none,id={id},format=raw,cache=writeback"),
        ]
    }

    /// Compares the file byte by byte with what it should hold; returns the first difference.
    pub fn difference(&self) -> io::Result<Option<usize>> {
        let found = fs::read(&self.path)?;
        if found.len() != self.expected.len() {
            return Ok(Some(found.len().min(self.expected.len())));
        }
        Ok(found.iter().zip(&self.expected).position(|(a, b)| a != b))
    }
}
