// SPDX-License-Identifier: Apache-2.0
//! The least host that can use a drive: memory, one admin queue, I/O queues, no driver.
//!
//! Not the project's driver on purpose: model and driver must not merely agree with each other.
#![allow(missing_docs, clippy::missing_panics_doc)]

use forebay_model::{
    Arrival, Fabric, FabricError, HostMemory, Medium, NANOSECOND, Node, Profile, Request, Ssd,
    SsdProfile, Time,
};
use forebay_spec::nvme::regs::{self, Aqa, Cc};
use forebay_spec::nvme::{AdminOpcode, Cqe, IoOpcode, Sqe};
use std::collections::VecDeque;

pub const BAR: u64 = 0x10_0000_0000;
pub const MEMORY: u64 = 0x1_0000_0000;
/// Memory of the card.
pub const CARD: u64 = 0x20_0000_0000;
/// What RTL on the card is taken to need for an answer.
const CARD_TIME: Time = 60 * NANOSECOND;
const ADMIN_ENTRIES: u16 = 32;

pub struct Queue {
    pub id: u16,
    pub entries: u32,
    pub sq: u64,
    pub cq: u64,
    pub tail: u32,
    pub head: u32,
    pub phase: bool,
}

pub struct Rig {
    pub now: Time,
    pub fabric: Fabric,
    pub host: HostMemory,
    pub ssd: Ssd,
    pub admin: Queue,
    stride: u8,
}

impl Rig {
    /// A drive in its PCI slot, not yet enabled.
    pub fn cold(profile: &str, change: impl FnOnce(&mut SsdProfile)) -> Self {
        let mut profile = Profile::builtin(profile).unwrap();
        change(&mut profile.ssd);
        let mut fabric = Fabric::new(&profile.fabric, 1);
        let mut host = HostMemory::new(MEMORY, 64 << 20);
        let medium = Medium::in_memory(profile.ssd.bytes());
        let mut ssd = Ssd::new(&profile.ssd, medium, 7).unwrap();
        fabric.map(Node::Host, host.range());
        fabric.map(Node::Host, HostMemory::interrupt_range());
        fabric.map(Node::Fpga, CARD..CARD + (64 << 20));
        ssd.config_write(0x10, BAR as u32);
        ssd.config_write(0x14, (BAR >> 32) as u32);
        ssd.config_write(0x04, 6);
        fabric.map(Node::Ssd(0), ssd.bar_range().unwrap());
        let admin = Queue::new(&mut host, 0, ADMIN_ENTRIES as u32);
        let stride = profile.ssd.controller.doorbell_stride;
        Self {
            now: 0,
            fabric,
            host,
            ssd,
            admin,
            stride,
        }
    }

    /// An enabled drive with one I/O queue.
    pub fn with_queue(
        profile: &str,
        entries: u32,
        change: impl FnOnce(&mut SsdProfile),
    ) -> (Self, Queue) {
        let mut rig = Self::cold(profile, change);
        rig.enable();
        let queue = rig.create_queue(1, entries);
        (rig, queue)
    }

    pub fn enable(&mut self) {
        let entries = ADMIN_ENTRIES;
        let aqa = Aqa {
            sq_entries: entries,
            cq_entries: entries,
        };
        self.write32(regs::AQA, aqa.bits());
        self.write64(regs::ASQ, self.admin.sq);
        self.write64(regs::ACQ, self.admin.cq);
        let cc = Cc {
            enable: true,
            sqe_shift: 6,
            cqe_shift: 4,
            ..Cc::default()
        };
        self.write32(regs::CC, cc.bits());
        while self.read32(regs::CSTS) & 1 == 0 {
            assert!(self.wait(), "the drive never gets ready");
        }
    }

    pub fn create_queue(&mut self, id: u16, entries: u32) -> Queue {
        let queue = Queue::new(&mut self.host, id, entries);
        let size = (entries - 1) << 16 | id as u32;
        let create = |opcode: AdminOpcode, prp1, cdw11| Sqe {
            opcode: opcode.number(),
            prp1,
            cdw: [size, cdw11, 0, 0, 0, 0],
            ..Sqe::default()
        };
        let cqe = self.admin(create(AdminOpcode::CreateIoCq, queue.cq, 1));
        assert!(cqe.status.is_success(), "{}", cqe.status);
        let cqe = self.admin(create(
            AdminOpcode::CreateIoSq,
            queue.sq,
            (id as u32) << 16 | 1,
        ));
        assert!(cqe.status.is_success(), "{}", cqe.status);
        queue
    }

    pub fn write32(&mut self, offset: u64, value: u32) {
        self.send(offset, &value.to_le_bytes());
    }

    pub fn write64(&mut self, offset: u64, value: u64) {
        self.send(offset, &value.to_le_bytes());
    }

    pub fn send(&mut self, offset: u64, data: &[u8]) {
        let request = Request::Write {
            addr: BAR + offset,
            data: data.into(),
        };
        self.fabric.request(self.now, Node::Host, request);
        self.step();
    }

