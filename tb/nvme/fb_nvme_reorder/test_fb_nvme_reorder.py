# SPDX-License-Identifier: Apache-2.0
"""fb_nvme_reorder: whatever order commands complete in, answers are in the user's order."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

import cocotb
import pytest
from cocotb.triggers import FallingEdge

import harness
import structs
from forebay import spec
from runner import simulate

PAGE = 4096
FAULT = 0xB2
NOT_FETCHED = 0x84  # Data Transfer Error


@dataclass
class Command:
    """A command between its submission and its answer."""

    page: int
    pages: int
    size: int
    last: int
    flush: int = 0
    early: int = 0
    unordered: int = 0
    reject: int = 0
    empty: bool = False  # a write without data of its own, which is well
    tag: int = 0
    drive: int = 0
    code: int | None = None  # outcome, once noted
    flushed: int = 0  # drives that were asked for it
    delivered: bool = False

    def entry(self) -> int:
        """Return what the reorder table keeps."""
        size = self.size
        if self.reject or self.empty:
            size = (self.pages - 1) << 12 | self.reject
        elif self.unordered:
            size = self.tag << 12 | self.size
        return structs.pack(
            "reorder_t",
            drive=self.drive,
            flush=self.flush,
            unordered=self.unordered,
            reject=bool(self.reject) or self.empty,
            last=self.last,
            size=size,
        )


class Reorder:
    """The device under test with both rings, the SSD's outcomes and the user around it."""

    def __init__(self, dut, *, whole: bool = False) -> None:
        self.dut = dut
        self.whole = whole  # an array with parity, of which no drive is offline
        self.drives = int(dut.Drives.value)
        self.gone: set[int] = set()  # drives that are offline
        self.loss: tuple[int, dict[str, int]] | None = None  # one that is about to be
        self.empties = 0.1  # share of writes without data of their own
        self.spared = False  # parity stands for the one that is
        self.queues: dict[str, deque[Command]] = {"wr": deque(), "rd": deque()}
        self.half = int(dut.Pages.value) // 2  # pages of each ring
        self.next_page = {"wr": 0, "rd": self.half}
        self.tokens: deque[int] = deque()
        self.write_code = 0
        self.read_broken = False
        self.handed_over: int | None = None  # pages of the read delivered one cycle ago
        self.inside_read = False  # the newest read command is not its transaction's last
        self.cut_tag: int | None = None  # of the unordered read whose first half came last
        self.count = {"token": 0, "delivery": 0, "early": 0, "flush": 0}

    def new(self, side: str, simple: bool = False) -> Command:
        """Return a command on the next pages of its ring."""
        pages = random.choice([1, 1, 2, 5])
        half = self.half
        if self.next_page[side] % half + pages > half:
            self.next_page[side] &= half
        page = self.next_page[side]
        self.next_page[side] = page & half | (page + pages) % half
        last = int(random.random() < 0.6)
        command = Command(page, pages, pages * PAGE - 1, last)
        if simple:
            return command
        command.drive = random.randrange(self.drives)
        if side == "rd" and self.cut_tag is not None:
            command.unordered, command.last, command.tag = 1, 1, self.cut_tag
            self.cut_tag = None
        elif random.random() < 0.1:
            command.reject, command.last = spec.ERR_OUT_OF_RANGE, 1
        elif side == "wr" and random.random() < self.empties:
            command.empty, command.last, command.flush = True, 1, random.getrandbits(1)
        elif side == "wr":
            command.flush = int(last and random.random() < 0.3)
        elif random.random() < 0.45 and not self.inside_read:
            command.unordered, command.tag = 1, random.getrandbits(8)
            command.early = command.last = random.choice([0, 1, 1])
            self.cut_tag = None if command.last else command.tag
        if side == "rd":
            if command.unordered:
                command.pages, command.size = 1, random.randrange(PAGE)
            self.inside_read = not command.last
        return command

    def lose(self, drive: int, **settings: int) -> None:
        """Call a drive offline from the next cycle on: it completes nothing more."""
        self.loss = (drive, settings)

    def _lose(self) -> None:
        if self.loss is not None:
            drive, settings = self.loss
            self.gone.add(drive)
            self.whole = False
            self.spared = bool(settings.get("degraded"))
            self.dut.offline.value = sum(1 << one for one in self.gone)
            self.dut.cfg.value = config(self.dut, **settings)
            self.loss = None

    def verdict(self, command: Command, write: bool) -> int | None:
        """Return what must become of a command, or of the flush it waits for; nothing if open."""
        if command.reject or (command.empty and not command.flushed):
            return command.reject
        drive = command.flushed - 1 if command.flushed else command.drive
        if command.code is None and drive in self.gone:
            return 0 if write and self.spared else spec.ERR_TIMEOUT
        if write and command.code and drive in self.gone and self.spared:
            return 0
        waits = write and self.whole and command.code not in (None, 0, NOT_FETCHED)
        return None if waits else command.code

    async def cycle(self, work: float, note: float, ready: float, fail: float = 0.1) -> None:
        """One cycle: new commands, outcomes in any order, and all that must follow."""
        dut = self.dut
        await harness.step(dut.clk)
        self._lose()
        for side in ("wr", "rd"):
            queue = self.queues[side]
            getattr(dut, f"{side}_look_valid").value = bool(queue)
            if queue:
                getattr(dut, f"{side}_look_page").value = queue[0].page
        side = random.choice(["wr", "rd"])
        fresh = None
        if random.random() < work and len(self.queues[side]) < 40:
            fresh = self.new(side)
            dut.reorder_page.value, dut.reorder_entry.value = fresh.page, fresh.entry()
            dut.reorder_write.value = side == "wr"
        dut.reorder_valid.value = fresh is not None
        noted = self._note(note, fail)
        for name in ("delivery_ready", "m_axis_wrsp_tready", "flush_ready"):
            getattr(dut, name).value = random.random() < ready
        await FallingEdge(dut.clk)
        self._observe()
        if fresh:
            self.queues[side].append(fresh)
        if noted:
            command, code = noted
            command.code = code

    def _note(self, note: float, fail: float) -> tuple[Command, int] | None:
        """Note the outcome of one open command, or of the flush that a write waits for."""
        dut = self.dut
        dut.result_valid.value = dut.early_valid.value = 0
        queues = ((self.queues["wr"], True), (self.queues["rd"], False))
        everything = [(one, write) for queue, write in queues for one in queue]
        open_ones = [
            one
            for one, write in everything
            if one.code is None and self.verdict(one, write) is None
        ]
        if not open_ones or random.random() >= note:
            return None
        command = random.choice(open_ones)
        code = random.choice([FAULT, FAULT, NOT_FETCHED]) if random.random() < fail else 0
        soon = command.early and code == 0
        progress = structs.constant("DONE_EARLY" if soon else "DONE")
        error = code != 0
        dut.result.value = structs.pack(
            "command_result_t", progress=progress, error=error, code=code
        )
        dut.result_page.value, dut.result_valid.value = command.page, 1
        dut.early_valid.value = soon
        return command, code

    def _observe(self) -> None:
        dut = self.dut
        if dut.wr_retire.value == 1:
            self._retired_write()
        if dut.m_axis_wrsp_tvalid.value == 1 and dut.m_axis_wrsp_tready.value == 1:
            assert dut.m_axis_wrsp_tdata.value == self.tokens.popleft()
            self.count["token"] += 1
        if dut.flush_valid.value == 1 and dut.flush_ready.value == 1:
            write = self.queues["wr"][0]
            assert write.flush and self.verdict(write, True) == 0
            assert dut.flush_page.value == write.page
            assert dut.flush_drive.value == write.flushed < self.drives
            write.flushed, write.code = write.flushed + 1, None
            self.count["flush"] += 1
        assert dut.rd_retire.value == (self.handed_over is not None)
        if self.handed_over is not None:  # the hand follows the delivery by a cycle
            assert dut.retire_count.value == self.handed_over
            self.queues["rd"].popleft()
            self.handed_over = None
        if dut.delivery_valid.value == 1:
            self._delivered()

    def _retired_write(self) -> None:
        write = self.queues["wr"].popleft()
        assert self.dut.retire_count.value == write.pages
        own = self.verdict(write, True)
        assert own is not None, "retired while open"
        self.write_code = self.write_code or own
        if write.last:
            if write.flush and not self.write_code:
                assert write.flushed == self.drives, "a token before its flush"
            self.tokens.append(self.write_code)
            self.write_code = 0

    def _delivered(self) -> None:
        dut = self.dut
        found = structs.unpack("delivery_t", int(dut.delivery.value))
        if found["keep"]:
            read = next(one for one in self.queues["rd"] if one.page == found["page"])
            assert read.early and read.code == 0
            assert not read.delivered
            assert not found["fail"] and not found["skip"] and not found["sent"]
            assert (found["tag"], found["size"]) == (read.tag, read.size)
            read.delivered = True
            self.count["early"] += 1
            return
        read = self.queues["rd"][0]
        self.handed_over = read.pages
        self.count["delivery"] += 1
        assert found["page"] == read.page
        code = self.verdict(read, False)
        assert code is not None, "delivered while open"
        assert found["skip"] == self.read_broken and found["sent"] == read.delivered
        if not found["skip"] and not found["sent"]:
            assert found["fail"] == (code != 0)
            assert found["last"] == read.last
            assert found["code"] == code if code else found["size"] == read.size
            assert found["tag"] == (read.tag if read.unordered else 0)
        self.read_broken = (self.read_broken or code != 0) and not read.last

    async def drain(self) -> None:
        """Let all that is under way end."""
        for _ in range(3000):
            if not (self.queues["wr"] or self.queues["rd"] or self.tokens):
                return
            await self.cycle(0.0, 0.7, 1.0)
        raise TimeoutError("something is never retired")


