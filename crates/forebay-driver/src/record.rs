// SPDX-License-Identifier: Apache-2.0
//! A recording: started, watched, stopped and drained through the card's registers alone.
//!
//! Frames may come without a pause while a recording ends. [`Recorder::stop`] takes what the card
//! holds, refuses every later frame (the card counts it), and waits until nothing that was taken is
//! on its way: the memory and the rings are empty, the recorder has no extent open or without its
//! answer, and none of its counters has moved for [`SETTLE_CYCLES`] of the card's own clock. That
//! last wait is for the processing elements, which have no register that says they are empty.

use std::time::Duration;

use forebay_spec::net::{Arrival, Place};
use serde::Serialize;

use crate::bus::{Bus, PciAddress};
use crate::elements::{Chain, Elements, RegisterWrite};
use crate::error::Error;
use crate::net_port::{Destination, MAC_HZ, NetCounters, NetPort, NetSettings, Packets};
use crate::poll;
use crate::recorder_port::{
    ELEMENTS, Events, RecorderCounters, RecorderPort, RecorderStatus, Recording,
};
use crate::replay::{Fetch, Replay, Replayed};

/// Cycles of the core's clock without a frame after which the line counts as silent: a frame of
/// 9000 bytes and its gap take 217.
const SILENT_CYCLES: u64 = 512;
/// Cycles for which the end waits for a line to fall silent, 0.9 ms. A line that does not is cut
/// off.
const GRACE_CYCLES: u64 = 1 << 18;
/// Cycles without movement after which nothing taken is on its way any more, 27 us.
pub const SETTLE_CYCLES: u64 = 8192;
/// Bytes on the wire of the longest frame that is sent.
const FRAME_MOST: u64 = 9_038;

/// What is recorded, where, and how.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// How the network side receives.
    pub net: NetSettings,
    /// Whole frames as a capture, in place of datagrams with our header.
    pub packets: Option<Packets>,
    /// Where it goes.
    pub recording: Recording,
    /// Settings of the processing elements.
    pub elements: [u64; ELEMENTS],
    /// Which of them have registers.
    pub chain: Chain,
    /// What is written there.
    pub registers: Vec<RegisterWrite>,
    /// Where objects are sent that are read back; none: nowhere.
    pub back: Option<Destination>,
}

impl Plan {
    /// How long sending back may stand still, where an object has this number of bytes: the objects
    /// that wait, and one more, leave at the pace that was asked for.
    fn patience(&self, bytes: u64, limit: Duration) -> Duration {
        const REQUESTS: f64 = 18.0;
        // What frames have besides payload is less than as much again.
        limit + Duration::from_secs_f64(REQUESTS * 2.0 * bytes as f64 / self.back_rate())
    }

    /// Bytes per second on the wire of what is sent back.
    fn back_rate(&self) -> f64 {
        let each_cycle = self.back.map_or(1, |back| back.rate.max(1));
        f64::from(each_cycle) / 256.0 * MAC_HZ as f64
    }
}

/// What a recording is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Frames are taken.
    Recording,
    /// What the card holds goes to the drives; later frames are refused.
    Draining,
    /// The last index records are written.
    Closing,
}

/// Is told what a recording does, and says when it ends.
pub trait Observer<B: Bus> {
    /// A stage begins.
    fn stage(&mut self, stage: Stage);

    /// Lets time pass while frames are taken; false ends the recording.
    ///
    /// # Errors
    /// A failure of the bus or of a device: there is nothing to record any more.
    fn goes_on(&mut self, bus: &mut B, net: &NetPort) -> Result<bool, Error>;

    /// Something has happened, for the first time in this recording.
    fn raised(&mut self, _: Events) {}
}

/// What the card counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// The network side. Frames that were between two of its counters while these were read count
    /// as of no stream: all that arrives before a recording begins, and behind its end, is refused as
    /// that.
    pub net: NetCounters,
    /// The recorder.
    pub recorder: RecorderCounters,
    /// What has raised the interrupt.
    pub events: Events,
    /// How often the card has raised its interrupt, as far as the host let it in.
    pub interrupts: u64,
    /// Whether frames still arrived while the counters were read.
    pub still_arriving: bool,
    /// From the first frame that could have been taken to the answer to the last extent.
    pub duration: Duration,
}