    pub fn read(&mut self, offset: u64, len: u32) -> Result<Box<[u8]>, FabricError> {
        let request = Request::Read {
            addr: BAR + offset,
            len,
            tag: 1,
        };
        self.fabric.request(self.now, Node::Host, request);
        loop {
            self.step();
            if let Some(completion) = self.host.take_completion() {
                return completion.result;
            }
            assert!(self.wait(), "the read is never answered");
        }
    }

    pub fn read32(&mut self, offset: u64) -> u32 {
        u32::from_le_bytes(self.read(offset, 4).unwrap()[..].try_into().unwrap())
    }

    /// Lets everything that is due now happen.
    pub fn step(&mut self) {
        loop {
            self.host.step(self.now, &mut self.fabric);
            self.ssd.step(self.now, &mut self.fabric);
            self.serve_card();
            match self.fabric.next_event() {
                Some(time) if time <= self.now => {}
                _ => return,
            }
        }
    }

    /// Lets the card answer what has arrived, from memory full of ones.
    fn serve_card(&mut self) {
        while let Some(arrival) = self.fabric.poll(self.now, Node::Fpga) {
            if let Arrival::Request {
                request: Request::Read { len, .. },
                ticket,
                ..
            } = arrival
            {
                let data = vec![1; len as usize].into();
                self.fabric.complete(self.now + CARD_TIME, ticket, Ok(data));
            }
        }
    }

    /// Lets time pass to the next event; false if there is none.
    pub fn wait(&mut self) -> bool {
        let next = [self.fabric.next_event(), self.ssd.next_event()];
        let Some(next) = next.into_iter().flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        self.step();
        true
    }

    /// Puts an entry into a queue without announcing it.
    pub fn place(&mut self, queue: &mut Queue, sqe: &Sqe) {
        let addr = queue.sq + queue.tail as u64 * 64;
        assert!(self.host.write(addr, &sqe.to_bytes()));
        queue.tail = (queue.tail + 1) % queue.entries;
    }

    pub fn ring_sq(&mut self, queue: &Queue) {
        self.write32(regs::sq_doorbell(queue.id, self.stride), queue.tail);
    }

    pub fn submit(&mut self, queue: &mut Queue, sqe: &Sqe) {
        self.place(queue, sqe);
        self.ring_sq(queue);
    }

    /// The next completion, if it is there.
    pub fn poll(&mut self, queue: &mut Queue) -> Option<Cqe> {
        let mut bytes = [0; 16];
        assert!(
            self.host
                .read(queue.cq + queue.head as u64 * 16, &mut bytes)
        );
        let cqe = Cqe::from_bytes(&bytes);
        if cqe.phase != queue.phase {
            return None;
        }
        queue.head += 1;
        if queue.head == queue.entries {
            queue.head = 0;
            queue.phase = !queue.phase;
        }
        Some(cqe)
    }

    pub fn ring_cq(&mut self, queue: &Queue) {
        self.write32(regs::cq_doorbell(queue.id, self.stride), queue.head);
    }

    /// The next completion; `None` when none will ever come.
    pub fn take(&mut self, queue: &mut Queue) -> Option<Cqe> {
        loop {
            if let Some(cqe) = self.poll(queue) {
                self.ring_cq(queue);
                return Some(cqe);
            }
            if !self.wait() {
                return None;
            }
        }
    }

    /// Submits and waits.
    pub fn run(&mut self, queue: &mut Queue, sqe: &Sqe) -> Cqe {
        self.submit(queue, sqe);
        self.take(queue).expect("no completion")
    }

    pub fn admin(&mut self, sqe: Sqe) -> Cqe {
        let mut admin = std::mem::replace(&mut self.admin, Queue::none());
        let cqe = self.run(&mut admin, &sqe);
        self.admin = admin;
        cqe
    }

    /// Submits any entry to the admin queue, and takes what completes soon, if anything does.
    pub fn submit_admin(&mut self, sqe: &Sqe) {
        let mut own = std::mem::replace(&mut self.admin, Queue::none());
        self.submit(&mut own, sqe);
        for _ in 0..200 {
            while self.poll(&mut own).is_some() {}
            if !self.wait() {
                break;
            }
        }
        self.ring_cq(&own);
        self.admin = own;
    }

    /// Lets time pass until nothing is under way.
    pub fn settle(&mut self) {
        for _ in 0..20_000 {
            if !self.wait() {
                break;
            }
        }
        assert!(self.ssd.next_event().is_none(), "the drive has no rest");
    }

