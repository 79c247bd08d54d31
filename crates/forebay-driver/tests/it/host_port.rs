// SPDX-License-Identifier: Apache-2.0
//! A host port that says anything at all: no panic, no hang.

use std::io::sink;
use std::time::Duration;

use forebay_driver::{Bus, BusError, BusResult, DmaBuffer, Error, HostPort, PciAddress};
use forebay_spec::host_port::regs;
use forebay_spec::streamer::user::{ReadCommand, WriteCommand};

use crate::support::Random;
use crate::support::registers::registers_only;

const CARD: PciAddress = PciAddress::new(1, 0, 0);
const CONTROL: u64 = 0x1000;
const WINDOW: u64 = 0x10_0000;
const LIMIT: Duration = Duration::from_micros(50);
const PARAMETERS: u64 = 2 | 2 << 16;

type Answer = Box<dyn FnMut(u64) -> u64>;

/// A bus on which registers answer as told, and the staging window keeps what is written.
struct Told {
    answer: Answer,
    version: u64,
    parameters: u64,
    window: Vec<u64>,
    now: Duration,
    accesses: u64,
}

impl Told {
    fn new(answer: impl FnMut(u64) -> u64 + 'static) -> Self {
        let answer = Box::new(answer);
        let window = vec![0; 4 * 4096 / 8];
        Self {
            answer,
            version: regs::version::RESET,
            parameters: PARAMETERS,
            window,
            now: Duration::ZERO,
            accesses: 0,
        }
    }

    fn word(&mut self, offset: u64) -> Option<&mut u64> {
        let at = offset.checked_sub(WINDOW)? / 8;
        self.window.get_mut(at as usize)
    }
}

impl Bus for Told {
    registers_only!(CARD);

    fn bar_read64(&mut self, _: PciAddress, _: u8, offset: u64) -> BusResult<u64> {
        self.accesses += 1;
        if let Some(word) = self.word(offset) {
            return Ok(*word);
        }
        Ok(match offset - CONTROL {
            regs::version::OFFSET => self.version,
            regs::parameters::OFFSET => self.parameters,
            register => (self.answer)(register),
        })
    }

    fn bar_write64(&mut self, _: PciAddress, _: u8, offset: u64, value: u64) -> BusResult<()> {
        self.accesses += 1;
        if let Some(word) = self.word(offset) {
            *word = value;
        }
        Ok(())
    }

    fn now(&mut self) -> Duration {
        self.now
    }

    fn relax(&mut self, _: Duration) -> BusResult<()> {
        self.now += Duration::from_micros(1);
        Ok(())
    }
}

fn attach(bus: &mut Told) -> HostPort {
    let port = HostPort::attach(bus, CARD, 0, CONTROL, WINDOW).expect("reads");
    port.expect("is there")
}

/// What a read says when register `read` shows this and then nothing, and the rest is right.
fn read_shown(shown: u64, length: u64) -> Result<u64, Error> {
    let mut asked = 0;
    let mut bus = Told::new(move |register| {
        asked += u64::from(register == regs::read::OFFSET);
        // The first time it is asked whether the port rests.
        if register == regs::read::OFFSET && asked == 2 {
            shown
        } else {
            0
        }
    });
    let port = attach(&mut bus);
    let ended = port.read(&mut bus, ReadCommand::new(0, length), &mut sink(), LIMIT)?;
    assert!(ended.error.is_none());
    Ok(ended.bytes)
}

#[test]
fn what_cannot_be_is_refused() {
    let shown = |bytes, last: bool| {
        let value = regs::read::VALID.mask() | regs::read::BYTES.set(0, bytes);
        regs::read::LAST.set(value, last.into())
    };
    assert_eq!(read_shown(shown(100, true), 100).expect("good"), 100);
    for (value, length, said) in [
        (shown(100, true), 101, "the number of bytes read is 100"),
        (shown(101, true), 100, "the number of bytes read is 101"),
        (shown(0, false), 100, "`read`"),
        (shown(8193, false), 10_000, "`read`"),
        (shown(64, false) | regs::read::ERROR.mask(), 100, "`read`"),
        (shown(64, false), 100, "data read did not happen within"),
    ] {
        let error = read_shown(value, length).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_port_that_says_anything_is_survived() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let mut noise = Random::new(seed ^ 0x5eed);
        let power = 1 << random.below(8);
        let mut bus = Told::new(move |_| match noise.below(power) {
            0 => noise.next() >> noise.below(64),
            1 => u64::MAX,
            2 => 1 << 31,
            _ => 0,
        });
        let port = attach(&mut bus);
        let data = random.bytes(20_000);
        let length = random.below(20_000);
        let _ = port.write(&mut bus, WriteCommand::new(0), &mut &data[..], LIMIT);
        let _ = port.read(&mut bus, ReadCommand::new(0, length), &mut sink(), LIMIT);
        assert!(bus.accesses < 40_000, "seed {seed}: {}", bus.accesses);
    }
}

#[test]
fn only_what_is_known_is_attached() {
    let mut bus = Told::new(|_| 0);
    assert_eq!(attach(&mut bus).staging(), (8192, 8192));
    for pages in [0, 1, 1 << 16, 513 | 1 << 16, 1 | 513 << 16] {
        let mut bus = Told::new(|_| 0);
        bus.parameters = pages;
        assert!(HostPort::attach(&mut bus, CARD, 0, CONTROL, WINDOW).is_err());
    }
    let mut bus = Told::new(|_| 0);
    bus.version = regs::version::MAJOR.set(bus.version, 7);
    assert!(HostPort::attach(&mut bus, CARD, 0, CONTROL, WINDOW).is_err());
    bus.version = u64::MAX;
    let found = HostPort::attach(&mut bus, CARD, 0, CONTROL, WINDOW);
    assert!(found.expect("reads").is_none());
}

#[test]
fn a_port_that_has_gone_is_said() {
    let mut bus = Told::new(|_| u64::MAX);
    let port = attach(&mut bus);
    let error = port
        .write(&mut bus, WriteCommand::new(0), &mut &[1][..], LIMIT)
        .expect_err("gone");
    assert!(matches!(error, Error::Gone { .. }), "{error}");
}
