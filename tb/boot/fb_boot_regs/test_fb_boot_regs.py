# SPDX-License-Identifier: Apache-2.0
"""fb_boot_regs between requests of a program, its beginnings and ends, and software."""

from __future__ import annotations

import random
from collections.abc import Mapping

import cocotb
import pytest
from cocotb.triggers import FallingEdge, with_timeout

import harness
from forebay import boot_regs as regs
from forebay import spec
from runner import simulate

MASK = 2**64 - 1
PATIENCE_US = 4
SWEEP = 32  # cycles after a reset in which no request is taken
BLINK = 64  # cycles of the LED
WORDS = spec.RAM_BYTES // 8
READY = spec.STATE_READY
LAST_CODE = 31
LINK, IS_READY, ACTIVITY, ERROR = 1, 2, 4, 8  # LEDs


class Bench:
    """The device under test, its requests, and software."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.master = harness.axil_master(dut, "s_axil_boot")

    def parameter(self, name: str) -> int:
        """Return a parameter."""
        return int(getattr(self.dut, name).value)

    async def access(
        self, addr: int, wdata: int | None = None, *, ram: bool = False, wide: bool = True
    ) -> tuple[bool, int]:
        """Make an access of the sequencer; return whether it ended in error, and the data."""
        dut = self.dut
        dut.s_valid.value, dut.s_write.value = 1, wdata is not None
        dut.s_wide.value, dut.s_ram.value, dut.s_addr.value = wide, ram, addr
        dut.s_wdata.value = random.getrandbits(64) if wdata is None else wdata
        await harness.until(dut.clk, dut.s_ready, limit=2 * SWEEP)
        await harness.step(dut.clk)
        dut.s_valid.value = 0
        dut.s_write.value, dut.s_addr.value = random.getrandbits(1), random.getrandbits(12) & -8
        dut.s_wdata.value = random.getrandbits(64)
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 1
        found = harness.high(dut.m_error), int(dut.m_rdata.value)
        await harness.step(dut.clk)
        return found

    async def tell(self, addr: int, value: int) -> None:
        """Write a register of the space PORT."""
        assert not (await self.access(addr, value))[0]

    async def begin(self) -> None:
        """Let the program begin."""
        self.dut.ended.value, self.dut.running.value = 0, 1
        await harness.step(self.dut.clk, 2)

    async def end(self, code: int, place: int = 0) -> None:
        """Let the program end."""
        dut = self.dut
        dut.ended.value, dut.running.value, dut.code.value, dut.place.value = 1, 0, code, place
        await harness.step(dut.clk)

    async def read(self, address: int) -> int:
        """Read a register as software."""
        return await with_timeout(self.master.read_qword(address), PATIENCE_US, "us")

    async def write(self, address: int, value: int) -> None:
        """Write one."""
        await with_timeout(self.master.write_qword(address, value), PATIENCE_US, "us")

    async def fields(self, name: str) -> dict[str, int]:
        """Read a register, by fields."""
        value = await self.read(getattr(regs, name.upper()))
        return {
            field: value >> low & (1 << high - low + 1) - 1
            for field, (high, low) in regs.FIELDS[name].items()
        }

    async def codes(self) -> dict[int, int]:
        """Return the counters that are not 0."""
        counts = {n: await self.read(regs.CODES + 8 * n) for n in range(32)}
        return {n: count for n, count in counts.items() if count}

    def leds(self) -> int:
        """Return the LEDs."""
        return int(self.dut.leds.value)


async def bench(dut) -> Bench:
    """Reset, with idle inputs."""
    harness.clear(
        dut,
        *("running", "ended", "code", "place", "activity", "s_valid", "s_write", "s_wide", "s_ram"),
        *("s_addr", "s_wdata", "link_up", "*_hung", "dropped"),
    )
    made = Bench(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return made


@cocotb.test()
async def after_reset(dut) -> None:
    """Parameters decide whether the program begins by itself; PERST# is asserted."""
    made = await bench(dut)
    await FallingEdge(dut.clk)
    assert (dut.go.value, dut.perst_n.value, dut.hold.value) == (made.parameter("AutoStart"), 0, 1)
    assert made.leds() == 0
    assert await made.fields("control") == {
        "go": made.parameter("AutoStart"),
        "hold": 0,
        "together": made.parameter("Together"),
        "auto_recover": made.parameter("AutoRecover"),
        "watch": made.parameter("Watch"),
    }
    assert await made.fields("parameters") == {
        "drives_most": made.parameter("Drives"),
        "queue_entries": made.parameter("QueueEntries"),
    }
    status = await made.fields("status")
    assert {name for name, value in status.items() if value} == {"held", "perst"}
    assert await made.fields("outcome") == {"code": 0, "place": 0}
    assert await made.codes() == {}


