// SPDX-License-Identifier: Apache-2.0
//! A TAP interface of this machine: what Linux sends into it, we receive, and the other way round.
//!
//! Linux drops what finds no room in the interface's queue, and says so only in its statistics:
//! [`Tap::dropped`] reads them, so that no loss is silent.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv6Addr};
use std::thread;
use std::time::{Duration, Instant};

use forebay_spec::net::ethernet;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::{Error, MOST_BYTES, Result, fill};

/// Bytes of the longest name of an interface (`IFNAMSIZ` without its end).
const NAME_BYTES: usize = 15;
/// Most bytes behind the Ethernet header, so that a tagged frame is not too long.
pub const MOST_MTU: u16 = (MOST_BYTES - ethernet::HEADER_BYTES - ethernet::TAG_BYTES) as u16;
/// Least MTU of IPv6.
const LEAST_MTU6: u16 = 1280;
/// Where routes are listed, and with them our addresses.
const ROUTES: &str = "/proc/self/net/fib_trie";
/// Where our addresses of IPv6 are listed.
const ADDRESSES6: &str = "/proc/self/net/if_inet6";
/// Of an address: it is being looked whether another host has it, and one has (`if_addr.h`).
const TENTATIVE: u32 = 0x40;
const DUPLICATE: u32 = 0x08;
/// How long the former may take: Linux asks once, and waits a second.
const TENTATIVELY: Duration = Duration::from_secs(10);
/// The step in which addresses are set.
const ADDRESSING: &str = "setting its addresses";
/// Where it is said what the interfaces of our network namespace did.
const STATISTICS: &str = "/proc/self/net/dev";

/// What an interface is to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Its name: 1 to 15 characters. It is made, unless there is a TAP interface of this name.
    pub name: String,
    /// Bytes behind the Ethernet header, at most [`MOST_MTU`].
    pub mtu: u16,
    /// Frames that Linux queues for us: programs send faster than simulation receives.
    pub queue: u32,
    /// Addresses of this machine on it, and the bits that name their networks.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// A TAP interface; it goes away with this, unless it was there before.
pub struct Tap {
    device: SyncDevice,
    name: String,
    room: Box<[u8]>,
    dropped_before: u64,
}

impl Tap {
    /// Makes or opens it and brings it up. What already is as it should be is left alone: that
    /// takes no privilege.
    ///
    /// # Errors
    /// If a setting cannot be, or Linux refuses.
    pub fn open(setup: &Setup) -> Result<Self> {
        check(setup)?;
        let builder = || {
            let named = DeviceBuilder::new().name(&setup.name).layer(Layer::L2);
            named.inherit_enable_state()
        };
        let open = |builder: DeviceBuilder, doing: &'static str| {
            builder
                .build_sync()
                .map_err(|error| refused(doing, setup, error))
        };
        let step = |doing: &'static str, done: io::Result<()>| {
            done.map_err(|error| refused(doing, setup, error))
        };
        let fit = |device: &SyncDevice| match device.mtu().ok() {
            Some(mtu) if mtu == setup.mtu => Ok(()),
            _ => step("setting its MTU", device.set_mtu(setup.mtu)),
        };
        let mut device = open(builder(), "opening it")?;
        // With too small an MTU it takes no address of IPv6.
        fit(&device)?;
        let lacking = lacking(setup);
        if !lacking.is_empty() {
            // Only while it is opened can it be given some.
            drop(device);
            let with = |builder: DeviceBuilder, lacks: &(IpAddr, u8)| match *lacks {
                (IpAddr::V4(address), bits) => builder.ipv4(address, bits, None),
                (IpAddr::V6(address), bits) => builder.ipv6(address, bits),
            };
            device = open(lacking.iter().fold(builder(), with), ADDRESSING)?;
            fit(&device)?;
        }
        if device.tx_queue_len().ok() != Some(setup.queue) {
            // Refused in a user namespace. The queue is shorter then, and what it drops is counted.
            let _ = device.set_tx_queue_len(setup.queue);
        }
        if !device.is_running().unwrap_or(false) {
            step("bringing it up", device.enabled(true))?;
        }
        step("waiting for its IPv6 address", await_addresses(setup))?;
        step("reading without waiting", device.set_nonblocking(true))?;
        let mut tap = Self {
            device,
            name: setup.name.clone(),
            room: vec![0; MOST_BYTES].into(),
            dropped_before: 0,
        };
        tap.dropped_before = tap.dropped_ever()?;
        Ok(tap)
    }

    /// Takes the next frame that Linux sent, filled up to 60 bytes; false: there is none now.
    ///
    /// # Errors
    /// If the interface was taken away.
    pub fn read(&mut self, frame: &mut Vec<u8>) -> Result<bool> {
        frame.clear();
        // Asked for often, and mostly in vain: the room is cleared once for all.
        let read = uninterrupted(|| self.device.recv(&mut self.room));
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(self.gone("reading from", error)),
        };
        if bytes > 0 {
            frame.extend(&self.room[..bytes]);
            fill(frame);
        }
        Ok(bytes > 0)
    }

    /// Hands a frame to Linux; false: it has no room now, offer it again.
    ///
    /// # Errors
    /// If Linux refuses it, or the interface was taken away.
    pub fn write(&mut self, frame: &[u8]) -> Result<bool> {
        match uninterrupted(|| self.device.send(frame)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(self.gone("writing to", error)),
        }
    }

    /// Frames that Linux dropped since it was opened, because its queue was full.
    ///
    /// # Errors
    /// If Linux does not say.
    pub fn dropped(&self) -> Result<u64> {
        Ok(self.dropped_ever()?.wrapping_sub(self.dropped_before))
    }

    fn dropped_ever(&self) -> Result<u64> {
        let text = fs::read_to_string(STATISTICS)
            .map_err(|error| Error::file("reading", STATISTICS.as_ref(), error))?;
        dropped_of(&text, &self.name).ok_or_else(|| Error::Unlisted {
            name: self.name.clone(),
            table: STATISTICS,
        })
    }

    fn gone(&self, doing: &'static str, source: io::Error) -> Error {
        Error::Gone {
            name: self.name.clone(),
            doing,
            source,
        }
    }
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tap")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Calls it again where a signal came in between.
fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

