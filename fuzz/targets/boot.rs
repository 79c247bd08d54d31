// SPDX-License-Identifier: Apache-2.0
//! The program that brings drives up, on a bus where any answer may be a lie: it ends within its
//! bounds, and writes nowhere but into the room for BARs.
#![no_main]

use std::iter::Copied;
use std::slice::Iter;

use forebay_cosim::Drive;
use forebay_cosim::root::{Hierarchy, Modelled, RootConfig, settings};
use forebay_model::{MICROSECOND, Profile};
use forebay_seq::boot::{Boot, Fault, PROGRAM, Root, Settings};
use forebay_seq::{Interpreter, assemble};
use forebay_spec::boot::state;
use libfuzzer_sys::fuzz_target;

/// The program looks at 40 buses of 32 devices with 8 functions at most.
const INSTRUCTIONS_MOST: u64 = 20_000_000;
/// A bound of seconds passes in few polls.
const HASTE: u64 = 1000;

/// A root whose answers are lies where the input says so.
struct Lies<'a> {
    root: Modelled,
    bytes: Copied<Iter<'a, u8>>,
    honest: u8,
    settings: Settings,
    hurried_us: u64,
}

impl Lies<'_> {
    fn bent(&mut self, good: Option<u32>) -> Option<u32> {
        if self.honest > 0 {
            self.honest -= 1;
            return good;
        }
        match self.bytes.next() {
            None => good,
            // A short input reaches far: one byte stands for many good answers.
            Some(run @ 0..=159) => {
                self.honest = run;
                good
            }
            Some(160) => None,
            Some(161) => Some(0),
            Some(162) => Some(u32::MAX),
            Some(bit @ 163..=194) => Some(good? ^ 1 << (bit - 163)),
            Some(195..) => {
                let word = self.bytes.by_ref().take(4);
                Some(word.fold(0, |word, byte| word << 8 | u32::from(byte)))
            }
        }
    }
}

impl Root for Lies<'_> {
    fn config_read(&mut self, ecam: u32) -> Option<u32> {
        let good = self.root.config_read(ecam);
        self.bent(good)
    }

    fn config_write(&mut self, ecam: u32, value: u32) -> bool {
        self.root.config_write(ecam, value)
    }

    fn memory_read(&mut self, address: u64) -> Option<u32> {
        let good = self.root.memory_read(address);
        self.bent(good)
    }

    fn memory_write(&mut self, address: u64, value: u32) -> bool {
        let room = self.settings.room_first..self.settings.room_end;
        assert!(room.contains(&address), "a write to {address:#x}");
        self.root.memory_write(address, value)
    }

    fn link_up(&mut self) -> bool {
        let good = u32::from(self.root.link_up());
        self.bent(Some(good)).is_some_and(|up| up & 1 != 0)
    }

    fn perst(&mut self, asserted: bool) {
        self.root.perst(asserted);
    }

    fn window_read(&mut self, offset: u16, data: &mut [u8]) {
        self.root.window_read(offset, data);
        for dword in data.chunks_exact_mut(4) {
            let good = u32::from_le_bytes([dword[0], dword[1], dword[2], dword[3]]);
            let bent = self.bent(Some(good)).unwrap_or(0);
            dword.copy_from_slice(&bent.to_le_bytes());
        }
    }

    fn window_write(&mut self, offset: u16, data: &[u8]) {
        self.root.window_write(offset, data);
    }

    fn now_us(&mut self) -> u64 {
        self.root.now_us() + self.hurried_us
    }

    fn wait_us(&mut self, us: u64) {
        self.hurried_us += HASTE * us;
        self.root.wait_us(us);
    }
}

/// What the streamer does wrong, by the first byte of the input: most often nothing.
fn fault(byte: u8) -> Option<Fault> {
    match byte {
        0 => Some(Fault::Absent),
        1 => Some(Fault::NeverReady),
        2 => Some(Fault::Halted),
        3..=15 => Some(Fault::Stuck(8 * u64::from(byte - 3))),
        _ => None,
    }
}

fuzz_target!(|input: &[u8]| {
    let (first, input) = input.split_first().unwrap_or((&u8::MAX, &[]));
    let Ok(program) = assemble(PROGRAM) else {
        panic!("the program does not assemble");
    };
    let ideal = Profile::builtin("ideal").expect("profile");
    let drives = (0..2).map(|_| Drive::new(ideal.ssd.clone())).collect();
    let mut config = RootConfig::new(ideal.fabric, drives);
    config.link_after = Some(MICROSECOND);
    let settings = Settings {
        reset_us: 1,
        watch: true,
        ..settings(64)
    };
    let lies = Lies {
        root: Modelled::new(Hierarchy::new(config).expect("hierarchy")),
        bytes: input.iter().copied(),
        honest: 0,
        settings,
        hurried_us: 0,
    };
    let mut spaces = Boot::new(lies, settings);
    spaces.streamer().fault = fault(*first);
    let mut running = Interpreter::new(program.words());
    // It watches for ever once all that is left are good answers.
    for _ in 0..INSTRUCTIONS_MOST {
        let over = running.step(&mut spaces).is_some();
        let watches = spaces.told().state == state::READY && spaces.root().bytes.len() == 0;
        if over || watches {
            return;
        }
    }
    panic!("the program does not end: {}", spaces.console());
});
