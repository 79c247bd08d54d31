// SPDX-License-Identifier: Apache-2.0
//! A recorder's run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_cosim::root::{Counters, Feed, Gap, Recorder, Run};
use forebay_driver::Layout;
use forebay_model::{MICROSECOND, MILLISECOND, SECOND, SsdProfile, Time};
use forebay_spec::boot::Code;
use forebay_spec::raw::regs;

use super::report::{BringUp, Gapless, Models, Moved, RecorderReport, Session};
use super::{GaplessSpec, Parts, RecorderSpec};
use crate::boot::DriveRow;
use crate::failure::{Exit, Failure, Result};
use crate::progress::Progress;
use crate::report::{ProfileName, command_line};
use crate::{home, interrupt};

/// A bring-up that takes longer is given up.
const BRING_UP_MOST: Time = SECOND;
/// Drives that died are up again within this time.
const RECOVERY_MOST: Time = 500 * MILLISECOND;
/// What a session may take at most: this, and the time of its bytes at a rate that no drive is below.
const SESSION_MOST: Time = 100 * MILLISECOND;
const SLOWEST: u64 = 50_000_000;
/// What passes between sessions, so that each begins with a drive that has tidied up: this, and the
/// time in which its buffer drains.
const REST: Time = 500 * MILLISECOND;
/// Simulated time between two reports of progress.
const TELL_EVERY: Time = MILLISECOND / 4;

/// A run, so far.
struct Running<'a> {
    spec: &'a RecorderSpec,
    recorder: Recorder,
    layout: Layout,
    /// Of the first drive.
    profile: SsdProfile,
    drives: usize,
    stop: Arc<AtomicBool>,
    /// Address of the next session.
    address: u64,
}

/// What became of a direction of a session.
struct Ended {
    counters: Counters,
    /// It was given up: it had not ended in time.
    late: bool,
}

pub(super) fn run(spec: &RecorderSpec, top: &'static str) -> Result<RecorderReport> {
    let Parts {
        profile,
        hierarchy,
        config,
        layout,
        drives,
    } = spec.parts()?;
    let home = home::find()?;
    let mut report = RecorderReport {
        command_line: command_line(),
        simulated: true,
        seed: spec.seed,
        top,
        parameters: config.source(&home).parameters,
        clock_hz: SECOND as f64 / spec.period_ps as f64,
        models: Models {
            profile: ProfileName {
                name: profile.name,
                description: profile.description,
            },
            fifo_memory: (spec.fifo_bytes > 0).then(|| spec.dram.clone()),
            drives,
        },
        ..RecorderReport::default()
    };
    let progress = Progress::count("bring-up", spec.chunks.len() as u64);
    let recorder = Recorder::new(&home, config, hierarchy, &mut |step| progress.build(step));
    let recorder = recorder.map_err(interrupt::instead)?;
    let stop = Arc::new(AtomicBool::new(false));
    interrupt::also(Arc::clone(&stop));
    let mut running = Running {
        spec,
        recorder,
        layout,
        profile: profile.ssd,
        drives: report.models.drives.len(),
        stop,
        address: 0,
    };
    progress.rename("bring-up");
    running.bring_up(&mut report)?;
    if report.bring_up.code == 0 && !running.stopped() {
        match spec.gapless {
            Some(gapless) => report.gapless = Some(running.gapless(gapless, &mut report)?),
            None => running.sessions(&mut report, &progress)?,
        }
    }
    report.interrupted = running.stopped();
    running.finish(&mut report)?;
    Ok(report)
}