@cocotb.test()
async def told(dut) -> None:
    """The program reads the parameters, link and options; all else ends in error."""
    made = await bench(dut)
    expected = {
        spec.PORT_ADMIN_BASE: made.parameter("AdminBase"),
        spec.PORT_QUEUE_BASE: made.parameter("QueueBase"),
        spec.PORT_QUEUE_STEP: made.parameter("QueueStep"),
        spec.PORT_ROOM_FIRST: made.parameter("RoomFirst"),
        spec.PORT_ROOM_END: made.parameter("RoomEnd"),
        spec.PORT_ROOT_BAR: made.parameter("RootBar"),
        spec.PORT_DRIVES_MOST: made.parameter("Drives"),
        spec.PORT_QUEUE_ENTRIES: made.parameter("QueueEntries"),
        spec.PORT_RESET_US: made.parameter("ResetUs"),
        spec.PORT_DATA_BASE: made.parameter("DataBase"),
        spec.PORT_MMIO_OFFSET: made.parameter("MmioOffset"),
        spec.PORT_COMMAND_CYCLES: made.parameter("CommandCycles"),
    }
    written = {spec.PORT_PERST, spec.PORT_STATE, spec.PORT_COUNT, spec.PORT_DRIVES_READY}
    written |= {spec.PORT_MEDIA_BYTES, spec.PORT_BLOCK_SHIFT}
    for link in range(4):
        for options in range(4):
            dut.link_up.value, dut.bridge_hung.value = link & 1, link >> 1
            # Together and Watch; Auto recover is none of the program's.
            recover = random.getrandbits(1)
            control = (options & 1) << 2 | recover << 3 | (options >> 1) << 4
            await made.write(regs.CONTROL, control)
            expected[spec.PORT_LINK], expected[spec.PORT_OPTIONS] = link, options
            for addr in random.sample(range(0, 0x100, 8), 32):
                error, value = await made.access(addr)
                assert error == (addr not in expected), hex(addr)
                assert error or value == expected[addr], hex(addr)
    for addr in expected:
        assert (await made.access(addr, MASK))[0]
        assert (await made.access(addr, wide=False))[0]
        for off in (1, 2, 4, 2**16, 2**32, 2**63):
            assert (await made.access(addr + off))[0]
    # What cannot be written, and what is written in another way, changes nothing.
    await made.begin()
    for addr in written:
        assert (await made.access(addr, 1, wide=False))[0]
        for off in (4, 2**16, 2**63):
            assert (await made.access(addr + off, 1))[0]
    assert await made.codes() == {} and dut.perst_n.value == 0
    assert (dut.media_bytes.value, dut.block_shift.value) == (0, 0)
    status = await made.fields("status")
    assert (status["state"], status["drives_ready"]) == (0, 0)


