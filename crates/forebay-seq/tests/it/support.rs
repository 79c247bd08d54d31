// SPDX-License-Identifier: Apache-2.0
//! Surroundings of programs in tests.

use std::collections::BTreeMap;

use forebay_seq::{End, Interpreter, Spaces, assemble};

/// Memory of bytes in every space but 7, which answers with errors; time passes in `wait` only.
#[derive(Default)]
pub struct Memory {
    pub bytes: BTreeMap<(u8, u64), u8>,
    pub said: Vec<u8>,
    pub now: u64,
}

impl Spaces for Memory {
    fn read(&mut self, space: u8, address: u64, bytes: u8) -> Option<u64> {
        let byte = |at: u8| {
            let key = (space, address.wrapping_add(at.into()));
            u64::from(self.bytes.get(&key).copied().unwrap_or(0)) << (8 * at)
        };
        (space != 7).then(|| (0..bytes).map(byte).sum())
    }

    fn write(&mut self, space: u8, address: u64, bytes: u8, value: u64) -> bool {
        for at in 0..bytes {
            let key = (space, address.wrapping_add(at.into()));
            self.bytes.insert(key, (value >> (8 * at)) as u8);
        }
        space != 7
    }

    fn now_us(&mut self) -> u64 {
        self.now
    }

    fn wait_us(&mut self, us: u64) {
        self.now += us;
    }

    fn say(&mut self, byte: u8) {
        self.said.push(byte);
    }
}

/// Assembles and runs a program; returns how it ended, what it said, and the time it took.
pub fn run(text: &str) -> (End, String, u64) {
    let program = assemble(text).unwrap_or_else(|error| panic!("{error}: {}", error.remedy));
    let mut memory = Memory::default();
    let end = Interpreter::new(program.words()).run(&mut memory, 100_000);
    let said = String::from_utf8(memory.said).expect("it is text");
    (end.expect("it ends"), said, memory.now)
}
