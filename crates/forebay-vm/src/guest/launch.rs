// SPDX-License-Identifier: Apache-2.0
//! Starting a guest, running a command in it, and bringing back what it says and leaves.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::cpio::{self, Writer};
use super::error::{Error, Result};
use super::image::Image;
use super::machine::{Machine, device, escaped};
use super::program::{self, Program};

/// How often it is looked whether QEMU still runs and the user still waits.
const PULSE: Duration = Duration::from_millis(50);
/// From QEMU's start to the guest's first word, where nothing else limits that.
const START: Duration = Duration::from_secs(180);
/// From the guest's last word to QEMU's end.
const POWER_OFF: Duration = Duration::from_secs(20);
/// Lines of the serial log in an error.
const TAIL_LINES: usize = 15;
/// A line of the control port that is longer is none of ours.
const LINE_MOST: usize = 4096;

/// What a guest is started for.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Programs of this machine that the guest gets.
    pub programs: Vec<Program>,
    /// A folder whose files are in /share of the guest, and into which those it changes come back.
    pub share: Option<&'a Path>,
    /// Where the kernel's messages go.
    pub serial_log: &'a Path,
    /// Everything must be over in this time; none: whenever the user wants.
    pub limit: Option<Duration>,
    /// Set from elsewhere to stop.
    pub stop: &'a AtomicBool,
}

/// Runs a command in a new guest, and returns its exit code.
///
/// # Errors
/// Where the guest cannot be made or started, does not end in time, or ends too early.
pub fn run(
    image: &Image,
    machine: &Machine,
    job: &Job<'_>,
    command: &[String],
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<u8> {
    let mut guest = Guest::start(image, machine, job, Some(command))?;
    guest.follow(job, &mut |port, bytes| {
        let to: &mut dyn Write = if port == Port::Out {
            &mut *out
        } else {
            &mut *err
        };
        // A reader who has gone (`| head`) does not stop the command.
        let _gone = to.write_all(bytes).and_then(|()| to.flush());
    })
}

/// Gives the terminal to a shell in a new guest, until it ends.
pub fn shell(image: &Image, machine: &Machine, job: &Job<'_>) -> Result<()> {
    let mut guest = Guest::start(image, machine, job, None)?;
    guest.follow(job, &mut |_, _| {}).map(drop)
}

/// What comes from the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Control,
    Out,
    Err,
    Files,
}

impl Port {
    const ALL: [Self; 4] = [Self::Control, Self::Out, Self::Err, Self::Files];

    const fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Out => "out",
            Self::Err => "err",
            Self::Files => "files",
        }
    }
}

enum Event {
    Bytes(Port, Vec<u8>),
    Closed,
}

/// A running QEMU; killed when dropped.
struct Guest<'a> {
    process: Child,
    events: Receiver<Event>,
    /// What QEMU itself says.
    said: PathBuf,
    serial_log: &'a Path,
    started: Instant,
    limit: Option<Duration>,
    _folder: tempfile::TempDir,
}

