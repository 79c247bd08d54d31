// SPDX-License-Identifier: Apache-2.0
//! The network side: addresses, pause, what is sent, and what became of each frame.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use forebay_spec::net::{Arrival, Place, regs};
use serde::Serialize;

use crate::bus::{Bus, PciAddress};
use crate::error::Error;
use crate::poll;
use crate::registers::Registers;

/// Cycles after which a stream that waits is let through: about two milliseconds, in which a stream
/// of a tenth of the line fills its ring more than once, and is let through for that.
const COALESCE_CYCLES: u64 = 1 << 19;
/// How long a destination may take to answer: the card asks once a second.
const RESOLVE_WAIT: Duration = Duration::from_millis(3500);
/// How long a time of day may take to come; it crosses two clocks.
const TIME_OF_DAY_WAIT: Duration = Duration::from_millis(10);
/// Cycles of the MAC's clock in a second.
pub const MAC_HZ: u64 = 322_265_625;

/// Bytes of the registers of one outcome.
const OUTCOME_BYTES: u64 = 32;

/// Handle of a network side.
#[derive(Clone, Debug)]
pub struct NetPort {
    registers: Registers,
    /// 64-byte beats of memory for frames received.
    receive_beats: u64,
    /// 64-byte beats of memory for frames to be sent.
    send_beats: u64,
    /// Streams that can be received at once.
    streams: u64,
}

/// When silence is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Thresholds {
    /// 64-byte beats in the memory at which it is asked for.
    pub xoff: u16,
    /// Beats at which it is taken back; fewer.
    pub xon: u16,
    /// Quanta, of 512 bit times, that a frame asks for.
    pub quanta: u16,
    /// What is left of them when the next frame is sent: at most half, and 540 or more, so that the
    /// link partner does not send in between.
    pub refresh: u16,
}

/// How the network side receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NetSettings {
    /// Our MAC address.
    pub mac: [u8; 6],
    /// Our IPv4 address.
    pub ip: Ipv4Addr,
    /// Our IPv6 address.
    pub ip6: Option<Ipv6Addr>,
    /// The IPv4 multicast group whose datagrams are received as well.
    pub group: Option<Ipv4Addr>,
    /// The IPv6 multicast group whose datagrams are received as well.
    pub group6: Option<Ipv6Addr>,
    /// The UDP port that is ours.
    pub port: u16,
    /// The first stream that is taken.
    pub stream: u16,
    /// How many are, from that one on.
    pub streams: u8,
    /// Bytes of the longest frame, without its check sequence.
    pub frame_bytes: u16,
    /// When silence is asked for; none: never.
    pub pause: Option<Thresholds>,
    /// Priority pause of this class in place of pause, in both directions.
    pub class: Option<u8>,
    /// Quanta of uninterrupted pause after which the link partner is no longer obeyed; 0: never.
    pub watchdog: u32,
    /// Quanta of uninterrupted pause after which we release it, until what is received is read again;
    /// 0: without a limit.
    pub pause_limit: u32,
    /// Cycles of the core's clock without a frame after which an unfinished extent ends; 0: never.
    pub idle_cycles: u32,
    /// Frames are stamped by an IEEE 1588 time of day beside the MAC, else by the recorder's clock.
    pub ieee1588: bool,
}

/// How whole frames become segments of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// Pages of 4096 bytes of a segment, 1 or more.
    pub pages: u8,
    /// Cycles of the core's clock after which a segment ends at the latest; 0: it waits until it is
    /// full.
    pub wait_cycles: u32,
}

impl Packets {
    const fn register(self, alignment: u64) -> u64 {
        regs::packets::ENABLE.put(1)
            | regs::packets::PAGES.put(self.pages as u64)
            | regs::packets::ALIGNMENT.put(alignment)
            | regs::packets::WAIT_CYCLES.put(self.wait_cycles as u64)
    }
}

