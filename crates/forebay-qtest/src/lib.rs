// SPDX-License-Identifier: Apache-2.0
//! QEMU with a halted processor (`cli; hlt`), whose accesses come over its qtest protocol.
//!
//! Each access that a CPU would make is a line of text. So QEMU's devices see exactly the accesses of
//! the program under test, fetch queue entries and PRP lists from guest memory, and write into raw
//! image files. Guest memory is a shared file. `-qtest` works beside the TCG accelerator, which
//! distributions ship, unlike the `qtest` accelerator.
//!
//! Methods of [`Machine`] wait for the answer. Who serves a device of the machine must not: QEMU may
//! answer only once that device has answered QEMU. [`Machine::send`] and [`Machine::answer`] never wait.
//!
//! Protocol: QEMU 7.2, `softmmu/qtest.c`.
#![forbid(unsafe_code)]

mod error;
mod line;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

pub use error::{Error, Result};
pub use line::Line;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The program that is started.
pub const PROGRAM: &str = "qemu-system-x86_64";
/// Where the q35 machine's memory-mapped configuration space is: 256 buses.
pub const ECAM: u64 = 0xb000_0000;
/// First address for BARs.
pub const BAR_SPACE: u64 = 0xc000_0000;
/// First address behind them: chipset and firmware follow.
pub const BAR_SPACE_END: u64 = 0xf000_0000;
/// Guest memory, from address 0 on.
pub const MEMORY_BYTES: u64 = 128 << 20;

/// Set by `make test`: without QEMU the tests then fail instead of being left out.
const REQUIRE: &str = "FOREBAY_REQUIRE_QEMU";
/// What brings configuration space to [`ECAM`]: the PCIEXBAR register of the host bridge (0000:00:00.0,
/// offset 0x60).
pub const SET_UP: [Line; 2] = [
    Line::Out32(0xcf8, 0x8000_0060),
    Line::Out32(0xcfc, ECAM as u32 | 1),
];
/// A lost answer shows as an error, not as a hang.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(20);
/// Characters of QEMU's log in an error.
const SAID_MOST: usize = 2_000;

/// A running QEMU, which ends when this is dropped.
#[derive(Debug)]
pub struct Machine {
    process: Process,
    socket: UnixStream,
    /// What has come and was not looked at.
    come: Vec<u8>,
    /// The line that is not answered yet.
    asked: Option<Line>,
    memory: File,
    log: PathBuf,
}

/// For tests: whether they can run. Says why not, and panics where they must.
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

impl Machine {
    /// Starts a machine: `qemu` is [`PROGRAM`] with arguments for its devices, `folder` is for its
    /// files. Configuration space is at [`ECAM`]; no BAR has an address.
    pub fn start(folder: &Path, qemu: Command) -> Result<Self> {
        let mut machine = Self::launch(folder, qemu)?;
        for line in SET_UP {
            machine.exchange(line)?;
        }
        Ok(machine)
    }

