// SPDX-License-Identifier: Apache-2.0
//! The driver on a bus where any answer may be a lie: it ends, and gives all memory back.
#![no_main]

#[path = "../../crates/forebay-driver/tests/it/support"]
#[allow(dead_code, reason = "the driver's tests use more of it")]
mod support {
    pub mod chaos;
    pub mod fake;
}

use forebay_driver::{Options, QueuePlacement};
use libfuzzer_sys::fuzz_target;
use support::chaos::{self, Chaos};
use support::fake::NVME;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.iter().copied();
    let placement = match bytes.next().unwrap_or(0) & 1 {
        0 => QueuePlacement::Fpga,
        _ => QueuePlacement::Host,
    };
    let options = Options {
        placement,
        nvme: Some(NVME),
        ..Options::default()
    };
    let mut honest = 0;
    let mut bus = Chaos::new(move |good| {
        if honest > 0 {
            honest -= 1;
            return good;
        }
        match bytes.next() {
            None => good,
            // A short input reaches far: one byte stands for many good answers.
            Some(run @ 0..=127) => {
                honest = run;
                good
            }
            Some(128) => 0,
            Some(129) => u64::MAX,
            Some(bit @ 130..=193) => good ^ 1 << (bit - 130),
            Some(194..) => bytes
                .by_ref()
                .take(8)
                .fold(0, |word, byte| word << 8 | u64::from(byte)),
        }
    });
    chaos::live(&mut bus, &options);
    assert_eq!(bus.fake.taken, 0, "memory is lost");
});