async def sweep(dut) -> None:
    """Clear the completion table, as the streamer does after a restart."""
    for index in range(1024):
        dut.sweep.value, dut.sweep_index.value = 1, index
        await harness.step(dut.clk)
    dut.sweep.value = 0


def config(dut, **settings: int) -> int:
    """Return the settings for as many drives as there are."""
    return structs.pack("cfg_t", drives_m1=int(dut.Drives.value) - 1, **settings)


async def start(dut, timeout: int = 0, *, parity: bool = False) -> Reorder:
    """Reset, sweep, and leave everything idle."""
    harness.clear(
        dut,
        "sweep*",
        "reorder_*",
        "result*",
        "early_valid",
        "??_look_*",
        "flush_ready",
        "m_axis_wrsp_tready",
        "delivery_ready",
        "offline",
    )
    dut.cfg.value = config(dut, timeout=timeout, parity=parity)
    dut.restart.value = 1
    await harness.start(dut)
    return await renew(dut, parity=parity)


async def renew(dut, swept: bool = True, *, parity: bool = False) -> Reorder:
    """Begin a new life of the queue, with cleared tables or about to clear them."""
    harness.clear(dut, "reorder_valid", "result_valid", "early_valid", "??_look_valid")
    dut.restart.value = 1
    await harness.step(dut.clk, 2)
    dut.restart.value = 0
    if swept:
        await sweep(dut)
    return Reorder(dut, whole=parity and int(dut.Drives.value) > 1)


