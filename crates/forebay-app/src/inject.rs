// SPDX-License-Identifier: Apache-2.0
//! Fault injection: ports that pause, drives and DRAM that fail. As people write it, and as
//! a machine gets it.

use std::fmt;

use forebay_cosim::{Config, DramFault, Stall, Stalls};
use forebay_model::{Fault, FaultAction, FaultPlan, SsdProfile, Time, Trigger};
use forebay_pipeline::units::{Read, size, time};
use forebay_spec::nvme::{IoOpcode, Status};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Result};

/// Pauses of one port or of all: `0.2`, `0.2:50`, `read=0.5:8`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct StallSpec {
    port: String,
    stall: Stall,
}

impl StallSpec {
    /// The pauses.
    pub const fn stall(&self) -> Stall {
        self.stall
    }

    /// Of all ports together, whichever were named before.
    pub fn is_of_all(&self) -> bool {
        self.port == PORTS[0]
    }

    /// How many times longer a transfer takes through such a port, about.
    pub fn slowdown(&self) -> f64 {
        1.0 + self.stall.chance * f64::from(self.stall.longest) / 2.0
    }
}

impl fmt::Display for StallSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stall { chance, longest } = self.stall;
        match self.is_of_all() {
            true => write!(f, "{chance}:{longest}"),
            false => write!(f, "{}={chance}:{longest}", self.port),
        }
    }
}

/// Names of the ports that can pause.
pub const PORTS: [&str; 13] = [
    "all",
    "write",
    "response",
    "command",
    "read",
    "window-write",
    "window-read",
    "window-answer",
    "doorbell",
    "memory",
    "memory-request",
    "memory-answer",
    "host",
];

/// Longest pause where none is given.
const PAUSE: u32 = 16;

/// Reads `--stall`.
pub fn stall(text: &str) -> Read<StallSpec> {
    let (port, rest) = text.split_once('=').unwrap_or(("all", text));
    if !PORTS.contains(&port) {
        return Err(format!(
            "no port is named `{port}`; there are: {}",
            PORTS.join(", ")
        ));
    }
    let (chance, longest) = rest.split_once(':').unwrap_or((rest, ""));
    let bad = || format!("`{rest}` is no pause; write CHANCE or CHANCE:CYCLES, such as 0.2:50");
    let chance: f64 = chance.parse().map_err(|_| bad())?;
    let longest = if longest.is_empty() {
        PAUSE
    } else {
        longest.parse().map_err(|_| bad())?
    };
    if !(0.0..=0.95).contains(&chance) {
        return Err(format!(
            "a chance of {chance} cannot work; choose 0 to 0.95"
        ));
    }
    Ok(StallSpec {
        port: port.to_owned(),
        stall: Stall::new(chance, longest.max(1)),
    })
}

/// All `--stall` options together; later ones win.
pub fn stalls(options: &[StallSpec]) -> Stalls {
    options
        .iter()
        .fold(Stalls::default(), |mut stalls, option| {
            let port = match option.port.as_str() {
                "write" => &mut stalls.write,
                "response" => &mut stalls.response,
                "command" => &mut stalls.command,
                "read" => &mut stalls.read,
                "window-write" => &mut stalls.window_write,
                "window-read" => &mut stalls.window_read,
                "window-answer" => &mut stalls.window_answer,
                "doorbell" => &mut stalls.doorbell,
                "memory" => {
                    stalls.dram = option.stall;
                    &mut stalls.dram_answer
                }
                "memory-request" => &mut stalls.dram,
                "memory-answer" => &mut stalls.dram_answer,
                "host" => &mut stalls.host,
                _ => return Stalls::everywhere(option.stall),
            };
            *port = option.stall;
            stalls
        })
}

/// Reads where on-board DRAM answers with errors: `read@0..4KiB`, `write@64MiB..65MiB`.
pub fn dram_fault(text: &str) -> Read<DramFault> {
    let bad = || format!("`{text}` is no fault; write read@FROM..TO or write@FROM..TO");
    let (kind, place) = text.split_once('@').ok_or_else(bad)?;
    let (from, to) = place.split_once("..").ok_or_else(bad)?;
    let range = size(from)?..size(to)?;
    if range.is_empty() {
        return Err(format!(
            "`{place}` is empty; the second address is past the last"
        ));
    }
    match kind {
        "read" | "write" => Ok(DramFault {
            write: kind == "write",
            range,
        }),
        _ => Err(bad()),
    }
}

/// The same in words.
pub fn dram_fault_text(fault: &DramFault) -> String {
    let kind = if fault.write { "write" } else { "read" };
    format!("{kind}@{:#x}..{:#x}", fault.range.start, fault.range.end)
}

/// Something that a drive does wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FaultSpec {
    /// As it was written.
    text: String,
    drive: usize,
    wrong: Wrong,
}

impl FaultSpec {
    /// Which drive does it.
    pub const fn drive(&self) -> usize {
        self.drive
    }
}

