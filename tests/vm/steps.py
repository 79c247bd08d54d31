# SPDX-License-Identifier: Apache-2.0
"""The steps of the guest suite: scripts for the guest, each with its own place on the drives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import findings
from places import (
    BAD_READ_LBA,
    BAD_WRITE_LBA,
    DATA,
    DEPTHS,
    LOAD,
    MEMORIES,
    PART,
    PEERS,
    STREAM,
    TRANSACTION,
    TRAPPED,
    Amounts,
    again_at,
)

__all__ = ["BAD_READ_LBA", "BAD_WRITE_LBA", "COMMON", "Step", "all_steps"]

# Every script begins with this. The devices are in the order of the machine.
COMMON = """
drive=0000:01:00.0 small=0000:02:00.0 model=0000:03:00.0
card=0000:04:00.0 trapped=0000:05:00.0 dram=0000:06:00.0 dram_trapped=0000:07:00.0 host=0000:08:00.0
io() { forebay io -o json --bus vfio --ssd $drive --fpga $card "$@"; }
# Commands that fail do so with an exit code of their own.
expect() { code=$1; shift; found=0; "$@" || found=$?; [ $found = $code ] || exit 1; }
"""

# Looks at the folder with the images and `share`; returns what was seen.
Check = Callable[[Path, Amounts], str]


@dataclass(frozen=True)
class Step:
    """One thing to show.

    Attributes
    ----------
    script : str
        For the guest's shell; the last line that it prints is what was seen.
    check : Callable, optional
        What the host looks at once the guest has ended; it raises `findings.Wrong`.
    """

    name: str
    shows: str
    script: str
    check: Check | None = None


def all_steps(amounts: Amounts) -> list[Step]:
    """List the steps in the order in which they run: what spoils a drive comes last."""
    return [
        Step(
            "linux",
            "our SSD model under Linux's own driver: nvme-cli, ext4, fio with verify",
            linux(amounts.mixed),
        ),
        Step(
            "peers",
            "doctor compares bytes between drive and cards, both ways",
            "".join(
                f"forebay doctor --check --ssd $drive --fpga ${card} -o json >peers-{card}.json\n"
                for card in PEERS
            ),
            findings.peers,
        ),
        Step(
            "stream",
            "a file through the RTL to QEMU's drive and back, payload mapped",
            f"head -c {amounts.stream} {DATA} >{STREAM}\n"
            f"io --write {STREAM} --yes --read --output-file stream.json\n",
            findings.stream,
        ),
        Step(
            "dram",
            "the same with the payload in on-board DRAM",
            memory(0, amounts),
            lambda folder, amounts: findings.memory(0, folder, amounts),
        ),
        Step(
            "host",
            "the same with the payload in the guest's memory",
            memory(1, amounts),
            lambda folder, amounts: findings.memory(1, folder, amounts),
        ),
        Step(
            "trapped",
            "payload on chip and in on-board DRAM, every access through the RTL's ports",
            trapped(amounts),
            findings.trapped,
        ),
        Step(
            "formats",
            "blocks of 512 and 4096 bytes, two namespaces, commands of 4 KiB to 1 MiB",
            formats(amounts),
            findings.formats,
        ),
        Step("wraps", "queues of 2, 3 and 64 entries go round", wraps(amounts), findings.wraps),
        Step(
            "errors",
            "the medium fails: its NVMe status, and the other transactions go on",
            f"head -c {PART} {DATA} >part.bin\n"
            "drive=$small\n"
            f"expect 3 io --transaction {TRANSACTION} --write part.bin --yes"
            " --output-file errors-write.json\n"
            f"expect 3 io --transaction {TRANSACTION} --at {PART} --length {PART} --read"
            " --output-file errors-read.json\n",
            findings.errors,
        ),
        Step(
            "recorder",
            "the flight recorder: both sides of the queues, stored and drawn",
            f"head -c {PART} {DATA} >part.bin\n"
            f"io --at {amounts.recorder_at} --write part.bin --yes"
            " --output-file part.json --inspect recorder.inspect\n"
            "forebay inspect --from recorder.inspect >recorder.txt\n"
            "forebay inspect --from recorder.inspect -o json --output-file recorder.json\n",
            findings.recorder,
        ),
        Step(
            "reset",
            "the drive is reset under load: an error in time, one command recovers",
            broken("reset", amounts.reset_at, "echo 1 >/sys/bus/pci/devices/$drive/reset"),
            lambda folder, amounts: findings.recovered("reset", amounts.reset_at, folder),
        ),
        Step(
            "removal",
            "the drive is removed under load: the same, and nothing acknowledged is lost",
            broken(
                "removal",
                amounts.removal_at,
                "echo 1 >/sys/bus/pci/devices/$drive/remove",
                after="echo 1 >/sys/bus/pci/rescan\n",
            ),
            lambda folder, amounts: findings.recovered("removal", amounts.removal_at, folder),
        ),
    ]


def linux(mixed: int) -> str:
    """Let Linux use our SSD model, with `mixed` bytes of fio's random reads and writes."""
    return f"""
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
fio --name=mix --filename=$disk --rw=randrw --bsrange=4k-1M --size={mixed} --direct=1 \\
    --ioengine=libaio --iodepth=16 --verify=crc32c --verify_fatal=1 --randseed=1
nvme reset /dev/$name
nvme format $disk --lbaf=0 --ses=1 --force
[ $(cat /sys/block/${{name}}n1/queue/logical_block_size) = 512 ]
if dmesg | grep -iE 'nvme.*(timeout|error|abort)'; then exit 1; fi
echo "$(nvme list | grep -c Forebay) drive bound, no error, no time-out in dmesg"
"""


