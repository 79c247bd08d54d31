// SPDX-License-Identifier: Apache-2.0
//! Bring-up of QEMU's drives by a recorder's RTL, and recording on them.

use std::collections::BTreeMap;
use std::env;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use forebay_cosim::Stall;
use forebay_cosim::root::{
    Counters, Feed, RECORDER, Received, Recorder, RecorderConfig, Run, Runs, Status, settings,
};
use forebay_driver::{ArrayOptions, Layout};
use forebay_model::{DramProfile, MICROSECOND, MILLISECOND, SECOND, Time};
use forebay_rtl::Progress as Build;
use forebay_seq::boot::Settings;
use forebay_spec::boot::{Code, state};
use forebay_spec::raw::regs;
use forebay_vm::guest::{Image, Ssd};
use forebay_vm::root::{QemuHierarchy, attach, qemu_of};
use serde::Serialize;

use super::{BootReport, DriveRow, LIMIT, name, not_ended};
use crate::failure::{Failure, Result};
use crate::recorder::{CHUNK_BYTES, STRIPE_UNIT};
use crate::{home, interrupt};

/// Period of the clock: with QEMU a slow one would let the RTL's time-outs pass.
const PERIOD: Time = 4_000;
/// Writing and reading begin within this time.
const BEGIN_MOST: Time = MILLISECOND;
/// Writing or reading is given up after this time, and that of its bytes at a rate below that at which
/// messages of QEMU's drives cross the RTL's ports.
const MOST: Time = 100 * MILLISECOND;
const SLOWEST: u64 = 10_000_000;
/// Bytes of an image that are looked at together.
const PART: u64 = 1 << 20;

/// What is brought up, and how.
#[derive(Clone, Debug)]
pub struct QemuSpec {
    /// The drives.
    pub ssds: Vec<Ssd>,
    /// They are behind a switch.
    pub switch: bool,
    /// Most entries of an I/O queue.
    pub queue_entries: u16,
    /// For how long PERST# is asserted, and what passes from link-up to the first request.
    pub reset_us: u64,
    /// The failure of one drive ends the program.
    pub together: bool,
    /// For how long drives that are ready are watched.
    pub watch: Time,
    /// Pauses of each port of the RTL.
    pub stall: Stall,
    /// Bytes that are recorded and read back, whole chunks.
    pub record: u64,
    /// Decides everything that is random.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct QemuReport {
    /// The bring-up.
    #[serde(flatten)]
    pub boot: BootReport,
    /// What was recorded; none: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// What QEMU's controllers have to say against the RTL.
    pub complaints: Vec<String>,
}

/// What was recorded and read back.
#[derive(Debug, Default, Serialize)]
pub struct Recorded {
    /// Bytes that were to be recorded.
    pub bytes: u64,
    /// Bytes that the drives have stored.
    pub stored: u64,
    /// Bytes that were read back and are those that were sent.
    pub read: u64,
    /// Code of the write that failed; 0: none has.
    pub write_code: u8,
    /// Code of the read that failed.
    pub read_code: u8,
    /// Images with their bytes that are those that were sent, in the order of the drives.
    pub images: Vec<(PathBuf, u64)>,
    /// Simulated microseconds of writing, and of reading.
    pub time_us: [u64; 2],
    /// What is wrong.
    pub wrong: Vec<String>,
}

type Below = Recorder<QemuHierarchy>;

impl QemuSpec {
    fn settings(&self) -> Settings {
        Settings {
            drives_most: self.ssds.len().max(1) as u8,
            reset_us: self.reset_us,
            ..settings(self.queue_entries)
        }
    }

