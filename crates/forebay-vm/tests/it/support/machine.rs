// SPDX-License-Identifier: Apache-2.0
//! A machine in miniature: devices by vfio-user, memory, and the routing between them, as the bus
//! that the project's driver works on.
#![allow(dead_code)]

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use forebay_driver::{Bus, BusResult as Result, DmaBuffer, PciAddress};
use forebay_vm::protocol::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::support::{Client, memory, peek, poke};

/// Where memory stands, and BARs above it.
const MEMORY: u64 = 0x1000_0000;
const BARS: u64 = 0xf000_0000;

struct Slot {
    client: Client,
    /// First address of BAR 0, and its size.
    bar: (u64, u64),
    /// Replies that came while another was waited for.
    replies: HashMap<u16, Reply>,
}

/// The machine. Device *n* stands at bus *n* + 1.
pub struct Machine {
    slots: Vec<Slot>,
    ram: OwnedFd,
    bytes: u64,
    free: u64,
    start: Instant,
    /// DMA that waits to be served: who, number of the message, what.
    wanted: VecDeque<(usize, u16, Request)>,
    /// DMA messages that the devices have sent.
    pub messages: u64,
}

impl Machine {
    /// With these devices, whose BARs are placed as firmware does. `shared`: they get the
    /// descriptor of the memory; otherwise they reach it by messages only.
    pub fn new(devices: Vec<UnixStream>, bytes: u64, shared: bool) -> Self {
        let mut machine = Self {
            slots: Vec::new(),
            ram: memory(bytes),
            bytes,
            free: 0,
            start: Instant::now(),
            wanted: VecDeque::new(),
            messages: 0,
        };
        let mut next = BARS;
        for (n, stream) in devices.into_iter().enumerate() {
            let mut client = Client::greeted(stream);
            if shared {
                client.map(&machine.ram, MEMORY, bytes);
            }
            let asked = client.ask(&Request::RegionInfo {
                argsz: 4096,
                index: 0,
            });
            let Reply::RegionInfo { info, .. } = asked else {
                panic!("{asked:?}")
            };
            let base = next.next_multiple_of(info.bytes);
            next = base + info.bytes;
            machine.slots.push(Slot {
                client,
                bar: (base, info.bytes),
                replies: HashMap::new(),
            });
            let device = PciAddress::new(n as u8 + 1, 0, 0);
            for (offset, value) in [(0x10, base as u32), (0x14, (base >> 32) as u32), (4, 2)] {
                machine.config_write32(device, offset, value).unwrap();
            }
        }
        machine
    }

    /// Its memory, from the first byte on.
    pub fn memory(&self) -> OwnedFd {
        self.ram.try_clone().unwrap()
    }

    pub fn client(&mut self, device: usize) -> &mut Client {
        &mut self.slots[device].client
    }

    /// Asks a device. As in QEMU, whose lock is held meanwhile, no DMA is served until it answers:
    /// it waits for [`Machine::pump`].
    pub fn ask(&mut self, device: usize, request: &Request) -> Reply {
        let id = self.slots[device].client.send(request, true, &[]);
        let asked = Instant::now();
        loop {
            if let Some(reply) = self.slots[device].replies.remove(&id) {
                return reply;
            }
            let waited = asked.elapsed();
            assert!(waited < Duration::from_secs(60), "no reply to {request:?}");
            self.collect(Duration::from_secs(1));
        }
    }

    /// Serves the DMA of all devices, in the order in which it was asked for; waits at most so long
    /// where there is none.
    pub fn pump(&mut self, limit: Duration) {
        if self.wanted.is_empty() {
            self.collect(limit);
        }
        while let Some((device, id, request)) = self.wanted.pop_front() {
            let reply = self.dma(device, request).to_bytes(id);
            self.slots[device].client.send_bytes(&reply, &[]);
            self.collect(Duration::ZERO);
        }
    }