async def cut_short(dut, swept: bool = True) -> Reorder:
    """Begin a new life in the middle of work: only a response on offer remains of the last one."""
    await harness.step(dut.clk)
    dut.m_axis_wrsp_tready.value = dut.delivery_ready.value = 0
    await FallingEdge(dut.clk)
    offered = dut.m_axis_wrsp_tvalid.value == 1
    response = int(dut.m_axis_wrsp_tdata.value)
    await harness.step(dut.clk)
    renewed = await renew(dut, swept)
    if offered:
        renewed.tokens.append(response)
    return renewed


@cocotb.test()
async def random_order(dut) -> None:
    """Tokens and deliveries come in the user's order, with the first error of each transaction."""
    reorder = await start(dut)
    for _ in range(10):
        work, note, ready = (random.choice([0.1, 0.4, 0.9]) for _ in range(3))
        for _ in range(250):
            await reorder.cycle(work, note, ready)
    await reorder.drain()
    await harness.step(dut.clk, 3)
    assert dut.empty.value == 1
    dut._log.info("%s", reorder.count)
    assert all(number > 10 for number in reorder.count.values())


@cocotb.test()
async def latency_and_rate(dut) -> None:
    """A noted write gives its response soon; commands of a ring retire one in five cycles."""
    reorder = await start(dut)
    for _ in range(20):
        command = reorder.new("wr", simple=True)
        command.last, command.code = 1, 0
        await harness.step(dut.clk)
        dut.wr_look_valid.value = 0
        dut.reorder_valid.value, dut.reorder_write.value = 1, 1
        dut.reorder_page.value, dut.reorder_entry.value = command.page, command.entry()
        reorder.queues["wr"].append(command)
        await harness.step(dut.clk)
        dut.reorder_valid.value = 0
        dut.result.value = structs.pack("command_result_t", progress=structs.constant("DONE"))
        dut.result_page.value, dut.result_valid.value = command.page, 1
        await harness.step(dut.clk)
        dut.result_valid.value = 0
    begun = harness.cycle()
    while reorder.queues["wr"]:
        await reorder.cycle(0.0, 0.0, 1.0)
    dut._log.info("20 commands in %d cycles", harness.cycle() - begun)
    assert harness.cycle() - begun <= 5 * 20 + 5