/// What is read again and again while a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    /// Cycles of the core's clock.
    cycle: u64,
    /// Frames that reached the memory, or found no room in it.
    arrived: u64,
    /// Beats in the memory.
    memory: u64,
    /// Beats in the rings of the streams.
    rings: u64,
    /// Frames whose payload went on.
    delivered: u64,
    status: RecorderStatus,
}

impl Look {
    /// What changes as long as something that was taken moves.
    const fn position(&self) -> (u64, RecorderStatus) {
        (self.delivered, self.status)
    }

    const fn recorder_rests(&self) -> bool {
        !self.status.open && self.status.waiting == 0
    }
}

/// A [`Look`], and since when what of it has not changed.
#[derive(Clone, Copy, Debug)]
struct Seen {
    look: Look,
    began: u64,
    /// Cycle at which a frame was last seen to have arrived.
    arrived_at: u64,
    /// Cycle at which something taken was last seen to have moved.
    moved_at: u64,
}

impl Seen {
    const fn of(look: Look) -> Self {
        Self {
            look,
            began: look.cycle,
            arrived_at: look.cycle,
            moved_at: look.cycle,
        }
    }

    fn next(&mut self, look: Look) {
        if look.arrived != self.look.arrived {
            self.arrived_at = look.cycle;
        }
        if look.position() != self.look.position() {
            self.moved_at = look.cycle;
        }
        self.look = look;
    }

    const fn line_is_silent(&self) -> bool {
        self.look.cycle - self.arrived_at >= SILENT_CYCLES
    }

    const fn is_still(&self) -> bool {
        self.look.cycle - self.moved_at >= SETTLE_CYCLES
    }

    /// What has come is in the rings; or the line does not fall silent, and waiting has no end.
    const fn has_come_in(&self) -> bool {
        match self.line_is_silent() {
            true => self.look.memory == 0,
            false => self.look.cycle - self.began >= GRACE_CYCLES,
        }
    }
}

/// Offsets in a card's BAR of the registers that a recording needs.
#[derive(Clone, Copy, Debug)]
pub struct Controls {
    /// Those of the network side.
    pub net: u64,
    /// Those of the recorder.
    pub recorder: u64,
    /// Those of the processing elements.
    pub elements: u64,
}

/// Finds network side and recorder of a card.
///
/// # Errors
/// A card without them, or of another version; a failure of the bus.
pub fn ports(
    bus: &mut dyn Bus,
    (card, bar): (PciAddress, u8),
    controls: Controls,
) -> Result<(NetPort, RecorderPort), Error> {
    let net = NetPort::attach(bus, card, bar, controls.net)?;
    let port = RecorderPort::attach(bus, card, bar, controls.recorder)?;
    net.zip(port).ok_or_else(|| Error::NotFound {
        what: "a network side with a recorder",
        seen: format!("the card at {card} has other registers there, or none"),
        remedy: "build the card with fb_top_net (docs/reference/recorder.md)",
    })
}

/// A recording under way.
#[derive(Debug)]
pub struct Recorder<'b, B: Bus> {
    bus: &'b mut B,
    net: NetPort,
    port: RecorderPort,
    plan: Plan,
    limit: Duration,
    began: Duration,
    /// When the recorder last came to rest, while it rests.
    rested: Option<Duration>,
    events: Events,
    /// Interrupts of the bus before this recording.
    before: u64,
}

