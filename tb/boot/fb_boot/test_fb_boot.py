# SPDX-License-Identifier: Apache-2.0
"""fb_boot with small programs between a bridge, registers, a drive, software and a console."""

from __future__ import annotations

import os
import random
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteSlave, SparseMemoryRegion
from cocotbext.uart import UartSink

import harness
import sequencer as seq
from forebay import boot_regs as regs
from forebay import spec
from runner import simulate

HERE = Path(__file__).parent
MMIO_OFFSET, ADMIN_BASE = 0x2_0000_0000, 0x1234_8000  # as in fb_boot_tb
CLOCKS_PER_US = CLOCKS_PER_BIT = 4
TIMEOUT_US = 50
BLINK_US = 2**15 * harness.PERIOD_NS * CLOCKS_PER_US // 1000  # of the simulation's time
LIMIT_US = 2000
LINK_LOST, BRIDGE_HUNG = spec.BOOT_LINK_LOST, spec.BOOT_BRIDGE_HUNG
OPCODE, NSID, RESULT = 0x06, 0x1234_5678, 0xCAFE_F00D
READ_ERROR = 2**64 - 1


def access(name: str, register: int, space: int, addr: int) -> list[int]:
    """Return words of an access to any address, which r15 holds."""
    return [*seq.load(15, addr), seq.access(name, register, 15, space)]


def store(space: int, addr: int, value: int, name: str = "st64") -> list[int]:
    """Return words that write a number."""
    return [*seq.load(1, value), *access(name, 1, space, addr)]