@cocotb.test()
async def time_out(dut) -> None:
    """What stays open too long halts the queue: all that is open then fails, the rest ends."""
    reorder = await start(dut, timeout=200)
    reorder.empties = 0.0
    for _ in range(30):
        await reorder.cycle(0.9, 0.0, 1.0)
    assert dut.halted.value == 0 and dut.lost.value == 0
    wanted = {"wr": len(reorder.queues["wr"]), "rd": len(reorder.queues["rd"])}
    assert wanted["wr"] and wanted["rd"]
    for side in ("wr", "rd"):
        for command in reorder.queues[side]:
            command.code = command.reject or spec.ERR_TIMEOUT
            command.flush = 0
    begun = harness.cycle()
    for _ in range(1000):
        await reorder.cycle(0.0, 0.0, 1.0)
    assert dut.halted.value == 1 and harness.cycle() - begun > 200
    assert not reorder.queues["wr"] and not reorder.queues["rd"] and not reorder.tokens
    assert dut.empty.value == 1


async def open_command(dut, reorder: Reorder, side: str, drive: int) -> Command:
    """Add a command of a drive that ends its transaction."""
    command = reorder.new(side, simple=True)
    command.last, command.drive = 1, drive
    await harness.step(dut.clk)
    dut.reorder_valid.value, dut.reorder_write.value = 1, side == "wr"
    dut.reorder_page.value, dut.reorder_entry.value = command.page, command.entry()
    await harness.step(dut.clk)
    dut.reorder_valid.value = 0
    reorder.queues[side].append(command)
    return command


@cocotb.test()
@cocotb.parametrize(side=["wr", "rd"], saved=[False, True])
async def a_drive_is_lost(dut, side: str, saved: bool) -> None:
    """A time-out calls its drive lost; unless it is offline in time, the queue halts after all."""
    reorder = await start(dut, timeout=200)
    drive = reorder.drives - 1
    command = await open_command(dut, reorder, side, drive)
    # One drive alone is all there is: nothing is left that could go on.
    alone = reorder.drives == 1
    if alone or not saved:
        command.code = spec.ERR_TIMEOUT
    begun = harness.cycle()
    while dut.lost.value == 0:
        await reorder.cycle(0.0, 0.0, 1.0)
    assert harness.cycle() - begun > 200
    assert dut.lost.value == 1 << drive
    assert dut.halted.value == alone
    if saved and not alone:
        reorder.lose(drive, timeout=200)
        # A user who takes nothing is no drive that hangs.
        for _ in range(600):
            await reorder.cycle(0.0, 0.0, 0.0)
    for _ in range(600):
        await reorder.cycle(0.0, 0.0, 1.0)
    assert dut.halted.value == (alone or not saved)
    assert not reorder.queues[side] and not reorder.tokens


@cocotb.test()
@cocotb.parametrize(spared=[False, True])
async def drives_that_are_gone(dut, spared: bool) -> None:
    """What a drive leaves open fails, but for writes that parity stands for; all else ends."""
    reorder = await start(dut)
    # The only drive there is is never offline.
    for drive in range(reorder.drives if reorder.drives > 1 else 0):
        for n in range(900):
            if n == 300:
                reorder.lose(drive, degraded=spared)
            await reorder.cycle(0.6, 0.5, 0.9, fail=0.05)
        await reorder.drain()
        assert dut.halted.value == 0
        assert all(number > 10 for number in reorder.count.values())
        # A new life with all of them.
        dut.offline.value, dut.cfg.value = 0, config(dut)
        reorder = await renew(dut)