    /// Takes what the devices send, waiting at most so long for the first.
    fn collect(&mut self, limit: Duration) {
        let limit = Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: limit.subsec_nanos().into(),
        };
        let streams = self.slots.iter().map(|slot| &slot.client.stream);
        let mut polled: Vec<_> = streams.map(|it| PollFd::new(it, PollFlags::IN)).collect();
        poll(&mut polled, Some(&limit)).unwrap();
        let ready: Vec<bool> = polled.iter().map(|it| !it.revents().is_empty()).collect();
        for (device, slot) in self.slots.iter_mut().enumerate().filter(|(n, _)| ready[*n]) {
            let (header, body) = slot.client.receive();
            if let Kind::Command { .. } = header.kind {
                let request = Request::parse(header.command, &body).unwrap();
                self.wanted.push_back((device, header.id, request));
            } else {
                let reply = Reply::parse(&header, &body).unwrap();
                slot.replies.insert(header.id, reply);
            }
        }
    }

    /// Routes what a device wants of memory or of another device.
    fn dma(&mut self, from: usize, request: Request) -> Reply {
        self.messages += 1;
        let command = request.command();
        let (address, len) = match &request {
            Request::DmaRead { address, count } => (*address, u64::from(*count)),
            Request::DmaWrite { address, data } => (*address, data.len() as u64),
            other => panic!("{other:?}"),
        };
        let inside = |base: u64, bytes: u64| {
            let at = address.checked_sub(base)?;
            (at + len <= bytes).then_some(at)
        };
        if let Some(at) = inside(MEMORY, self.bytes) {
            return match request {
                Request::DmaWrite { data, .. } => {
                    poke(&self.ram, at, &data);
                    Reply::Done(command)
                }
                _ => {
                    let data = peek(&self.ram, at, len as usize);
                    Reply::DmaRead { address, data }
                }
            };
        }
        let bars = self.slots.iter().map(|slot| slot.bar).enumerate();
        let mut hits = bars.filter_map(|(to, (base, bytes))| Some((to, inside(base, bytes)?)));
        let Some((to, at)) = hits.next().filter(|(to, _)| *to != from) else {
            return Reply::Failure(command, Errno(19));
        };
        match request {
            Request::DmaWrite { data, .. } => {
                self.peer_write(to, at, &data);
                Reply::Done(command)
            }
            _ => {
                let data = self.peer_read(to, at, len);
                Reply::DmaRead { address, data }
            }
        }
    }

    /// Eight bytes at a time, as QEMU does it.
    fn peer_write(&mut self, to: usize, at: u64, data: &[u8]) {
        for (offset, part) in (at..).step_by(8).zip(data.chunks(8)) {
            let reply = self.ask(
                to,
                &Request::RegionWrite {
                    region: 0,
                    offset,
                    data: part.to_vec(),
                },
            );
            assert!(matches!(reply, Reply::RegionWrite { .. }), "{reply:?}");
        }
    }

    fn peer_read(&mut self, to: usize, at: u64, len: u64) -> Vec<u8> {
        let mut data = Vec::new();
        for done in (0..len).step_by(8) {
            let count = (len - done).min(8) as u32;
            let word = self.region_read(to, 0, at + done, count);
            data.extend(&word.to_le_bytes()[..count as usize]);
        }
        data
    }

    fn slot(device: PciAddress) -> usize {
        usize::from(device.bus) - 1
    }

    fn region_read(&mut self, slot: usize, region: u32, offset: u64, count: u32) -> u64 {
        let request = Request::RegionRead {
            region,
            offset,
            count,
        };
        let mut word = [0; 8];
        match self.ask(slot, &request) {
            Reply::RegionRead { data, .. } => word[..data.len()].copy_from_slice(&data),
            other => panic!("{other:?}"),
        }
        u64::from_le_bytes(word)
    }

    /// Posted, as QEMU does it.
    fn region_write(&mut self, slot: usize, region: u32, offset: u64, data: &[u8]) {
        let data = data.to_vec();
        let request = Request::RegionWrite {
            region,
            offset,
            data,
        };
        self.slots[slot].client.send(&request, false, &[]);
    }
}

impl Bus for Machine {
    fn devices(&mut self) -> Result<Vec<PciAddress>> {
        let slots = 1..=self.slots.len() as u8;
        Ok(slots.map(|bus| PciAddress::new(bus, 0, 0)).collect())
    }

    fn config_read32(&mut self, device: PciAddress, offset: u16) -> Result<u32> {
        let (slot, offset) = (Self::slot(device), offset.into());
        Ok(self.region_read(slot, region::CONFIG, offset, 4) as u32)
    }

    fn config_write32(&mut self, device: PciAddress, offset: u16, value: u32) -> Result<()> {
        let (slot, offset) = (Self::slot(device), offset.into());
        self.region_write(slot, region::CONFIG, offset, &value.to_le_bytes());
        Ok(())
    }

    fn bar_read32(&mut self, device: PciAddress, bar: u8, offset: u64) -> Result<u32> {
        Ok(self.region_read(Self::slot(device), bar.into(), offset, 4) as u32)
    }

    fn bar_read64(&mut self, device: PciAddress, bar: u8, offset: u64) -> Result<u64> {
        Ok(self.region_read(Self::slot(device), bar.into(), offset, 8))
    }

    fn bar_write32(&mut self, device: PciAddress, bar: u8, offset: u64, value: u32) -> Result<()> {
        self.region_write(Self::slot(device), bar.into(), offset, &value.to_le_bytes());
        Ok(())
    }

    fn bar_write64(&mut self, device: PciAddress, bar: u8, offset: u64, value: u64) -> Result<()> {
        self.region_write(Self::slot(device), bar.into(), offset, &value.to_le_bytes());
        Ok(())
    }

    fn bar_address(&mut self, device: PciAddress, _: u8) -> Result<u64> {
        Ok(self.slots[Self::slot(device)].bar.0)
    }

    fn dma_alloc(&mut self, len: usize, align: usize) -> Result<DmaBuffer> {
        let at = self.free.next_multiple_of(align as u64);
        self.free = at + len as u64;
        assert!(self.free <= self.bytes, "the test's memory is too small");
        let address = MEMORY + at;
        Ok(DmaBuffer { address, len })
    }

    fn dma_read(&mut self, buffer: &DmaBuffer, offset: usize, data: &mut [u8]) -> Result<()> {
        buffer.check(offset, data.len())?;
        let at = buffer.address - MEMORY + offset as u64;
        data.copy_from_slice(&peek(&self.ram, at, data.len()));
        Ok(())
    }

    fn dma_write(&mut self, buffer: &DmaBuffer, offset: usize, data: &[u8]) -> Result<()> {
        buffer.check(offset, data.len())?;
        poke(&self.ram, buffer.address - MEMORY + offset as u64, data);
        Ok(())
    }

    fn now(&mut self) -> Duration {
        self.start.elapsed()
    }

    fn relax(&mut self, _: Duration) -> Result<()> {
        self.pump(Duration::from_millis(1));
        Ok(())
    }
}
