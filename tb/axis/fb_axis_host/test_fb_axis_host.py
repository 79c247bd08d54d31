# SPDX-License-Identifier: Apache-2.0
"""fb_axis_host between a register master, a memory in Python and the streamer's end of streams."""

from __future__ import annotations

import random
from collections import Counter, deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, RisingEdge, with_timeout
from cocotbext.axi import AxiStreamFrame, AxiStreamSink, AxiStreamSource

import harness
from forebay import host_port_regs as regs
from forebay import spec
from runner import simulate

pytestmark = pytest.mark.long

BEAT = 64
PATIENCE_US = 400
VALID = 1 << regs.FIELDS["read"]["valid"][0]
LAST = 1 << regs.FIELDS["write"]["last"][0]
DEPTH = 16


def bits(register: str, name: str, value: int) -> int:
    """Return a field of a register's value."""
    high, low = regs.FIELDS[register][name]
    return value >> low & (1 << high - low + 1) - 1


class Memory:
    """The staging memory; what it shows between words is noise."""

    def __init__(self, dut, latency: int) -> None:
        self.dut = dut
        self.bytes = bytearray(int(dut.Pages.value) * spec.PAGE_BYTES)
        self.pipe: deque[int | None] = deque([None] * latency, maxlen=latency)
        cocotb.start_soon(self._serve())

    async def _serve(self) -> None:
        dut = self.dut
        while True:
            await FallingEdge(dut.clk)
            word = None
            if dut.mem_en.value == 1:
                at = BEAT * int(dut.mem_addr.value)
                if dut.mem_we.value == 1:
                    self.bytes[at : at + BEAT] = int(dut.mem_wdata.value).to_bytes(BEAT, "little")
                else:
                    word = int.from_bytes(self.bytes[at : at + BEAT], "little")
            self.pipe.append(word)
            await RisingEdge(dut.clk)
            shown = self.pipe[0]
            dut.mem_rdata.value = random.getrandbits(8 * BEAT) if shown is None else shown


class Port:
    """The device under test, and what stands at its ports."""

    def __init__(self, dut) -> None:
        self.dut = dut
        self.half = int(dut.Pages.value) // 2 * spec.PAGE_BYTES
        self.memory = Memory(dut, int(dut.ReadLatency.value))
        self.ctrl = harness.axil_master(dut, "s_axil_host")
        self.wr = harness.axi_stream(AxiStreamSink, dut, "m_axis_wr")
        self.wrsp = harness.axi_stream(AxiStreamSource, dut, "s_axis_wrsp")
        self.rdcmd = harness.axi_stream(AxiStreamSink, dut, "m_axis_rdcmd")
        self.rd = harness.axi_stream(AxiStreamSource, dut, "s_axis_rd")
        self.streams = (self.wr, self.wrsp, self.rdcmd, self.rd)

    def stall(self, share: float) -> None:
        """Pause every stream at random."""
        for stream in self.streams:
            harness.stall(stream, share)

    async def get(self, register: str) -> int:
        """Read a register."""
        offset = getattr(regs, register.upper())
        return await with_timeout(self.ctrl.read_qword(offset), PATIENCE_US, "us")

    async def put(self, register: str, value: int) -> None:
        """Write a register."""
        offset = getattr(regs, register.upper())
        await with_timeout(self.ctrl.write_qword(offset, value), PATIENCE_US, "us")

    async def until(self, register: str, name: str, value: int) -> int:
        """Read a register until a field has a value; return all of it."""
        for _ in range(5000):
            found = await self.get(register)
            if bits(register, name, found) == value:
                return found
        raise TimeoutError(f"{register}.{name} is not {value}")

    async def send(self, packet: bytes) -> None:
        """Send a packet, in as many parts as it takes, the first ones of any size."""
        at = 0
        while at < len(packet):
            part = min(len(packet) - at, random.choice([self.half, BEAT, 5 * BEAT, self.half]))
            await self.until("status", "write_busy", 0)
            self.memory.bytes[:part] = packet[at : at + part]
            at += part
            await self.put("write", part | (LAST if at == len(packet) else 0))

    async def sent(self) -> bytes:
        """Return the next packet on the write stream, its TKEEP checked."""
        frame = await with_timeout(self.wr.recv(compact=False), PATIENCE_US, "us")
        length = sum(frame.tkeep)
        assert frame.tkeep == [1] * length + [0] * (len(frame.tkeep) - length)
        assert len(frame.tkeep) - length < BEAT
        return bytes(frame.tdata[:length])

    async def receive(self) -> tuple[bytes, int, int | None]:
        """Return the next packet of read data, its tag, and the code where it failed."""
        data = b""
        while True:
            shown = await self.until("read", "valid", 1)
            count = bits("read", "bytes", shown)
            data += self.memory.bytes[self.half : self.half + count]
            await self.put("read", VALID)
            if bits("read", "last", shown):
                code = bits("read", "code", shown) if bits("read", "error", shown) else None
                return data, bits("read", "tag", shown), code
            assert count == self.half

    async def response(self) -> int:
        """Return the next write response."""
        shown = await self.until("response", "valid", 1)
        await self.put("response", VALID)
        return bits("response", "code", shown)

    async def command(self, address: int, length: int, options: int = 0) -> None:
        """Send a read command."""
        await self.put("read_address", address)
        await self.put("read_length", length)
        await self.put("read_command", options)

    async def refused(self) -> set[str]:
        """Return what was refused, and clear it."""
        found = await self.get("refused")
        await self.put("refused", found)
        assert await self.get("refused") == 0
        return {name for name in regs.FIELDS["refused"] if bits("refused", name, found)}