impl Running<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Starts writing before the drives are up, where sessions are asked for: so the first byte comes
    /// as early as it can. Then brings up.
    fn bring_up(&mut self, report: &mut RecorderReport) -> Result<()> {
        if let Some(chunks) = self.spec.chunks.first()
            && self.spec.gapless.is_none()
        {
            self.begin_writing(chunks * self.spec.chunk_bytes)?;
        }
        let recorder = &mut self.recorder;
        recorder.start(false, false);
        let status = recorder.run(0, BRING_UP_MOST, &self.stop)?;
        let ready_at = recorder.drives_ready_at();
        let since = |at: Time| at.saturating_sub(ready_at) as f64 / MICROSECOND as f64;
        report.bring_up = BringUp {
            code: status.code,
            ready_after_us: recorder.ready_after().map(|time| time as f64 / 1e6),
            first_byte_after_us: recorder.first_sent().map(since),
            drives: DriveRow::all(&recorder.memory()?, status.drives_ready),
            media_bytes: recorder.raw(regs::media_bytes::OFFSET)?,
            ..BringUp::default()
        };
        if self.stop.load(Ordering::Relaxed) || status.ended {
            return Ok(());
        }
        if recorder.is_held() {
            return Err(late("the drives are not ready", BRING_UP_MOST));
        }
        // From now on it comes back after a failure.
        recorder.start(false, true);
        Ok(())
    }

    /// What is known once all has ended.
    fn finish(&mut self, report: &mut RecorderReport) -> Result<()> {
        let recorder = &mut self.recorder;
        for code in Code::ALL.map(Code::number) {
            let count = recorder.count(code)?;
            if count > 0 {
                report.bring_up.counts.insert(code, count);
            }
        }
        report.bring_up.console = recorder.console();
        report.cycles = recorder.cycles();
        report.stray = recorder.stray();
        report.unrung = recorder.unrung();
        Ok(())
    }

    fn sessions(&mut self, report: &mut RecorderReport, progress: &Progress) -> Result<()> {
        for (number, chunks) in (0..).zip(&self.spec.chunks) {
            let chunks = *chunks;
            progress.rename(&format!("session of {chunks} chunks"));
            let session = self.session(chunks, number > 0, report.top)?;
            let failed = session.write.code != 0;
            report.sessions.push(session);
            if failed && !self.stopped() {
                self.recover()?;
                let mut session = self.session(chunks, true, report.top)?;
                session.again = true;
                report.sessions.push(session);
            }
            if self.stopped() {
                break;
            }
            progress.at(number + 1);
        }
        Ok(())
    }

    /// Waits for drives that died to be up again.
    fn recover(&mut self) -> Result<()> {
        let until = self.recorder.now() + RECOVERY_MOST;
        let up = |of: &mut Recorder, drives| of.hierarchy().ready() == drives && !of.is_held();
        while !up(&mut self.recorder, self.drives) {
            if self.recorder.now() >= until {
                return Err(late("drives that died are not up again", RECOVERY_MOST));
            }
            if self.stopped() {
                break;
            }
            for _ in 0..1000 {
                self.recorder.step()?;
            }
        }
        Ok(())
    }

    /// Sets addresses, lets the source send, and starts.
    fn begin_writing(&mut self, bytes: u64) -> Result<()> {
        let recorder = &mut self.recorder;
        recorder.set_raw(regs::chunk_bytes::OFFSET, self.spec.chunk_bytes)?;
        recorder.set_raw(regs::write_start::OFFSET, self.address)?;
        recorder.set_raw(regs::write_max::OFFSET, self.address + bytes)?;
        recorder.feed(Some(Feed {
            bytes_per_second: self.spec.bytes_per_second,
            lossy: false,
        }));
        Ok(recorder.set_raw(regs::control::OFFSET, regs::control::WRITE.mask())?)
    }

    /// Writes chunks and reads them back; `begins`: writing is not under way yet.
    fn session(&mut self, chunks: u64, begins: bool, top: &'static str) -> Result<Session> {
        let bytes = chunks * self.spec.chunk_bytes;
        let address = self.address;
        let base = match begins {
            true => self.recorder.sent(),
            // The stream began with it.
            false => 0,
        };
        let before = match begins {
            true => self.recorder.raw(regs::write_started::OFFSET)?,
            false => 0,
        };
        if begins {
            self.begin_writing(bytes)?;
        }
        let written = self.end(regs::write_started::OFFSET, before, bytes, |status| {
            regs::status::WRITING.get(status) == 0
        })?;
        self.recorder.feed(None);
        self.recorder.set_raw(regs::control::OFFSET, 0)?;
        self.address += bytes;
        let Ended { counters, late } = written;
        let mut session = Session {
            top,
            chunks,
            address,
            write: Moved::new(counters.stored, counters.write_ns, counters.write_last),
            offered: counters.offered,
            stored: counters.stored,
            lost: counters.lost,
            longest_wait_us: self.wait_us(&counters),
            fifo_high_water: counters.fifo_high_water,
            ..Session::default()
        };
        session.write.code = counters.write_code();
        session.write.failed = counters.write_failed;
        let wrong = &mut session.wrong;
        is_right(wrong, !late, "writing has not ended in time");
        sums(wrong, &counters);
        let sent = self.recorder.sent() - base;
        is_right(
            wrong,
            counters.offered == sent,
            "offered is not what the source has sent",
        );
        if counters.write_code() != 0 || late {
            is_right(wrong, counters.write_code() == 0, "writing has failed");
            return Ok(session);
        }
        let last = Some(address + bytes - self.spec.chunk_bytes);
        is_right(wrong, counters.stored == bytes, "not all was stored");
        is_right(wrong, counters.write_last == last, "write_last is wrong");
        let whole = [Run {
            from: Some(base),
            bytes,
        }];
        let stored = self
            .recorder
            .stored(self.spec.seed, self.layout, address, bytes)?;
        is_right(wrong, stored.all() == whole, "the drives hold other bytes");
        self.rest(bytes)?;
        if !self.stopped() {
            session.read = Some(self.read((address, bytes), &whole, &mut session.wrong)?);
            self.rest(0)?;
        }
        Ok(session)
    }

    /// Reads back.
    fn read(
        &mut self,
        (address, bytes): (u64, u64),
        whole: &[Run],
        wrong: &mut Vec<String>,
    ) -> Result<Moved> {
        let chunk = self.spec.chunk_bytes;
        let recorder = &mut self.recorder;
        let before = recorder.raw(regs::read_started::OFFSET)?;
        recorder.receive(chunk, self.spec.read_bytes_per_second);
        recorder.set_raw(regs::read_start::OFFSET, address)?;
        recorder.set_raw(regs::read_max::OFFSET, address + bytes)?;
        recorder.set_raw(regs::control::OFFSET, regs::control::READ.mask())?;
        let Ended { counters, late } =
            self.end(regs::read_started::OFFSET, before, bytes, |status| {
                regs::status::READING.get(status) == 0
            })?;
        self.recorder.set_raw(regs::control::OFFSET, 0)?;
        let received = self.recorder.received();
        let mut moved = Moved::new(received.runs.bytes(), counters.read_ns, counters.read_last);
        moved.code = counters.read_code();
        moved.failed = counters.read_failed;
        is_right(wrong, !late, "reading has not ended in time");
        is_right(
            wrong,
            received.misplaced == 0,
            "chunks end in the wrong places",
        );
        if moved.code != 0 {
            wrong.push("reading has failed".into());
            is_right(
                wrong,
                received.codes == [moved.code],
                "the stream tells another code",
            );
            return Ok(moved);
        }
        let last = Some(address + bytes - chunk);
        is_right(wrong, received.runs.all() == whole, "other bytes were read");
        is_right(wrong, counters.read_last == last, "read_last is wrong");
        Ok(moved)
    }

    /// Waits until what was started has ended: the time of its start differs from that before.
    fn end(
        &mut self,
        started: u64,
        before: u64,
        bytes: u64,
        ended: impl Fn(u64) -> bool,
    ) -> Result<Ended> {
        let rates = [self.spec.bytes_per_second, self.spec.read_bytes_per_second];
        let rate = rates.into_iter().flatten().fold(SLOWEST, u64::min);
        let time = u128::from(bytes) * u128::from(SECOND) / u128::from(rate);
        let until = self.recorder.now() + SESSION_MOST + 2 * time as Time;
        let mut late = false;
        while self.recorder.raw(started)? == before && !late {
            let refused = self.recorder.raw(regs::refused::OFFSET)?;
            if refused != 0 {
                let message = format!("the recorder refuses its settings: {refused:#x}");
                let remedy = "give chunks for which the drives have room";
                return Err(Failure::new(Exit::BadInput, message, remedy));
            }
            late = self.recorder.now() >= until || self.stopped();
        }
        late |= self.recorder.wait(until, &self.stop, ended)?.is_none();
        Ok(Ended {
            counters: self.recorder.counters()?,
            late,
        })
    }

    /// Lets the drives tidy up behind bytes that were written.
    fn rest(&mut self, bytes: u64) -> Result<()> {
        let timing = self.profile.timing;
        let medium = timing.and_then(|timing| timing.write.medium);
        let drain = medium.map_or(u64::MAX, |medium| medium.drain_rate);
        let drained = u128::from(bytes) * u128::from(SECOND) / u128::from(drain.max(1));
        Ok(self.recorder.rest(REST + drained as Time, &self.stop)?)
    }

    fn wait_us(&self, counters: &Counters) -> f64 {
        let time = u64::from(counters.longest_wait) * self.spec.period_ps;
        time as f64 / MICROSECOND as f64
    }

    /// Records from a source that cannot wait.
    fn gapless(&mut self, gapless: GaplessSpec, report: &mut RecorderReport) -> Result<Gapless> {
        let chunk = self.spec.chunk_bytes;
        let recorder = &mut self.recorder;
        let progress = Progress::count("gapless, microseconds", gapless.time_ps / MICROSECOND);
        recorder.set_raw(regs::chunk_bytes::OFFSET, chunk)?;
        recorder.set_raw(regs::write_start::OFFSET, 0)?;
        let media = report.bring_up.media_bytes / chunk * chunk;
        recorder.set_raw(regs::write_max::OFFSET, media)?;
        let lossy = regs::control::LOSSY.mask();
        recorder.set_raw(regs::control::OFFSET, regs::control::WRITE.mask() | lossy)?;
        let is_writing = |status| regs::status::WRITING.get(status) != 0;
        let until = recorder.now() + MILLISECOND;
        if recorder.wait(until, &self.stop, is_writing)?.is_none() {
            return Err(late("writing has not begun", MILLISECOND));
        }
        recorder.feed(Some(Feed {
            bytes_per_second: Some(gapless.bytes_per_second),
            lossy: true,
        }));
        let began = recorder.now();
        let ends = began + gapless.time_ps;
        while recorder.now() < ends && !self.stop.load(Ordering::Relaxed) {
            let next = (recorder.now() + TELL_EVERY).min(ends);
            let all = |status| !is_writing(status);
            if recorder.wait(next, &self.stop, all)?.is_some() {
                break;
            }
            progress.at((recorder.now() - began) / MICROSECOND);
        }
        recorder.set_raw(regs::control::OFFSET, lossy)?;
        let until = recorder.now() + SESSION_MOST;
        let ended = recorder.wait(until, &self.stop, |status| !is_writing(status))?;
        recorder.feed(None);
        let counters = recorder.counters()?;
        let gaps = recorder.gaps()?;
        let stored = recorder.stored(self.spec.seed, self.layout, 0, counters.stored)?;
        let mut found = Gapless {
            top: report.top,
            bytes_per_second: gapless.bytes_per_second,
            seconds: (gapless.time_ps as f64) / (SECOND as f64),
            fifo_bytes: self.spec.fifo_bytes,
            offered: counters.offered,
            stored: counters.stored,
            lost: counters.lost,
            gaps: counters.gaps,
            gap_bytes: gaps.iter().map(|gap| gap.bytes).sum(),
            longest_wait_us: self.wait_us(&counters),
            fifo_high_water: counters.fifo_high_water,
            fifo_memory_bytes: self.recorder.memory_bytes(),
            ..Gapless::default()
        };
        let wrong = &mut found.wrong;
        is_right(
            wrong,
            ended.is_some() || self.stopped(),
            "writing has not ended in time",
        );
        is_right(wrong, counters.write_code() == 0, "writing has failed");
        sums(wrong, &counters);
        if counters.gaps as usize == gaps.len() {
            let lost = counters.lost - counters.unstored;
            is_right(wrong, found.gap_bytes == lost, "gaps are not what was lost");
        }
        let same = stored.all() == expected(&gaps, counters.stored);
        let known = counters.gaps as usize == gaps.len() && counters.unstored == 0;
        is_right(
            wrong,
            same || !known,
            "the drives hold other bytes than the gaps leave",
        );
        found.records = gaps.into_iter().map(Into::into).collect();
        Ok(found)
    }
}

