// SPDX-License-Identifier: Apache-2.0
//! The steps of `forebay vm test`: scripts for the guest, each with a place of its own on the drives.

use std::path::{Path, PathBuf};

use super::findings::{self, Check};

/// Entries of the card's queues.
pub const DEPTH: u32 = 64;
/// The file that is streamed.
pub const DATA: &str = "data.bin";
/// Where the small steps write, behind what the large one writes: bytes of each.
pub const PART: u64 = 256 << 10;
pub const MIB: u64 = 1 << 20;
/// What is written while the drive is reset or removed: seconds of work, so that it comes in between.
pub const LOAD: u64 = 16 * MIB;
/// Bytes of a transaction under errors and resets.
pub const PIECE: u64 = 4096;

/// What every script begins with. The devices are in the order of the machine.
pub const COMMON: &str = r#"
drive=0000:01:00.0 small=0000:02:00.0 model=0000:03:00.0
card=0000:04:00.0 trapped=0000:05:00.0 dram=0000:06:00.0 dram_trapped=0000:07:00.0 host=0000:08:00.0
io() { forebay io --bus vfio --ssd $drive --fpga $card "$@"; }
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
    /// Bytes streamed with all of it trapped, by each of two cards.
    pub trapped: u64,
    /// Bytes streamed with the payload in on-board DRAM, and in host DRAM.
    pub memory: u64,
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
        memory: 1 << 20,
        wraps: 20,
        mixed: 4 << 20,
    };
    /// What is to be shown once.
    pub const FULL: Self = Self {
        stream: 64 << 20,
        trapped: 1 << 20,
        memory: 64 << 20,
        wraps: 1000,
        mixed: 32 << 20,
    };

    // Each step has a place of its own on the drive: the images are looked at only when all have
    // ended. The file that is streamed begins namespace 1.

    pub const fn trapped_at(&self) -> u64 {
        self.stream
    }

    /// Of either namespace.
    pub const fn formats_at(&self) -> u64 {
        self.trapped_at() + (2 * self.trapped).next_multiple_of(MIB)
    }

    pub const fn recorder_at(&self) -> u64 {
        self.formats_at() + 2 * MIB
    }

    pub const fn wraps_at(&self) -> u64 {
        self.recorder_at() + MIB
    }

    /// Of namespace 2, where the drive is written while it is reset.
    pub const fn reset_at(&self) -> u64 {
        self.recorder_at()
    }

    /// Where it is written while it is removed.
    pub const fn removal_at(&self) -> u64 {
        self.reset_at() + 2 * LOAD
    }

    /// Of both memories, one behind the other.
    pub const fn memories_at(&self) -> u64 {
        let wraps = self.commands(DEPTH as u64) * 4096;
        self.wraps_at() + wraps.next_multiple_of(MIB)
    }

    /// Bytes of a namespace of the large drive, and of the SSD model.
    pub const fn drive(&self) -> u64 {
        self.memories_at() + 2 * self.memory + 4 * LOAD
    }

    /// Commands of 4 KiB that make a queue of so many entries go round often enough: half of them
    /// write, half read.
    pub const fn commands(&self, depth: u64) -> u64 {
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
            shows: "doctor compares bytes between drive and cards, both ways",
            script: peers(),
            check: Some(findings::peers),
        },
        Step {
            name: "stream",
            shows: "a file through the RTL to QEMU's drive and back, payload mapped",
            script: format!("io --write {DATA} --yes --read -o json --output-file stream.json\n"),
            check: Some(findings::stream),
        },
        Step {
            name: "dram",
            shows: "the same with the payload in on-board DRAM",
            script: memory(0, amounts),
            check: Some(|share, images, amounts| findings::memory(0, share, images, amounts)),
        },
        Step {
            name: "host",
            shows: "the same with the payload in the guest's memory",
            script: memory(1, amounts),
            check: Some(|share, images, amounts| findings::memory(1, share, images, amounts)),
        },
        Step {
            name: "trapped",
            shows: "payload on chip and in on-board DRAM, every access through the RTL's ports",
            script: trapped(amounts),
            check: Some(findings::trapped),
        },
        Step {
            name: "formats",
            shows: "blocks of 512 and 4096 bytes, two namespaces, commands of 4 KiB to 1 MiB",
            script: formats(amounts),
            check: Some(findings::formats),
        },
        Step {
            name: "wraps",
            shows: "queues of 2, 3 and 64 entries go round",
            script: wraps(amounts),
            check: Some(findings::wraps),
        },
        Step {
            name: "errors",
            shows: "the medium fails: its NVMe status, and the other transactions go on",
            script: errors(),
            check: Some(findings::errors),
        },
        Step {
            name: "recorder",
            shows: "the flight recorder: both sides of the queues, stored and drawn",
            script: format!(
                "head -c {PART} {DATA} >part.bin\n\
                 io --at {} --write part.bin --yes --inspect recorder.inspect\n\
                 forebay inspect --from recorder.inspect >recorder.txt\n\
                 forebay inspect --from recorder.inspect -o json --output-file recorder.json\n",
                amounts.recorder_at()
            ),
            check: Some(findings::recorder),
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
                findings::recovered("reset", amounts.reset_at(), share, images)
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
                findings::recovered("removal", amounts.removal_at(), share, images)
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

/// Cards whose payload other devices reach, as they are called in [`COMMON`].
pub const PEERS: [&str; 2] = ["card", "dram"];

fn peers() -> String {
    let check = |card| {
        format!("forebay doctor --check --ssd $drive --fpga ${card} -o json >peers-{card}.json\n")
    };
    PEERS.iter().map(check).collect()
}

/// Memories for the payload beside that on chip, as their cards are called in [`COMMON`].
pub const MEMORIES: [&str; 2] = ["dram", "host"];

fn memory(index: u64, amounts: &Amounts) -> String {
    let name = MEMORIES[index as usize];
    let (bytes, at) = (
        amounts.memory,
        amounts.memories_at() + index * amounts.memory,
    );
    format!(
        "head -c {bytes} {DATA} >memory.bin\n\
         card=${name}\n\
         io --at {at} --write memory.bin --yes --read -o json --output-file {name}.json\n"
    )
}

/// Cards with all of it trapped, as they are called in [`COMMON`].
pub const TRAPPED: [&str; 2] = ["trapped", "dram_trapped"];

fn trapped(amounts: &Amounts) -> String {
    let (bytes, at) = (amounts.trapped, amounts.trapped_at());
    let mut script = format!("head -c {bytes} {DATA} >trapped.bin\n");
    for (name, at) in TRAPPED.iter().zip((at..).step_by(bytes as usize)) {
        script.push_str(&format!(
            "card=${name}\nio --at {at} --write trapped.bin --yes --read -o json --output-file {name}.json\n"
        ));
    }
    script
}

/// Greatest commands that are tried.
pub const TRANSFERS: [&str; 5] = ["4KiB", "8KiB", "64KiB", "512KiB", "1MiB"];

fn formats(amounts: &Amounts) -> String {
    let mut script = format!("head -c {PART} {DATA} >part.bin\n");
    for namespace in [1, 2] {
        for (index, transfer) in TRANSFERS.iter().enumerate() {
            let at = amounts.formats_at() + index as u64 * PART;
            let name = format!("formats-{namespace}-{transfer}");
            script.push_str(&format!(
                "io --namespace {namespace} --max-transfer {transfer} --at {at} \
                 --write part.bin --yes --read -o json --output-file {name}.json\n"
            ));
        }
    }
    // The drive's own limit (MDTS) is 8 KiB here.
    script
        .push_str("drive=$small\nio --at 2MiB --write part.bin --yes --read -o json --output-file formats-mdts.json\n");
    script
}

/// Queue depths that are tried.
pub const DEPTHS: [u64; 3] = [2, 3, 64];

fn wraps(amounts: &Amounts) -> String {
    DEPTHS
        .iter()
        .map(|depth| {
            let (bytes, at) = (amounts.commands(*depth) / 2 * 4096, amounts.wraps_at());
            format!(
                "for round in $(seq 32); do cat {DATA}; done | head -c {bytes} >/tmp/wraps.bin\n\
                 io --queue-depth {depth} --max-transfer 4KiB --at {at} --write /tmp/wraps.bin --yes --read \
                 -o json --output-file wraps-{depth}.json --inspect wraps-{depth}.inspect\n"
            )
        })
        .collect()
}

fn errors() -> String {
    format!(
        "head -c {PART} {DATA} >part.bin\n\
         drive=$small\n\
         expect 3 io --transaction {PIECE} --write part.bin --yes -o json --output-file errors-write.json\n\
         expect 3 io --transaction {PIECE} --at {PART} --length {PART} --read -o json --output-file errors-read.json\n"
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
timeout 200 forebay io --bus vfio --ssd $drive --fpga $card --namespace 2 --timeout-cycles 200000 \
    --transaction {PIECE} --at {at} --write load.bin --yes -o json --output-file {name}.json || code=$?
[ $code != 0 ]
[ $code -lt 100 ]
wait $spoiler
{after}io --namespace 2 --at {again} --write part.bin --yes --read -o json --output-file {name}-again.json
echo "exit code $code, then it worked again"
"#
    )
}