def failed(code: int, data: bytes = b"", tag: int = 0) -> AxiStreamFrame:
    """Return a packet of read data that ends with an error."""
    assert len(data) % BEAT == 0
    end = bytes([code]) + bytes(BEAT - 1)
    user = [0] * len(data) + [1] * BEAT
    keep = [1] * len(data) + [0] * BEAT
    return AxiStreamFrame(data + end, tkeep=keep, tuser=user, tid=tag)


async def start(dut) -> Port:
    """Reset with idle inputs."""
    dut.mem_rdata.value = 0
    port = Port(dut)
    await harness.start(dut)
    return port


def sizes(half: int, count: int) -> list[int]:
    """Return lengths: least, greatest of one part, odd ones, several parts, and random ones.

    With a small `count`, a choice of them.
    """
    fixed = [1, BEAT - 1, BEAT, BEAT + 1, half - 1, half, half + 1, 2 * half, 2 * half + 7]
    fixed = random.sample(fixed, min(len(fixed), count + 1))
    return fixed + [random.randrange(1, 3 * half) for _ in range(count)]


async def write_packets(port: Port, count: int) -> None:
    """Send packets and answer each; everything arrives."""
    for length in sizes(port.half, count):
        packet, code = random.randbytes(length), random.getrandbits(8)
        await port.send(packet)
        assert await port.sent() == packet
        await port.wrsp.send(AxiStreamFrame(bytes([code])))
        assert await port.response() == code


async def read_packets(port: Port, count: int) -> None:
    """Ask for packets and get each; everything arrives."""
    for length in sizes(port.half, count):
        address, options = random.getrandbits(64), random.getrandbits(16) & 0xFF01
        await port.command(address, length, options)
        beat = await with_timeout(port.rdcmd.recv(), PATIENCE_US, "us")
        wanted = address | length << spec.USER_READ_LENGTH_LSB | options << 128
        assert int.from_bytes(beat.tdata, "little") == wanted
        data, tag = random.randbytes(length), random.getrandbits(8)
        if random.random() < 0.3:
            data = data[: length // BEAT * BEAT]
            code = random.getrandbits(8)
            await port.rd.send(failed(code, data, tag))
            assert await port.receive() == (data, tag, code)
        else:
            await port.rd.send(AxiStreamFrame(data, tid=tag, tuser=0))
            assert await port.receive() == (data, tag, None)


async def work(port: Port, count: int) -> None:
    """Write and read at the same time, then find the port at rest."""
    writer = cocotb.start_soon(write_packets(port, count))
    await read_packets(port, count)
    await writer
    assert await port.get("status") == 0
    assert await port.refused() == set()


@cocotb.test()
async def says_what_it_is(dut) -> None:
    """Version and parameters are there, and nothing waits."""
    port = await start(dut)
    for name, value in regs.RESETS.items():
        assert await port.get(name) == value, name
    parameters = await port.get("parameters")
    pages = int(dut.Pages.value) // 2
    assert parameters == pages | pages << 16 | DEPTH << 32 | DEPTH << 40
    assert await port.get("response") & VALID == await port.get("read") & VALID == 0


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.6])
async def random_packets(dut, share: float) -> None:
    """Packets of all sizes cross in both directions under stalls."""
    port = await start(dut)
    port.stall(share)
    await work(port, harness.repeat(10, 4))