/// What lies on the drives, where these gaps are all that is missing.
fn expected(gaps: &[Gap], stored: u64) -> Vec<Run> {
    let ends = gaps.iter().map(|gap| (gap.after, gap.bytes));
    let (mut taken, mut lost) = (0, 0);
    let mut runs = Vec::new();
    for (after, bytes) in ends.chain([(stored, 0)]) {
        if after > taken {
            let from = Some(taken + lost);
            let bytes = after - taken;
            runs.push(Run { from, bytes });
        }
        (taken, lost) = (after, lost + bytes);
    }
    runs
}

/// Once writing has stopped.
fn sums(wrong: &mut Vec<String>, counters: &Counters) {
    let all = counters.stored + counters.lost;
    is_right(
        wrong,
        counters.offered == all,
        "offered is not stored + lost",
    );
    is_right(
        wrong,
        counters.fifo_errors == [0; 2],
        "the memory of the FIFO has answered with errors",
    );
}

fn is_right(wrong: &mut Vec<String>, right: bool, otherwise: &str) {
    if !right {
        wrong.push(otherwise.to_owned());
    }
}

fn late(what: &str, time: Time) -> Failure {
    let message = format!("{what} after {} ms of simulated time", time / MILLISECOND);
    Failure::new(Exit::Stuck, message, "report this with the command line")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_leave_runs() {
        let gap = |after, bytes| Gap {
            after,
            bytes,
            at_ns: 0,
        };
        let run = |from, bytes| Run {
            from: Some(from),
            bytes,
        };
        assert_eq!(expected(&[], 10), [run(0, 10)]);
        assert_eq!(
            expected(&[gap(0, 5), gap(4, 2), gap(10, 9)], 10),
            [run(5, 4), run(11, 6)]
        );
    }
}