/// Where objects that are read back go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Destination {
    /// Its MAC address; none: the card asks for it by ARP.
    pub mac: Option<[u8; 6]>,
    /// Its IPv4 address.
    pub ip: Ipv4Addr,
    /// Its UDP port.
    pub port: u16,
    /// Bytes of payload in a frame: a multiple of 64, at most 8896.
    pub payload: u16,
    /// Epoch of what we send.
    pub epoch: u32,
    /// Bytes on the wire in 256 cycles of the MAC's clock; 0: as fast as they come.
    pub rate: u16,
}

/// Frames with the same outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FrameCount {
    /// How many.
    pub frames: u64,
    /// Their bytes, without check sequences. The card holds them, and the time, from the moment that
    /// the frames are read: while frames keep coming, the three belong together.
    pub bytes: u64,
    /// When the last one came, in cycles of the core's clock since reset.
    pub last: u64,
}

/// What has happened since reset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetCounters {
    /// Outcomes of all frames, in the order of [`Arrival::ALL`].
    pub arrivals: Vec<FrameCount>,
    /// Outcomes of those that were datagrams for us, in the order of [`Place::ALL`].
    pub places: Vec<FrameCount>,
    /// Beats in the memory for frames received.
    pub held: u64,
    /// The most there have been.
    pub most: u64,
    /// Pause frames that asked for silence, modulo 2^32.
    pub xoff: u64,
    /// Pause frames that took it back, modulo 2^32.
    pub xon: u64,
    /// Times that our requests ended at their limit, modulo 2^32.
    pub ended: u64,
    /// Quanta of silence that we kept, modulo 2^32.
    pub obeyed_quanta: u64,
    /// Times that the watchdog gave up obeying, modulo 2^32.
    pub storms: u64,
    /// Requests for an answer that found no room, modulo 2^32.
    pub unanswered: u64,
    /// Frames in which the MAC was reset, modulo 2^32.
    pub cut: u64,
    /// Frames lost while the MAC's transmit clock stood still, modulo 2^32: these are no arrivals.
    pub lost: u64,
    /// Cycles of the core's clock since reset.
    pub cycles: u64,
}

impl NetCounters {
    /// Frames with this outcome.
    #[must_use]
    pub fn arrived(&self, arrival: Arrival) -> FrameCount {
        self.arrivals
            .get(arrival as usize)
            .copied()
            .unwrap_or_default()
    }

    /// Datagrams with this outcome.
    #[must_use]
    pub fn placed(&self, place: Place) -> FrameCount {
        self.places.get(place as usize).copied().unwrap_or_default()
    }

    /// Counts datagrams that had arrived but were not placed when this was read as of no stream.
    pub(crate) fn refuse_between(&mut self) {
        let sum =
            |counts: &[FrameCount], of: fn(&FrameCount) -> u64| counts.iter().map(of).sum::<u64>();
        let arrived = self.arrived(Arrival::Datagram);
        let frames = arrived
            .frames
            .saturating_sub(sum(&self.places, |count| count.frames));
        let bytes = arrived
            .bytes
            .saturating_sub(sum(&self.places, |count| count.bytes));
        if let Some(refused) = self.places.get_mut(Place::Stream as usize) {
            refused.frames += frames;
            refused.bytes += bytes;
        }
    }
}

impl NetPort {
    /// Looks for a network side whose registers stand at `control` of a BAR; none where there is
    /// another thing, or nothing.
    ///
    /// # Errors
    /// Where the bus fails, or there is one that the driver does not know.
    pub fn attach(
        bus: &mut dyn Bus,
        device: PciAddress,
        bar: u8,
        control: u64,
    ) -> Result<Option<Self>, Error> {
        let registers = Registers::new(device, bar, control);
        let reset = regs::version::RESET;
        if !registers.is_known(bus, "the network side", regs::version::OFFSET, reset)? {
            return Ok(None);
        }
        let parameters = registers.read(bus, regs::parameters::OFFSET)?;
        Ok(Some(Self {
            registers,
            receive_beats: regs::parameters::RECEIVE_BEATS.get(parameters),
            send_beats: regs::parameters::SEND_BEATS.get(parameters),
            streams: regs::parameters::STREAMS.get(parameters),
        }))
    }

    /// 64-byte beats of memory for frames received.
    #[must_use]
    pub fn receive_beats(&self) -> u64 {
        self.receive_beats
    }

