// SPDX-License-Identifier: Apache-2.0
//! The steps of `forebay vm test`: scripts for the guest, and what the host looks at afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::render;

/// Entries of the card's queues.
pub const DEPTH: u32 = 64;
/// The file that is streamed.
pub const DATA: &str = "data.bin";
/// Where the small steps write, behind what the large one writes: bytes of each.
const PART: u64 = 256 << 10;
const MIB: u64 = 1 << 20;
/// What is written while the drive is reset or removed: seconds of work, so that it comes in between.
const LOAD: u64 = 16 * MIB;
/// Bytes of a transaction under errors and resets.
const PIECE: u64 = 4096;

/// What every script begins with. The devices are in the order of the machine.
pub const COMMON: &str = r#"
drive=0000:01:00.0 small=0000:02:00.0 card=0000:03:00.0 trapped=0000:04:00.0 model=0000:05:00.0
run() { forebay run --bus vfio --ssd $drive --fpga $card "$@"; }
# Commands that fail do so with an exit code of their own.
expect() { code=$1; shift; found=0; "$@" || found=$?; [ $found = $code ] || exit 1; }
"#;

/// Logical blocks at which the small drive's medium fails.
pub struct BadLba {
    pub write: u64,
    pub read: u64,
}

/// See [`BadLba`].
pub const BAD_LBA: BadLba = BadLba {
    write: 100,
    read: 1000,
};

/// How much is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amounts {
    /// Bytes streamed with the payload mapped; also under reset and removal.
    pub stream: u64,
    /// Bytes streamed with all of it trapped.
    pub trapped: u64,
    /// Times that each queue goes round.
    pub wraps: u64,
    /// Bytes of the mixed work of fio.
    pub mixed: u64,
}

impl Amounts {
    /// What every test run takes.
    pub const SHORT: Self = Self {
        stream: 4 << 20,
        trapped: 64 << 10,
        wraps: 20,
        mixed: 4 << 20,
    };
    /// What is to be shown once.
    pub const FULL: Self = Self {
        stream: 64 << 20,
        trapped: 1 << 20,
        wraps: 1000,
        mixed: 32 << 20,
    };

    // Each step has a place of its own on the drive: the images are looked at only when all have
    // ended. The file that is streamed begins namespace 1.

    const fn trapped_at(&self) -> u64 {
        self.stream
    }

    /// Of either namespace.
    const fn formats_at(&self) -> u64 {
        self.trapped_at() + self.trapped.next_multiple_of(MIB)
    }

    const fn recorder_at(&self) -> u64 {
        self.formats_at() + 2 * MIB
    }

    const fn wraps_at(&self) -> u64 {
        self.recorder_at() + MIB
    }

    /// Of namespace 2, where the drive is written while it is reset.
    const fn reset_at(&self) -> u64 {
        self.recorder_at()
    }

    /// Where it is written while it is removed.
    const fn removal_at(&self) -> u64 {
        self.reset_at() + 2 * LOAD
    }

    /// Bytes of a namespace of the large drive, and of the SSD model.
    pub const fn drive(&self) -> u64 {
        let wraps = self.commands(DEPTH as u64) * 4096;
        self.wraps_at() + wraps.next_multiple_of(MIB) + 4 * LOAD
    }

    /// Commands of 4 KiB that make a queue of so many entries go round often enough: half of them
    /// write, half read.
    const fn commands(&self, depth: u64) -> u64 {
        (self.wraps * depth).div_ceil(2) * 2
    }
}

/// The raw images of QEMU's drives.
pub struct Images {
    /// Namespace 1 of the large drive, blocks of 512 bytes.
    pub small_blocks: PathBuf,
    /// Namespace 2, blocks of 4096 bytes.
    pub large_blocks: PathBuf,
    /// The small drive, whose medium fails in places.
    pub failing: PathBuf,
}

impl Images {
    /// All in one folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            small_blocks: folder.join("small-blocks.img"),
            large_blocks: folder.join("large-blocks.img"),
            failing: folder.join("failing.img"),
        }
    }
}

/// What the host finds: what was seen, or what is wrong.
type Finding = Result<String, String>;

/// Looks at the folder shared with the guest, and at the images.
type Check = fn(&Path, &Images, &Amounts) -> Finding;

/// A thing to show.
pub struct Step {
    /// A word.
    pub name: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// For the guest's shell; what it says last is what was seen.
    pub script: String,
    /// What the host looks at once the guest has ended.
    pub check: Option<Check>,
}