    /// A reset makes the drive usable again, whatever was done to it.
    pub fn restart(&mut self) {
        self.write32(regs::CC, 0);
        while self.wait() {}
        let mut fresh = Self::cold("ideal", |_| {});
        std::mem::swap(&mut self.host, &mut fresh.host);
        self.admin = fresh.admin;
        self.enable();
        let mut queue = self.create_queue(1, 4);
        let page = self.host.alloc(4096, 4096).unwrap();
        let read = Sqe::transfer(IoOpcode::Read, 1, 0, 1).with_prps(page, 0);
        assert!(self.run(&mut queue, &read).status.is_success());
    }

    /// An admin command whose data come into one page.
    pub fn admin_read(&mut self, sqe: Sqe) -> (Cqe, Vec<u8>) {
        let page = self.host.alloc(4096, 4096).unwrap();
        let cqe = self.admin(Sqe { prp1: page, ..sqe });
        let mut data = vec![0; 4096];
        assert!(self.host.read(page, &mut data));
        self.host.free(page);
        (cqe, data)
    }

    /// Memory for data with its PRP list; returns its address and the two PRP entries.
    pub fn buffer(&mut self, len: u64) -> (u64, u64, u64) {
        let addr = self.host.alloc(len, 4096).unwrap();
        let pages = len.div_ceil(4096);
        let prp2 = match pages {
            0 | 1 => 0,
            2 => addr + 4096,
            _ => {
                let list = self.host.alloc((pages - 1) * 8, 4096).unwrap();
                for page in 1..pages {
                    let entry = (addr + page * 4096).to_le_bytes();
                    assert!(self.host.write(list + (page - 1) * 8, &entry));
                }
                list
            }
        };
        (addr, addr, prp2)
    }
}

impl Queue {
    fn new(host: &mut HostMemory, id: u16, entries: u32) -> Self {
        let sq = host.alloc(entries as u64 * 64, 4096).unwrap();
        let cq = host.alloc(entries as u64 * 16, 4096).unwrap();
        Self {
            id,
            entries,
            sq,
            cq,
            tail: 0,
            head: 0,
            phase: true,
        }
    }

    fn none() -> Self {
        Self {
            id: 0,
            entries: 2,
            sq: 0,
            cq: 0,
            tail: 0,
            head: 0,
            phase: true,
        }
    }
}

/// What a load of equal commands achieved.
#[derive(Debug, Clone)]
pub struct Load {
    pub seconds: f64,
    pub gb_per_second: f64,
    pub mean_us: f64,
    pub p99_us: f64,
}

/// Keeps `depth` commands under way, each made by `next` from its number, until `count` are done.
pub fn load(
    rig: &mut Rig,
    queue: &mut Queue,
    depth: u32,
    count: u32,
    bytes: u64,
    next: impl FnMut(u32) -> Sqe,
) -> Load {
    load_in_window(rig, queue, (depth, u32::MAX), count, bytes, next)
}

/// The same, where a command is submitted only when the one `window` before it, and all before
/// that, are done: what a buffer of `window` pages does to a host that takes its data in order.
pub fn load_in_window(
    rig: &mut Rig,
    queue: &mut Queue,
    (depth, window): (u32, u32),
    count: u32,
    bytes: u64,
    mut next: impl FnMut(u32) -> Sqe,
) -> Load {
    let mut free: VecDeque<u16> = (0..depth as u16).collect();
    // For each identifier: the number of its command, and when it was submitted.
    let mut sent = vec![(0, 0); depth as usize];
    let mut done = vec![false; count as usize];
    let mut latencies = Vec::with_capacity(count as usize);
    let (mut submitted, mut retired, begin) = (0, 0, rig.now);
    while latencies.len() < count as usize {
        let before = submitted;
        while submitted < count
            && submitted - retired < window
            && let Some(cid) = free.pop_front()
        {
            let sqe = next(submitted);
            rig.place(queue, &Sqe { cid, ..sqe });
            sent[cid as usize] = (submitted, rig.now);
            submitted += 1;
        }
        if submitted != before {
            rig.ring_sq(queue);
        }
        let head = queue.head;
        while let Some(cqe) = rig.poll(queue) {
            assert!(cqe.status.is_success(), "{}", cqe.status);
            let (number, time) = sent[cqe.cid as usize];
            latencies.push(rig.now - time);
            done[number as usize] = true;
            free.push_back(cqe.cid);
        }
        while done.get(retired as usize) == Some(&true) {
            retired += 1;
        }
        if queue.head != head {
            rig.ring_cq(queue);
        } else if submitted == before {
            assert!(rig.wait(), "the drive is stuck");
        }
    }
    let seconds = (rig.now - begin) as f64 * 1e-12;
    latencies.sort_unstable();
    let mean = latencies.iter().sum::<Time>() as f64 / latencies.len() as f64;
    Load {
        seconds,
        gb_per_second: count as f64 * bytes as f64 / seconds * 1e-9,
        mean_us: mean * 1e-6,
        p99_us: latencies[latencies.len() * 99 / 100] as f64 * 1e-6,
    }
}

/// A random number from a running one (splitmix64).
pub fn random(n: u32) -> u64 {
    let mut z = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 27
}