    /// 64-byte beats of memory for frames to be sent.
    #[must_use]
    pub fn send_beats(&self) -> u64 {
        self.send_beats
    }

    /// Sets up receiving; no stream is taken yet. To be done while nothing is received or sent.
    ///
    /// # Errors
    /// A setting that cannot be, or a failure of the bus.
    pub fn configure(&self, bus: &mut dyn Bus, settings: &NetSettings) -> Result<(), Error> {
        let NetSettings { pause, class, .. } = *settings;
        let watchdog = u64::from(settings.watchdog);
        at_most("bytes of the longest frame", settings.frame_bytes, 16_382)?;
        at_most("the class of priority pause", class.unwrap_or_default(), 7)?;
        at_most("the pause watchdog in quanta", watchdog, (1 << 24) - 1)?;
        self.check_streams(settings)?;
        check_addresses(settings)?;
        let thresholds = match pause {
            Some(thresholds) => self.thresholds(thresholds)?,
            None => regs::pause::RESET,
        };
        let filter = regs::filter::IP.put(settings.ip.to_bits().into())
            | regs::filter::PORT.put(settings.port.into())
            | regs::filter::STREAM.put(settings.stream.into());
        let control = regs::pause_control::ASK.put(pause.is_some().into())
            | regs::pause_control::BY_CLASS.put(class.is_some().into())
            | regs::pause_control::WHICH.put(class.unwrap_or_default().into())
            | regs::pause_control::WATCHDOG.put(watchdog);
        let [ip6, group6] = [settings.ip6, settings.group6].map(halves);
        let writes = [
            (regs::streams::OFFSET, 0),
            (regs::resolve::OFFSET, 0),
            (regs::address::OFFSET, mac_number(settings.mac)),
            (regs::filter::OFFSET, filter),
            (
                regs::group::OFFSET,
                settings.group.map_or(0, |group| group.to_bits().into()),
            ),
            (regs::ip6_high::OFFSET, ip6[0]),
            (regs::ip6_low::OFFSET, ip6[1]),
            (regs::group6_high::OFFSET, group6[0]),
            (regs::group6_low::OFFSET, group6[1]),
            (
                regs::gather::OFFSET,
                regs::gather::CYCLES.put(COALESCE_CYCLES),
            ),
            (regs::limit::OFFSET, settings.frame_bytes.into()),
            (regs::pause::OFFSET, thresholds),
            (regs::idle::OFFSET, settings.idle_cycles.into()),
            (
                regs::pause_limit::OFFSET,
                regs::pause_limit::QUANTA.put(settings.pause_limit.into()),
            ),
            (regs::pause_control::OFFSET, control),
            (
                regs::clock::OFFSET,
                regs::clock::IEEE1588.put(settings.ieee1588.into()),
            ),
        ];
        self.registers.write_all(bus, &writes)?;
        match settings.ieee1588 {
            true => self.await_time(bus),
            false => Ok(()),
        }
    }

    /// Waits for the time of day to come.
    fn await_time(&self, bus: &mut dyn Bus) -> Result<(), Error> {
        let seconds = |bus: &mut dyn Bus| {
            let clock = self.registers.read(bus, regs::clock::OFFSET)?;
            Ok((regs::clock::SECONDS.get(clock) != 0).then_some(()))
        };
        match poll::wait(bus, TIME_OF_DAY_WAIT, seconds)? {
            Some(()) => Ok(()),
            None => Err(Error::NotFound {
                what: "an IEEE 1588 time of day beside the MAC",
                seen: "the card shows second 0".to_owned(),
                remedy: "connect time_of_day of the top (docs/reference/net.md), let that clock be set, \
                         or take the recorder's: source.clock = \"recorder\"",
            }),
        }
    }

    /// Takes the streams of these settings: each frame that comes after it has returned.
    ///
    /// # Errors
    /// Streams that cannot be, or a failure of the bus.
    pub fn open(&self, bus: &mut dyn Bus, settings: &NetSettings) -> Result<(), Error> {
        self.check_streams(settings)?;
        let streams = settings.streams.into();
        self.registers.write(bus, regs::streams::OFFSET, streams)?;
        // A write is posted; a read comes behind it.
        self.registers.read(bus, regs::streams::OFFSET).map(drop)
    }

