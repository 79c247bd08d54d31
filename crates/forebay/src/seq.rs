// SPDX-License-Identifier: Apache-2.0
//! `forebay seq`: lists and interprets programs of the sequencer.

mod qemu;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use forebay_draw::text::Page;
use forebay_seq::{Interpreter, Program, Spaces, WORDS_MOST, assemble, list, rom};
use serde::Serialize;

use crate::args::{Ram, RootTarget, SeqCommand, SeqListArgs, SeqRomArgs, SeqRunArgs};
use crate::failure::{Exit, Failure, Result};
use crate::report::{self, Report};
use qemu::Found;

/// The largest text of a program.
const TEXT_MOST: u64 = 1 << 20;

#[derive(Serialize)]
struct Listed {
    words: Vec<Word>,
    words_used: usize,
    words_most: usize,
}

#[derive(Serialize)]
struct Word {
    place: usize,
    word: u32,
    labels: Vec<String>,
    instruction: String,
    line: usize,
    source: String,
}

#[derive(Serialize)]
struct Ran {
    console: String,
    instructions: u64,
    time_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    accesses: Option<Vec<Access>>,
    /// None: it was stopped.
    end: Option<Ended>,
    /// The word that came next, and its line.
    #[serde(skip)]
    next: (u16, usize),
    #[serde(flatten)]
    found: Option<Found>,
}

#[derive(Serialize)]
struct Ended {
    code: u8,
    place: u16,
    line: usize,
    registers: [u64; 16],
}

#[derive(Serialize)]
struct Access {
    write: bool,
    space: String,
    address: u64,
    bytes: u8,
    /// None: it ended in error.
    value: Option<u64>,
}

/// Runs a command on programs.
pub fn run(command: &SeqCommand) -> Result<Exit> {
    match command {
        SeqCommand::List(args) => list(args),
        SeqCommand::Run(args) => interpret(args),
        SeqCommand::Rom(args) => rom(args),
    }
}

/// Reads and assembles a program.
fn load(path: &Path) -> Result<Program> {
    let failed = |error| Failure::file("reading", path, error);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(TEXT_MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let name = path.display().to_string();
    if bytes.len() as u64 > TEXT_MOST {
        let remedy = "name the text of a program for the sequencer";
        return Err(Failure::input(
            &name,
            "longer",
            "a program has at most 1 MiB",
            remedy,
        ));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let value = format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to());
        let remedy = "name the text of a program for the sequencer, in UTF-8";
        Failure::input(&name, value, "a program is text", remedy)
    })?;
    assemble(&text).map_err(|error| {
        let message = format!("{name}:{error}");
        Failure::new(Exit::BadInput, message, error.remedy)
    })
}

/// Prints a program as a package.
fn rom(args: &SeqRomArgs) -> Result<Exit> {
    let package = rom::package(&load(&args.program)?, &args.package);
    report::say(package.trim_end());
    Ok(Exit::Good)
}

/// Lists a program.
fn list(args: &SeqListArgs) -> Result<Exit> {
    let program = load(&args.program)?;
    let words = list::rows(&program).into_iter().map(|row| Word {
        source: program.source(row.line).trim().to_owned(),
        place: row.place,
        word: row.word,
        labels: row.labels,
        instruction: row.instruction,
        line: row.line,
    });
    let report = Report::new(
        "forebay.seq-list/1",
        Listed {
            words: words.collect(),
            words_used: program.words().len(),
            words_most: WORDS_MOST,
        },
    );
    report::show(&report, || {
        let mut page = Page::of_hardware(&format!("Program {}", args.program.display()));
        page.line("");
        for word in &report.found.words {
            for label in &word.labels {
                page.line(format_args!("{:>16}{label}:", ""));
            }
            page.line(format_args!(
                "{:>4}  {:08x}    {:<32} ; {:>4}: {}",
                word.place, word.word, word.instruction, word.line, word.source
            ));
        }
        page.line(format_args!(
            "\n{} of {WORDS_MOST} words used",
            report.found.words_used
        ));
        page
    })?;
    Ok(Exit::Good)
}

/// Memories, errors elsewhere, and a clock that accesses, looks at it and `wait` move on.
struct Memories {
    /// The memory of each space that has one.
    memories: [Option<Vec<u8>>; 8],
    now_us: u64,
}

impl Memories {
    fn new(program: &Program, ram: &[Ram]) -> Result<Self> {
        let mut memories: [Option<Vec<u8>>; 8] = Default::default();
        for Ram { name, bytes } in ram {
            let is = |known: &Option<String>| known.as_ref() == Some(name);
            let Some(space) = program.spaces().iter().position(is) else {
                let known = program.spaces().iter().flatten();
                let known: Vec<_> = known.map(String::as_str).collect();
                let limit = match known.as_slice() {
                    [] => "the program names no space".into(),
                    known => format!("the program's spaces are {}", known.join(", ")),
                };
                let remedy = "name a space as the program's `.space` does";
                return Err(Failure::input(
                    "--ram",
                    format_args!("`{name}`"),
                    &limit,
                    remedy,
                ));
            };
            if memories[space].replace(vec![0; *bytes]).is_some() {
                return Err(Failure::input(
                    "--ram",
                    format_args!("`{name}` twice"),
                    "a space has one memory",
                    "give each space once",
                ));
            }
        }
        Ok(Self {
            memories,
            now_us: 0,
        })
    }

    /// The bytes of an access, where there is a memory that has them all.
    fn bytes(&mut self, space: u8, address: u64, bytes: u8) -> Option<&mut [u8]> {
        self.now_us += 1;
        let first = usize::try_from(address).ok()?;
        let last = first.checked_add(bytes.into())?;
        self.memories
            .get_mut(usize::from(space))?
            .as_mut()?
            .get_mut(first..last)
    }
}

