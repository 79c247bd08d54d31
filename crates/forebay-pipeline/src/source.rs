// SPDX-License-Identifier: Apache-2.0
//! `[source]`: the network's side.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use forebay_driver::net_port::is_card;
use forebay_model::net::headroom;
use forebay_model::{SECOND, Time};
use forebay_spec::net::ethernet::{self, UDP_PORT};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use toml::Value;

use super::field::{Field, File};
use super::{Place, Result, schema, units};

/// Bytes of a beat of the memory for frames, in which thresholds are counted.
const BEAT: u64 = 64;
/// The RTL takes no higher XOFF than this.
const NAMED_MOST: u64 = MEMORY / 8 * 7;
/// Bytes of that memory, as `fb_net_port` is built.
const MEMORY: u64 = 2048 * BEAT;
/// Bytes of a frame on the wire around what counts for the MTU.
const AROUND: u64 = (ethernet::HEADER_BYTES + ethernet::WIRE_BYTES) as u64;
/// Bytes of the shortest frame on the wire.
const SHORTEST: u64 = (ethernet::LEAST_BYTES + ethernet::WIRE_BYTES) as u64;
/// What the memory counts of a frame at least.
const COUNTED: u64 = 2 * BEAT;
/// Quanta after which the slowest link partner is silent.
const RESPONSE: u32 = 394;
/// Longest pause, where nothing else is said: 1 s.
const PAUSE: Time = SECOND;
/// Longest pause that the register can count.
const PAUSE_MOST: Time = 20 * PAUSE;
/// Streams at once, as `fb_net_port` is built.
const STREAMS: i128 = 4;
/// Longest MTU: the MAC's longest frame without addresses, type and VLAN tag.
const MTU: i128 = 16_382 - 18;

/// Least MTU of IPv6 (RFC 8200 5).
const LEAST_MTU6: u32 = 1280;

/// What listens on the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Our MAC address.
    pub mac: Mac,
    /// Our IPv4 address.
    pub address: Ipv4Addr,
    /// Our IPv6 address.
    pub address6: Option<Ipv6Addr>,
    /// The multicast group whose datagrams are received as well.
    pub group: Option<Ipv4Addr>,
    /// The same of IPv6.
    pub group6: Option<Ipv6Addr>,
    /// Our UDP port.
    pub port: u16,
    /// The first stream that is taken.
    pub stream: u16,
    /// How many are, from that one on.
    pub streams: u8,
    /// Bytes of the longest IP packet.
    pub mtu: u32,
    /// Length of the cable.
    pub metres: u32,
    /// When the link partner is asked for silence; none: never.
    pub pause: Option<Pause>,
    /// How long that lasts without interruption at most, in picoseconds; 0: without a limit.
    pub pause_limit_ps: Time,
    /// Class of priority pause; none: pause of the whole link.
    pub class: Option<u8>,
    /// By what frames are stamped when they come.
    pub clock: Clock,
}

/// A time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The recorder's, which software sets.
    Recorder,
    /// One of IEEE 1588 that the card has beside the MAC.
    Ieee1588,
}

impl Source {
    /// Which streams are taken, in words.
    pub fn which(&self) -> String {
        let Self {
            stream, streams, ..
        } = *self;
        match streams {
            0 | 1 => format!("stream {stream}"),
            more => format!(
                "streams {stream} to {}",
                u32::from(stream) + u32::from(more) - 1
            ),
        }
    }
}

/// Set by hand, not by a maker; "FB" stands in it.
const MAC: Mac = Mac([0x02, 0x46, 0x42, 0, 0, 1]);
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// A MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Levels of the memory for frames, in bytes, multiples of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pause {
    /// Silence is asked for from this on.
    pub xoff: u32,
    /// And taken back at this.
    pub xon: u32,
}

