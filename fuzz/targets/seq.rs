// SPDX-License-Identifier: Apache-2.0
//! Programs of the sequencer: a listing of what is accepted is the same program, and any words end
//! or go on, whatever is read.
#![no_main]

use forebay_seq::{Interpreter, Spaces, assemble, list};
use libfuzzer_sys::fuzz_target;

/// Answers with bytes of the input, over and over.
struct Lies<'a> {
    bytes: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    microseconds: u64,
}

impl Lies<'_> {
    fn next(&mut self) -> u8 {
        self.bytes.next().copied().unwrap_or(0)
    }
}

impl Spaces for Lies<'_> {
    fn read(&mut self, _space: u8, _address: u64, _bytes: u8) -> Option<u64> {
        let value = u64::from_le_bytes([(); 8].map(|()| self.next()));
        (value & 7 != 7).then_some(value)
    }

    fn write(&mut self, _space: u8, _address: u64, _bytes: u8, _value: u64) -> bool {
        self.next() & 7 != 7
    }

    fn now_us(&mut self) -> u64 {
        self.microseconds += u64::from(self.next());
        self.microseconds
    }

    fn wait_us(&mut self, microseconds: u64) {
        self.microseconds += microseconds;
    }

    fn say(&mut self, _byte: u8) {}
}

fuzz_target!(|input: &[u8]| {
    let (words, _) = input.as_chunks();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let mut lies = Lies {
        bytes: input.iter().cycle(),
        microseconds: 0,
    };
    Interpreter::new(&words).run(&mut lies, 10_000);
    let Ok(program) = std::str::from_utf8(input).map(assemble) else {
        return;
    };
    if let Ok(program) = program {
        let again = assemble(&list::text(&program)).expect("a listing is a program");
        assert_eq!(again.words(), program.words());
        Interpreter::new(program.words()).run(&mut lies, 10_000);
    }
});
