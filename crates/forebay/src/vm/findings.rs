// SPDX-License-Identifier: Apache-2.0
//! What the host finds of a step of `forebay vm test` when the guest has ended: in the reports that
//! the step has left, and in the raw images of the drives.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::steps::{
    Amounts, BAD_LBA, DATA, DEPTHS, Images, LOAD, MEMORIES, MIB, PART, PEERS, PIECE, TRANSFERS,
    TRAPPED,
};
use crate::render;

/// What the host finds: what was seen, or what is wrong.
pub type Finding = Result<String, String>;

/// Looks at the folder shared with the guest, and at the images.
pub type Check = fn(&Path, &Images, &Amounts) -> Finding;

fn read(share: &Path, name: &str) -> Result<Value, String> {
    let path = share.join(name);
    let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))
}

fn list<'r>(report: &'r Value, name: &str) -> &'r [Value] {
    report[name].as_array().map_or(&[], Vec::as_slice)
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The report says that nothing differs, and the image holds the file.
fn same(share: &Path, name: &str, file: &str, image: &Path, at: u64) -> Result<u64, String> {
    let report = read(share, name)?;
    if report["differ_bytes"].as_u64() != Some(0) {
        return Err(format!("{name}: {} bytes differ", report["differ_bytes"]));
    }
    let (sent, stored) = (bytes(&share.join(file))?, bytes(image)?);
    let at = at as usize;
    let there = stored.get(at..at + sent.len()).unwrap_or_default();
    let wrong = sent.iter().zip(there).filter(|(a, b)| a != b).count() + sent.len() - there.len();
    match wrong {
        0 => Ok(sent.len() as u64),
        wrong => Err(format!("{name}: {wrong} bytes of the raw image differ")),
    }
}

/// Doctor says that the same bytes came, both ways.
pub fn peers(share: &Path, _: &Images, _: &Amounts) -> Finding {
    for card in PEERS {
        let report = read(share, &format!("peers-{card}.json"))?;
        let (to, from) = ("drive_to_peer", "peer_to_drive");
        if let Some(way) = [to, from].iter().find(|way| report["check"][way] != true) {
            return Err(format!("{card}, {way}: {}", report["check"][way]));
        }
    }
    let cards = PEERS.len();
    Ok(format!("{cards} cards: same bytes, both ways"))
}

/// The file lies in the image, and came back.
pub fn stream(share: &Path, images: &Images, _: &Amounts) -> Finding {
    let report = "stream.json".to_owned();
    moved(share, &[report], DATA, &images.small_blocks, 0)
}

/// The same of one of the other memories.
pub fn memory(index: u64, share: &Path, images: &Images, amounts: &Amounts) -> Finding {
    let at = amounts.memories_at() + index * amounts.memory;
    let report = format!("{}.json", MEMORIES[index as usize]);
    moved(share, &[report], "memory.bin", &images.small_blocks, at)
}

/// The same of what was trapped.
pub fn trapped(share: &Path, images: &Images, amounts: &Amounts) -> Finding {
    let reports = TRAPPED.map(|name| format!("{name}.json"));
    let at = amounts.trapped_at();
    moved(share, &reports, "trapped.bin", &images.small_blocks, at)
}

/// Each of these runs has moved the file, to places one behind the other.
fn moved(share: &Path, reports: &[String], file: &str, image: &Path, mut at: u64) -> Finding {
    let mut seen = Vec::new();
    for report in reports {
        let bytes = same(share, report, file, image, at)?;
        seen.push(render::bytes(bytes));
        at += bytes;
    }
    let seen = seen.join(" and ");
    Ok(format!("{seen}, 0 bytes differ, the image is the file"))
}

/// Each run with its size of blocks and commands wrote and read right.
pub fn formats(share: &Path, images: &Images, amounts: &Amounts) -> Finding {
    for (namespace, image) in [(1, &images.small_blocks), (2, &images.large_blocks)] {
        for (index, transfer) in TRANSFERS.iter().enumerate() {
            let at = amounts.formats_at() + index as u64 * PART;
            let name = format!("formats-{namespace}-{transfer}.json");
            same(share, &name, "part.bin", image, at)?;
            let block = read(share, &name)?["block_bytes"].as_u64();
            let wanted = if namespace == 1 { 512 } else { 4096 };
            if block != Some(wanted) {
                return Err(format!("{name}: blocks of {block:?} bytes, not {wanted}"));
            }
        }
    }
    same(
        share,
        "formats-mdts.json",
        "part.bin",
        &images.failing,
        2 << 20,
    )?;
    let runs = 2 * TRANSFERS.len() + 1;
    Ok(format!(
        "{runs} runs, 0 bytes differ; the smallest MDTS there is is 8 KiB"
    ))
}