@cocotb.test()
async def tells(dut) -> None:
    """What the program writes is at the pins and in the status, until it begins again."""
    made = await bench(dut)
    await made.begin()
    for _ in range(20):
        perst, state, ready = random.getrandbits(1), random.randrange(6), random.getrandbits(8)
        await made.tell(spec.PORT_PERST, perst | random.getrandbits(62) << 1)
        await made.tell(spec.PORT_STATE, state)
        await made.tell(spec.PORT_DRIVES_READY, ready)
        media, shift = random.getrandbits(64), random.getrandbits(8)
        await made.tell(spec.PORT_MEDIA_BYTES, media)
        await made.tell(spec.PORT_BLOCK_SHIFT, shift | random.getrandbits(56) << 8)
        await FallingEdge(dut.clk)
        assert (dut.media_bytes.value, dut.block_shift.value) == (media, shift)
        hold = random.getrandbits(1)
        await made.write(regs.CONTROL, hold << 1 | 1)
        status = await made.fields("status")
        assert status["perst"] == perst and dut.perst_n.value == 1 - perst
        assert (status["state"], status["drives_ready"], status["running"]) == (state, ready, 1)
        assert made.leds() & IS_READY == (IS_READY if state == READY else 0)
        assert status["held"] == dut.hold.value == (hold or state != READY)
    await made.write(regs.CONTROL, 0)
    await made.tell(spec.PORT_STATE, READY)
    assert dut.hold.value == 0
    # One that has ended watches no drives.
    await made.end(22, 5)
    await FallingEdge(dut.clk)
    assert dut.hold.value == 1 and made.leds() & IS_READY == 0
    assert (await made.fields("status"))["state"] == READY
    # One that watches none ends, and they stay ready.
    await made.begin()
    await made.tell(spec.PORT_STATE, READY)
    await made.end(0, 5)
    await FallingEdge(dut.clk)
    assert dut.hold.value == 0 and made.leds() & IS_READY
    await made.begin()
    status = await made.fields("status")
    assert (status["state"], status["drives_ready"], dut.hold.value) == (0, 0, 1)
    assert dut.media_bytes.value == 0


@cocotb.test()
async def status(dut) -> None:
    """Software sees the signals around."""
    made = await bench(dut)
    dropped = 0
    for _ in range(20):
        values = {name: random.getrandbits(1) for name in ("link", "bridge_hung", "control_hung")}
        lost = random.randrange(5)
        dut.link_up.value = values["link"]
        dut.bridge_hung.value, dut.control_hung.value = (
            values["bridge_hung"],
            values["control_hung"],
        )
        dut.dropped.value = 1
        await harness.step(dut.clk, lost)
        dut.dropped.value = 0
        dropped += lost
        found = await made.fields("status")
        assert {name: found[name] for name in values} == values
        assert made.leds() & LINK == values["link"]
        assert await made.fields("console") == {"dropped": dropped}


