// SPDX-License-Identifier: Apache-2.0
//! From a pipeline to a machine and a plan.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use forebay_cosim::Config;
use forebay_driver::elements::{Chain, RegisterWrite};
use forebay_driver::net_port::{Destination, MAC_HZ, NetSettings, Packets, Thresholds};
use forebay_driver::record::Plan;
use forebay_model::net::{Addresses, Station};
use forebay_model::{Medium, SECOND, Time};
use forebay_net::send::epoch_of_clock;
use forebay_pipeline::{Clock, Kind, Pipeline, Sink};
use forebay_spec::net::ethernet::{HEADER_BYTES, IPV4_BYTES, TAG_BYTES, UDP_BYTES};
use forebay_spec::net::header;
use forebay_spec::net::pause::QUANTUM_BITS;
use forebay_spec::recorder::elements;
use forebay_spec::store::schema::{Cipher, Schema};
use forebay_spec::store::superblock::Superblock;

use forebay_store::{Key, PAGE};

use crate::failure::{Failure, Result};
use crate::home;
use crate::machine::MachineSpec;

/// The sender's address on its link, from its MAC address (RFC 4291 2.5.1).
const PARTNER6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 1);
/// Bytes of a beat of the memory for frames.
const BEAT: u32 = 64;
/// A pause frame asks for the longest silence, and the next one follows with an eighth of it left:
/// 42 us, time enough for the longest frames and cable, and for the slowest peer.
const QUANTA: u16 = u16::MAX;
const REFRESH: u16 = QUANTA / 8;
/// Duration of a quantum at 100 Gb/s, in picoseconds.
const QUANTUM: Time = QUANTUM_BITS as Time * 10;
/// Silence on end that a peer may ask for: 5.4 ms, more than any drive pauses.
const WATCHDOG: u32 = 1 << 20;
/// Cycles without a frame that end an unfinished extent: 1 s.
const IDLE_CYCLES: u32 = 300_000_000;
/// Pages of a chunk of a capture: 64 KiB, as long as the smallest objects of a recording.
const CHUNK_PAGES: u8 = 16;
/// Bytes in a second on the wire.
pub const LINE_RATE: u64 = 12_500_000_000;
/// Longest payload of a frame that is sent.
const PAYLOAD_MOST: u32 = 8896;
/// The machine that a pipeline asks for; its chain of elements goes into `folder`.
///
/// # Errors
/// A machine that cannot be, or a file that cannot be written.
pub fn machine(machine: &MachineSpec, pipeline: &Pipeline, folder: &Path) -> Result<Config> {
    let mut machine = machine.clone();
    machine.profiles = pipeline
        .ssds
        .iter()
        .map(|ssd| ssd.profile.clone())
        .collect();
    machine.memory = pipeline.buffer.memory;
    machine.buffer_pages = pipeline.buffer.pages();
    machine.dram.clone_from(&pipeline.buffer.dram);
    machine.array.stripe_unit = pipeline.sink.chunk;
    machine.array.parity = pipeline.sink.parity;
    let chain = pipeline.chain();
    let own = home::find()?.join("rtl/pe/fb_pe_chain.sv");
    let mut put = Ok(());
    let mut config = machine.config_of_net(|mut files| {
        files.push(own);
        let with = chain.put(&files, folder);
        with.unwrap_or_else(|error| {
            put = Err(Failure::file("writing into", folder, error));
            files
        })
    })?;
    put?;
    if pipeline.has_own_clock() {
        config.element_period = Some(SECOND / pipeline.element_clock);
    }
    for (number, ssd) in pipeline.ssds.iter().enumerate() {
        let drive = config.more_drives.get_mut(number.wrapping_sub(1));
        let (profile, medium) = match drive {
            Some(drive) => (&mut drive.profile, &mut drive.medium),
            None => (&mut config.profile.ssd, &mut config.medium),
        };
        if let Some(namespace) = profile.namespaces.first_mut() {
            namespace.bytes = ssd.bytes;
        }
        if let Some(path) = &ssd.image {
            *medium = Some(Medium::in_file(path, profile.bytes())?);
        }
    }
    Ok(config)
}

/// The simulated link partner, to which objects are sent back.
pub(super) fn partner(pipeline: &Pipeline) -> Station {
    let source = &pipeline.source;
    let [a, b, c, last] = source.address.octets();
    // A neighbour of ours.
    let ip = Ipv4Addr::new(a, b, c, if last == 1 { 3 } else { 1 });
    Station {
        mac: [2, 0, 0, 0, 0, 1],
        ip: ip.into(),
        port: source.port,
    }
}