    fn check_streams(&self, settings: &NetSettings) -> Result<(), Error> {
        let (first, count) = (u64::from(settings.stream), u64::from(settings.streams));
        if count == 0 {
            let limit = "one or more are taken";
            return Err(Error::parameter("the number of streams", count, limit));
        }
        at_most("the number of streams", count, self.streams)?;
        at_most("the last stream", first + count - 1, u16::MAX.into())
    }

    /// The register, if the thresholds do not contradict each other.
    fn thresholds(&self, thresholds: Thresholds) -> Result<u64, Error> {
        let Thresholds {
            xoff,
            xon,
            quanta,
            refresh,
        } = thresholds;
        // What the RTL would take in place of other values: docs/reference/net.md.
        let memory = self.receive_beats / 8 * 7;
        at_most("XOFF in beats of 64 bytes", xoff, memory)?;
        if xoff == 0 {
            let limit = "an empty memory must not request pause";
            return Err(Error::parameter("XOFF in beats of 64 bytes", xoff, limit));
        }
        at_most("XON in beats of 64 bytes", xon, u64::from(xoff - 1))?;
        let half = u64::from(quanta) / 2;
        at_most("the quanta left at a refresh", refresh, half)?;
        Ok(regs::pause::XOFF.put(xoff.into())
            | regs::pause::XON.put(xon.into())
            | regs::pause::QUANTA.put(quanta.into())
            | regs::pause::REFRESH.put(refresh.into()))
    }

    /// Says where objects that are read back go. To be done while none is on its way.
    ///
    /// # Errors
    /// A setting that cannot be, or a failure of the bus.
    pub fn set_destination(&self, bus: &mut dyn Bus, to: &Destination) -> Result<(), Error> {
        let units = u64::from(to.payload / 64);
        if !to.payload.is_multiple_of(64) || !(1..=139).contains(&units) {
            let limit = "multiples of 64 from 64 to 8896 can be";
            return Err(Error::parameter(
                "bytes of payload in a frame",
                to.payload,
                limit,
            ));
        }
        let mac = to.mac.map_or(0, mac_number);
        let peer = regs::peer::MAC.put(mac) | regs::peer::PORT.put(to.port.into());
        let send = regs::send::IP.put(to.ip.to_bits().into())
            | regs::send::PAYLOAD.put(units)
            | regs::send::RATE.put(to.rate.into());
        // What was asked for another destination is forgotten first.
        self.registers.write(bus, regs::resolve::OFFSET, 0)?;
        self.await_resolved(bus, false, to.ip)?;
        let writes = [
            (regs::peer::OFFSET, peer),
            (regs::send::OFFSET, send),
            (regs::epoch::OFFSET, to.epoch.into()),
        ];
        self.registers.write_all(bus, &writes)?;
        if to.mac.is_some() {
            return Ok(());
        }
        let ask = regs::resolve::ASK.put(1);
        self.registers.write(bus, regs::resolve::OFFSET, ask)?;
        let resolved = self.await_resolved(bus, true, to.ip);
        if resolved.is_err() {
            self.registers.write(bus, regs::resolve::OFFSET, 0)?;
        }
        resolved
    }

    /// Waits until the card knows the MAC address of its destination, or none.
    fn await_resolved(&self, bus: &mut dyn Bus, known: bool, ip: Ipv4Addr) -> Result<(), Error> {
        let done = poll::wait(bus, RESOLVE_WAIT, |bus| {
            let resolve = self.registers.read(bus, regs::resolve::OFFSET)?;
            Ok((regs::resolve::KNOWN.get(resolve) == u64::from(known)).then_some(()))
        })?;
        done.ok_or_else(|| Error::NotFound {
            what: "the MAC address of the destination",
            seen: match known {
                true => format!("no ARP reply from {ip}"),
                false => "the card does not forget another one".to_owned(),
            },
            remedy: "check the address, the cable, the switch and that the MAC's clocks run",
        })
    }

