# SPDX-License-Identifier: Apache-2.0
"""fb_boot_admin between a drive, which cocotbext-axi is, and what the sequencer asks for."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
from cocotb.triggers import FallingEdge, Timer, with_timeout
from cocotbext.axi import AxiBurstType, AxiMaster, AxiResp

import harness
from forebay import spec
from runner import simulate

PAGE = 4096
LINE = 64
ENTRY_BYTES = 16  # of a completion
PATIENCE_US = 200
PAIRS = (0, 6, 10)  # dwords of the entry that are written with the one behind
CAUGHT, DROPPED = 1 << 31, 1 << 30
MASK32, MASK64 = 2**32 - 1, 2**64 - 1


@dataclass
class Model:
    """What the window holds, by the description of its registers."""

    dwords: dict[int, int] = field(default_factory=dict)  # of the entry
    cid: int = 0
    tail: int = 0
    head: int = 0
    phase: int = 1
    outstanding: bool = False
    caught: bool = False
    dropped: bool = False
    status: int = 0
    result: int | None = None
    first: int | None = None  # dword 0 of a completion of which the rest is to come
    page: bytearray = field(default_factory=lambda: bytearray(PAGE))
    lines: set[int] = field(default_factory=set)

    def restart(self) -> None:
        """Begin anew."""
        self.tail, self.head, self.phase = 0, 0, 1
        self._forget()

    def submit(self) -> None:
        """Give the entry to the drive."""
        self._forget()
        self.cid = (self.cid + 1) % 2**16
        self.tail ^= 1
        self.outstanding = True

    def _forget(self) -> None:
        self.outstanding = self.caught = self.dropped = False
        self.status, self.first = 0, None
        self.lines.clear()

    def entry(self) -> bytes:
        """Return the submission entry."""
        words = [self.dwords.get(n, 0) for n in range(16)]
        words[0] = words[0] & 0xFF | self.cid << 16
        return b"".join(word.to_bytes(4, "little") for word in words)

    def completion(self, cid: int | None = None, phase: int | None = None) -> bytes:
        """Return a completion entry of the outstanding command, or one that is not quite it."""
        cid = self.cid if cid is None else cid
        phase = self.phase if phase is None else phase
        last = cid | phase << 16 | random.getrandbits(15) << 17
        return random.randbytes(12) + last.to_bytes(4, "little")

    def write(self, address: int, data: bytes, size: int) -> bool:
        """Take a burst of the drive; say whether nothing of it was refused."""
        fine = True
        while data:
            # A beat ends at a multiple of its size, and its words go one by one.
            part = min(len(data), (1 << min(size, 3)) - address % (1 << min(size, 3)))
            fine &= self._write(address, data[:part])
            address, data = address + part, data[part:]
        return fine

    def _write(self, address: int, data: bytes) -> bool:
        page, at = address & 0x3000, address % PAGE
        if page == spec.ADM_DATA_PAGE and self.outstanding:
            self.page[at : at + len(data)] = data
            if (at + len(data)) % LINE == 0:
                self.lines.add(at // LINE)
            return True
        return page == spec.ADM_CQ and self._complete(at, data)

    def _complete(self, at: int, data: bytes) -> bool:
        place, word = divmod(at, ENTRY_BYTES)
        if not self.outstanding or place != self.head:
            self.dropped = True
            return False
        if word == 0 and len(data) >= 4:
            self.first = int.from_bytes(data[:4], "little")
        if word + len(data) <= 12:
            return True
        whole = data[-4:] if len(data) >= 4 and word + len(data) == 16 else None
        last, first = int.from_bytes(whole or b"", "little"), self.first
        self.first = None
        if whole is None or first is None or last & 0x1FFFF != self.cid | self.phase << 16:
            self.dropped = True
            return False
        self.outstanding, self.caught = False, True
        self.status, self.result = last >> 17, first
        self.head ^= 1
        self.phase ^= not self.head
        return True


class Bench:
    """The device under test, the drive, and the model that both are held against."""

    def __init__(self, dut, drive: AxiMaster) -> None:
        self.dut = dut
        self.drive = drive
        self.model = Model()

    async def access(self, write: bool, address: int, wide: bool, data: int = 0) -> int | None:
        """Ask as the sequencer does; returns what is read or 0, of an error nothing."""
        dut = self.dut
        dut.s_valid.value, dut.s_write.value, dut.s_wide.value = 1, write, wide
        dut.s_addr.value, dut.s_wdata.value = address, data
        await FallingEdge(dut.clk)
        assert dut.s_ready.value == 1
        await harness.step(dut.clk)
        dut.s_valid.value = 0
        dut.s_write.value, dut.s_wide.value = random.getrandbits(1), random.getrandbits(1)
        dut.s_addr.value, dut.s_wdata.value = random.getrandbits(64), random.getrandbits(64)
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 1
        error, found = dut.m_error.value == 1, int(dut.m_rdata.value)
        await harness.step(dut.clk)
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 0
        await harness.step(dut.clk)
        if error:
            return None
        return 0 if write else found & (MASK64 if wide else MASK32)

    async def read(self, address: int, wide: bool | None = None) -> int | None:
        """Read for the sequencer, by either width."""
        return await self.access(False, address, random.random() < 0.5 if wide is None else wide)

    async def command(self, address: int) -> None:
        """Write RESTART or SUBMIT."""
        wide, data = random.random() < 0.5, random.getrandbits(64)
        assert await self.access(True, address, wide, data) is not None
        if address == spec.ADM_SUBMIT:
            self.model.submit()
        else:
            self.model.restart()

    async def set_entry(self) -> None:
        """Write the entry at random, dword by dword or two at once."""
        pairs = random.sample(PAIRS, random.randint(1, 3))
        for first in pairs:
            values = [random.getrandbits(32) for _ in range(2)]
            at = spec.ADM_ENTRY + 4 * first
            if random.random() < 0.5:
                assert await self.access(True, at, True, values[0] | values[1] << 32) == 0
                self.model.dwords[first], self.model.dwords[first + 1] = values
                continue
            for n in random.sample(range(2), random.randint(1, 2)):
                noise = random.getrandbits(32) << 32
                assert await self.access(True, at + 4 * n, False, values[n] | noise) == 0
                self.model.dwords[first + n] = values[n]

    async def write(self, address: int, data: bytes, size: int | None = None) -> None:
        """Write for the drive, and compare the answer."""
        size = random.choice([6, 6, 5, 4, 3, 2]) if size is None else size
        answer = self.drive.write(address, data, awid=random.randrange(16), size=size)
        answer = await with_timeout(answer, PATIENCE_US, "us")
        fine = self.model.write(address, data, size)
        assert answer.resp == (AxiResp.OKAY if fine else AxiResp.SLVERR)

    async def complete(self, entry: bytes, place: int | None = None) -> None:
        """Write a completion entry, whole or in parts."""
        place = self.model.head if place is None else place
        part = random.choice([16, 16, 16, 8, 4])
        for at in range(0, ENTRY_BYTES, part):
            await self.write(spec.ADM_CQ + ENTRY_BYTES * place + at, entry[at : at + part])

    async def fill(self) -> None:
        """Write the whole page, and begin anew."""
        await self.command(spec.ADM_SUBMIT)
        await self.write(spec.ADM_DATA_PAGE, random.randbytes(PAGE), 6)
        await self.command(spec.ADM_RESTART)

    async def look(self) -> None:
        """Compare the registers."""
        model = self.model
        flags = CAUGHT * model.caught | DROPPED * model.dropped
        assert await self.read(spec.ADM_STATUS) == flags | model.status
        assert await self.read(spec.ADM_TAIL) == model.tail
        assert await self.read(spec.ADM_HEAD) == model.head
        if model.caught:
            assert await self.read(spec.ADM_RESULT) == model.result

    async def look_at_data(self, count: int = 24) -> None:
        """Compare some of the page's words."""
        for _ in range(count):
            wide = random.random() < 0.5
            bytes_ = 8 if wide else 4
            at = random.randrange(0, PAGE, bytes_)
            found = await self.read(spec.ADM_DATA + at, wide)
            wanted = int.from_bytes(self.model.page[at : at + bytes_], "little")
            assert found == (wanted if at // LINE in self.model.lines else None), f"at {at:#x}"

    async def fetch(self, count: int = 3) -> None:
        """Let the drive read the entry, wherever and however it likes."""
        for _ in range(count):
            length = random.choice([64, 64, 128, 4, 16, random.randrange(1, 1000)])
            at = random.choice([0, LINE, random.randrange(PAGE - length)])
            size = random.choice([6, 5, 3, 2, 0])
            answer = self.drive.read(at, length, arid=random.randrange(16), size=size)
            answer = await with_timeout(answer, PATIENCE_US, "us")
            repeated = self.model.entry() * (PAGE // LINE)
            assert answer.resp == AxiResp.OKAY
            assert answer.data == repeated[at : at + length]


async def start(dut, share: float = 0.0) -> Bench:
    """Reset with everything idle."""
    harness.clear(dut, "s_valid", "s_w*", "s_addr")
    drive = harness.axi_master(dut, "s_axi_admin")
    harness.stall_master(drive, share, share)
    await harness.start(dut)
    await harness.step(dut.clk, 2)
    bench = Bench(dut, drive)
    # Until they are written, entry and page hold anything.
    for first in PAIRS:
        await bench.access(True, spec.ADM_ENTRY + 4 * first, True, 0)
    await bench.fill()
    return bench


async def write_some_data(bench: Bench) -> None:
    """Write parts of the page, in any order, some of them twice."""
    for _ in range(random.randrange(1, 5)):
        length = random.choice([4, 8, 63, 64, 65, 256, 512, PAGE])
        at = random.randrange(0, PAGE - length + 1, random.choice([1, 4, 64]))
        size = random.choice([6, 5, 3, 2, 1, 0]) if length <= 65 else random.choice([6, 5, 4])
        await bench.write(spec.ADM_DATA_PAGE + at, random.randbytes(length), size)


async def disturb(bench: Bench) -> None:
    """Write what is no completion of the command, or not yet."""
    model = bench.model
    earlier, wrong = (model.cid - 1) % 2**16, model.cid ^ 1 << random.randrange(16)
    kind = random.randrange(6)
    if kind == 0:
        await bench.complete(model.completion(cid=random.choice([earlier, wrong])))
    elif kind == 1:
        await bench.complete(model.completion(phase=model.phase ^ 1))
    elif kind == 2:
        places = [model.head ^ 1, 2, 3, 8, 255]
        await bench.complete(model.completion(), random.choice(places))
    elif kind == 3:
        # A part of dword 3, or dword 3 without dword 0.
        at, end = random.choice([(0, 15), (0, 14), (14, 16), (8, 16), (12, 16), (1, 16)])
        place = spec.ADM_CQ + ENTRY_BYTES * model.head
        await bench.write(place + at, model.completion()[at:end])
    elif kind == 4:
        entry = model.completion(cid=wrong)
        await bench.write(spec.ADM_CQ + ENTRY_BYTES * model.head, entry + entry)
    else:
        place = random.choice([spec.ADM_SQ, 0x3000]) + random.randrange(PAGE - 8)
        await bench.write(place, random.randbytes(random.randrange(1, 9)))


async def one_command(bench: Bench) -> None:
    """Submit a command and let the drive do all kinds of things with it."""
    await bench.set_entry()
    if random.random() < 0.3:
        await disturb(bench)
    await bench.command(spec.ADM_SUBMIT)
    await bench.look()
    await bench.fetch()
    for _ in range(random.randrange(5)):
        await random.choice([write_some_data, disturb])(bench)
        await bench.look()
    answered = random.random() < 0.9
    if answered:
        entry = bench.model.completion()
        place = bench.model.head
        await bench.complete(entry)
        assert bench.model.caught
        await bench.look()
        if random.random() < 0.3:
            # Again; where it was, or where the next one would be.
            await bench.complete(entry, place ^ random.getrandbits(1))
    if random.random() < 0.3:
        await write_some_data(bench)
    await bench.look()
    await bench.look_at_data()
    if not answered or random.random() < 0.1:
        await bench.command(spec.ADM_RESTART)
        await bench.look()
        await bench.look_at_data(2)


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def commands(dut, share: float) -> None:
    """Entry, completion and data of random commands are as the model has them."""
    bench = await start(dut, share)
    for _ in range(harness.repeat(500, 30)):
        await one_command(bench)


@cocotb.test()
async def queues_go_round(dut) -> None:
    """Ten commands in a row, of which the second half is dropped if phase or head stay."""
    bench = await start(dut)
    await bench.command(spec.ADM_RESTART)
    for n in range(10):
        await bench.command(spec.ADM_SUBMIT)
        assert await bench.read(spec.ADM_TAIL) == (n + 1) % spec.ADM_ENTRIES
        last = bench.model.cid | (n // 2 + 1) % 2 << 16
        entry = bytes(12) + last.to_bytes(4, "little")
        await bench.write(spec.ADM_CQ + ENTRY_BYTES * (n % 2), entry)
        assert await bench.read(spec.ADM_STATUS) == CAUGHT
        assert await bench.read(spec.ADM_HEAD) == (n + 1) % spec.ADM_ENTRIES


@cocotb.test()
async def late_completion(dut) -> None:
    """The completion of a command that was given up is none of the next one."""
    bench = await start(dut)
    for _ in range(5):
        await bench.command(spec.ADM_SUBMIT)
        entry = bench.model.completion()
        await bench.command(spec.ADM_RESTART)
        await bench.command(spec.ADM_SUBMIT)
        await bench.complete(entry)
        assert await bench.read(spec.ADM_STATUS) == DROPPED
        await bench.complete(bench.model.completion())
        assert bench.model.caught
        await bench.look()
        await bench.command(spec.ADM_RESTART)


@cocotb.test()
async def parts_of_two_completions(dut) -> None:
    """Dword 0 counts for one completion: not for the next, and not for that of another command."""
    bench = await start(dut)
    for given_up in (False, True, True, False):
        await bench.command(spec.ADM_RESTART)
        await bench.command(spec.ADM_SUBMIT)
        if given_up:
            await bench.write(spec.ADM_CQ, random.randbytes(12))
            await bench.command(random.choice([spec.ADM_RESTART, spec.ADM_SUBMIT]))
            await bench.command(spec.ADM_SUBMIT)
        else:
            await bench.write(spec.ADM_CQ, bench.model.completion(phase=0))
        for _ in range(2):
            await bench.write(spec.ADM_CQ + 8, bench.model.completion()[8:])
            await bench.look()
            assert not bench.model.caught


@cocotb.test()
async def completion_meets_restart(dut) -> None:
    """A completion that comes just when its command is given up is none of the next one."""
    bench = await start(dut)
    await bench.command(spec.ADM_SUBMIT)
    for cycles in range(30):
        entry = bench.model.completion()
        at = spec.ADM_CQ + ENTRY_BYTES * bench.model.head
        late = bench.drive.init_write(at, entry)
        data = bench.drive.init_write(spec.ADM_DATA_PAGE, bytes(LINE))
        await harness.step(dut.clk, 1 + cycles // 2)
        if cycles % 2:
            await bench.command(spec.ADM_RESTART)
            # One of the same cycle is forgotten as well; a later one is flagged.
            assert await bench.read(spec.ADM_STATUS) in (0, DROPPED)
        await bench.command(spec.ADM_SUBMIT)
        for write in (late, data):
            await with_timeout(write.wait(), PATIENCE_US, "us")
        assert await bench.read(spec.ADM_STATUS) in (0, DROPPED)
        await bench.command(spec.ADM_RESTART)
        await bench.command(spec.ADM_SUBMIT)
        await bench.look()
        await bench.look_at_data(4)
        await bench.complete(bench.model.completion())
        assert bench.model.caught
        await bench.look()
        await bench.command(spec.ADM_RESTART)
        await bench.command(spec.ADM_SUBMIT)


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.6])
async def data_before_completion(dut, share: float) -> None:
    """Data are there as soon as the completion shows that the drive sent behind them."""
    bench = await start(dut, share)
    for _ in range(harness.repeat(60, 10)):
        await bench.command(spec.ADM_SUBMIT)
        data, model = random.randbytes(PAGE), bench.model
        entry, at = model.completion(), spec.ADM_CQ + ENTRY_BYTES * model.head
        model.write(spec.ADM_DATA_PAGE, data, 6)
        model.write(at, entry, 6)
        # Identifiers differ: only the order of addresses counts.
        for offset in range(0, PAGE, 512):
            part = data[offset : offset + 512]
            identifier = random.randrange(16)
            bench.drive.init_write(spec.ADM_DATA_PAGE + offset, part, awid=identifier)
        completed = bench.drive.init_write(at, entry, awid=random.randrange(16))
        for _ in range(4000):
            if await bench.read(spec.ADM_STATUS) & CAUGHT:
                break
        for offset in range(PAGE - 8, -8, -8):
            wanted = int.from_bytes(data[offset : offset + 8], "little")
            assert await bench.read(spec.ADM_DATA + offset, True) == wanted
        await with_timeout(completed.wait(), PATIENCE_US, "us")
        await bench.look()


@cocotb.test()
async def entry_stays_while_it_is_read(dut) -> None:
    """A burst that a drive is slow to take is of one entry, whatever is written meanwhile."""
    bench = await start(dut)
    for _ in range(20):
        await bench.set_entry()
        wanted = bench.model.entry()
        bench.drive.read_if.r_channel.pause = True
        fetched = bench.drive.init_read(spec.ADM_SQ, 4 * LINE)
        await harness.step(dut.clk, 6)
        await bench.set_entry()
        await bench.command(spec.ADM_SUBMIT)
        bench.drive.read_if.r_channel.pause = False
        await with_timeout(fetched.wait(), PATIENCE_US, "us")
        assert fetched.data.data == 4 * wanted
        await bench.fetch(1)


@cocotb.test()
async def outside(dut) -> None:
    """What may not be written or read gets SLVERR, zeros, and has no effect."""
    bench = await start(dut, 0.2)
    await bench.set_entry()
    await bench.command(spec.ADM_SUBMIT)
    await bench.write(spec.ADM_DATA_PAGE, random.randbytes(PAGE))
    for page in (spec.ADM_SQ, 0x3000):
        for length in (1, 64, 300):
            await bench.write(page + random.randrange(PAGE - length), bytes(length))
    for page in (spec.ADM_CQ, spec.ADM_DATA_PAGE, 0x3000):
        for length in (1, 64, 300, PAGE):
            answer = await bench.drive.read(page, length)
            assert answer.resp == AxiResp.SLVERR and answer.data == bytes(length)
    for burst in (AxiBurstType.FIXED, AxiBurstType.WRAP):
        for place in (spec.ADM_SQ, spec.ADM_CQ, spec.ADM_DATA_PAGE):
            answer = await bench.drive.write(place, bytes(128), burst=burst)
            assert answer.resp == AxiResp.SLVERR
            answer = await bench.drive.read(place, 128, burst=burst)
            assert answer.resp == AxiResp.SLVERR and answer.data == bytes(128)
    await bench.look()
    await bench.look_at_data(100)
    await bench.fetch()
    # By its low bits alone the window is found.
    answer = await bench.drive.read(0x12_3456_7000_0000, LINE)
    assert answer.resp == AxiResp.OKAY and answer.data == bench.model.entry()


def allowed(write: bool, address: int, wide: bool) -> bool:
    """Say whether the sequencer may make an access; no line of data is valid."""
    if not write:
        return address in (spec.ADM_TAIL, spec.ADM_HEAD, spec.ADM_STATUS, spec.ADM_RESULT)
    whole = [spec.ADM_ENTRY + 4 * dword for dword in PAIRS]
    halves = whole + [place + 4 for place in whole]
    return address in [spec.ADM_RESTART, spec.ADM_SUBMIT, *(whole if wide else halves)]


@cocotb.test()
async def strict(dut) -> None:
    """All accesses that are not described end in error and change nothing."""
    bench = await start(dut)
    await bench.set_entry()
    for address in [*range(0x100), *range(0xFF0, 0x1010), *range(0x1FF0, 0x2010), 0xFFF8]:
        for write in (False, True):
            for wide in (False, True):
                if not allowed(write, address, wide):
                    found = await bench.access(write, address, wide, random.getrandbits(64))
                    assert found is None, f"{write} {address:#x} {wide}"
                # What may be is an error with any other bit of the address.
                few = [random.randrange(16, 64)]
                for bit in range(13, 64) if allowed(write, address, wide) else few:
                    noise = random.getrandbits(64)
                    assert await bench.access(write, address | 1 << bit, wide, noise) is None
    await bench.look()
    await bench.fetch()
    for address in range(0, 0x80, 4):
        for wide in (False, True):
            if allowed(False, address, wide):
                assert await bench.access(False, address, wide) is not None
    # Of data, too, unaligned accesses are none.
    await bench.command(spec.ADM_SUBMIT)
    await bench.write(spec.ADM_DATA_PAGE, random.randbytes(PAGE))
    for offset in range(16):
        for wide in (False, True):
            found = await bench.access(False, spec.ADM_DATA + offset, wide)
            assert (found is not None) == (offset % (8 if wide else 4) == 0)
    assert await bench.access(True, spec.ADM_DATA, True, 0) is None
    await bench.look_at_data()


@cocotb.test()
async def identifiers_go_round(dut) -> None:
    """Commands have different identifiers, 65,536 of them."""
    bench = await start(dut)
    await bench.command(spec.ADM_SUBMIT)
    count = 2**16 - 1 - bench.model.cid
    dut.s_valid.value, dut.s_write.value, dut.s_addr.value = 1, 1, spec.ADM_SUBMIT
    await Timer((count - 1) * harness.PERIOD_NS, "ns")
    await FallingEdge(dut.clk)
    await harness.step(dut.clk)
    dut.s_valid.value = 0
    bench.model.cid += count
    bench.model.tail ^= count & 1
    for _ in range(3):
        await bench.command(spec.ADM_SUBMIT)
        await bench.fetch(1)
    assert bench.model.cid == 2
    await bench.look()


@cocotb.test()
async def latency_and_rate(dut) -> None:
    """An entry is read in the next cycle, 64 bytes are written in eight."""
    bench = await start(dut)
    times: dict[str, list[int]] = {name: [] for name in ("ar", "r", "w", "b")}
    for name, found in times.items():
        pair = (getattr(dut.s_axi_admin, f"{name}{half}") for half in ("valid", "ready"))
        cocotb.start_soon(harness.record(dut.clk, *pair, found))
    await bench.fetch(0)
    await bench.drive.read(spec.ADM_SQ, 4 * LINE)
    assert [at - times["ar"][0] for at in times["r"]] == [1, 2, 3, 4]
    await bench.command(spec.ADM_SUBMIT)
    await bench.write(spec.ADM_DATA_PAGE, random.randbytes(PAGE), 6)
    assert times["b"][0] - times["w"][-1] == 2
    assert [b - a for a, b in zip(times["w"], times["w"][1:], strict=False)] == [8] * 63


@cocotb.test()
async def data_before_address(dut) -> None:
    """A beat before its address waits for it; an answer not taken keeps the next burst waiting."""
    bench = await start(dut)
    await bench.command(spec.ADM_SUBMIT)
    bench.drive.write_if.aw_channel.pause = True
    data = random.randbytes(640)
    writes = [bench.drive.init_write(spec.ADM_DATA_PAGE, data)]
    await harness.step(dut.clk, 40)
    await bench.look_at_data(8)
    bench.drive.write_if.aw_channel.pause = False
    bench.drive.write_if.b_channel.pause = True
    writes.append(bench.drive.init_write(spec.ADM_DATA_PAGE + 1024, data))
    await harness.step(dut.clk, 200)
    bench.model.write(spec.ADM_DATA_PAGE, data, 6)
    await bench.look_at_data(100)
    bench.drive.write_if.b_channel.pause = False
    bench.model.write(spec.ADM_DATA_PAGE + 1024, data, 6)
    for write in writes:
        await with_timeout(write.wait(), PATIENCE_US, "us")
    await bench.look_at_data(100)


@cocotb.test()
async def reset_in_the_middle(dut) -> None:
    """After a reset in the middle of bursts all is as after the first one."""
    bench = await start(dut, 0.2)
    for _ in range(harness.repeat(200, 15)):
        await bench.set_entry()
        await bench.command(spec.ADM_SUBMIT)
        at = spec.ADM_CQ + ENTRY_BYTES * bench.model.head
        writes = [
            (at, bench.model.completion()),
            (random.choice([spec.ADM_DATA_PAGE, 0x3000]), bytes(PAGE)),
        ]
        for place, data in random.sample(writes, 2):
            bench.drive.init_write(place, data)
        bench.drive.init_read(spec.ADM_SQ, PAGE)
        await harness.step(dut.clk, random.choice([2, 5, 30, random.randrange(700), 1500]))
        await harness.reset(dut)
        await harness.step(dut.clk, 2)
        bench.model = Model(dwords=bench.model.dwords)
        await bench.look()
        await bench.look_at_data()
        # The first burst counts for itself: one of no command, one that completes, or data.
        kind = random.randrange(3)
        if kind == 1:
            await bench.command(spec.ADM_SUBMIT)
        if kind < 2:
            await bench.complete(bench.model.completion())
            assert bench.model.caught == (kind == 1)
        await bench.look()
        await bench.fill()
        await one_command(bench)


@harness.provocation
async def early_wlast(dut) -> None:
    """WLAST that does not match AWLEN must be noticed."""
    harness.clear(dut, "s_valid", "s_w*", "s_addr")
    harness.clear(dut.s_axi_admin, "a[wr]*[!y]", "w*[!y]", "[br]ready")
    await harness.start(dut)
    await harness.step(dut.clk, 2)
    bus = dut.s_axi_admin
    bus.awaddr.value, bus.awburst.value, bus.awlen.value = spec.ADM_DATA_PAGE, 1, 3
    bus.awvalid.value, bus.wvalid.value, bus.wlast.value = 1, 1, 1
    await harness.step(dut.clk)
    bus.awvalid.value = 0
    await harness.step(dut.clk, 20)


def run(**options: object) -> None:
    """Build the module and simulate it."""
    simulate(__file__, "fb_boot_admin", interfaces={"s_axi_admin": "fb_axi_if"}, **options)


def test_admin() -> None:
    """Run all coroutines."""
    run()


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(fires={"early_wlast": "wlast_matches_awlen"})