impl Pause {
    /// As much as can come above XOFF until the link partner is silent is left free:
    /// docs/reference/net.md.
    fn of(mtu: u32, metres: u32) -> Option<Self> {
        // Of frames that are shorter than two beats the memory counts more than there is.
        let short = headroom(metres, (SHORTEST - AROUND) as u32, RESPONSE) * COUNTED / SHORTEST;
        let long = headroom(metres, mtu, RESPONSE);
        let room = long.max(short).next_multiple_of(BEAT);
        let xoff = MEMORY.checked_sub(room).filter(|xoff| *xoff >= 2 * BEAT)?;
        // Soon taken back, so that memory does not run empty; but not with every frame.
        let xon = xoff
            .saturating_sub(2 * (u64::from(mtu) + AROUND))
            .max(xoff / 2)
            / BEAT
            * BEAT;
        Some(Self {
            xoff: xoff as u32,
            xon: xon as u32,
        })
    }
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Raw {
    /// Our MAC address.
    #[schemars(with = "Option<String>")]
    mac: Option<Place>,
    /// Our IPv4 address.
    #[schemars(with = "Option<String>")]
    address: Option<Place>,
    /// Our IPv6 address.
    #[schemars(with = "Option<String>")]
    address6: Option<Place>,
    /// The IPv4 multicast group whose datagrams are received as well.
    #[schemars(with = "Option<String>")]
    group: Option<Place>,
    /// The IPv6 multicast group whose datagrams are received as well.
    #[schemars(with = "Option<String>")]
    group6: Option<Place>,
    /// Our UDP port, 1 to 65535.
    #[schemars(with = "Option<schema::Whole>")]
    port: Option<Place>,
    /// The stream that is taken, or the first of several: 0 to 65535.
    #[schemars(with = "Option<schema::Whole>")]
    stream: Option<Place>,
    /// Number of streams, 1 to 4.
    #[schemars(with = "Option<schema::Whole>")]
    streams: Option<Place>,
    /// Bytes of the longest IP packet, 68 to 16364.
    #[schemars(with = "Option<schema::Whole>")]
    mtu: Option<Place>,
    /// Length of the cable, up to 10000.
    #[schemars(with = "Option<schema::Whole>")]
    metres: Option<Place>,
    /// When the sender is asked to wait.
    #[schemars(with = "Option<schema::Pause>")]
    pause: Option<Place>,
    /// How long the sender waits without interruption at most, up to 20 s.
    #[schemars(with = "Option<schema::Duration>")]
    pause_limit: Option<Place>,
    /// Pause this class alone, 0 to 7; without it the whole link.
    #[schemars(with = "Option<schema::Whole>")]
    class: Option<Place>,
    /// By what frames are stamped when they come: "recorder", which software sets, or "ieee1588".
    #[schemars(with = "Option<String>")]
    clock: Option<Place>,
}

pub(super) fn check(file: &File, raw: &Raw) -> Result<Source> {
    let number = |name: &str, value: &Option<Place>, least: i128, most: i128, default: i128| {
        let name = format!("source.{name}");
        file.or(name, value, default, |field| field.integer(least..=most))
    };
    let mtu = number("mtu", &raw.mtu, 68, MTU, 9000)? as u32;
    for (name, value) in [("address6", &raw.address6), ("group6", &raw.group6)] {
        if mtu < LEAST_MTU6
            && let Some(value) = value
        {
            return Err(file.field(format!("source.{name}"), value).refuse(
                &format!("IPv6 takes an MTU of {LEAST_MTU6} or more, and source.mtu is {mtu}"),
                "set source.mtu to 1500 or 9000, or leave IPv6 out",
            ));
        }
    }
    let metres = number("metres", &raw.metres, 0, 10_000, 3)? as u32;
    let stream = number("stream", &raw.stream, 0, 65_535, 0)? as u16;
    let streams = number("streams", &raw.streams, 1, STREAMS, 1)? as u8;
    if let (Some(value), None) = (&raw.streams, stream.checked_add(u16::from(streams) - 1)) {
        return Err(file.field("source.streams", value).refuse(
            &format!("streams go up to 65535, and the first is {stream}"),
            "choose fewer, or a lower source.stream",
        ));
    }
    let class = number("class", &raw.class, 0, 7, 0)? as u8;
    Ok(Source {
        mac: file.or("source.mac", &raw.mac, MAC, mac)?,
        address: file.or("source.address", &raw.address, ADDRESS, address)?,
        address6: file.or("source.address6", &raw.address6, None, |field| {
            address6(field).map(Some)
        })?,
        group: file.or("source.group", &raw.group, None, |field| {
            group(field).map(Some)
        })?,
        group6: file.or("source.group6", &raw.group6, None, |field| {
            group6(field).map(Some)
        })?,
        port: number("port", &raw.port, 1, 65_535, UDP_PORT.into())? as u16,
        stream,
        streams,
        mtu,
        metres,
        pause: pause(file, raw.pause.as_ref(), mtu, metres)?,
        pause_limit_ps: file.or("source.pause_limit", &raw.pause_limit, PAUSE, pause_limit)?,
        class: raw.class.as_ref().map(|_| class),
        clock: file.or("source.clock", &raw.clock, Clock::Recorder, |field| {
            field.word(&[("recorder", Clock::Recorder), ("ieee1588", Clock::Ieee1588)])
        })?,
    })
}

fn mac(field: &Field<'_>) -> Result<Mac> {
    let wrong = || {
        field.refuse(
            "it is the MAC address of one card",
            "write six bytes, the first one even, such as \"02:46:42:00:00:01\"",
        )
    };
    let mut bytes = [0; 6];
    let mut parts = field.text()?.split(':');
    for byte in &mut bytes {
        let plain = |part: &&str| part.len() == 2 && part.chars().all(|c| c.is_ascii_hexdigit());
        let part = parts.next().filter(plain).ok_or_else(wrong)?;
        *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    // The lowest bit of the first byte is that of groups.
    if parts.next().is_some() || bytes[0] & 1 != 0 || bytes == [0; 6] {
        return Err(wrong());
    }
    Ok(Mac(bytes))
}

fn address(field: &Field<'_>) -> Result<Ipv4Addr> {
    let parsed: Option<Ipv4Addr> = field.text()?.parse().ok();
    parsed
        .filter(|ip| {
            !(ip.is_unspecified() || ip.is_multicast() || ip.is_broadcast() || ip.is_loopback())
        })
        .ok_or_else(|| {
            field.refuse(
                "it is the IPv4 address of one card",
                "write a free one of your network, such as \"10.77.0.2\"",
            )
        })
}

fn address6(field: &Field<'_>) -> Result<Ipv6Addr> {
    let parsed: Option<Ipv6Addr> = field.text()?.parse().ok();
    parsed.filter(|ip| is_card(*ip)).ok_or_else(|| {
        field.refuse(
            "it is the IPv6 address of one card",
            "write a free one of your network, such as \"fd77::2\"",
        )
    })
}

fn group(field: &Field<'_>) -> Result<Ipv4Addr> {
    let parsed: Option<Ipv4Addr> = field.text()?.parse().ok();
    parsed.filter(Ipv4Addr::is_multicast).ok_or_else(|| {
        field.refuse(
            "it is an IPv4 multicast group, 224.0.0.0 to 239.255.255.255",
            "write one of your network, such as \"239.77.0.1\"",
        )
    })
}

fn group6(field: &Field<'_>) -> Result<Ipv6Addr> {
    let parsed: Option<Ipv6Addr> = field.text()?.parse().ok();
    parsed.filter(Ipv6Addr::is_multicast).ok_or_else(|| {
        field.refuse(
            "it is an IPv6 multicast group, which begins with ff",
            "write one of your network, such as \"ff15::77\"",
        )
    })
}

fn pause(file: &File, value: Option<&Place>, mtu: u32, metres: u32) -> Result<Option<Pause>> {
    let Some(value) = value else {
        return auto(mtu, metres).map(Some).map_err(|limit| {
            file.refuse(
                0,
                "source.metres",
                metres,
                &limit,
                "make the cable or the MTU shorter, or name the levels: pause = { xoff, xon }",
            )
        });
    };
    let field = file.field("source.pause", value);
    match field.value() {
        Value::String(word) if word == "off" => Ok(None),
        Value::String(word) if word == "auto" => auto(mtu, metres).map(Some).map_err(|limit| {
            field.refuse(
                &limit,
                "make the cable or the MTU shorter, or name xoff and xon",
            )
        }),
        Value::Table(levels) => named(&field, levels).map(Some),
        _ => Err(field.refuse(
            "it is \"auto\", \"off\", or { xoff = \"64KiB\", xon = \"48KiB\" }",
            "write one of these",
        )),
    }
}

fn pause_limit(field: &Field<'_>) -> Result<Time> {
    let remedy = "write for example \"500ms\" or \"1s\"; 0 is without a limit";
    field.time(PAUSE_MOST, remedy)
}

fn auto(mtu: u32, metres: u32) -> std::result::Result<Pause, String> {
    Pause::of(mtu, metres).ok_or_else(|| {
        format!(
            "what still comes over {metres} m with an MTU of {mtu} has no room in the memory of \
             {} KiB",
            MEMORY >> 10
        )
    })
}

fn named(field: &Field<'_>, levels: &toml::Table) -> Result<Pause> {
    let level = |name: &str| match levels.get(name) {
        Some(Value::Integer(bytes)) => u64::try_from(*bytes).ok(),
        Some(Value::String(text)) => units::size(text).ok(),
        _ => None,
    };
    let (Some(xoff), Some(xon), 2) = (level("xoff"), level("xon"), levels.len()) else {
        return Err(field.refuse(
            "it has two levels in bytes, xoff and xon, and nothing else",
            "write { xoff = \"64KiB\", xon = \"48KiB\" }, or \"auto\"",
        ));
    };
    let whole = xoff.is_multiple_of(BEAT) && xon.is_multiple_of(BEAT);
    if xon < xoff && xoff <= NAMED_MOST && whole {
        return Ok(Pause {
            xoff: xoff as u32,
            xon: xon as u32,
        });
    }
    Err(field.refuse(
        &format!(
            "xon is less than xoff, xoff at most {NAMED_MOST}, which leaves an eighth of the memory, \
             and both are multiples of {BEAT}"
        ),
        "choose such levels, or \"auto\"",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_leave_the_published_headroom() {
        // Bytes of headroom by docs/reference/net.md, MTU 9000; short frames need a little more.
        for (metres, headroom) in [(3, 43_751.0), (100, 55_876.0)] {
            let pause = Pause::of(9000, metres).expect("fits");
            let left = f64::from(MEMORY as u32 - pause.xoff);
            assert!(
                (1.0..1.05).contains(&(left / headroom)),
                "{metres} m: {left}"
            );
        }
    }

    #[test]
    fn thresholds_are_in_order_or_none() {
        for mtu in [68, 576, 1500, 9000, MTU as u32] {
            for metres in 0..1000 {
                if let Some(Pause { xoff, xon }) = Pause::of(mtu, metres) {
                    assert!(xon < xoff && u64::from(xoff) < MEMORY, "{mtu} {metres}");
                    assert!(xoff % 64 == 0 && xon % 64 == 0, "{mtu} {metres}");
                }
            }
            assert!(Pause::of(mtu, 300).is_some() && Pause::of(mtu, 1000).is_none());
        }
    }
}