impl<'b, B: Bus> Recorder<'b, B> {
    /// Finds [`ports`] and sets both up; nothing is taken yet, so that no packet stands in the way of
    /// what is written into the elements. `limit` is how long the end of a
    /// recording may stand still.
    ///
    /// # Errors
    /// As [`ports`], or a setting that cannot be.
    pub fn attach(
        bus: &'b mut B,
        (card, bar): (PciAddress, u8),
        controls: Controls,
        plan: &Plan,
        limit: Duration,
    ) -> Result<Self, Error> {
        let (net, port) = ports(bus, (card, bar), controls)?;
        // The clock is right before the first extent can come.
        port.set_clock(bus, plan.recording.time)?;
        net.configure(bus, &plan.net)?;
        port.set_elements(bus, &plan.elements)?;
        let elements = Elements::attach(bus, card, bar, controls.elements)?;
        elements.write(bus, plan.chain, &plan.registers)?;
        if let Some(back) = &plan.back {
            net.set_destination(bus, back)?;
        }
        let began = bus.now();
        let before = bus.interrupts()?;
        Ok(Self {
            events: Events::default(),
            before,
            bus,
            net,
            port,
            plan: plan.clone(),
            limit,
            began,
            rested: None,
        })
    }

    /// Begins to record; `capacity` is the size of the drives in bytes. From now on frames are
    /// taken.
    ///
    /// # Errors
    /// As [`RecorderPort::start`].
    pub fn start(&mut self, capacity: u64) -> Result<(), Error> {
        self.port.start(self.bus, &self.plan.recording, capacity)?;
        match self.plan.packets {
            Some(packets) => {
                let alignment = self.plan.recording.alignment()?;
                self.net.begin_packets(self.bus, packets, alignment)?;
            }
            None => self.net.open(self.bus, &self.plan.net)?,
        }
        self.began = self.bus.now();
        Ok(())
    }

    /// Says where the recording lies that is on the drives; nothing is stored.
    ///
    /// # Errors
    /// As [`RecorderPort::configure`].
    pub fn of_stored(&mut self, capacity: u64) -> Result<(), Error> {
        self.port
            .configure(self.bus, &self.plan.recording, capacity)
    }

    /// Records until the observer says that it is enough.
    pub fn watch(&mut self, observer: &mut impl Observer<B>) -> Result<(), Error> {
        observer.stage(Stage::Recording);
        while observer.goes_on(self.bus, &self.net)? {
            self.take_events(observer)?;
        }
        Ok(())
    }

    /// Takes what has happened, and tells of what is new.
    fn take_events(&mut self, observer: &mut impl Observer<B>) -> Result<(), Error> {
        let new = self.events.add(self.port.take_events(self.bus)?);
        if new.any() {
            observer.raised(new);
        }
        Ok(())
    }

    /// Ends the recording: see the [module](self). All that was taken is on the drives then, or
    /// counted.
    ///
    /// # Errors
    /// Where something does not come to rest within the limit, or the bus fails.
    pub fn stop(&mut self, observer: &mut impl Observer<B>) -> Result<Counted, Error> {
        self.take_events(observer)?;
        observer.stage(Stage::Draining);
        self.wait("the end of what has come", Seen::has_come_in)?;
        self.net.close(self.bus)?;
        if self.plan.packets.is_some() {
            self.net.end_packets(self.bus, self.limit)?;
        }
        self.net.empty_rings(self.bus)?;
        self.wait("taking the frames received", |seen| seen.look.rings == 0)?;
        // What a sender left unfinished ends with the first gap between frames that are refused.
        self.net.set_idle(self.bus, 1)?;
        self.wait("the answer to the last extent", |seen| {
            seen.look.recorder_rests() && seen.is_still()
        })?;
        observer.stage(Stage::Closing);
        self.port.finish(self.bus, self.limit)?;
        self.counted()
    }

    /// What the card has counted so far.
    pub fn counted(&mut self) -> Result<Counted, Error> {
        let ended = self.rested.unwrap_or_else(|| self.bus.now());
        let before = self.net.all_arrivals(self.bus)?;
        let mut net = self.net.counters(self.bus)?;
        let still_arriving = self.net.all_arrivals(self.bus)? != before;
        if still_arriving {
            net.refuse_between();
        }
        let recorder = self.port.counters(self.bus)?;
        self.events.add(self.port.take_events(self.bus)?);
        Ok(Counted {
            net,
            recorder,
            events: self.events,
            interrupts: self.bus.interrupts()?.saturating_sub(self.before),
            still_arriving,
            duration: ended.saturating_sub(self.began),
        })
    }