fn check(setup: &Setup) -> Result<()> {
    let name = &setup.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !(1..=NAME_BYTES).contains(&name.len()) || !name.chars().all(plain) {
        return Err(Error::setting(
            "the name of the interface",
            format_args!("`{name}`"),
            "it has 1 to 15 letters, digits, -, _ or .",
            "choose another one, such as tap0",
        ));
    }
    // Less than this is too little for IPv4 (RFC 791).
    if !(68..=MOST_MTU).contains(&setup.mtu) {
        return Err(Error::setting(
            "the MTU",
            setup.mtu,
            format!("it can be 68 to {MOST_MTU}"),
            "choose 1500 or 9000",
        ));
    }
    if let Some((second, bits)) = setup.addresses.iter().filter(|(ip, _)| ip.is_ipv4()).nth(1) {
        return Err(Error::setting(
            "an address of the interface",
            format_args!("{second}/{bits}"),
            "there is one of IPv4 already",
            "give it one, and others by hand: ip address add",
        ));
    }
    for (address, bits) in &setup.addresses {
        let (most, remedy) = match address {
            IpAddr::V4(_) => (30, "choose for example 10.77.0.1/24"),
            IpAddr::V6(_) => (126, "choose for example fd77::1/64"),
        };
        if !(1..=most).contains(bits) {
            return Err(Error::setting(
                "an address of the interface",
                format_args!("{address}/{bits}"),
                format!("1 to {most} bits name a network with room for two"),
                remedy,
            ));
        }
        // RFC 8200 5; below, Linux takes the address away again.
        if address.is_ipv6() && setup.mtu < LEAST_MTU6 {
            return Err(Error::setting(
                "the MTU",
                setup.mtu,
                format!("with {address} it is {LEAST_MTU6} at least"),
                "choose 1500 or 9000, or addresses of IPv4 only",
            ));
        }
    }
    Ok(())
}

/// Addresses that the interface is to have and has not.
fn lacking(setup: &Setup) -> Vec<(IpAddr, u8)> {
    let routes = fs::read_to_string(ROUTES).unwrap_or_default();
    let addresses6 = fs::read_to_string(ADDRESSES6).unwrap_or_default();
    let mut lacking = setup.addresses.clone();
    lacking.retain(|(address, _)| match address {
        IpAddr::V4(_) => !is_ours(&routes, *address),
        IpAddr::V6(address) => flags_of(&addresses6, &setup.name, *address).is_none(),
    });
    lacking
}