    /// 64-byte beats in the memory for frames received, and the most there have been.
    pub fn memory(&self, bus: &mut dyn Bus) -> Result<(u64, u64), Error> {
        let memory = self.registers.read(bus, regs::memory::OFFSET)?;
        Ok((
            regs::memory::HELD.get(memory),
            regs::memory::MOST.get(memory),
        ))
    }

    /// 64-byte beats that wait in the rings for their stream's turn.
    pub fn rings(&self, bus: &mut dyn Bus) -> Result<u64, Error> {
        let register = self.registers.read(bus, regs::gather::OFFSET)?;
        Ok(regs::gather::HELD.get(register))
    }

    /// Cycles of the core's clock since reset.
    pub fn cycles(&self, bus: &mut dyn Bus) -> Result<u64, Error> {
        self.registers.read(bus, regs::cycles::OFFSET)
    }

    /// Frames with this outcome since reset.
    pub fn arrivals(&self, bus: &mut dyn Bus, outcome: Arrival) -> Result<u64, Error> {
        let at = regs::arrivals::OFFSET + OUTCOME_BYTES * outcome as u64;
        self.registers.read(bus, at)
    }

    /// Frames since reset, whatever their outcome.
    pub fn all_arrivals(&self, bus: &mut dyn Bus) -> Result<u64, Error> {
        let each = Arrival::ALL.into_iter();
        each.map(|outcome| self.arrivals(bus, outcome)).sum()
    }

    /// Datagrams with this outcome since reset.
    pub fn placements(&self, bus: &mut dyn Bus, outcome: Place) -> Result<u64, Error> {
        let at = regs::places::OFFSET + OUTCOME_BYTES * outcome as u64;
        self.registers.read(bus, at)
    }

    /// Quanta of silence that we kept, modulo 2^32.
    pub fn obeyed_quanta(&self, bus: &mut dyn Bus) -> Result<u64, Error> {
        let obeyed = self.registers.read(bus, regs::pause_obeyed::OFFSET)?;
        Ok(regs::pause_obeyed::QUANTA.get(obeyed))
    }

    /// All counters.
    pub fn counters(&self, bus: &mut dyn Bus) -> Result<NetCounters, Error> {
        // A frame counts as arrived before it counts as placed: in this order none is placed only.
        let places = self.frame_counts(bus, regs::places::OFFSET, Place::ALL.len())?;
        let arrivals = self.frame_counts(bus, regs::arrivals::OFFSET, Arrival::ALL.len())?;
        let (held, most) = self.memory(bus)?;
        let sent = self.registers.read(bus, regs::pause_sent::OFFSET)?;
        let limit = self.registers.read(bus, regs::pause_limit::OFFSET)?;
        let obeyed = self.registers.read(bus, regs::pause_obeyed::OFFSET)?;
        let unanswered = self.registers.read(bus, regs::unanswered::OFFSET)?;
        let link = self.registers.read(bus, regs::link::OFFSET)?;
        Ok(NetCounters {
            arrivals,
            places,
            held,
            most,
            xoff: regs::pause_sent::XOFF.get(sent),
            xon: regs::pause_sent::XON.get(sent),
            ended: regs::pause_limit::ENDED.get(limit),
            obeyed_quanta: regs::pause_obeyed::QUANTA.get(obeyed),
            storms: regs::pause_obeyed::STORMS.get(obeyed),
            unanswered: regs::unanswered::REQUESTS.get(unanswered),
            cut: regs::link::CUT.get(link),
            lost: regs::link::LOST.get(link),
            cycles: self.cycles(bus)?,
        })
    }

    fn frame_counts(
        &self,
        bus: &mut dyn Bus,
        at: u64,
        count: usize,
    ) -> Result<Vec<FrameCount>, Error> {
        let words = |number: u64| at + OUTCOME_BYTES * number;
        let mut counts = Vec::with_capacity(count);
        for number in 0..count as u64 {
            counts.push(FrameCount {
                frames: self.registers.read(bus, words(number))?,
                bytes: self.registers.read(bus, words(number) + 8)?,
                last: self.registers.read(bus, words(number) + 16)?,
            });
        }
        Ok(counts)
    }

