# SPDX-License-Identifier: Apache-2.0
"""How much the guest suite moves, and where on the drives: shared by scripts and findings."""

from __future__ import annotations

from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20

# The file whose beginnings are moved, and the one that is streamed.
DATA, STREAM = "data.bin", "stream.bin"
# Bytes of each small step.
PART = 256 * KIB
# Bytes written while the drive is reset or removed: seconds of work, so that it comes in between.
LOAD = 8 * MIB
# Bytes of a transaction under errors and resets.
TRANSACTION = 4096
# Entries of the cards' queues.
DEPTH = 64
# Queue depths that are tried.
DEPTHS = (2, 3, DEPTH)
# Cards by the names of their variables in the scripts: those that other devices reach, those with
# the payload beside the chip, those of which every access is trapped.
PEERS = ("card", "dram")
MEMORIES = ("dram", "host")
TRAPPED = ("trapped", "dram_trapped")
# Logical blocks of 512 bytes at which the small drive's medium fails.
BAD_WRITE_LBA, BAD_READ_LBA = 100, 1000

# Raw images of QEMU's drives: the two namespaces of the large one, of blocks of 512 and of 4096
# bytes, and the small drive.
SMALL_BLOCKS, LARGE_BLOCKS, FAILING = "small-blocks.img", "large-blocks.img", "failing.img"


def up(count: int, unit: int) -> int:
    """Round a count up to whole units."""
    return -(-count // unit) * unit


def again_at(at: int) -> int:
    """Return where a drive that was broken while `at` was written is written again."""
    return at + LOAD + 2 * MIB


@dataclass(frozen=True)
class Amounts:
    """How much is moved.

    Each step has its own place on the drive, in bytes: the images are looked at only when all have
    ended. The file that is streamed begins namespace 1.

    Attributes
    ----------
    stream : int
        Bytes streamed with the payload mapped.
    trapped : int
        Bytes streamed with every access trapped, by each of two cards.
    memory : int
        Bytes streamed with the payload in on-board DRAM, and in host DRAM.
    wraps : int
        How often each queue goes round.
    mixed : int
        Bytes of fio's mixed work.
    transfers : tuple of str
        Greatest commands that are tried.
    """

    stream: int
    trapped: int
    memory: int
    wraps: int
    mixed: int
    transfers: tuple[str, ...]

    @property
    def data(self) -> int:
        """Bytes of the file whose beginnings are moved; what is longer repeats it."""
        return max(self.stream, 4 * MIB)

    @property
    def trapped_at(self) -> int:
        """Of namespace 1."""
        return self.stream

    @property
    def formats_at(self) -> int:
        """Of either namespace."""
        return self.trapped_at + up(2 * self.trapped, MIB)

    @property
    def recorder_at(self) -> int:
        """Of namespace 1."""
        return self.formats_at + 2 * MIB

    @property
    def wraps_at(self) -> int:
        """Of namespace 1."""
        return self.recorder_at + MIB

    @property
    def reset_at(self) -> int:
        """Of namespace 2, where the drive is written while it is reset."""
        return self.recorder_at

    @property
    def removal_at(self) -> int:
        """Of namespace 2, where the drive is written while it is removed."""
        return self.reset_at + 2 * LOAD

    def memory_at(self, index: int) -> int:
        """Of namespace 1, for one of `MEMORIES`."""
        wraps = self.commands(DEPTH) * 4096
        return self.wraps_at + up(wraps, MIB) + index * self.memory

    @property
    def drive(self) -> int:
        """Bytes of a namespace of the large drive, and of the SSD model."""
        return self.memory_at(len(MEMORIES)) + 4 * LOAD

    def commands(self, depth: int) -> int:
        """Count the commands of 4 KiB, half writes and half reads, for enough rounds of a queue."""
        return up(self.wraps * depth, 2)

    def wraps_bytes(self, depth: int) -> int:
        """Return the bytes of the write commands of a queue."""
        return self.commands(depth) // 2 * 4096


# What every test run takes, and what is shown once.
SHORT = Amounts(
    stream=2 * MIB,
    trapped=64 * KIB,
    memory=256 * KIB,
    wraps=20,
    mixed=4 * MIB,
    transfers=("4KiB", "64KiB", "1MiB"),
)
FULL = Amounts(
    stream=64 * MIB,
    trapped=MIB,
    memory=64 * MIB,
    wraps=1000,
    mixed=32 * MIB,
    transfers=("4KiB", "8KiB", "64KiB", "512KiB", "1MiB"),
)