impl fmt::Display for FaultSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<StallSpec> for String {
    fn from(spec: StallSpec) -> Self {
        spec.to_string()
    }
}

impl TryFrom<String> for StallSpec {
    type Error = String;

    fn try_from(text: String) -> Read<Self> {
        stall(&text)
    }
}

impl From<FaultSpec> for String {
    fn from(spec: FaultSpec) -> Self {
        spec.text
    }
}

impl TryFrom<String> for FaultSpec {
    type Error = String;

    fn try_from(text: String) -> Read<Self> {
        fault(&text)
    }
}

/// Faults of DRAM in files, as people write them.
pub mod dram_faults {
    use forebay_cosim::DramFault;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes them as text.
    ///
    /// # Errors
    /// Where the format refuses.
    pub fn serialize<S: Serializer>(faults: &[DramFault], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(faults.iter().map(super::dram_fault_text))
    }

    /// Reads them.
    ///
    /// # Errors
    /// Where one is none.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<DramFault>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let faults = texts.iter().map(|text| super::dram_fault(text));
        faults
            .collect::<Result<_, _>>()
            .map_err(serde::de::Error::custom)
    }
}

/// What it does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wrong {
    /// To commands.
    Command(Fault),
    /// Reports a fatal status at this time.
    Fatal(Time),
    /// Ceases to be ready at this time.
    NotReady(Time),
}

/// Reads `--fault`: \[DRIVE/\]ACTION@WHEN\[:TIMES\].
pub fn fault(text: &str) -> Read<FaultSpec> {
    let (number, wrong) = text.split_once('/').unwrap_or(("0", text));
    let drive = match number.parse() {
        Ok(drive @ 0..=7) => drive,
        _ => {
            return Err(format!(
                "`{number}` is no drive; they have the numbers 0 to 7"
            ));
        }
    };
    let wrong = read_wrong(wrong)?;
    let text = text.to_owned();
    Ok(FaultSpec { text, drive, wrong })
}

fn read_wrong(text: &str) -> Read<Wrong> {
    let Some((action, when)) = text.split_once('@') else {
        return Err(format!(
            "`{text}` lacks an @; write ACTION@WHEN, such as fail=0x281@nth=3"
        ));
    };
    match action {
        "fatal" => return Ok(Wrong::Fatal(time(when)?)),
        "not-ready" => return Ok(Wrong::NotReady(time(when)?)),
        _ => {}
    }
    let (when, times) = match when.split_once(':') {
        Some((when, times)) => (
            when,
            times
                .parse()
                .map_err(|_| format!("`{times}` is no number of times"))?,
        ),
        None => (when, 1),
    };
    Ok(Wrong::Command(Fault {
        trigger: trigger(when)?,
        action: fault_action(action)?,
        times,
    }))
}

fn fault_action(text: &str) -> Read<FaultAction> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    Ok(match (name, value) {
        ("fail", "") => FaultAction::Fail(Status::UNRECOVERED_READ_ERROR),
        ("fail", value) => FaultAction::Fail(Status::from_bits(number(value)?)),
        ("drop", "") => FaultAction::Drop,
        ("duplicate", "") => FaultAction::Duplicate,
        // No queue is so long that it could be in use.
        ("unknown-cid", "") => FaultAction::UnknownCid(0xfffe),
        ("unknown-cid", value) => FaultAction::UnknownCid(number(value)?),
        ("wrong-phase", "") => FaultAction::WrongPhase,
        ("wrong-head", value) => FaultAction::WrongSqHead(number(value)?),
        _ => {
            return Err(format!(
                "no fault is named `{text}`; there are: fail, fail=STATUS, drop, duplicate, \
                 unknown-cid, unknown-cid=N, wrong-phase, wrong-head=N, fatal, not-ready"
            ));
        }
    })
}

fn trigger(text: &str) -> Read<Trigger> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    Ok(match (name, value) {
        ("nth", value) => Trigger::Nth(number(value)?.max(1).into()),
        ("every", value) => Trigger::Every(number(value)?.max(1).into()),
        ("lba", value) => {
            let (from, to) = value.split_once("..").unwrap_or((value, ""));
            let from = size(from)?;
            let to = if to.is_empty() {
                from.saturating_add(1)
            } else {
                size(to)?
            };
            Trigger::Lbas(from..to)
        }
        ("read", "") => Trigger::Opcode(IoOpcode::Read),
        ("write", "") => Trigger::Opcode(IoOpcode::Write),
        ("flush", "") => Trigger::Opcode(IoOpcode::Flush),
        _ => {
            return Err(format!(
                "`{text}` says no moment; there are: nth=N, every=N, lba=A..B, read, write, flush"
            ));
        }
    })
}

fn number(text: &str) -> Read<u16> {
    match text.strip_prefix("0x") {
        Some(hex) => u16::from_str_radix(hex, 16),
        None => text.parse(),
    }
    .map_err(|_| format!("`{text}` is no number from 0 to 65535"))
}