@cocotb.test()
async def full_rate(dut) -> None:
    """A whole half goes out in as many cycles as it has beats, and comes in so."""
    port = await start(dut)
    beats: list[int] = []
    packet = random.randbytes(port.half)
    port.memory.bytes[: port.half] = packet
    watch = cocotb.start_soon(
        harness.record(dut.clk, dut.m_axis_wr.tvalid, dut.m_axis_wr.tready, beats)
    )
    await port.put("write", port.half | LAST)
    assert await port.sent() == packet
    assert harness.rate(beats) == 1.0
    watch.cancel()
    beats = []
    cocotb.start_soon(harness.record(dut.clk, dut.s_axis_rd.tvalid, dut.s_axis_rd.tready, beats))
    await port.rd.send(AxiStreamFrame(packet, tuser=0, tid=0))
    assert (await port.receive())[0] == packet
    assert harness.rate(beats) == 1.0


@cocotb.test()
async def refuses(dut) -> None:
    """What cannot be is refused, said, and changes nothing."""
    port = await start(dut)
    for value in (0, LAST, port.half + 1 | LAST, port.half + BEAT, 1, BEAT + 1, BEAT - 1):
        await port.put("write", value)
        assert await port.refused() == {"size"}, value
        assert await port.get("status") == 0
    port.wr.pause = True
    await port.put("write", 3 * BEAT)
    await port.put("write", BEAT | LAST)
    assert await port.refused() == {"busy"}
    port.wr.pause = False
    await port.until("status", "write_busy", 0)
    assert bits("status", "write_open", await port.get("status")) == 1
    await port.put("write", BEAT | LAST)
    assert len(await port.sent()) == 4 * BEAT
    port.rdcmd.pause = True
    for n in range(DEPTH + 2):
        assert await port.refused() == ({"command"} if n > DEPTH else set())
        await port.command(n, n)
    assert await port.refused() == {"command"}
    assert bits("status", "commands", await port.get("status")) == DEPTH
    port.rdcmd.pause = False
    for n in range(DEPTH):
        assert (await port.rdcmd.recv()).tdata[0] == n
    await harness.step(dut.clk, 20)
    assert port.rdcmd.empty()
    await port.put("control", 1)
    await port.put("write", BEAT | LAST)
    await port.command(0, 0)
    assert await port.refused() == {"busy", "command"}
    await port.put("control", 0)
    assert await port.get("status") == 0
    await work(port, 3)


@cocotb.test()
async def responses_wait(dut) -> None:
    """Responses that are not fetched hold up the streamer, and come in their order."""
    port = await start(dut)
    codes = random.randbytes(DEPTH + 10)
    for code in codes:
        await port.wrsp.send(AxiStreamFrame(bytes([code])))
    await harness.step(dut.clk, 60)
    assert dut.s_axis_wrsp.tready.value == 0
    assert bits("status", "responses", await port.get("status")) == DEPTH
    assert bytes([await port.response() for _ in codes]) == codes