/// Who sends to whom, where we make the sender: over IPv6 if the pipeline has it, to a group rather
/// than to our address.
pub(super) fn addresses(pipeline: &Pipeline) -> Addresses {
    let source = &pipeline.source;
    let mut from = partner(pipeline);
    let ours = source.address6.map_or(source.address.into(), IpAddr::from);
    let (mac, ip) = match (source.group6, source.address6, source.group) {
        (Some(group), ..) => (group6_mac(group), group.into()),
        (None, None, Some(group)) => (group_mac(group), group.into()),
        _ => (source.mac.0, ours),
    };
    if ip.is_ipv6() {
        from.ip = PARTNER6.into();
    }
    Addresses {
        from,
        to: Station {
            mac,
            ip,
            port: source.port,
        },
        tag: None,
        raw: false,
    }
}

/// The MAC address of an IPv4 multicast group (RFC 1112).
fn group_mac(group: Ipv4Addr) -> [u8; 6] {
    let [_, a, b, c] = group.octets();
    [0x01, 0x00, 0x5e, a & 0x7f, b, c]
}

/// The MAC address of an IPv6 multicast group (RFC 2464 7).
fn group6_mac(group: Ipv6Addr) -> [u8; 6] {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}

/// How the network side receives.
pub(super) fn net(pipeline: &Pipeline) -> NetSettings {
    let source = &pipeline.source;
    let beats = |bytes: u32| (bytes / BEAT) as u16;
    NetSettings {
        mac: source.mac.0,
        ip: source.address,
        ip6: source.address6,
        group: source.group,
        group6: source.group6,
        port: source.port,
        stream: source.stream,
        streams: source.streams,
        frame_bytes: (source.mtu as usize + HEADER_BYTES + TAG_BYTES) as u16,
        pause: source.pause.map(|pause| Thresholds {
            xoff: beats(pause.xoff),
            xon: beats(pause.xon),
            quanta: QUANTA,
            refresh: REFRESH,
        }),
        class: source.class,
        watchdog: WATCHDOG,
        pause_limit: u32::try_from(source.pause_limit_ps.div_ceil(QUANTUM)).unwrap_or(u32::MAX),
        idle_cycles: IDLE_CYCLES,
        ieee1588: source.clock == Clock::Ieee1588,
    }
}

/// What the index of a recording has, and the key that encrypts it.
#[must_use]
pub fn form(pipeline: &Pipeline) -> (Schema, Option<Key>) {
    (pipeline.results(), pipeline.key().and_then(Key::new))
}

/// What is written into registers of elements; the key of those that encrypt becomes the recording's.
fn registers(pipeline: &Pipeline, superblock: &Superblock) -> Vec<RegisterWrite> {
    let writes = pipeline.registers().into_iter();
    let mut writes: Vec<_> = writes
        .map(|(offset, data)| RegisterWrite { offset, data })
        .collect();
    let Some(key) = form(pipeline).1 else {
        return writes;
    };
    let key = key.derive(superblock.session);
    let load = match key.cipher() {
        Cipher::Aes128 => elements::KEY_LOAD_128,
        Cipher::Aes256 => elements::KEY_LOAD_256,
    };
    for window in pipeline.key_windows() {
        let control = (
            window + elements::KEY_CONTROL_AT,
            load.to_le_bytes().to_vec().into(),
        );
        let both = [(window, key.bytes().to_vec().into()), control];
        writes.extend(both.map(|(offset, data)| RegisterWrite { offset, data }));
    }
    writes
}

/// What is recorded, where, and how; what is read back is sent at `back` bytes per second on the wire.
pub fn plan(pipeline: &Pipeline, superblock: &Superblock, back: Option<u64>) -> Plan {
    let (sink, results) = (&pipeline.sink, pipeline.has_results());
    Plan {
        net: net(pipeline),
        recording: super::recording(superblock, sink, results, superblock.formatted),
        packets: packets(sink, superblock),
        elements: pipeline.chain().cfg,
        chain: {
            let (registers, per_stream) = pipeline.windows();
            Chain {
                registers,
                per_stream,
            }
        },
        registers: registers(pipeline, superblock),
        back: back.map(|rate| destination(pipeline, rate)),
    }
}

/// How frames become a capture, where they do.
pub fn packets(sink: &Sink, superblock: &Superblock) -> Option<Packets> {
    (sink.layout == Kind::Packets).then(|| Packets {
        pages: CHUNK_PAGES.max((superblock.unit() / PAGE) as u8),
        wait_cycles: sink.wait_cycles(forebay_cosim::CLOCK_PERIOD),
    })
}

fn destination(pipeline: &Pipeline, rate: u64) -> Destination {
    let from = partner(pipeline);
    let before = (IPV4_BYTES + UDP_BYTES + header::BYTES) as u32;
    let payload = pipeline.source.mtu.saturating_sub(before).min(PAYLOAD_MOST);
    let each_cycle = rate.saturating_mul(256) / MAC_HZ;
    Destination {
        mac: None,
        ip: from.ipv4(),
        port: from.port,
        payload: ((payload / BEAT).max(1) * BEAT) as u16,
        epoch: epoch_of_clock(),
        rate: each_cycle.clamp(1, u16::MAX.into()) as u16,
    }
}