    /// Reads objects back and sends each with its number. Tells of each.
    ///
    /// # Errors
    /// Where one is not read in time, or the bus fails.
    pub fn send_back(
        &mut self,
        objects: impl IntoIterator<Item = Fetch>,
        mut told: impl FnMut(u64),
    ) -> Result<(), Error> {
        let mut longest = 0;
        for (count, object) in (1..).zip(objects) {
            longest = longest.max(object.bytes);
            let limit = self.plan.patience(object.bytes, self.limit);
            self.port.fetch(self.bus, &object, limit)?;
            told(count);
        }
        let limit = self.plan.patience(longest, self.limit);
        self.port.finish_fetches(self.bus, limit)?;
        self.finish_sending()
    }

    /// Waits until what was read has left. No register says so: it has when the memory for frames
    /// to be sent, full, would have emptied at the pace, and the link partner asked for no silence
    /// meanwhile.
    pub fn finish_sending(&mut self) -> Result<(), Error> {
        let bytes = self.net.send_beats() * 64 + 2 * FRAME_MOST;
        // Short frames are twice as long on the wire as in the memory.
        let time = Duration::from_secs_f64(2.0 * bytes as f64 / self.plan.back_rate());
        let mut before = None;
        loop {
            let obeyed = self.net.obeyed_quanta(self.bus)?;
            if before.replace(obeyed) == Some(obeyed) {
                return Ok(());
            }
            poll::wait(self.bus, time, |_| Ok(None::<()>))?;
        }
    }

    /// The bus.
    pub const fn bus(&mut self) -> &mut B {
        self.bus
    }

    /// What the recorder has counted so far.
    pub fn recorder_counters(&mut self) -> Result<RecorderCounters, Error> {
        self.port.counters(self.bus)
    }

    /// Has the recorder look for objects in the index of what is stored, and send them; waits until
    /// what it found has been read. `longest` is the bytes of the longest.
    ///
    /// # Errors
    /// As [`RecorderPort::replay`] and [`RecorderPort::finish_replay`].
    pub fn replay(&mut self, wanted: &Replay, longest: u64) -> Result<Replayed, Error> {
        self.port.replay(self.bus, wanted)?;
        let limit = self.plan.patience(longest, self.limit);
        self.port.finish_replay(self.bus, limit)
    }

    fn arrived(&mut self) -> Result<u64, Error> {
        let taken = self.net.arrivals(self.bus, Arrival::Datagram)?;
        Ok(taken + self.net.arrivals(self.bus, Arrival::Overflow)?)
    }

    fn look(&mut self) -> Result<Look, Error> {
        let look = Look {
            cycle: self.net.cycles(self.bus)?,
            arrived: self.arrived()?,
            memory: self.net.memory(self.bus)?.0,
            rings: self.net.rings(self.bus)?,
            delivered: self.net.placements(self.bus, Place::Delivered)?,
            status: self.port.status(self.bus)?,
        };
        let now = self.bus.now();
        self.rested = match look.recorder_rests() {
            true => self.rested.or(Some(now)),
            false => None,
        };
        Ok(look)
    }

    /// Looks until `done`; the limit begins anew whenever something moves that was taken.
    fn wait(&mut self, what: &'static str, done: impl Fn(&Seen) -> bool) -> Result<(), Error> {
        let mut seen = Seen::of(self.look()?);
        let mut since = self.bus.now();
        let mut waited = poll::Patience::new(since);
        while !done(&seen) {
            let position = seen.look.position();
            seen.next(self.look()?);
            let now = self.bus.now();
            if seen.look.position() != position {
                since = now;
            }
            if now.saturating_sub(since) >= self.limit {
                return Err(Error::Timeout {
                    what,
                    limit: self.limit,
                    seen: format!("{:?}", seen.look),
                    remedy: "look whether the drives answer (forebay inspect); a reset of the card \
                             ends what hangs",
                });
            }
            waited.check(now)?;
            self.bus.relax(now.saturating_sub(since))?;
        }
        Ok(())
    }
}