    /// Changes after how many cycles of the core's clock without a frame an unfinished extent ends;
    /// 0: never.
    pub fn set_idle(&self, bus: &mut dyn Bus, cycles: u32) -> Result<(), Error> {
        let cycles = regs::idle::CYCLES.put(cycles.into());
        self.registers.write(bus, regs::idle::OFFSET, cycles)
    }

    /// Has the rings emptied, one after the other: nothing more comes, so that none waits for the
    /// rest of its object.
    pub fn empty_rings(&self, bus: &mut dyn Bus) -> Result<(), Error> {
        let at_once = regs::gather::CYCLES.put(0);
        self.registers.write(bus, regs::gather::OFFSET, at_once)
    }

    /// Takes no further datagram: those that come are refused as of no stream, and counted. What is
    /// in the rings goes on. May be called while frames come.
    pub fn close(&self, bus: &mut dyn Bus) -> Result<(), Error> {
        self.registers.write(bus, regs::streams::OFFSET, 0)
    }
}

impl NetPort {
    /// Takes whole frames from here on. The recorder is enabled already, and has its time, by which
    /// frames are stamped unless it is that of IEEE 1588. Segments fill multiples of 2^`alignment` pages.
    ///
    /// # Errors
    /// The bus's, or a segment without a page.
    pub fn begin_packets(
        &self,
        bus: &mut dyn Bus,
        packets: Packets,
        alignment: u64,
    ) -> Result<(), Error> {
        // It fills up its last unit.
        let pages = u64::from(packets.pages).next_multiple_of(1 << alignment.min(8));
        if packets.pages == 0 || u8::try_from(pages).is_err() {
            let limit = "1 to 255 can be, up to a multiple of the alignment";
            return Err(Error::parameter(
                "pages of a capture segment",
                packets.pages,
                limit,
            ));
        }
        let register = packets.register(alignment);
        self.registers.write(bus, regs::packets::OFFSET, register)?;
        // A write may be on its way for long; what is read comes behind it.
        self.registers.read(bus, regs::packets::OFFSET).map(drop)
    }

    /// Ends a capture: those of its frames that are in the memory are taken, the open segment ends.
    /// What comes meanwhile is datagrams again, and does not hold it up.
    ///
    /// # Errors
    /// The bus's; where the recorder takes nothing in that time.
    pub fn end_packets(&self, bus: &mut dyn Bus, limit: Duration) -> Result<(), Error> {
        // What has come goes into segments as long as before.
        let packets = self.registers.read(bus, regs::packets::OFFSET)?;
        let ending = regs::packets::ENABLE.set(packets, 0);
        self.registers.write(bus, regs::packets::OFFSET, ending)?;
        let ended = crate::poll::wait(bus, limit, |bus| {
            let packets = self.registers.read(bus, regs::packets::OFFSET)?;
            Ok((regs::packets::OPEN.get(packets) == 0).then_some(()))
        })?;
        ended.ok_or_else(|| Error::Timeout {
            what: "ending the capture",
            limit,
            seen: "frames of the capture are in the memory, or a segment is open".into(),
            remedy: "look whether the recorder is enabled and the drives answer (forebay inspect)",
        })
    }
}