/// All of them, in the order in which they are run: what spoils a drive comes last.
pub fn all(amounts: &Amounts) -> Vec<Step> {
    vec![
        Step {
            name: "linux",
            shows: "our SSD model under Linux's own driver: nvme-cli, ext4, fio with verify",
            script: linux(amounts.mixed),
            check: None,
        },
        Step {
            name: "peers",
            shows: "doctor compares bytes between drive and card, both ways",
            script: "forebay doctor --check --ssd $drive --fpga $card -o json >peers.json\n".into(),
            check: Some(peers),
        },
        Step {
            name: "stream",
            shows: "a file through the RTL to QEMU's drive and back, payload mapped",
            script: format!("run --write {DATA} --read --json stream.json\n"),
            check: Some(stream),
        },
        Step {
            name: "trapped",
            shows: "the same, every access through the RTL's ports",
            script: trapped(amounts),
            check: Some(all_trapped),
        },
        Step {
            name: "formats",
            shows: "blocks of 512 and 4096 bytes, two namespaces, commands of 4 KiB to 1 MiB",
            script: formats(amounts),
            check: Some(all_formats),
        },
        Step {
            name: "wraps",
            shows: "queues of 2, 3 and 64 entries go round",
            script: wraps(amounts),
            check: Some(all_wraps),
        },
        Step {
            name: "errors",
            shows: "the medium fails: its NVMe status, and the other transactions go on",
            script: errors(),
            check: Some(all_errors),
        },
        Step {
            name: "recorder",
            shows: "the flight recorder: both sides of the queues, stored and drawn",
            script: format!(
                "head -c {PART} {DATA} >part.bin\n\
                 run --at {} --write part.bin --inspect recorder.inspect\n\
                 forebay inspect --from recorder.inspect >recorder.txt\n\
                 forebay inspect --from recorder.inspect --json recorder.json\n",
                amounts.recorder_at()
            ),
            check: Some(recorder),
        },
        Step {
            name: "reset",
            shows: "the drive is reset under load: an error in time, one command recovers",
            script: broken(
                "reset",
                amounts.reset_at(),
                "echo 1 >/sys/bus/pci/devices/$drive/reset",
                "",
            ),
            check: Some(|share, images, amounts| {
                recovered("reset", amounts.reset_at(), share, images)
            }),
        },
        Step {
            name: "removal",
            shows: "the drive is removed under load: the same, and nothing acknowledged is lost",
            script: broken(
                "removal",
                amounts.removal_at(),
                "echo 1 >/sys/bus/pci/devices/$drive/remove",
                "echo 1 >/sys/bus/pci/rescan\n",
            ),
            check: Some(|share, images, amounts| {
                recovered("removal", amounts.removal_at(), share, images)
            }),
        },
    ]
}

fn linux(mixed: u64) -> String {
    format!(
        r#"
name=$(basename /sys/bus/pci/devices/$model/nvme/nvme*)
disk=/dev/${{name}}n1
nvme id-ctrl /dev/$name >/dev/null
nvme id-ns $disk >/dev/null
nvme smart-log /dev/$name | grep 'critical_warning.*: 0'
for feature in 1 2 4 5 6 7 8 9 10 11; do nvme get-feature /dev/$name -f $feature; done
mkfs.ext4 -q $disk
mkdir -p /mnt
mount $disk /mnt
cp {DATA} /mnt/copy
umount /mnt
mount $disk /mnt
cmp {DATA} /mnt/copy
umount /mnt
fsck.ext4 -fn $disk
nvme format $disk --lbaf=1 --force
[ $(cat /sys/block/${{name}}n1/queue/logical_block_size) = 4096 ]
fio --name=mix --filename=$disk --rw=randrw --bsrange=4k-1M --size={mixed} --direct=1 \
    --ioengine=libaio --iodepth=16 --verify=crc32c --verify_fatal=1 --randseed=1
nvme reset /dev/$name
nvme format $disk --lbaf=0 --ses=1 --force
[ $(cat /sys/block/${{name}}n1/queue/logical_block_size) = 512 ]
if dmesg | grep -iE 'nvme.*(timeout|error|abort)'; then exit 1; fi
echo "$(nvme list | grep -c Forebay) drive bound, no error, no time-out in dmesg"
"#
    )
}

fn trapped(amounts: &Amounts) -> String {
    let (bytes, at) = (amounts.trapped, amounts.trapped_at());
    format!(
        "head -c {bytes} {DATA} >trapped.bin\n\
         card=$trapped\n\
         run --at {at} --write trapped.bin --read --json trapped.json\n"
    )
}

/// Greatest commands that are tried.
const TRANSFERS: [&str; 5] = ["4KiB", "8KiB", "64KiB", "512KiB", "1MiB"];