/// All `--fault` options of a drive together.
pub fn faults(options: &[FaultSpec], drive: usize) -> FaultPlan {
    let mut plan = FaultPlan::none();
    for option in options.iter().filter(|option| option.drive == drive) {
        match &option.wrong {
            Wrong::Command(fault) => plan.faults.push(fault.clone()),
            Wrong::Fatal(at) => plan.fatal_at = Some(*at),
            Wrong::NotReady(at) => plan.not_ready_at = Some(*at),
        }
    }
    plan
}

/// The logical block of all drives: `512` or `4096` bytes.
pub fn set_block(config: &mut Config, block: &str) {
    let shift = if block == "4096" { 12 } else { 9 };
    for ssd in drives(config) {
        for namespace in &mut ssd.namespaces {
            namespace.block_shift = shift;
            namespace.bytes &= !((1 << shift) - 1);
        }
    }
}

/// The longest command that all drives take, in bytes: a power of two of pages.
pub fn set_mdts(config: &mut Config, bytes: u64) {
    for ssd in drives(config) {
        ssd.controller.mdts = (bytes >> 12).ilog2() as u8;
    }
}

fn drives(config: &mut Config) -> impl Iterator<Item = &mut SsdProfile> {
    let others = config.more_drives.iter_mut();
    let others = others.map(|drive| &mut drive.profile);
    others.chain([&mut config.profile.ssd])
}

/// What the drives and the DRAM do wrong.
///
/// # Errors
/// Where there is no such drive, or no DRAM.
pub fn set_faults(
    config: &mut Config,
    faults: &[FaultSpec],
    dram_faults: &[DramFault],
) -> Result<()> {
    let drives = 1 + config.more_drives.len();
    if let Some(fault) = faults.iter().find(|fault| fault.drive() >= drives) {
        return Err(Failure::input(
            "fault",
            fault,
            &format!("the drives are 0 to {}", drives - 1),
            "name one of them, or take more drives",
        ));
    }
    config.faults = self::faults(faults, 0);
    for (number, drive) in (1..).zip(&mut config.more_drives) {
        drive.faults = self::faults(faults, number);
    }
    if !dram_faults.is_empty() && config.dram.is_none() {
        return Err(Failure::input(
            "dram_fault",
            "given",
            "the payload is not in on-board DRAM",
            "take memory dram, or leave it out",
        ));
    }
    config.dram_faults = dram_faults.to_vec();
    Ok(())
}

#[cfg(test)]
mod tests {
    use forebay_model::MILLISECOND;

    use super::*;

    #[test]
    fn pauses() {
        let some = |text: &str| stall(text).unwrap();
        assert_eq!(
            stalls(&[some("0.5:8")]),
            Stalls::everywhere(Stall::new(0.5, 8))
        );
        let both = stalls(&[some("0.1"), some("read=0.9:3")]);
        assert_eq!(
            (both.read, both.write),
            (Stall::new(0.9, 3), Stall::new(0.1, 16))
        );
        for text in ["", "1.0", "2", "-0.1", "nowhere=0.1", "read=", "0.1:x"] {
            assert!(stall(text).is_err(), "{text}");
        }
    }

    #[test]
    fn dram_faults_are_read() {
        let fault = dram_fault("write@64MiB..0x4001000").expect("a fault");
        assert!(fault.write);
        assert_eq!(fault.range, 0x400_0000..0x400_1000);
        for text in ["", "read", "read@7", "erase@0..1", "read@2..1", "read@0..x"] {
            assert!(dram_fault(text).is_err(), "{text}");
        }
    }

    #[test]
    fn faults_are_read() {
        let command = |text: &str| match fault(text).map(|option| option.wrong) {
            Ok(Wrong::Command(fault)) => fault,
            other => panic!("{text}: {other:?}"),
        };
        let read = command("fail=0x281@nth=3:7");
        assert_eq!((read.trigger, read.times), (Trigger::Nth(3), 7));
        assert_eq!(
            read.action,
            FaultAction::Fail(Status::UNRECOVERED_READ_ERROR)
        );
        assert_eq!(
            command("drop@lba=0x10..0x20").trigger,
            Trigger::Lbas(16..32)
        );
        assert_eq!(command("drop@every=10:2").times, 2);
        assert_eq!(
            command("duplicate@read").trigger,
            Trigger::Opcode(IoOpcode::Read)
        );
        assert_eq!(
            fault("3/not-ready@2ms"),
            Ok(FaultSpec {
                text: "3/not-ready@2ms".to_owned(),
                drive: 3,
                wrong: Wrong::NotReady(2 * MILLISECOND)
            })
        );
        for text in [
            "",
            "drop",
            "explode@nth=1",
            "drop@never",
            "fatal@soon",
            "fail=x@nth=1",
            "8/drop@nth=1",
            "/drop@nth=1",
        ] {
            assert!(fault(text).is_err(), "{text}");
        }
    }
}