@cocotb.test()
async def memory(dut) -> None:
    """The program's memory holds what was written in words of 64 bits; software reads it, too."""
    made = await bench(dut)
    harness.stall_master(made.master, 0.3, 0.3)
    expected = [random.getrandbits(64) for _ in range(WORDS)]
    for n, value in enumerate(expected):
        assert not (await made.access(8 * n, value, ram=True))[0]

    async def software() -> None:
        for _ in range(harness.repeat(2000, 300)):
            n = random.randrange(WORDS // 2)
            assert await made.read(regs.MEMORY + 8 * n) == expected[n]

    reading = cocotb.start_soon(software())
    while not reading.done():
        # Software reads the lower half, which only refused writes are for.
        addr = 8 * random.randrange(WORDS // 2, WORDS)
        kind = random.randrange(5)
        if kind == 0:
            addr += random.randrange(1, 8)
        elif kind == 1:
            addr = random.choice([8 * WORDS, 2**16, 2**32, 2**63]) + 8 * random.randrange(WORDS)
        wide = kind != 2
        right = kind > 2
        if random.random() < 0.5:
            value = random.getrandbits(64)
            error, _ = await made.access(addr, value, ram=True, wide=wide)
            if right:
                expected[addr // 8] = value
        else:
            error, value = await made.access(addr, ram=True, wide=wide)
            assert not right or value == expected[addr // 8]
        assert error == (not right), hex(addr)
        await harness.step(dut.clk, random.choice([0, 0, 1, 4]))
    await reading
    for n in range(WORDS):
        assert await made.read(regs.MEMORY + 8 * n) == expected[n], n


@cocotb.test()
async def requests_back_to_back(dut) -> None:
    """Software is not kept from the memory for longer than requests follow each other."""
    made = await bench(dut)
    dut.s_wide.value = dut.s_ram.value = 1
    dut.s_write.value = dut.s_addr.value = 0
    await harness.step(dut.clk, SWEEP)
    dut.s_valid.value = 1
    reading = cocotb.start_soon(made.read(regs.MEMORY))
    await harness.step(dut.clk, 50)
    assert not reading.done()
    dut.s_valid.value = 0
    await reading


@cocotb.test()
async def codes(dut) -> None:
    """Codes that are told count, and ends that no program tells, also while software reads."""
    made = await bench(dut)
    dut.link_up.value = 1
    for _ in range(3):
        expected: dict[int, int] = {}
        stop = False

        async def software() -> None:
            while not stop:  # noqa: B023
                n = random.choice([0, 1, 24, 30, 31])
                least = expected.get(n, 0)  # noqa: B023
                count = await made.read(regs.CODES + 8 * n)
                assert least <= count <= expected.get(n, 0) + 1  # noqa: B023

        reading = cocotb.start_soon(software())
        for _ in range(harness.repeat(600, 120)):
            code = random.choice([0, 1, 24, 30, 31, 32, 254, 255, random.randrange(256)])
            if random.random() < 0.5:
                await made.tell(spec.PORT_COUNT, code | random.getrandbits(56) << 8)
            else:
                place = random.getrandbits(10)
                await made.begin()
                await made.end(code, place)
                await harness.step(dut.clk, random.randrange(1, 4))
                assert await made.fields("outcome") == {"code": code, "place": place}
                if code not in (0, 255):
                    continue
            counter = min(code, LAST_CODE)
            expected[counter] = expected.get(counter, 0) + 1
        stop = True
        await reading
        assert await made.codes() == expected
        await made.begin()
        await harness.reset(dut, random.randint(1, 3))
        # A request waits until they are clear.
        dut.running.value = 0
        await made.tell(spec.PORT_COUNT, 3)
        assert await made.codes() == {3: 1}
        await made.tell(spec.PORT_COUNT, 31)
        await harness.reset(dut)
        # So does software.
        assert await made.read(regs.CODES + 8 * 31) == 0
        assert await made.codes() == {}
        # An end is not missed meanwhile.
        dut.ended.value, dut.code.value = 1, 255
        await harness.reset(dut)
        await harness.step(dut.clk, SWEEP + 2)
        assert await made.codes() == {31: 1}
        dut.ended.value = 0
        await harness.reset(dut)


@cocotb.test()
async def end_at_a_request(dut) -> None:
    """The end is counted though a request comes in the same cycle, which waits."""
    made = await bench(dut)
    await harness.step(dut.clk, SWEEP)
    await made.begin()
    dut.ended.value, dut.running.value, dut.code.value = 1, 0, 255
    await made.tell(spec.PORT_COUNT, 9)
    assert await made.codes() == {31: 1, 9: 1}


@cocotb.test()
async def begins_again(dut) -> None:
    """After a failure `go` falls for a cycle where it shall, once the code has counted."""
    made = await bench(dut)
    await harness.step(dut.clk, SWEEP)
    counts = dict.fromkeys((0, 22, 255), 0)
    for go in (0, 1):
        for recover in (0, 1):
            for code in counts:
                await made.write(regs.CONTROL, go | recover << 3)
                await made.begin()
                assert dut.go.value == go
                dut.ended.value, dut.running.value, dut.code.value = 1, 0, code
                await FallingEdge(dut.clk)
                assert dut.go.value == go
                await FallingEdge(dut.clk)
                again = recover and code != 0
                assert dut.go.value == (go and not again)
                # The sequencer leaves its end when `go` is 0.
                if not dut.go.value:
                    dut.ended.value = 0
                await harness.step(dut.clk)
                await FallingEdge(dut.clk)
                assert dut.go.value == go
                counts[code] += code in (0, 255)
                assert (await made.codes()).get(min(code, LAST_CODE), 0) == counts[code]
                assert (await made.fields("outcome"))["code"] == code
                dut.ended.value = 0
                await harness.step(dut.clk, 2)


@cocotb.test()
async def leds(dut) -> None:
    """Activity shows an access for a while; an error stays until software stops the program."""
    made = await bench(dut)
    await harness.step(dut.clk, 2 * BLINK)
    for _ in range(8):
        await harness.step(dut.clk, random.randrange(BLINK))
        dut.activity.value = 1
        await harness.step(dut.clk)
        dut.activity.value = 0
        since, lit = harness.cycle(), 0
        while harness.cycle() < since + 3 * BLINK:
            await FallingEdge(dut.clk)
            lit += bool(made.leds() & ACTIVITY)
        assert lit == BLINK
    await made.write(regs.CONTROL, 1)
    assert made.leds() & ERROR == 0
    causes: Mapping[str, object] = {
        "bridge": lambda: setattr(dut.bridge_hung, "value", 1),
        "control": lambda: setattr(dut.control_hung, "value", 1),
        "code": None,
        "end": None,
    }
    for name, cause in causes.items():
        if name == "code":
            await made.tell(spec.PORT_COUNT, 0)
            await harness.step(dut.clk, 2)
            assert made.leds() & ERROR == 0
            await made.tell(spec.PORT_COUNT, 8)
        elif name == "end":
            await made.begin()
            await made.end(0)
            await harness.step(dut.clk, 2)
            assert made.leds() & ERROR == 0
            await made.begin()
            await made.end(3)
        else:
            cause()
        await harness.step(dut.clk, 2)
        assert made.leds() & ERROR
        dut.bridge_hung.value = dut.control_hung.value = 0
        await harness.step(dut.clk, 200)
        assert made.leds() & ERROR
        await made.write(regs.CONTROL, 0)
        await made.write(regs.CONTROL, 1)
        assert made.leds() & ERROR == 0


@cocotb.test()
async def resets(dut) -> None:
    """A reset in the middle of accesses leaves ports that work."""
    made = await bench(dut)
    value = random.getrandbits(64)
    assert not (await made.access(64, value, ram=True))[0]
    for _ in range(20):
        made.master.init_read(random.choice([regs.MEMORY, regs.CODES, regs.STATUS]), 8)
        dut.s_valid.value, dut.s_wide.value, dut.s_write.value, dut.s_ram.value = 1, 1, 0, 1
        dut.s_addr.value = 8
        await harness.step(dut.clk, SWEEP + random.randrange(1, 10))
        dut.rst.value = 1
        await harness.step(dut.clk)
        dut.s_valid.value = 0
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 0
        await harness.reset(dut, 8)
        await harness.step(dut.clk, 8)
        assert await made.read(regs.MEMORY + 64) == value
        assert await made.access(64, ram=True) == (False, value)


SETS = {
    "alone": {
        **{
            "AutoStart": 1,
            "Together": 0,
            "AutoRecover": 1,
            "Watch": 1,
            "ResetUs": 100,
            "Drives": 1,
            "QueueEntries": 64,
        },
        **{"AdminBase": "64'h2_0000_4000", "QueueBase": "64'h1_2345_6000", "RootBar": "64'h0"},
    },
    "told": {
        **{
            "AutoStart": 0,
            "Together": 1,
            "AutoRecover": 0,
            "Watch": 0,
            "Drives": 8,
            "QueueEntries": 65535,
        },
        **{"QueueStep": "64'h80_0000_0000", "RootBar": "64'hFEDC_BA98_7654_3210"},
        **{"DataBase": "64'h80_0000", "MmioOffset": "64'h8"},
        "CommandCycles": 7,
        **{"RoomFirst": "64'h10_0000", "RoomEnd": "64'h1_0000_0000"},
    },
}


@pytest.mark.parametrize("name", SETS)
def test_regs(name: str) -> None:
    """All cases."""
    simulate(
        __file__,
        "fb_boot_regs",
        SETS[name] | {"ActivityBits": BLINK.bit_length() - 1},
        interfaces={"s_axil_boot": "fb_axil_if"},
    )