    /// As [`Machine::start`], but does not wait for QEMU's devices, and [`SET_UP`] is to be done.
    pub fn launch(folder: &Path, mut qemu: Command) -> Result<Self> {
        let firmware = folder.join("halt.bin");
        fs::write(&firmware, halted_firmware()).map_err(Error::file("writing", &firmware))?;
        let memory_path = folder.join("memory");
        let memory = memory(&memory_path).map_err(Error::file("making", &memory_path))?;
        let log = folder.join("qemu.log");
        let said = File::create(&log).map_err(Error::file("making", &log))?;
        let path = folder.join("qtest.sock");
        let listener = UnixListener::bind(&path).map_err(Error::file("listening at", &path))?;
        let process = qemu
            .args(["-machine", "q35,memory-backend=m0", "-accel", "tcg"])
            .args(["-m", "128M", "-object"])
            .arg(format!(
                "memory-backend-file,id=m0,size={MEMORY_BYTES},share=on,mem-path={}",
                escaped(&memory_path)
            ))
            .args(["-nodefaults", "-display", "none", "-bios"])
            .arg(&firmware)
            .arg("-qtest")
            .arg(format!("unix:{}", escaped(&path)))
            .args(["-qtest-log", "/dev/null"])
            .args(["-trace", "pci_nvme_ub*", "-trace", "pci_nvme_err*"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said)
            .spawn()
            .map_err(|source| Error::Missing { source })?;
        let mut process = Process(process);
        let socket = process.accept(&listener).map_err(|source| Error::Silent {
            line: "start".into(),
            source,
            said: end_of(&log),
        })?;
        Ok(Self {
            process,
            socket,
            come: Vec::new(),
            asked: None,
            memory,
            log,
        })
    }

    /// Reads 4 bytes at this address.
    pub fn read32(&mut self, address: u64) -> Result<u32> {
        Ok(self.exchange(Line::Read32(address))? as u32)
    }

    /// Reads 8 bytes.
    pub fn read64(&mut self, address: u64) -> Result<u64> {
        self.exchange(Line::Read64(address))
    }

    /// Writes 4 bytes.
    pub fn write32(&mut self, address: u64, value: u32) -> Result<()> {
        self.exchange(Line::Write32(address, value)).map(drop)
    }

    /// Writes 8 bytes.
    pub fn write64(&mut self, address: u64, value: u64) -> Result<()> {
        self.exchange(Line::Write64(address, value)).map(drop)
    }

    /// Reads guest memory as devices left it, without QEMU.
    pub fn read_memory(&self, address: u64, data: &mut [u8]) -> Result<()> {
        let read = self.memory.read_exact_at(data, address);
        read.map_err(|source| Error::Memory { address, source })
    }

    /// Writes guest memory, without QEMU.
    pub fn write_memory(&self, address: u64, data: &[u8]) -> Result<()> {
        let end = address.checked_add(data.len() as u64);
        let written = match end {
            Some(end) if end <= MEMORY_BYTES => self.memory.write_all_at(data, address),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        };
        written.map_err(|source| Error::Memory { address, source })
    }

    /// What QEMU's NVMe controllers have to say against who uses them: each undefined behaviour and
    /// each error that they know by name.
    pub fn complaints(&self) -> Result<Vec<String>> {
        let log = fs::read_to_string(&self.log).map_err(Error::file("reading", &self.log))?;
        let lines = log.lines().filter(|line| line.contains("pci_nvme_"));
        Ok(lines.map(str::to_owned).collect())
    }

    /// Sends a line. Each is answered before the next one is sent.
    pub fn send(&mut self, line: Line) -> Result<()> {
        let sent = match &self.asked {
            Some(_) => Err(io::Error::other("the line before it is not answered")),
            // Once all lines are answered, QEMU has read them: there is room.
            None => self.socket.write_all(format!("{line}\n").as_bytes()),
        };
        sent.map_err(|source| self.silent(line, source))?;
        self.asked = Some(line);
        Ok(())
    }

    /// The answer to the line that was sent, 0 for a write; none: it has not come.
    pub fn answer(&mut self) -> Result<Option<u64>> {
        let Some(line) = self.asked else {
            return Ok(None);
        };
        let text = self.line().map_err(|source| self.silent(line, source))?;
        let Some(text) = text else {
            return Ok(None);
        };
        self.asked = None;
        match line.answer(&text) {
            Some(number) => Ok(Some(number)),
            None => Err(Error::Answer {
                line: line.to_string(),
                answer: text,
            }),
        }
    }

    /// Why this line was not answered, now that waiting for it has ended.
    pub fn silent(&mut self, line: Line, source: io::Error) -> Error {
        let source = match self.process.0.try_wait() {
            Ok(Some(status)) => io::Error::other(format!("it ended with {status}")),
            _ => source,
        };
        Error::Silent {
            line: line.to_string(),
            source,
            said: end_of(&self.log),
        }
    }

    /// Sends a line and waits for its answer.
    pub fn exchange(&mut self, line: Line) -> Result<u64> {
        self.send(line)?;
        let sent = Instant::now();
        loop {
            if let Some(number) = self.answer()? {
                return Ok(number);
            }
            let left = ANSWER_LIMIT.checked_sub(sent.elapsed());
            let waited = match left {
                Some(left) => self.wait(left),
                None => Err(io::ErrorKind::TimedOut.into()),
            };
            waited.map_err(|source| self.silent(line, source))?;
        }
    }

    /// Waits until something comes, at most for this time.
    fn wait(&self, limit: Duration) -> io::Result<()> {
        let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(self, PollFlags::IN)], Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The next line that came; none: it is not whole yet.
    fn line(&mut self) -> io::Result<Option<String>> {
        let mut part = [0; 256];
        loop {
            while let Some(end) = self.come.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.come.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                // Interrupt lines are reported unasked.
                if !line.starts_with("IRQ") {
                    return Ok(Some(line));
                }
            }
            match self.socket.read(&mut part) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.come.extend_from_slice(&part[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Readable once something has come.
impl AsFd for Machine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A process that is killed when dropped.
#[derive(Debug)]
struct Process(Child);

impl Process {
    /// Waits for QEMU to connect, but not for one that has ended.
    fn accept(&mut self, listener: &UnixListener) -> io::Result<UnixStream> {
        listener.set_nonblocking(true)?;
        let start = Instant::now();
        loop {
            match listener.accept() {
                Ok((socket, _)) => {
                    socket.set_nonblocking(true)?;
                    return Ok(socket);
                }
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                Err(_) => {}
            }
            if let Some(status) = self.0.try_wait()? {
                return Err(io::Error::other(format!("it ended with {status}")));
            }
            if start.elapsed() > ANSWER_LIMIT {
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file of zeros for guest memory.
fn memory(path: &Path) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    file.set_len(MEMORY_BYTES)?;
    Ok(file)
}

/// 64 KiB of `hlt`, with `cli; hlt; jmp -3` where the processor starts.
fn halted_firmware() -> Vec<u8> {
    let mut image = vec![0xf4; 0x1_0000];
    image[0xfff0..0xfff4].copy_from_slice(&[0xfa, 0xf4, 0xeb, 0xfd]);
    image
}

/// A path in an option of QEMU: a comma is written twice.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// The last characters of a log.
fn end_of(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(SAID_MOST);
    text.chars().skip(skipped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_reach_memory_and_configuration_space() {
        if !available() {
            return;
        }
        let folder = tempfile::tempdir().expect("folder");
        let mut machine = Machine::start(folder.path(), Command::new(PROGRAM)).expect("QEMU");
        machine
            .write64(0x10_0000, 0x0123_4567_89ab_cdef)
            .expect("written");
        assert_eq!(machine.read32(0x10_0004).expect("read"), 0x0123_4567);
        let mut bytes = [0; 8];
        machine.read_memory(0x10_0000, &mut bytes).expect("memory");
        assert_eq!(u64::from_le_bytes(bytes), 0x0123_4567_89ab_cdef);
        machine.write_memory(0x10_0000, &[7; 8]).expect("memory");
        assert_eq!(
            machine.read64(0x10_0000).expect("read"),
            0x0707_0707_0707_0707
        );
        let last = MEMORY_BYTES - 4;
        assert!(machine.read_memory(last, &mut bytes).is_err());
        assert!(machine.write_memory(last, &bytes).is_err());
        // The host bridge of q35, and nothing beside it.
        assert_eq!(machine.read32(ECAM).expect("read"), 0x29c0_8086);
        assert_eq!(machine.read32(ECAM + 0x8000).expect("read"), u32::MAX);
        assert_eq!(machine.complaints().expect("log"), [""; 0]);
    }

    #[test]
    fn lines_are_answered_later() {
        if !available() {
            return;
        }
        let folder = tempfile::tempdir().expect("folder");
        let mut machine = Machine::start(folder.path(), Command::new(PROGRAM)).expect("QEMU");
        assert_eq!(machine.answer().expect("nothing was asked"), None);
        machine.send(Line::Read32(ECAM)).expect("sent");
        let error = machine.send(Line::Read32(ECAM)).expect_err("one at a time");
        assert!(error.to_string().contains("is not answered"), "{error}");
        let sent = Instant::now();
        let answer = loop {
            if let Some(answer) = machine.answer().expect("answer") {
                break answer;
            }
            assert!(sent.elapsed() < ANSWER_LIMIT);
            machine.wait(Duration::from_millis(1)).expect("waited");
        };
        assert_eq!(answer, 0x29c0_8086);
        assert_eq!(machine.answer().expect("nothing more was asked"), None);
    }

    #[test]
    fn a_machine_that_ends_says_why() {
        if !available() {
            return;
        }
        let folder = tempfile::tempdir().expect("folder");
        let mut machine = Machine::start(folder.path(), Command::new(PROGRAM)).expect("QEMU");
        machine.process.0.kill().expect("killed");
        machine.process.0.wait().expect("ended");
        let error = machine.read32(ECAM).expect_err("it has ended");
        assert!(
            error.to_string().contains("it ended with signal"),
            "{error}"
        );
        let folder = tempfile::tempdir().expect("folder");
        let mut qemu = Command::new(PROGRAM);
        qemu.args(["-device", "no-such-device"]);
        let error = Machine::start(folder.path(), qemu).expect_err("no such device");
        let text = error.to_string();
        assert!(text.contains("'no-such-device' is not a valid"), "{text}");
        let folder = tempfile::tempdir().expect("folder");
        let error = Machine::start(folder.path(), Command::new("/nowhere")).expect_err("nowhere");
        assert!(matches!(error, Error::Missing { .. }), "{error}");
    }
}
