// SPDX-License-Identifier: Apache-2.0
//! Runs programs with given answers and prints each access, for comparison with the RTL's bench.
//!
//! Input: of each program a line with its words in hexadecimal, and a line with the answers to
//! reads and writes in their order, each a hexadecimal value or `error`; once they are used up,
//! accesses end in error. Time stands still: a timer has run out where its number is 0, and waits
//! return at once.

use std::error::Error;
use std::io::{self, BufRead};
use std::num::ParseIntError;

use forebay_seq::{Interpreter, Spaces};

const MOST_INSTRUCTIONS: u64 = 20_000;
/// As many as the RTL has: others are answered with an error, and take no answer.
const SPACES: u8 = 5;

struct Traced {
    answers: std::vec::IntoIter<Option<u64>>,
    said: String,
}

fn shown(value: Option<u64>) -> String {
    value.map_or("error".into(), |value| format!("{value:x}"))
}

impl Spaces for Traced {
    fn read(&mut self, space: u8, address: u64, bytes: u8) -> Option<u64> {
        if space >= SPACES {
            return None;
        }
        let mask = u64::MAX >> (64 - 8 * u32::from(bytes));
        let answer = self.answers.next().flatten().map(|value| value & mask);
        println!("read {space} {address:x} {bytes} {}", shown(answer));
        answer
    }

    fn write(&mut self, space: u8, address: u64, bytes: u8, value: u64) -> bool {
        if space >= SPACES {
            return false;
        }
        let good = self.answers.next().flatten().is_some();
        println!(
            "write {space} {address:x} {bytes} {}",
            shown(good.then_some(value))
        );
        good
    }

    fn now_us(&mut self) -> u64 {
        0
    }

    fn wait_us(&mut self, _us: u64) {}

    fn say(&mut self, byte: u8) {
        self.said += &format!("{byte:02x}");
    }
}

fn run(words: &str, answers: &str) -> Result<(), ParseIntError> {
    let words = words.split_whitespace();
    let words = words.map(|word| u32::from_str_radix(word, 16));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let answers = answers.split_whitespace().map(|answer| match answer {
        "error" => Ok(None),
        value => u64::from_str_radix(value, 16).map(Some),
    });
    let mut spaces = Traced {
        answers: answers.collect::<Result<Vec<_>, _>>()?.into_iter(),
        said: String::new(),
    };
    let end = Interpreter::new(&words).run(&mut spaces, MOST_INSTRUCTIONS);
    println!("say {}", spaces.said);
    match end {
        None => println!("going"),
        Some(end) => {
            let registers = end.registers.map(|value| format!("{value:x}")).join(" ");
            println!("end {} {} {registers}", end.code, end.place);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = io::stdin().lock().lines();
    while let Some(words) = lines.next().transpose()? {
        let answers = lines.next().transpose()?.unwrap_or_default();
        run(&words, &answers)?;
    }
    Ok(())
}