fn mac_number([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

/// Whether an IPv6 address can be that of a card: of ::/16 none is on a wire, and the register means by
/// it that there is no address.
#[must_use]
pub fn is_card(ip: Ipv6Addr) -> bool {
    !ip.is_multicast() && ip.segments()[0] != 0
}

fn check_addresses(settings: &NetSettings) -> Result<(), Error> {
    refuse_unless(
        is_card,
        "our IPv6 address",
        settings.ip6,
        "the address of one card, not of ::/16",
        "take a free one of your network, such as fd77::2",
    )?;
    refuse_unless(
        |ip| ip.is_multicast(),
        "the IPv6 group",
        settings.group6,
        "a multicast group, which begins with ff",
        "take one of your network, such as ff15::77",
    )
}

/// Refuses an IPv6 address for which `can_be` says no.
fn refuse_unless(
    can_be: fn(Ipv6Addr) -> bool,
    field: &'static str,
    ip: Option<Ipv6Addr>,
    limit: &str,
    remedy: &'static str,
) -> Result<(), Error> {
    match ip {
        Some(ip) if !can_be(ip) => Err(Error::Refused {
            field,
            value: ip.to_string(),
            limit: limit.to_owned(),
            remedy,
        }),
        _ => Ok(()),
    }
}

/// The upper and the lower half of an IPv6 address; 0: none.
fn halves(ip: Option<Ipv6Addr>) -> [u64; 2] {
    let bits = ip.map_or(0, Ipv6Addr::to_bits);
    [(bits >> 64) as u64, bits as u64]
}

fn at_most(parameter: &'static str, value: impl Into<u64>, most: u64) -> Result<(), Error> {
    let value = value.into();
    if value <= most {
        return Ok(());
    }
    let limit = format!("at most {most} can be");
    Err(Error::parameter(parameter, value, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> NetPort {
        NetPort {
            registers: Registers::new(PciAddress::new(1, 0, 0), 0, 0),
            receive_beats: 2048,
            send_beats: 256,
            streams: 4,
        }
    }

    const fn settings(stream: u16, streams: u8) -> NetSettings {
        NetSettings {
            mac: [2; 6],
            ip: Ipv4Addr::new(10, 0, 0, 2),
            ip6: None,
            port: 1,
            stream,
            streams,
            frame_bytes: 9018,
            pause: None,
            class: None,
            watchdog: 0,
            pause_limit: 0,
            idle_cycles: 0,
            ieee1588: false,
            group: None,
            group6: None,
        }
    }

    #[test]
    fn addresses_that_cannot_be_are_refused() {
        let with = |ip6: &str, group6: &str| {
            check_addresses(&NetSettings {
                ip6: ip6.parse().ok(),
                group6: group6.parse().ok(),
                ..settings(0, 1)
            })
        };
        for (ip6, group6) in [("", ""), ("fd77::2", "ff15::77"), ("64:ff9b::1", "")] {
            assert!(with(ip6, group6).is_ok(), "{ip6} {group6}");
        }
        for (ip6, group6) in [("::", ""), ("::1", ""), ("ff02::1", ""), ("", "fd77::1")] {
            let refused = with(ip6, group6);
            assert!(
                matches!(refused, Err(Error::Refused { .. })),
                "{ip6} {group6}"
            );
        }
    }

    #[test]
    fn streams_that_cannot_be_are_refused() {
        for (stream, streams) in [(0, 1), (0, 4), (65_535, 1), (65_532, 4)] {
            let good = port().check_streams(&settings(stream, streams));
            assert!(good.is_ok(), "{stream} {streams}");
        }
        for (stream, streams) in [(0, 0), (0, 5), (65_535, 2), (0, 255), (65_533, 4)] {
            let bad = port().check_streams(&settings(stream, streams));
            assert!(
                matches!(bad, Err(Error::Parameter { .. })),
                "{stream} {streams}"
            );
        }
    }

    #[test]
    fn thresholds_that_contradict_are_refused() {
        let good = Thresholds {
            xoff: 1364,
            xon: 682,
            quanta: 0xffff,
            refresh: 0x1fff,
        };
        let register = port().thresholds(good).expect("in order");
        assert_eq!(regs::pause::XOFF.get(register), 1364);
        assert_eq!(regs::pause::XON.get(register), 682);
        let bad = [
            Thresholds {
                xoff: 0,
                xon: 0,
                ..good
            },
            Thresholds { xon: 1364, ..good },
            Thresholds { xoff: 1793, ..good },
            Thresholds {
                refresh: 0x8000,
                ..good
            },
            Thresholds {
                quanta: 0,
                refresh: 0,
                ..good
            },
        ];
        for thresholds in &bad[..4] {
            let refused = port().thresholds(*thresholds);
            assert!(
                matches!(refused, Err(Error::Parameter { .. })),
                "{thresholds:?}"
            );
        }
        // Without quanta nothing is asked for: the RTL's own rule.
        assert!(port().thresholds(bad[4]).is_ok());
    }
}