/// Queues went round often enough, as the streamer's own counters have it.
pub fn wraps(share: &Path, _: &Images, amounts: &Amounts) -> Finding {
    let mut seen = Vec::new();
    for depth in DEPTHS {
        let report = read(share, &format!("wraps-{depth}.json"))?;
        if report["differ_bytes"].as_u64() != Some(0) {
            return Err(format!(
                "depth {depth}: {} bytes differ",
                report["differ_bytes"]
            ));
        }
        // As the streamer's own counters have it.
        let inspection = read(share, &format!("wraps-{depth}.inspect"))?;
        let counters = list(&inspection, "counters");
        let count = |name: &str| {
            let counter = counters.iter().find(|counter| counter["name"] == name);
            counter
                .and_then(|counter| counter["value"].as_u64())
                .unwrap_or(0)
        };
        let wraps = (count("write_commands") + count("read_commands")) / depth;
        if wraps < amounts.wraps {
            return Err(format!(
                "a queue of {depth} has gone round {wraps} times only"
            ));
        }
        seen.push(format!("{depth}: {}", render::count(wraps)));
    }
    Ok(format!("times round: {}; 0 bytes differ", seen.join(", ")))
}

/// Just the transaction with the bad block failed, with the status of the medium.
pub fn errors(share: &Path, images: &Images, _: &Amounts) -> Finding {
    let cases = [
        (
            "errors-write.json",
            BAD_LBA.write * 512,
            "(type 2, code 0x80)",
        ),
        (
            "errors-read.json",
            BAD_LBA.read * 512,
            "(type 2, code 0x81)",
        ),
    ];
    let mut causes = Vec::new();
    for (name, bad, status) in cases {
        let report = read(share, name)?;
        let transactions = list(&report, "transactions");
        for transaction in transactions {
            let address = transaction["address"].as_u64().unwrap_or(0);
            let hit = (address..address.saturating_add(PIECE)).contains(&bad);
            if hit != transaction["error"].is_string() {
                let error = &transaction["error"];
                return Err(format!(
                    "{name}: the transaction at {address:#x} ended with {error}"
                ));
            }
        }
        if transactions.len() as u64 != PART / PIECE {
            return Err(format!("{name}: {} transactions only", transactions.len()));
        }
        let cause = report["error_cause"]
            .as_str()
            .unwrap_or("no cause")
            .to_owned();
        if !cause.contains(status) {
            return Err(format!("{name}: the cause lacks {status}: {cause}"));
        }
        causes.push(cause);
    }
    // What was acknowledged beside it lies there.
    let (sent, stored) = (bytes(&share.join("part.bin"))?, bytes(&images.failing)?);
    let bad = (BAD_LBA.write * 512 / PIECE * PIECE) as usize;
    let around = [0..bad, bad + PIECE as usize..PART as usize];
    let mut around = around.into_iter();
    if around.any(|range| sent.get(range.clone()) != stored.get(range)) {
        return Err("bytes beside the bad block differ in the image".into());
    }
    Ok(causes.join("; "))
}

/// The streamer's and the drive's side, as text and as JSON.
pub fn recorder(share: &Path, _: &Images, _: &Amounts) -> Finding {
    let report = read(share, "recorder.json")?;
    let (host, drive) = (&report["flight"]["host"], &report["flight"]["drive"]);
    let submitted = host["submitted"].as_u64().unwrap_or(0);
    let events = report["trace"].as_array().map_or(0, Vec::len);
    if submitted == 0 || events == 0 || !drive["registers"]["ready"].as_bool().unwrap_or(false) {
        return Err(format!(
            "streamer: {submitted} commands, {events} events; drive: {}",
            drive["registers"]
        ));
    }
    let text = fs::read_to_string(share.join("recorder.txt")).unwrap_or_default();
    let verdict = report["flight"]["diagnosis"]["text"]
        .as_str()
        .unwrap_or_default();
    if verdict.is_empty() || !text.contains(verdict) {
        return Err(format!("the text lacks the verdict {verdict:?}"));
    }
    Ok(format!(
        "{submitted} commands, the last {events} events, the drive's registers: {verdict}"
    ))
}