impl<'a> Guest<'a> {
    fn start(
        image: &Image,
        machine: &Machine,
        job: &Job<'a>,
        command: Option<&[String]>,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("forebay-vm-")
            .tempdir()
            .map_err(Error::io("making a folder in", &std::env::temp_dir()))?;
        let initramfs = folder.path().join("initramfs.cpio");
        pack(image, job, command, &initramfs)?;
        if let Some(parent) = job.serial_log.parent() {
            fs::create_dir_all(parent).map_err(Error::io("making the folder", parent))?;
        }
        // Also shows whether it can be written, and drops what an earlier guest said.
        fs::write(job.serial_log, "").map_err(Error::io("writing", job.serial_log))?;
        let said = folder.path().join("qemu.log");
        let said_file = fs::File::create(&said).map_err(Error::io("creating", &said))?;

        let mode = if command.is_some() { "run" } else { "shell" };
        let mut qemu = image.qemu();
        machine.arguments(&mut qemu)?;
        qemu.arg("-kernel").arg(image.kernel());
        qemu.arg("-initrd").arg(&initramfs);
        // On a busy host the kernel's test of its timer would see too few ticks, and panic.
        qemu.arg("-append").arg(format!(
            "console=ttyS0 panic=-1 no_timer_check {} forebay.mode={mode}",
            machine.kernel_arguments()
        ));
        qemu.arg("-chardev")
            .arg(format!("file,id=serial,path={}", escaped(job.serial_log)?))
            .args(["-serial", "chardev:serial"]);
        device(
            &mut qemu,
            &json!({"driver": "virtio-serial-pci", "id": "ports", "addr": "0x2"}),
        );
        if command.is_none() {
            qemu.args(["-chardev", "stdio,id=terminal,signal=off"]);
            let console = json!({"driver": "virtconsole", "bus": "ports.0", "chardev": "terminal"});
            device(&mut qemu, &console);
            qemu.stdin(Stdio::inherit()).stdout(Stdio::inherit());
        } else {
            qemu.stdin(Stdio::null()).stdout(Stdio::null());
        }
        let listeners = listen(&mut qemu, folder.path())?;
        let mut process = qemu
            .stderr(said_file)
            .spawn()
            .map_err(Error::io("starting QEMU from", image.folder()))?;
        let started = Instant::now();
        let events = match connect(listeners, &mut process) {
            Ok(events) => events,
            Err(error) => {
                let _ended = process.kill().and_then(|()| process.wait());
                let why = fs::read_to_string(&said).unwrap_or_default();
                return Err(Error::Ended {
                    status: error.to_string(),
                    what: "the guest started",
                    said: why.trim_end().to_owned(),
                });
            }
        };
        Ok(Self {
            process,
            events,
            said,
            serial_log: job.serial_log,
            started,
            limit: job.limit,
            _folder: folder,
        })
    }