impl Spaces for Memories {
    fn read(&mut self, space: u8, address: u64, bytes: u8) -> Option<u64> {
        let found = self.bytes(space, address, bytes)?;
        let mut value = [0; 8];
        value[..found.len()].copy_from_slice(found);
        Some(u64::from_le_bytes(value))
    }

    fn write(&mut self, space: u8, address: u64, bytes: u8, value: u64) -> bool {
        let found = self.bytes(space, address, bytes);
        let good = found.map(|found| {
            let length = found.len();
            found.copy_from_slice(&value.to_le_bytes()[..length]);
        });
        good.is_some()
    }

    fn now_us(&mut self) -> u64 {
        self.now_us += 1;
        self.now_us
    }

    fn wait_us(&mut self, us: u64) {
        self.now_us += us;
    }

    fn say(&mut self, _: u8) {}
}

/// Spaces whose accesses are kept, and the console.
struct Watched<'a, S> {
    program: &'a Program,
    spaces: &'a mut S,
    said: Vec<u8>,
    accesses: Option<Vec<Access>>,
}

impl<S> Watched<'_, S> {
    fn trace(&mut self, write: bool, of: (u8, u64, u8), value: Option<u64>) {
        let (space, address, bytes) = of;
        if let Some(accesses) = &mut self.accesses {
            let name = self.program.spaces().get(usize::from(space));
            let name = name.and_then(Clone::clone);
            accesses.push(Access {
                write,
                space: name.unwrap_or_else(|| space.to_string()),
                address,
                bytes,
                value,
            });
        }
    }
}

impl<S: Spaces> Spaces for Watched<'_, S> {
    fn read(&mut self, space: u8, address: u64, bytes: u8) -> Option<u64> {
        let value = self.spaces.read(space, address, bytes);
        self.trace(false, (space, address, bytes), value);
        value
    }

    fn write(&mut self, space: u8, address: u64, bytes: u8, value: u64) -> bool {
        let good = self.spaces.write(space, address, bytes, value);
        self.trace(true, (space, address, bytes), good.then_some(value));
        good
    }

    fn now_us(&mut self) -> u64 {
        self.spaces.now_us()
    }

    fn wait_us(&mut self, us: u64) {
        self.spaces.wait_us(us);
    }

    fn say(&mut self, byte: u8) {
        self.said.push(byte);
    }
}

/// Interprets a program.
fn interpret(args: &SeqRunArgs) -> Result<Exit> {
    let program = load(&args.program)?;
    let ran = match args.on {
        Some(RootTarget::Qemu) => qemu::run(args, &program)?,
        None => {
            let mut memories = Memories::new(&program, &args.ram)?;
            let ran = carry_out(args, &program, &mut memories);
            Ran {
                time_us: memories.now_us,
                ..ran
            }
        }
    };
    let report = Report::new("forebay.seq-run/1", ran);
    report::show(&report, || page(args, &report.found))?;
    Ok(match report.found.end {
        None => Exit::Stuck,
        Some(Ended { code: 0, .. }) => Exit::Good,
        Some(_) => Exit::BadResult,
    })
}

/// Runs a program over these spaces.
fn carry_out(args: &SeqRunArgs, program: &Program, spaces: &mut impl Spaces) -> Ran {
    let mut watched = Watched {
        program,
        spaces,
        said: Vec::new(),
        accesses: args.trace.then(Vec::new),
    };
    let mut running = Interpreter::new(program.words());
    let end = running.run(&mut watched, args.most);
    let line = |place: u16| {
        let lines = program.lines();
        lines.get(usize::from(place)).copied().unwrap_or(0)
    };
    Ran {
        console: String::from_utf8_lossy(&watched.said).into_owned(),
        instructions: running.executed(),
        time_us: 0,
        accesses: watched.accesses,
        end: end.map(|end| Ended {
            code: end.code,
            place: end.place,
            line: line(end.place),
            registers: end.registers,
        }),
        next: (running.place(), line(running.place())),
        found: None,
    }
}

/// What a program said and how it ended.
fn page(args: &SeqRunArgs, ran: &Ran) -> Page {
    let mut page = Page::simulated(&format!("Program {}", args.program.display()));
    if let Some(accesses) = &ran.accesses {
        page.heading("Accesses");
        for Access {
            write,
            space,
            address,
            bytes,
            value,
        } in accesses
        {
            let name = if *write { "write" } else { "read" };
            let value = value.map_or("error".into(), |value| format!("{value:#x}"));
            page.line(format_args!(
                "  {name:<5} {space}[{address:#x}] {bytes} {value}"
            ));
        }
    }
    page.heading("Console");
    page.line(ran.console.trim_end_matches('\n'));
    if let Some(found) = &ran.found {
        found.show(&mut page);
    }
    page.heading("End");
    page.field(
        "executed",
        format_args!("{} instructions", ran.instructions),
    );
    page.field("time", format_args!("{} us", ran.time_us));
    let Some(end) = &ran.end else {
        let (place, line) = ran.next;
        return std::mem::take(page.verdict(
            false,
            format_args!(
                "stopped at word {place}, line {line}: --most {} instructions",
                args.most
            ),
        ));
    };
    for (number, value) in (0..).zip(end.registers).filter(|(_, value)| *value != 0) {
        page.field(&format!("r{number}"), format_args!("{value:#x}"));
    }
    let Ended {
        code, place, line, ..
    } = end;
    let sentence = match code {
        0 => format!("stopped with code 0 at word {place}, line {line}"),
        255 => format!("no program: code 255 at word {place}, line {line}"),
        _ => format!("failed with code {code} at word {place}, line {line}"),
    };
    page.verdict(*code == 0, sentence);
    page
}