# --------------------------------------------------------------------------- programs, by coroutine
def drawn(seed: int) -> tuple[list[int], str, list[tuple[int, int, int]]]:
    """Draw accesses to all spaces: their words, the console, and what buses hold at the end.

    The memory of a bus begins as :func:`noise`; 32 bits of it are (space, address, value).
    """
    draw = random.Random(seed)
    held: dict[tuple[int, int], int] = {}
    port = {spec.PORT_LINK: 1, spec.PORT_ADMIN_BASE: ADMIN_BASE, spec.PORT_DRIVES_MOST: 1}
    places = {
        spec.SPACE_CFG: [0, 0x10, 0x18, 0x10_0000, 0xFFF_FFF8, 0x1000_0000],
        spec.SPACE_MMIO: [0xE000_0000, 0xE000_1000, 0xFFFF_FFF8, 0x1_0000_0000],
        spec.SPACE_CTL: [0, 8, 0xFFF8, 0x1_0000, 2**63],
        spec.SPACE_RAM: [0, 8, 0x7F8, 0x800],
        spec.SPACE_PORT: [*port, 0xF8],
        6: [0],
    }
    last = {spec.SPACE_CFG: 2**28, spec.SPACE_MMIO: 2**32, spec.SPACE_CTL: 2**16}
    words, text = [], ""
    for addr in places[spec.SPACE_RAM][:-1]:
        value = draw.getrandbits(64)
        words += store(spec.SPACE_RAM, addr, value)
        for half in (0, 4):
            held[spec.SPACE_RAM, addr + half] = value >> 8 * half & 0xFFFFFFFF
    while len(words) < harness.repeat(960, 500):
        space = draw.choice(list(places))
        write, wide = draw.random() < 0.4, draw.random() < 0.5
        addr = draw.choice(places[space]) + (0 if wide else draw.choice([0, 4]))
        addr += draw.choice([0] * 9 + [2])
        bits, value = 64 if wide else 32, draw.getrandbits(64)
        right = addr % (bits // 8) == 0 and addr < last.get(space, 0)
        if space == spec.SPACE_RAM:
            right = wide and addr in places[space][:-1]
        if space == spec.SPACE_PORT:
            right = wide and addr in port and not write
        halves = [(space, addr + 4 * n) for n in range(1 + wide)]
        if write:
            words += store(space, addr, value, f"st{bits}")
            if right:
                held |= {half: value >> 32 * n & 0xFFFFFFFF for n, half in enumerate(halves)}
        else:
            words += access(f"ld{bits}", 2, space, addr)
            found = READ_ERROR >> 64 - bits
            if right and space == spec.SPACE_PORT:
                found = port[addr]
            elif right:
                found = sum(held.get(half, noise(*half)) << 32 * n for n, half in enumerate(halves))
            words += [seq.show("hex", 2, bits // 4), *seq.say(" ")]
            text += f"{found:0{bits // 4}x} "
        # So long takes the serial line.
        words.append(seq.time("wait", 200))
    buses = [(*half, value) for half, value in held.items() if half[0] in last]
    return [*words, seq.STOP], text, buses


def noise(space: int, addr: int) -> int:
    """Return what 32 bits of a bus hold before they are written."""
    return ((space + 1) * 0x85EBCA6B ^ addr * 0x9E3779B1) & 0xFFFFFFFF


def watching() -> list[int]:
    """Return a program that has a drive carry out a command, and then watches the link."""
    adm, port = spec.SPACE_ADM, spec.SPACE_PORT
    words = [
        *store(port, spec.PORT_PERST, 0),
        *store(port, spec.PORT_STATE, spec.STATE_DRIVES),
        *store(adm, spec.ADM_RESTART, 1),
        *store(adm, spec.ADM_ENTRY, NSID << 32 | OPCODE),
        *store(adm, spec.ADM_SUBMIT, 1),
        seq.time("timer", 400),
    ]
    words += access("ld32", 2, adm, spec.ADM_STATUS)
    poll = len(words) - 1
    caught = poll + 4
    words += [
        seq.test_bit("bset", 2, 31, caught),
        seq.jump("btime", caught + 1),
        seq.jump("jmp", poll),
    ]
    # One that comes too late goes where the next word is.
    words += [seq.jump("jmp", caught + 2), seq.fail(spec.BOOT_ADMIN_LATE)]
    for addr in (spec.ADM_RESULT, spec.ADM_DATA + 8):
        words += [*access("ld64", 2, adm, addr), seq.show("hex", 2, 16), *seq.say("\n")]
    words += [
        seq.access("st64", 2, 0, spec.SPACE_RAM, 8),
        *store(port, spec.PORT_DRIVES_READY, 1),
        *store(port, spec.PORT_STATE, spec.STATE_READY),
    ]
    at = len(words)
    return [
        *words,
        seq.access("ld64", 2, 0, port, spec.PORT_LINK),
        seq.test_bit("bset", 2, 0, at),
        *store(port, spec.PORT_COUNT, LINK_LOST),
        seq.fail(LINK_LOST),
    ]


def stuck() -> list[int]:
    """Return a program that accesses buses which do not answer, and shows what it is told."""
    words = []
    for space in (spec.SPACE_MMIO, spec.SPACE_CFG, spec.SPACE_CTL, spec.SPACE_CTL):
        words += [seq.access("ld32", 2, 0, space), seq.show("hex", 2, 8), *seq.say(" ")]
    words += [seq.access("ld64", 2, 0, spec.SPACE_PORT, spec.PORT_LINK), seq.show("hex", 2, 1)]
    return [*words, seq.fail(BRIDGE_HUNG)]


SEED = int(os.environ.get("COCOTB_RANDOM_SEED", "1"))
PROGRAMS = {"spaces": drawn(SEED)[0], "watches": watching(), "hangs": stuck()}


class Bench:
    """The device under test and all around it."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.software = harness.axil_master(dut, "s_axil_boot")
        self.drive = harness.axi_master(dut, "s_axi_admin")
        self.memories, self.slaves = {}, {}
        for space, name in (
            (spec.SPACE_CFG, "m_axil_cfg"),
            (spec.SPACE_MMIO, "m_axil_mmio"),
            (spec.SPACE_CTL, "m_axil_ctrl"),
        ):
            memory = self.memories[space] = SparseMemoryRegion(2**64)
            bus = AxiLiteBus.from_entity(getattr(dut, name))
            slave = self.slaves[space] = AxiLiteSlave(bus, dut.clk, dut.rst, target=memory)
            for half in (slave.write_if, slave.read_if):
                half.log.setLevel("WARNING")
        period = harness.PERIOD_NS * CLOCKS_PER_BIT
        self.line = UartSink(dut.uart_txd, baud=1e9 / (period + 0.01))
        self.line.log.setLevel("WARNING")
        self.text = ""

    def place(self, space: int, addr: int) -> int:
        """Return where an address is on its bus."""
        return addr + (MMIO_OFFSET if space == spec.SPACE_MMIO else 0)

    async def word(self, space: int, addr: int) -> int:
        """Return 32 bits of a bus."""
        data = await self.memories[space].read(self.place(space, addr), 4)
        return int.from_bytes(data, "little")

    async def fill(self, space: int, addr: int) -> None:
        """Let 32 bits of a bus be noise."""
        data = noise(space, addr).to_bytes(4, "little")
        await self.memories[space].write(self.place(space, addr), data)

    def said(self) -> str:
        """Return what the console has said."""
        self.text += bytes(self.line.read_nowait()).decode()
        return self.text

    async def read(self, address: int) -> int:
        """Read a register as software."""
        return await with_timeout(self.software.read_qword(address), 4, "us")

    async def field(self, register: str, name: str) -> int:
        """Read a field of a register."""
        high, low = regs.FIELDS[register][name]
        value = await self.read(getattr(regs, register.upper()))
        return value >> low & (1 << high - low + 1) - 1

    async def until(self, register: str, name: str, value: int) -> None:
        """Wait until a field has a value."""
        for _ in range(LIMIT_US):
            if await self.field(register, name) == value:
                return
            await harness.step(self.dut.clk, 250)
        raise TimeoutError(f"{register}.{name} is not {value}")


async def bench(dut) -> Bench:
    """Reset, with the link up."""
    made = Bench(dut)
    dut.link_up.value = 1
    await harness.start(dut)
    return made


@cocotb.test()
async def spaces(dut) -> None:
    """Accesses reach their spaces and no others; what is not there ends in error."""
    made = await bench(dut)
    _, text, buses = drawn(SEED)
    near = {(space, addr) for space, addr, _ in buses}
    near |= {(spec.SPACE_CFG, at) for at in (0, 0x10, 0x18, 0x10_0000, 0xFFF_FFF8)}
    near |= {(spec.SPACE_MMIO, at) for at in (0xE000_0000, 0xE000_1000, 0xFFFF_FFF8)}
    near |= {(spec.SPACE_CTL, at) for at in (0, 8, 0xFFF8)}
    near |= {(space, addr + 4) for space, addr in near if addr % 8 == 0}
    for space, addr in near:
        await made.fill(space, addr)
    for slave in made.slaves.values():
        for half in (slave.write_if, slave.read_if):
            for channel in ("aw", "w", "b", "ar", "r"):
                if hasattr(half, f"{channel}_channel"):
                    harness.stall(getattr(half, f"{channel}_channel"), 0.3)
    await made.until("status", "ended", 1)
    assert (await made.field("outcome", "code"), dut.hold.value) == (0, 1)
    await harness.step(dut.clk, 2000)
    assert made.said() == text
    expected = {half: noise(*half) for half in near} | {(s, a): value for s, a, value in buses}
    for half, value in expected.items():
        assert await made.word(*half) == value, half
    assert await made.field("console", "dropped") == 0
    assert await made.read(regs.CODES) == 1


async def serve(made: Bench, data: int) -> int:
    """Be the drive for a command; return its CID."""
    entry = b""
    while int.from_bytes(entry[4:8], "little") != NSID:
        entry = (await made.drive.read(spec.ADM_SQ, 64)).data
    # It may be looked at while it is made.
    await made.until("status", "state", spec.STATE_DRIVES)
    await harness.step(made.dut.clk, 100)
    entry = (await made.drive.read(spec.ADM_SQ, 64)).data
    cid = int.from_bytes(entry[2:4], "little")
    assert entry[0] == OPCODE
    page = random.randbytes(64)[:8] + data.to_bytes(8, "little") + random.randbytes(48)
    await made.drive.write(spec.ADM_DATA_PAGE, page)
    completion = RESULT | cid << 96 | 1 << 112
    await made.drive.write(spec.ADM_CQ, completion.to_bytes(16, "little"))
    return cid


@cocotb.test()
async def watches(dut) -> None:
    """A drive carries out a command; the link falls; all begins again, and the code has counted."""
    made = await bench(dut)
    text, cids = "", []
    for fallen in range(3):
        data = random.getrandbits(64)
        cids.append(await serve(made, data))
        await made.until("status", "state", spec.STATE_READY)
        assert (dut.hold.value, dut.perst_n.value, int(dut.leds.value) & 3) == (0, 1, 3)
        assert await made.field("status", "drives_ready") == 1
        assert await made.read(regs.MEMORY + 8) == data
        text += f"{RESULT:016x}\n{data:016x}\n"
        assert await made.read(regs.CODES + 8 * LINK_LOST) == fallen
        dut.link_up.value = 0
        await harness.until(dut.clk, dut.hold)
        dut.link_up.value = 1
        await harness.step(dut.clk, 4)
        assert await made.read(regs.CODES + 8 * LINK_LOST) == fallen + 1
        assert await made.field("outcome", "code") == LINK_LOST
        assert await made.field("outcome", "place") == len(PROGRAMS["watches"]) - 1
        assert int(dut.leds.value) & 8
    assert cids == [cids[0] + n for n in range(3)]
    await harness.step(dut.clk, 2000)
    assert made.said() == text
    # The program looks at the link all the time: the LED shows it some tens of milliseconds late.
    await serve(made, 0)
    await Timer(2 * BLINK_US, "us")
    assert int(dut.leds.value) & 4


@cocotb.test()
async def hangs(dut) -> None:
    """Buses that never answer are given up, each for itself, and the program goes on."""
    made = await bench(dut)
    await harness.step(dut.clk, 200)
    assert await made.field("status", "running") == 0
    for slave in made.slaves.values():
        slave.read_if.r_channel.pause = True
    # `auto_recover` is off.
    await made.software.write_qword(regs.CONTROL, 1)
    since = harness.cycle()
    await made.until("status", "ended", 1)
    # The second access of each is answered at once.
    bound = TIMEOUT_US * CLOCKS_PER_US
    assert 2 * bound <= harness.cycle() - since <= 3 * bound + 1000
    await FallingEdge(dut.clk)
    assert await made.field("outcome", "code") == BRIDGE_HUNG
    assert await made.field("status", "bridge_hung") == 1
    assert await made.field("status", "control_hung") == 1
    assert int(dut.leds.value) & 8
    await harness.step(dut.clk, 4000)
    assert made.said() == "ffffffff " * 4 + "3"
    assert await made.field("status", "running") == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_boot(name: str) -> None:
    """Run each program."""
    words = PROGRAMS[name] + [seq.fail(255)] * (1024 - len(PROGRAMS[name]))
    simulate(
        __file__,
        "fb_boot_tb",
        {"AutoStart": int(name != "hangs")},
        extra_sources=[HERE / "fb_boot_tb.sv"],
        replaced={"rtl/boot/fb_boot_rom.sv": HERE / "fb_boot_rom.sv"},
        files={"program.hex": "".join(f"{word:08x}\n" for word in words)},
        testcase=name,
    )