/// What was acknowledged before the drive broke lies in the image, and nothing lies elsewhere.
pub fn recovered(name: &str, place: u64, share: &Path, images: &Images) -> Finding {
    let report = read(share, &format!("{name}.json"))?;
    // What was done to it, as the streamer's queue and the program saw it.
    let log = fs::read_to_string(share.join(format!("{name}.log"))).unwrap_or_default();
    let verdict = report["diagnosis"]["text"].as_str().unwrap_or("no verdict");
    let cause = match name {
        "reset" => report["diagnosis"]["verdict"] == "drive-not-ready",
        _ => log.contains("wants 0000:01:00.0 back"),
    };
    if !cause {
        return Err(format!("it failed for another reason: {verdict}"));
    }
    let again = place + LOAD + 2 * MIB;
    let image = &images.large_blocks;
    same(
        share,
        &format!("{name}-again.json"),
        "part.bin",
        image,
        again,
    )?;
    let transactions = list(&report, "transactions");
    let (sent, stored) = (
        bytes(&share.join("load.bin"))?,
        bytes(&images.large_blocks)?,
    );
    let stored = stored.get(place as usize..).unwrap_or_default();
    let mut acknowledged = 0;
    for transaction in transactions {
        if !transaction["error"].is_null() {
            continue;
        }
        acknowledged += 1;
        let at = transaction["address"].as_u64().unwrap_or(0);
        let at = at.saturating_sub(place) as usize;
        let range = at..at.saturating_add(PIECE as usize).min(sent.len());
        if sent.get(range.clone()) != stored.get(range) {
            return Err(format!(
                "what was acknowledged at {at:#x} is not in the image"
            ));
        }
    }
    let all = sent.len() as u64 / PIECE;
    if acknowledged == 0 || acknowledged == all {
        return Err(format!(
            "{acknowledged} of {all} transactions were acknowledged before it"
        ));
    }
    // Behind the file's place nothing was ever written.
    let behind = stored.iter().skip(sent.len()).take(1 << 20);
    match behind.filter(|byte| **byte != 0).count() {
        0 => Ok(format!(
            "{acknowledged} of {all} transactions acknowledged, all of these in the image; no stray \
             byte; the streamer's queue: {verdict}; then it worked again"
        )),
        stray => Err(format!("{stray} stray bytes behind the file's place")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::steps::DEPTH;
    use super::*;
    use serde_json::json;

    struct Bench {
        folder: tempfile::TempDir,
        images: Images,
    }

    impl Bench {
        /// A file of 16 pieces, and images that hold it at 0.
        fn new() -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let images = Images::in_folder(folder.path());
            let sent: Vec<u8> = (0..16 * PIECE).map(|at| (at / 7) as u8 | 1).collect();
            for name in [DATA, "load.bin"] {
                fs::write(folder.path().join(name), &sent).expect("written");
            }
            let part = vec![0x5a; PART as usize];
            fs::write(folder.path().join("part.bin"), &part).expect("written");
            let again = (LOAD + 2 * MIB) as usize;
            let mut stored = vec![0; again + part.len()];
            stored[..sent.len()].copy_from_slice(&sent);
            stored[again..].copy_from_slice(&part);
            for image in [&images.small_blocks, &images.large_blocks] {
                fs::write(image, &stored).expect("written");
            }
            Self { folder, images }
        }

        fn report(&self, name: &str, report: &Value) {
            fs::write(self.folder.path().join(name), report.to_string()).expect("written");
        }

        fn spoil(&self, image: &Path, at: usize) {
            let mut bytes = fs::read(image).expect("read");
            bytes[at] ^= 0x40;
            fs::write(image, bytes).expect("written");
        }
    }

    #[test]
    fn a_byte_that_differs_is_noticed() {
        let bench = Bench::new();
        let look = || stream(bench.folder.path(), &bench.images, &Amounts::SHORT);
        assert!(look().is_err(), "there is no report");
        bench.report("stream.json", &json!({"differ_bytes": 3}));
        assert!(look().is_err_and(|wrong| wrong.contains("3 bytes differ")));
        bench.report("stream.json", &json!({"differ_bytes": null}));
        assert!(look().is_err(), "nothing was compared");
        bench.report("stream.json", &json!({"differ_bytes": 0}));
        assert!(look().is_ok_and(|seen| seen.starts_with("64.0 KiB")));
        bench.spoil(&bench.images.small_blocks, 100);
        assert!(look().is_err_and(|wrong| wrong.contains("1 bytes of the raw image")));
    }

    #[test]
    fn what_was_acknowledged_and_lost_is_noticed() {
        let bench = Bench::new();
        let look = || recovered("reset", 0, bench.folder.path(), &bench.images);
        let acknowledge = |count: u64| {
            let one = |n: u64| {
                let error = if n < count {
                    Value::Null
                } else {
                    json!("gone")
                };
                json!({"address": n * PIECE, "error": error})
            };
            let all: Vec<_> = (0..16).map(one).collect();
            let diagnosis = json!({"verdict": "drive-not-ready", "text": "disabled"});
            let report = json!({ "transactions": all, "diagnosis": diagnosis });
            bench.report("reset.json", &report);
        };
        bench.report("reset-again.json", &json!({"differ_bytes": 0}));
        acknowledge(16);
        assert!(look().is_err(), "nothing broke");
        acknowledge(0);
        assert!(look().is_err(), "it broke too early");
        acknowledge(5);
        assert!(look().is_ok_and(|seen| seen.contains("5 of 16")));
        // What was not acknowledged may be lost.
        bench.spoil(&bench.images.large_blocks, 6 * PIECE as usize);
        assert!(look().is_ok());
        bench.spoil(&bench.images.large_blocks, 4 * PIECE as usize);
        assert!(look().is_err_and(|wrong| wrong.contains("0x4000")));
        bench.spoil(&bench.images.large_blocks, 4 * PIECE as usize);
        bench.spoil(&bench.images.large_blocks, 16 * PIECE as usize + 9);
        assert!(look().is_err_and(|wrong| wrong.contains("1 stray")));
        bench.report("reset-again.json", &json!({"differ_bytes": 1}));
        assert!(look().is_err_and(|wrong| wrong.contains("1 bytes differ")));
        let other = json!({"transactions": [], "diagnosis": {"verdict": "healthy"}});
        bench.report("reset.json", &other);
        assert!(look().is_err_and(|wrong| wrong.contains("another reason")));
    }

    #[test]
    fn no_step_writes_where_another_has_written() {
        for amounts in [Amounts::SHORT, Amounts::FULL] {
            let formats = TRANSFERS.len() as u64 * PART;
            let wraps = amounts.commands(u64::from(DEPTH)) / 2 * 4096;
            let again = LOAD + 2 * MIB + PART;
            for places in [
                vec![
                    (0, amounts.stream),
                    (amounts.trapped_at(), amounts.trapped),
                    (amounts.formats_at(), formats),
                    (amounts.recorder_at(), PART),
                    (amounts.wraps_at(), wraps),
                ],
                vec![
                    (amounts.formats_at(), formats),
                    (amounts.reset_at(), again),
                    (amounts.removal_at(), again),
                ],
            ] {
                let ends = places.iter().map(|(at, bytes)| at + bytes);
                let next = places.iter().skip(1).map(|(at, _)| *at);
                let next = next.chain([amounts.drive()]);
                assert!(ends.zip(next).all(|(end, next)| end <= next), "{places:?}");
            }
        }
    }

    #[test]
    fn queues_that_do_not_go_round_are_noticed() {
        let bench = Bench::new();
        let look = || wraps(bench.folder.path(), &bench.images, &Amounts::SHORT);
        let count = |commands: u64| {
            for depth in DEPTHS {
                let counters = json!([
                    {"name": "write_commands", "value": commands * depth / 2},
                    {"name": "read_commands", "value": commands * depth / 2},
                ]);
                bench.report(&format!("wraps-{depth}.json"), &json!({"differ_bytes": 0}));
                let inspection = json!({ "counters": counters });
                bench.report(&format!("wraps-{depth}.inspect"), &inspection);
            }
        };
        count(20);
        assert!(look().is_ok_and(|seen| seen.contains("64: 20")));
        count(18);
        assert!(look().is_err_and(|wrong| wrong.contains("gone round 18")));
    }
}