    /// Brings up, records and compares.
    ///
    /// # Errors
    /// Where an image is missing, the RTL cannot be built or breaks a rule of its ports, or QEMU does
    /// not answer.
    pub fn run(&self, image: &Image, build: &mut (dyn FnMut(Build) + Send)) -> Result<QemuReport> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::file("making a folder in", &env::temp_dir(), error))?;
        let mut qemu = qemu_of(image);
        attach(&mut qemu, &self.ssds, self.switch)?;
        let below = QemuHierarchy::start(folder.path(), qemu).map_err(interrupt::instead)?;
        let config = RecorderConfig {
            settings: self.settings(),
            fifo_bytes: 0,
            dram: DramProfile::load("ddr4-2400")?,
            dram_faults: Vec::new(),
            period: PERIOD,
            stall: self.stall,
            seed: self.seed,
        };
        let recorder = Recorder::new(&home::find()?, config, below, build);
        let mut recorder = recorder.map_err(interrupt::instead)?;
        let stop = Arc::new(AtomicBool::new(false));
        interrupt::also(Arc::clone(&stop));
        let found = self.bring_up(&mut recorder, &stop);
        let found = found.and_then(|boot| {
            let recorded = match self.record > 0 && boot.code == 0 {
                true => Some(self.record(&mut recorder, &boot.drives, &stop)?),
                false => None,
            };
            Ok(QemuReport {
                boot,
                recorded,
                complaints: recorder.hierarchy().complaints()?,
            })
        });
        found.map_err(interrupt::instead)
    }

    fn bring_up(&self, recorder: &mut Below, stop: &AtomicBool) -> Result<BootReport> {
        recorder.start(self.together, false);
        let status = recorder.run(self.watch, LIMIT + self.watch, stop)?;
        if interrupt::wanted() {
            return Err(Failure::interrupted());
        }
        if !status.ended && status.state != state::READY {
            return Err(not_ended(&status));
        }
        let Status {
            ended, code, place, ..
        } = status;
        let mut counts = BTreeMap::new();
        for code in Code::ALL.map(Code::number) {
            counts.insert(code, recorder.count(code)?);
        }
        counts.retain(|_, count| *count > 0);
        Ok(BootReport {
            top: Some(RECORDER),
            code,
            name: name(code),
            place: ended.then_some(place),
            state: status.state,
            ready_after_us: recorder.ready_after().map(|time| time as f64 / 1e6),
            time_us: recorder.now() / MICROSECOND,
            steps: recorder.cycles(),
            console: recorder.console(),
            drives: DriveRow::all(&recorder.memory()?, status.drives_ready),
            counts,
            console_dropped: recorder.console_dropped()?,
            stray: recorder.stray(),
        })
    }

    /// Records from address 0 on, reads it back, and looks into the images.
    fn record(
        &self,
        recorder: &mut Below,
        drives: &[DriveRow],
        stop: &AtomicBool,
    ) -> Result<Recorded> {
        let bytes = self.record;
        let media = recorder.raw(regs::media_bytes::OFFSET)?;
        if bytes > media {
            let limit = format!("the drives have {media} bytes");
            return Err(Failure::input("record", bytes, &limit, "record less"));
        }
        let mut found = Recorded {
            bytes,
            ..Recorded::default()
        };
        recorder.set_raw(regs::chunk_bytes::OFFSET, CHUNK_BYTES)?;
        recorder.set_raw(regs::write_start::OFFSET, 0)?;
        recorder.set_raw(regs::write_max::OFFSET, bytes)?;
        recorder.feed(Some(Feed {
            bytes_per_second: None,
            lossy: false,
        }));
        let write = (regs::control::WRITE.mask(), regs::status::WRITING.mask());
        let written = self.end(recorder, write, stop, &mut found.wrong)?;
        recorder.feed(None);
        found.stored = written.stored;
        found.write_code = written.write_code();
        found.time_us[0] = took(written.write_ns);
        found.images = self.compare(drives, &mut found.wrong)?;
        if found.stored != bytes {
            found.wrong.push("not all was stored".into());
            return Ok(found);
        }
        recorder.receive(CHUNK_BYTES, None);
        recorder.set_raw(regs::read_start::OFFSET, 0)?;
        recorder.set_raw(regs::read_max::OFFSET, bytes)?;
        let read = (regs::control::READ.mask(), regs::status::READING.mask());
        let counters = self.end(recorder, read, stop, &mut found.wrong)?;
        let received = recorder.received();
        found.read = same(&received.runs, 0);
        found.read_code = counters.read_code();
        found.time_us[1] = took(counters.read_ns);
        let Received { misplaced, .. } = received;
        if found.read != bytes || received.runs.bytes() != bytes || misplaced != 0 {
            found.wrong.push("other bytes were read".into());
        }
        Ok(found)
    }

    /// Starts writing or reading, and waits until it has ended.
    fn end(
        &self,
        recorder: &mut Below,
        (control, under_way): (u64, u64),
        stop: &AtomicBool,
        wrong: &mut Vec<String>,
    ) -> Result<Counters> {
        let time = u128::from(self.record) * u128::from(SECOND) / u128::from(SLOWEST);
        recorder.set_raw(regs::control::OFFSET, control)?;
        let until = recorder.now() + BEGIN_MOST;
        let begun = recorder.wait(until, stop, |status| status & under_way != 0)?;
        let until = recorder.now() + MOST + time as Time;
        let ended = recorder.wait(until, stop, |status| status & under_way == 0)?;
        if interrupt::wanted() {
            return Err(Failure::interrupted());
        }
        if begun.is_none() || ended.is_none() {
            wrong.push("it has not ended in time".into());
        }
        recorder.set_raw(regs::control::OFFSET, 0)?;
        let counters = recorder.counters()?;
        if counters.refused != 0 {
            wrong.push(format!("its settings are refused: {:#x}", counters.refused));
        }
        Ok(counters)
    }

    /// Looks for what was sent in the images.
    fn compare(&self, drives: &[DriveRow], wrong: &mut Vec<String>) -> Result<Vec<(PathBuf, u64)>> {
        // Drives have records in the order of their ports.
        let ready = drives.iter().zip(&self.ssds).filter(|(row, _)| row.ready);
        let paths: Vec<_> = ready
            .filter_map(|(_, ssd)| Some(ssd.namespaces.first()?.image.clone()))
            .collect();
        let layout = match paths.len() {
            1 => Layout::ONE,
            count => Layout::new(ArrayOptions::striped(count as u8, STRIPE_UNIT))
                .map_err(forebay_cosim::Error::Command)?,
        };
        let mut images = Vec::new();
        for path in paths {
            let file = File::open(&path)
                .map_err(|error| Failure::file("opening the image", &path, error))?;
            images.push((path, file, 0));
        }
        let mut data = vec![0; PART as usize];
        let mut right = 0;
        for (drive, at, bytes) in layout.split(0, self.record) {
            let Some((path, file, found)) = images.get_mut(drive) else {
                continue;
            };
            let end = at + bytes;
            for at in (at..end).step_by(PART as usize) {
                let part = &mut data[..PART.min(end - at) as usize];
                file.read_exact_at(part, at)
                    .map_err(|error| Failure::file("reading the image", path, error))?;
                let mut runs = Runs::new(self.seed);
                runs.push(part);
                let same = same(&runs, right);
                *found += same;
                right += part.len() as u64;
                if same != part.len() as u64 {
                    wrong.push(format!("{} holds other bytes at {at:#x}", path.display()));
                }
            }
        }
        Ok(images
            .into_iter()
            .map(|(path, _, found)| (path, found))
            .collect())
    }
}

/// Bytes that are those of the stream, from this place on without a gap.
fn same(runs: &Runs, from: u64) -> u64 {
    match runs.all() {
        [
            Run {
                from: Some(at),
                bytes,
            },
        ] if *at == from => *bytes,
        _ => 0,
    }
}

const fn took([started, stopped]: [u64; 2]) -> u64 {
    stopped.saturating_sub(started) / 1000
}