    /// Takes what comes until QEMU has ended; returns the command's exit code.
    fn follow(&mut self, job: &Job<'_>, output: &mut dyn FnMut(Port, &[u8])) -> Result<u8> {
        const STARTING: &str = "the start of the guest";
        let mut waiting_for = STARTING;
        let mut line = Vec::new();
        let mut files = Vec::new();
        let mut code = None;
        let mut open = Port::ALL.len();
        while open > 0 {
            if job.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let starting = (waiting_for == STARTING).then_some(START);
            self.check_time(waiting_for, self.limit.or(starting))?;
            match self.events.recv_timeout(PULSE) {
                Ok(Event::Closed) => open -= 1,
                Ok(Event::Bytes(Port::Files, bytes)) => files.extend(bytes),
                Ok(Event::Bytes(Port::Control, bytes)) => {
                    line.extend(bytes);
                    while let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                        let said: Vec<_> = line.drain(..=end).collect();
                        let said = String::from_utf8_lossy(&said);
                        waiting_for = match said.trim().split_once(' ') {
                            None if said.trim() == "ready" => "the end of the command",
                            None if said.trim() == "off" => "the guest's power-off",
                            Some(("ended", number)) => {
                                code = number.parse().ok();
                                "the files of the guest"
                            }
                            _ => {
                                output(Port::Err, said.as_bytes());
                                waiting_for
                            }
                        };
                    }
                    line.truncate(LINE_MOST);
                }
                Ok(Event::Bytes(port, bytes)) => output(port, &bytes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.wait(waiting_for)?;
        let Some(code) = code else {
            return Err(Error::Ended {
                status: "without a word".into(),
                what: waiting_for,
                said: self.last_words(),
            });
        };
        if let Some(share) = job.share {
            cpio::unpack(&files, share)?;
        }
        Ok(code)
    }

    fn check_time(&self, what: &'static str, limit: Option<Duration>) -> Result<()> {
        match limit {
            Some(limit) if self.started.elapsed() > limit => Err(Error::Timeout {
                what,
                limit,
                log: self.serial_log.to_owned(),
                tail: tail(self.serial_log),
            }),
            _ => Ok(()),
        }
    }

    /// Waits for QEMU's end, now that all its ports are closed.
    fn wait(&mut self, what: &'static str) -> Result<()> {
        let from = Instant::now();
        while from.elapsed() < POWER_OFF {
            let ended = self.process.try_wait();
            match ended.map_err(Error::io("waiting for QEMU of", self.serial_log))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => {
                    return Err(Error::Ended {
                        status: status.to_string(),
                        what,
                        said: self.last_words(),
                    });
                }
                None => thread::sleep(PULSE / 10),
            }
        }
        Err(Error::Timeout {
            what: "QEMU's end",
            limit: POWER_OFF,
            log: self.serial_log.to_owned(),
            tail: tail(self.serial_log),
        })
    }

    fn last_words(&self) -> String {
        let said = fs::read_to_string(&self.said).unwrap_or_default();
        format!("{}{}", said, tail(self.serial_log))
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        // Fails where it has ended, as it should.
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

/// The kernel's first file system: the image's, and behind it what this guest is for.
fn pack(image: &Image, job: &Job<'_>, command: Option<&[String]>, to: &Path) -> Result<()> {
    let mut archive = Writer::default();
    program::add(&mut archive, &job.programs)?;
    if let Some(share) = job.share {
        archive.tree("share", share)?;
    }
    if let Some(command) = command {
        let words: Vec<_> = command.iter().map(|word| quoted(word)).collect();
        let script = format!("exec {}\n", words.join(" "));
        archive.file("forebay/command", false, script.as_bytes())?;
    }
    let base = image.initramfs();
    fs::copy(&base, to).map_err(Error::io("copying", &base))?;
    fs::File::options()
        .append(true)
        .open(to)
        .and_then(|mut file| file.write_all(&archive.finish()))
        .map_err(Error::io("writing", to))
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Opens a socket for each port, and tells QEMU.
fn listen(qemu: &mut Command, folder: &Path) -> Result<Vec<(Port, UnixListener)>> {
    let mut listeners = Vec::new();
    for port in Port::ALL {
        let name = port.name();
        let path = folder.join(name);
        let listener = UnixListener::bind(&path).map_err(Error::io("listening at", &path))?;
        listener
            .set_nonblocking(true)
            .map_err(Error::io("listening at", &path))?;
        qemu.arg("-chardev")
            .arg(format!("socket,id={name},path={}", escaped(&path)?));
        let port_device =
            json!({"driver": "virtserialport", "bus": "ports.0", "chardev": name, "name": name});
        device(qemu, &port_device);
        listeners.push((port, listener));
    }
    Ok(listeners)
}

/// Waits for QEMU to open its ports; it does so before anything else.
fn connect(
    listeners: Vec<(Port, UnixListener)>,
    process: &mut Child,
) -> io::Result<Receiver<Event>> {
    const LIMIT: Duration = Duration::from_secs(60);
    let from = Instant::now();
    let (sender, events) = channel();
    for (port, listener) in listeners {
        let stream = loop {
            match listener.accept() {
                Ok((stream, _)) => break stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if let Some(status) = process.try_wait()? {
                return Err(io::Error::other(status.to_string()));
            }
            if from.elapsed() > LIMIT {
                return Err(io::Error::other(
                    "it did not open its ports within a minute",
                ));
            }
            thread::sleep(Duration::from_millis(2));
        };
        stream.set_nonblocking(false)?;
        let sender = sender.clone();
        thread::spawn(move || pump(port, stream, &sender));
    }
    Ok(events)
}

fn pump(port: Port, mut stream: impl Read, to: &Sender<Event>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        if to
            .send(Event::Bytes(port, buffer[..length].to_vec()))
            .is_err()
        {
            return;
        }
    }
    let _nobody = to.send(Event::Closed);
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    match lines[from..].join("\n") {
        empty if empty.is_empty() => "(it is empty)".into(),
        shown => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_pass_a_shell_unchanged() {
        for word in ["", "a b", "$x `y` \\", "it's", "*\n\"", "''"] {
            let script = format!("printf %s {}", quoted(word));
            let done = Command::new("sh")
                .args(["-c", &script])
                .output()
                .expect("sh");
            assert_eq!(String::from_utf8_lossy(&done.stdout), word);
        }
    }
}