@cocotb.test()
async def reads_wait(dut) -> None:
    """Data that are not fetched hold up the streamer, part by part."""
    port = await start(dut)
    data = random.randbytes(3 * port.half)
    await port.rd.send(AxiStreamFrame(data, tuser=0, tid=0))
    await port.rd.send(failed(7))
    await harness.step(dut.clk, port.half // BEAT + 60)
    assert dut.s_axis_rd.tready.value == 0
    assert bits("status", "read_open", await port.get("status")) == 1
    assert await port.receive() == (data, 0, None)
    assert await port.receive() == (b"", 0, 7)
    assert await port.get("status") == 0


async def clear(port: Port) -> None:
    """Clear the port as the driver does; the streams' other ends come to rest."""
    await port.put("control", 1)
    for _ in range(2000):
        if await port.get("status") == 0 and port.rd.idle() and port.wrsp.idle():
            break
    assert await port.get("status") == 0
    assert await port.get("response") & VALID == await port.get("read") & VALID == 0
    await port.put("control", 0)


@cocotb.test()
async def clear_in_mid_transfer(dut) -> None:
    """What is cleared in the middle of everything is spoiled, dropped, and all works after it."""
    port = await start(dut)
    found: Counter[str] = Counter()
    least = harness.repeat(12, 6)
    for n in range(10 * least):
        if n >= least and found["spoiled"] > 2:
            break
        port.stall(random.choice([0.0, 0.5]))
        last = random.choice([0, LAST])
        length = random.randrange(1, port.half // BEAT + 1) * BEAT
        await port.rd.send(AxiStreamFrame(bytes(2 * port.half), tuser=0, tid=0))
        for _ in range(DEPTH + 4):
            await port.wrsp.send(AxiStreamFrame(bytes(1)))
        await port.command(1, 2)
        await port.put("write", length | last)
        await harness.step(dut.clk, random.randrange(1, 120))
        await clear(port)
        await harness.step(dut.clk, 4)
        if port.wr.empty():
            found["nothing"] += 1  # not one word had been fetched
        else:
            frame = port.wr.recv_nowait(compact=False)
            if frame.tkeep[-BEAT] == 0:
                assert frame.tkeep[-BEAT:] == [0, 1] + [0] * (BEAT - 2)
                assert len(frame.tkeep) <= length + BEAT
                found["spoiled"] += 1
            else:
                assert last and len(frame.tkeep) == length
                found["whole"] += 1
        assert (await port.rdcmd.recv()).tdata[0] == 1
        await port.refused()
        await work(port, 1)
    assert port.wr.empty() and found["spoiled"] > 2, found


@cocotb.test()
async def clear_at_rest(dut) -> None:
    """A port at rest sends nothing when it is cleared; an open packet is spoiled."""
    port = await start(dut)
    await clear(port)
    assert port.wr.empty()
    await port.put("write", BEAT)
    await port.until("status", "write_busy", 0)
    await clear(port)
    frame = await with_timeout(port.wr.recv(compact=False), PATIENCE_US, "us")
    assert frame.tkeep == [1] * BEAT + [0, 1] + [0] * (BEAT - 2)
    await work(port, 1)


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """A reset in the middle of everything leaves a port that works."""
    port = await start(dut)
    for _ in range(4):
        port.stall(0.5)
        await port.rd.send(AxiStreamFrame(bytes(2 * port.half), tuser=0, tid=0))
        await port.wrsp.send(AxiStreamFrame(bytes(9)))
        await port.command(1, 2)
        await port.put("write", port.half)
        await harness.step(dut.clk, random.randrange(1, 60))
        await harness.reset(dut, 8)
        for stream in port.streams:
            stream.clear()
        await harness.step(dut.clk, 8)
        await work(port, 1)


@harness.provocation
async def overflow(dut) -> None:
    """The port is made to forget the words that it has fetched."""
    port = await start(dut)
    port.wr.pause = True
    await port.put("write", port.half)
    for _ in range(40):
        await FallingEdge(dut.clk)
        dut.u_dut.pending_q.value = 0


@harness.provocation
async def holes(dut) -> None:
    """Read data come with a hole in TKEEP."""
    port = await start(dut)
    await port.rd.send(AxiStreamFrame(bytes(BEAT), tkeep=[1, 0] * 32, tuser=0, tid=0))
    await harness.step(dut.clk, 20)


def run(pages: int, latency: int, **options: object) -> None:
    """Build the module and simulate it."""
    parameters = {"Pages": pages, "ReadLatency": latency}
    simulate(
        __file__,
        "fb_axis_host",
        parameters,
        filelist="rtl/top/host.f",
        interfaces={
            "m_axis_wr": "fb_axis_if",
            "s_axis_wrsp": "fb_axis_if #(.DataBits(8))",
            "m_axis_rdcmd": "fb_axis_if",
            "s_axis_rd": "fb_axis_if",
            "s_axil_host": "fb_axil_if",
        },
        **options,
    )


@pytest.mark.parametrize(("pages", "latency"), [(2, 1), (4, 3), (8, 8), (8, 16)])
def test_fb_axis_host(pages: int, latency: int) -> None:
    """Run all coroutines with these parameters."""
    run(pages, latency)


def test_assertion_fires() -> None:
    """Each assertion fires."""
    run(
        2,
        1,
        fires={
            "overflow": "words_have_room",
            "holes": "keep_without_holes",
        },
    )