fn formats(amounts: &Amounts) -> String {
    let mut script = format!("head -c {PART} {DATA} >part.bin\n");
    for namespace in [1, 2] {
        for (index, transfer) in TRANSFERS.iter().enumerate() {
            let at = amounts.formats_at() + index as u64 * PART;
            let name = format!("formats-{namespace}-{transfer}");
            script.push_str(&format!(
                "run --namespace {namespace} --max-transfer {transfer} --at {at} \
                 --write part.bin --read --json {name}.json\n"
            ));
        }
    }
    // The drive's own limit (MDTS) is 8 KiB here.
    script
        .push_str("drive=$small\nrun --at 2MiB --write part.bin --read --json formats-mdts.json\n");
    script
}

/// Queue depths that are tried.
const DEPTHS: [u64; 3] = [2, 3, 64];

fn wraps(amounts: &Amounts) -> String {
    DEPTHS
        .iter()
        .map(|depth| {
            let (bytes, at) = (amounts.commands(*depth) / 2 * 4096, amounts.wraps_at());
            format!(
                "for round in $(seq 32); do cat {DATA}; done | head -c {bytes} >/tmp/wraps.bin\n\
                 run --queue-depth {depth} --max-transfer 4KiB --at {at} --write /tmp/wraps.bin --read \
                 --json wraps-{depth}.json --inspect wraps-{depth}.inspect\n"
            )
        })
        .collect()
}

fn errors() -> String {
    format!(
        "head -c {PART} {DATA} >part.bin\n\
         drive=$small\n\
         expect 3 run --transaction {PIECE} --write part.bin --json errors-write.json\n\
         expect 3 run --transaction {PIECE} --at {PART} --length {PART} --read --json errors-read.json\n"
    )
}

/// Something is done to the drive while it is written; afterwards the same command works again.
fn broken(name: &str, at: u64, act: &str, after: &str) -> String {
    let again = at + LOAD + 2 * MIB;
    format!(
        r#"
spoil() {{
    for tenth in $(seq 600); do
        [ "$(basename $(readlink -f /sys/bus/pci/devices/$drive/driver))" = vfio-pci ] && break
        sleep 0.1
    done
    sleep 3
    {act}
}}
for round in $(seq 16); do cat {DATA}; done | head -c {LOAD} >load.bin
head -c {PART} {DATA} >part.bin
spoil & spoiler=$!
code=0
timeout 200 forebay run --bus vfio --ssd $drive --fpga $card --namespace 2 --timeout-cycles 200000 \
    --transaction {PIECE} --at {at} --write load.bin --json {name}.json || code=$?
[ $code != 0 ]
[ $code -lt 100 ]
wait $spoiler
{after}run --namespace 2 --at {again} --write part.bin --read --json {name}-again.json
echo "exit code $code, then it worked again"
"#
    )
}

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

fn peers(share: &Path, _: &Images, _: &Amounts) -> Finding {
    let report = read(share, "peers.json")?;
    let check = &report["check"];
    let ways = (&check["drive_to_peer"], &check["peer_to_drive"]);
    match ways {
        (Value::Bool(true), Value::Bool(true)) => Ok("same bytes, both ways".into()),
        ways => Err(format!(
            "drive to card {}, card to drive {}",
            ways.0, ways.1
        )),
    }
}

fn stream(share: &Path, images: &Images, _: &Amounts) -> Finding {
    let bytes = same(share, "stream.json", DATA, &images.small_blocks, 0)?;
    Ok(format!(
        "{}, 0 bytes differ, the image is the file",
        render::bytes(bytes)
    ))
}

fn all_trapped(share: &Path, images: &Images, amounts: &Amounts) -> Finding {
    let (image, at) = (&images.small_blocks, amounts.trapped_at());
    let bytes = same(share, "trapped.json", "trapped.bin", image, at)?;
    Ok(format!(
        "{}, 0 bytes differ, the image is the file",
        render::bytes(bytes)
    ))
}

fn all_formats(share: &Path, images: &Images, amounts: &Amounts) -> Finding {
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

fn all_wraps(share: &Path, _: &Images, amounts: &Amounts) -> Finding {
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
fn all_errors(share: &Path, images: &Images, _: &Amounts) -> Finding {
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
fn recorder(share: &Path, _: &Images, _: &Amounts) -> Finding {
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
fn recovered(name: &str, place: u64, share: &Path, images: &Images) -> Finding {
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
        let look = || all_wraps(bench.folder.path(), &bench.images, &Amounts::SHORT);
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