@cocotb.test()
@cocotb.parametrize(saved=[False, True])
async def a_drive_refuses(dut, saved: bool) -> None:
    """With parity a write that fails waits until its drive is done without, and is good then."""
    drives = int(dut.Drives.value)
    for _ in range(20):
        reorder = await start(dut, timeout=400, parity=True)
        while dut.lost.value == 0 and reorder.count["token"] < 100:
            await reorder.cycle(0.6, 0.5, 0.9, fail=0.05)
        assert (dut.lost.value == 0) == (drives == 1)
        refused = reorder.queues["wr"][0] if drives > 1 else None
        for _ in range(350):
            await reorder.cycle(0.3, 0.5, 0.9, fail=0.0)
        # Of one drive alone it has failed.
        if refused:
            drive = refused.flushed - 1 if refused.flushed else refused.drive
            assert reorder.queues["wr"][0] is refused and int(dut.lost.value) >> drive & 1
        if refused and saved:
            reorder.lose(drive, timeout=400, degraded=1)
        elif refused:
            while dut.halted.value == 0:
                await reorder.cycle(0.0, 0.0, 1.0)
            break
        await reorder.drain()
        assert dut.halted.value == 0
        dut.offline.value = 0


@cocotb.test()
async def a_second_drive_fails(dut) -> None:
    """Parity stands for one drive: where another is lost a write that fails has failed."""
    reorder = await start(dut, timeout=400, parity=True)
    if reorder.drives == 1:
        return
    await open_command(dut, reorder, "rd", 0)
    while dut.lost.value == 0:
        await reorder.cycle(0.0, 0.0, 1.0)
    reorder.whole = False
    write = await open_command(dut, reorder, "wr", 1)
    dut.result.value = structs.pack(
        "command_result_t", progress=structs.constant("DONE"), error=1, code=FAULT
    )
    dut.result_page.value, dut.result_valid.value = write.page, 1
    write.code = FAULT
    await harness.step(dut.clk)
    dut.result_valid.value = 0
    for _ in range(50):
        await reorder.cycle(0.0, 0.0, 1.0)
    assert not reorder.queues["wr"] and not reorder.tokens and dut.lost.value == 1
    reorder.lose(0, timeout=400, degraded=1)
    await reorder.drain()
    assert dut.halted.value == 0


@cocotb.test()
async def reset_in_work(dut) -> None:
    """A reset and a sweep forget everything."""
    reorder = await start(dut)
    for _ in range(3):
        for _ in range(100):
            await reorder.cycle(0.8, 0.3, 0.5)
        await harness.reset(dut, 2)
        reorder = await renew(dut)
        assert dut.empty.value == 1 and dut.m_axis_wrsp_tvalid.value == 0
    await reorder.drain()


@cocotb.test()
async def work_during_the_sweep(dut) -> None:
    """Commands may come while the tables are cleared, again and again where the buffer is small."""
    reorder = await start(dut)
    for _ in range(6):
        # The last life leaves outcomes in the table: reads that its user has not taken.
        for _ in range(300):
            await reorder.cycle(0.5, 0.9, 0.0)
        reorder = await cut_short(dut, swept=False)
        for index in range(1024):
            dut.sweep.value, dut.sweep_index.value = 1, index
            await reorder.cycle(0.05, 0.0, 1.0)
        dut.sweep.value = 0
        await reorder.drain()
        assert reorder.count["token"] and reorder.count["delivery"]


@cocotb.test()
async def restart_while_offered(dut) -> None:
    """A response on offer stays on offer across a restart, the only one of the last life."""
    reorder = await start(dut)
    kept = 0
    for _ in range(8):
        for _ in range(400):
            await reorder.cycle(0.8, 0.6, 0.2)
            if dut.m_axis_wrsp_tvalid.value == 1 and random.random() < 0.2:
                break
        reorder = await cut_short(dut)
        kept += len(reorder.tokens)
    await reorder.drain()
    assert kept > 2


@harness.provocation
async def withdraw(dut) -> None:
    """The port's stream checker is connected."""
    await start(dut)
    await harness.withdraw(dut.clk, dut.u_check)


def run(drives: int, pages: int = 1024, **options: object) -> None:
    """Build the module for this number of drives and simulate it."""
    parameters = {"Pages": pages, "EarlyDepth": 64, "Drives": drives}
    simulate(__file__, "fb_nvme_reorder", parameters, filelist="rtl/top/onchip.f", **options)


@pytest.mark.parametrize(("drives", "pages"), [(1, 1024), (4, 512)])
def test_reorder(drives: int, pages: int) -> None:
    """Run all coroutines for one drive and for several, the latter with a small buffer."""
    run(drives, pages)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(1, fires={"withdraw": "m_axis_wrsp: valid fell"})
