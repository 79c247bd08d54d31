# SPDX-License-Identifier: Apache-2.0
"""fb_raid_queues against queues in Python."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
import structs
from runner import simulate

READ, WRITE = structs.constant("OP_READ"), structs.constant("OP_WRITE")
FIELDS = ("drive", "op", "page", "size", "sector")


class Queues:
    """The device under test, driven cycle by cycle, and what must be in it."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.drives = int(dut.Drives.value)
        self.waiting: dict[tuple[int, int], deque[dict[str, int]]] = {
            (drive, op): deque() for drive in range(self.drives) for op in (READ, WRITE)
        }
        self.offline = 0  # drives; what waits for them is forgotten
        self.deaf = 0  # the same of the cycle before: nothing goes there any more
        self.taken = self.late = 0  # late: in the first cycle in which their drive is offline

    async def cycle(self, push: float, opened: int, ready: float) -> None:
        """Push for drives that are ready, and check what is taken."""
        dut = self.dut
        await harness.step(dut.clk)
        drive = random.randrange(self.drives)
        room = int(dut.s_ready.value) >> drive & 1
        pushes = room and not self.offline >> drive & 1 and random.random() < push
        command = {
            "drive": drive,
            "op": random.choice([READ, WRITE]),
            "page": random.getrandbits(12),
            "size": random.getrandbits(11),
            "sector": random.getrandbits(48),
        }
        dut.s_valid.value = pushes
        dut.s_descriptor.value = structs.pack("descriptor_t", **command)
        dut.open.value, dut.offline.value = opened, self.offline
        dut.m_ready.value = random.random() < ready
        await FallingEdge(dut.clk)
        if dut.m_valid.value == 1 and dut.m_ready.value == 1:
            found = structs.unpack("descriptor_t", int(dut.m_descriptor.value))
            assert not self.deaf >> found["drive"] & 1
            queue = self.waiting[found["drive"], found["op"]]
            assert {name: found[name] for name in FIELDS} == queue.popleft()
            self.taken += 1
            self.late += self.offline >> found["drive"] & 1
        if pushes:
            self.waiting[drive, command["op"]].append(command)
        self.deaf = self.offline
        for (gone, _), queue in self.waiting.items():
            if self.offline >> gone & 1:
                queue.clear()

    def left(self) -> int:
        """Return how many commands wait."""
        return sum(map(len, self.waiting.values()))


async def start(dut) -> Queues:
    """Reset, with nothing offline."""
    harness.clear(dut, "offline", "open", "s_valid", "s_descriptor", "m_ready")
    await harness.start(dut)
    await harness.step(dut.clk, 2)
    return Queues(dut)


@cocotb.test()
async def random_work(dut) -> None:
    """Nothing is lost, doubled or overtaken in its queue, full or empty."""
    queues = await start(dut)
    for _ in range(30):
        push, ready = random.choice([0.1, 0.9]), random.choice([0.2, 1.0])
        opened = random.getrandbits(queues.drives)
        for _ in range(200):
            await queues.cycle(push, opened, ready)
    every = (1 << queues.drives) - 1
    for _ in range(20 * queues.left() + 20):
        await queues.cycle(0.0, every, 1.0)
    assert queues.left() == 0 and queues.taken > 300


@cocotb.test()
async def a_full_drive_holds_up_no_other(dut) -> None:
    """While drive 0 takes nothing, the others go on."""
    queues = await start(dut)
    others = (1 << queues.drives) - 2
    for _ in range(2000):
        await queues.cycle(0.9, others, 1.0)
    assert queues.taken > 380
    assert any(queues.waiting[0, op] for op in (READ, WRITE))


@cocotb.test()
async def queues_take_turns(dut) -> None:
    """Of queues that all have commands each gets its share."""
    queues = await start(dut)
    for _ in range(600):
        await queues.cycle(1.0, 0, 1.0)
    before = {key: len(queue) for key, queue in queues.waiting.items()}
    every = (1 << queues.drives) - 1
    for _ in range(5 * 2 * len(before)):
        await queues.cycle(0.0, every, 1.0)
    for key, queue in queues.waiting.items():
        assert before[key] < 2 or len(queue) < before[key], key


@cocotb.test()
async def offline(dut) -> None:
    """What waits for a drive that goes offline is forgotten, whatever the moment."""
    queues = await start(dut)
    every = (1 << queues.drives) - 1
    for _ in range(200):
        for _ in range(random.randrange(20, 60)):
            await queues.cycle(0.9, every, 0.9)
        # One that is on its way into its queue is forgotten as well.
        queues.offline = 1 << random.randrange(queues.drives)
        for _ in range(30):
            await queues.cycle(0.5, every, 0.6)
        assert int(dut.s_ready.value) & queues.offline
        queues.offline = 0
    assert queues.late


@harness.provocation
async def overfull(dut) -> None:
    """A command without room for it must be noticed."""
    await start(dut)
    dut.s_valid.value = 1
    dut.s_descriptor.value = structs.pack("descriptor_t", op=READ)
    await harness.step(dut.clk, 20)


def run(drives: int, depth: int, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Drives": drives, "Depth": depth}
    simulate(__file__, "fb_raid_queues", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize(("drives", "depth"), [(2, 8), (3, 16), (8, 128)])
def test_queues(drives: int, depth: int) -> None:
    """Run all coroutines for this number of drives, with queues of this depth."""
    run(drives, depth)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(2, 8, fires={"overfull": "a_has_room"})