/// Waits until Linux has seen that no other host has the IPv6 addresses: before that it
/// sends nothing from them.
fn await_addresses(setup: &Setup) -> io::Result<()> {
    let beginning = Instant::now();
    for (address, _) in &setup.addresses {
        let IpAddr::V6(address) = address else {
            continue;
        };
        loop {
            let table = fs::read_to_string(ADDRESSES6)?;
            match flags_of(&table, &setup.name, *address) {
                Some(flags) if flags & TENTATIVE == 0 => break,
                Some(flags) if flags & DUPLICATE == 0 && beginning.elapsed() < TENTATIVELY => {
                    thread::sleep(Duration::from_millis(20));
                }
                _ => {
                    return Err(io::Error::other(format!(
                        "Linux does not let {address} be used: another host may have it"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// What Linux' table says of an IPv6 address of an interface; none: it has not got it.
fn flags_of(table: &str, name: &str, address: Ipv6Addr) -> Option<u32> {
    let address = format!("{:032x}", address.to_bits());
    table.lines().find_map(|line| {
        // Address, index, bits, scope, flags, name.
        let words: Vec<_> = line.split_whitespace().collect();
        let [found, _, _, _, flags, on] = words.as_slice() else {
            return None;
        };
        (*found == address && *on == name).then(|| u32::from_str_radix(flags, 16).ok())?
    })
}

/// Whether this machine has the address, by Linux' table of routes; if that cannot be read: no.
fn is_ours(routes: &str, address: IpAddr) -> bool {
    let leaf = format!("|-- {address}");
    let mut lines = routes.lines();
    // Behind each leaf stands what it is.
    lines.any(|line| line.trim() == leaf)
        && lines
            .next()
            .is_some_and(|line| line.contains("/32 host LOCAL"))
}

/// What to tell if Linux refuses something.
fn refused(doing: &'static str, setup: &Setup, source: io::Error) -> Error {
    let name = &setup.name;
    let has_ipv6 = setup.addresses.iter().any(|(ip, _)| ip.is_ipv6());
    let remedy = match source.kind() {
        ErrorKind::PermissionDenied if doing == ADDRESSING && has_ipv6 && is_ipv6_off(name) => {
            format!(
                "IPv6 is off there: sysctl net.ipv6.conf.{name}.disable_ipv6=0, or of `default`"
            )
        }
        ErrorKind::PermissionDenied => {
            let add = |(address, bits)| format!(", ip address add {address}/{bits} dev {name}");
            let addresses: String = setup.addresses.iter().copied().map(add).collect();
            format!(
                "it takes CAP_NET_ADMIN: run it in a network of its own (unshare -rn), or let root \
                 make the interface for you: ip tuntap add {name} mode tap user $USER, \
                 ip link set {name} up mtu {} txqueuelen {}{addresses}",
                setup.mtu, setup.queue
            )
        }
        ErrorKind::ResourceBusy => {
            "another program holds it: end that, or choose another name".into()
        }
        ErrorKind::InvalidInput => {
            "there is an interface of this name that is none of TAP: choose another name".into()
        }
        ErrorKind::NotFound => {
            "Linux lacks /dev/net/tun: modprobe tun; of a container: --device /dev/net/tun".into()
        }
        _ => "look at it with: ip -details link show".into(),
    };
    Error::Refused {
        name: name.clone(),
        doing,
        source,
        remedy,
    }
}

/// Whether Linux is told to do without IPv6 on an interface, or on new ones.
fn is_ipv6_off(name: &str) -> bool {
    ["default", name].into_iter().any(|of| {
        let setting = format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6");
        fs::read_to_string(setting).is_ok_and(|text| text.trim() == "1")
    })
}

/// Frames that Linux did not get into an interface, of its table of all.
fn dropped_of(table: &str, name: &str) -> Option<u64> {
    // Eight columns of what was received, then bytes, packets, errors, dropped.
    const DROPPED: usize = 8 + 3;
    let numbers = table.lines().find_map(|line| {
        let (found, numbers) = line.split_once(':')?;
        (found.trim() == name).then_some(numbers)
    })?;
    numbers.split_whitespace().nth(DROPPED)?.parse().ok()
}
