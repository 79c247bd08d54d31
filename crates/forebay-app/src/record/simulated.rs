// SPDX-License-Identifier: Apache-2.0
//! A recording on a simulated machine: it ends when the link partner has sent everything.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use forebay_cosim::{FPGA, System};
use forebay_driver::record::{Observer, Plan, Recorder, Stage};
use forebay_driver::{Error, Fetch, NetPort};
use forebay_model::Ssd;
use forebay_model::net::Network;
use forebay_pipeline::Sink;
use forebay_spec::store::schema::Schema;
use forebay_spec::store::superblock::Superblock;
use forebay_store::{Array, Key};

use super::{CONTROLS, Drives, Recorded, make_room};
use crate::failure::Result;
use crate::progress::Progress;
use crate::session::{Ended, Session};

/// How long the end of a recording may stand still: drives pause for milliseconds.
pub(super) const LIMIT: Duration = Duration::from_millis(500);

/// Lets the simulation run until the link partner has ended.
#[derive(Default)]
struct UntilSent {
    ended: Ended,
}

impl Observer<System> for UntilSent {
    fn stage(&mut self, _: Stage) {}

    fn goes_on(&mut self, system: &mut System, _: &NetPort) -> std::result::Result<bool, Error> {
        system.begin_network();
        let ended = |system: &System| system.network().is_none_or(Network::is_at_end);
        self.ended = Ended::of(system.run_until(ended));
        Ok(false)
    }
}

/// Finds network side and recorder of the simulated card.
pub(super) fn attach<'s>(system: &'s mut System, plan: &Plan) -> Result<Recorder<'s, System>> {
    Ok(Recorder::attach(system, (FPGA, 0), CONTROLS, plan, LIMIT)?)
}

/// Makes room for a recording on the session's drives; see [`make_room`].
///
/// # Errors
/// Where something is there, or the drives are too small.
pub fn prepare(
    session: &mut Session,
    sink: &Sink,
    form: (Schema, Option<Key>),
    overwrite: bool,
) -> Result<Superblock> {
    let block_bytes = session.namespace()?.block_bytes();
    let stripes = session.layout().stripes();
    let drives = Drives::of(&mut session.system);
    make_room(drives.parts(), stripes, block_bytes, sink, form, overwrite)
}

/// Records what the link partner sends, of `bytes` as far as that is known, and sends it back where the
/// plan says so.
///
/// # Errors
/// A setting that cannot be, a recorder that does not come to rest, drives that cannot be read.
pub fn simulate(
    session: &mut Session,
    plan: &Plan,
    label: &str,
    bytes: Option<u64>,
) -> Result<(Recorded, Ended)> {
    let progress = match bytes {
        Some(bytes) => Progress::bytes(label, bytes),
        None => Progress::stage(label),
    };
    let capacity = session.namespace()?.bytes();
    let system = &mut session.system;
    system.on_progress(move |snapshot| progress.at(snapshot.network_bytes));
    system.on_loss(mark_missing);
    let mut recorder = attach(system, plan)?;
    recorder.start(capacity)?;
    let mut observer = UntilSent::default();
    recorder.watch(&mut observer)?;
    let failed = matches!(observer.ended, Ended::Failed(_));
    let counted = if failed {
        recorder.counted()
    } else {
        // Ctrl-C ends what is sent, not what has been received.
        recorder.bus().stop_flag().store(false, Ordering::Relaxed);
        recorder.stop(&mut observer)
    };
    let system = recorder.bus();
    system.on_progress(|_| {});
    let wire = system.network().map(Network::counters);
    let missing = system.session().and_then(forebay_driver::Session::missing);
    let read = Recorded::read(plan, counted?, !failed, &*Drives::of(system).open()?)?;
    let mut recorded = Recorded {
        wire,
        missing,
        ..read
    };
    if plan.back.is_some() && observer.ended.is_done() {
        send_back(&mut recorder, &mut recorded)?;
    }
    Ok((recorded, observer.ended))
}

/// Says on the other drives that one is missing: what it has is not to be believed any more.
fn mark_missing(ssds: &mut [Ssd], drive: u8) -> io::Result<()> {
    let drives = Drives::without(ssds, Some(drive));
    let disk = drives.open().map_err(io::Error::other)?;
    let marked = disk.array().map_or(Ok(()), Array::mark_missing);
    marked.map_err(io::Error::other)
}

/// Sends back what was recorded, object by object, paced as the plan says.
fn send_back(recorder: &mut Recorder<'_, System>, recorded: &mut Recorded) -> Result<()> {
    let progress = Progress::count("objects back to the wire", recorded.rows.len() as u64);
    let stored = recorded.rows.iter().filter(|row| row.stored());
    let objects = stored.map(|row| Fetch {
        address: row.address,
        bytes: row.length.into(),
        object: row.object,
        stream: row.stream,
        part: !row.whole(),
        offset: row.offset,
        nonce: row.nonce,
    });
    recorder.send_back(objects, |count| progress.at(count))?;
    let counted = recorder.counted()?;
    recorded.counted.recorder = counted.recorder;
    recorded.counted.events = counted.events;
    recorded.counted.interrupts = counted.interrupts;
    recorded.wire = recorder.bus().network().map(Network::counters);
    Ok(())
}