def memory(index: int, amounts: Amounts) -> str:
    """Stream through the card whose payload is in `MEMORIES[index]`."""
    name, at = MEMORIES[index], amounts.memory_at(index)
    return (
        f"head -c {amounts.memory} {DATA} >memory.bin\n"
        f"card=${name}\n"
        f"io --at {at} --write memory.bin --yes --read --output-file {name}.json\n"
    )


def trapped(amounts: Amounts) -> str:
    """Stream through the cards whose every access is trapped, one behind the other."""
    script = f"head -c {amounts.trapped} {DATA} >trapped.bin\n"
    for index, name in enumerate(TRAPPED):
        at = amounts.trapped_at + index * amounts.trapped
        script += (
            f"card=${name}\n"
            f"io --at {at} --write trapped.bin --yes --read --output-file {name}.json\n"
        )
    return script


def formats(amounts: Amounts) -> str:
    """Write and read in both namespaces, with greatest commands of each size."""
    script = f"head -c {PART} {DATA} >part.bin\n"
    for namespace in (1, 2):
        for index, transfer in enumerate(amounts.transfers):
            at = amounts.formats_at + index * PART
            script += (
                f"io --namespace {namespace} --max-transfer {transfer} --at {at}"
                " --write part.bin --yes --read"
                f" --output-file formats-{namespace}-{transfer}.json\n"
            )
    # The drive's own limit (MDTS) is 8 KiB here.
    mdts = "io --at 2MiB --write part.bin --yes --read --output-file formats-mdts.json\n"
    return f"{script}drive=$small\n{mdts}"


def wraps(amounts: Amounts) -> str:
    """Write and read with commands of 4 KiB until each queue has gone round often enough."""
    return "".join(
        f"for round in $(seq 32); do cat {DATA}; done"
        f" | head -c {amounts.wraps_bytes(depth)} >/tmp/wraps.bin\n"
        f"io --queue-depth {depth} --max-transfer 4KiB --at {amounts.wraps_at}"
        " --write /tmp/wraps.bin --yes --read"
        f" --output-file wraps-{depth}.json --inspect wraps-{depth}.inspect\n"
        for depth in DEPTHS
    )


def broken(name: str, at: int, act: str, after: str = "") -> str:
    """Do something to the drive while it is written; afterwards the same command works again."""
    return f"""
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
timeout 200 forebay io --bus vfio --ssd $drive --fpga $card --namespace 2 -o json \\
    --timeout-cycles 200000 --transaction {TRANSACTION} --at {at} --write load.bin --yes \\
    --output-file {name}.json || code=$?
[ $code != 0 ]
[ $code -lt 100 ]
wait $spoiler
{after}io --namespace 2 --at {again_at(at)} --write part.bin --yes --read \\
    --output-file {name}-again.json
echo "exit code $code, then it worked again"
"""
