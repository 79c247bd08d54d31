# SPDX-License-Identifier: Apache-2.0
"""fb_pe_aes_ctr against the package `cryptography`, through cocotbext-axi."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import cocotb
import pytest
from aes_ctr import CLEAR, CONTROL, LOAD, OKAY, PASS, SLOTS, SLVERR, Bench, any_extent, cipher
from cocotb.triggers import FallingEdge, with_timeout

import elements
import harness
from elements import BEAT, Extent
from runner import simulate

LATENCY = {1: 35, 2: 33, 4: 32}  # by lanes
LANE_LATENCY = 29
WHOLE_BLOCK = Extent(0, 0, 0, 0, 0, 0)
MID_BLOCK = WHOLE_BLOCK._replace(offset=5)


def lanes(dut) -> int:
    """Return the element's lanes."""
    return int(dut.Lanes.value)


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def any_packets(dut, idle: float, stall: float) -> None:
    """Each packet is encrypted by its place, nonce and key; short and long keys take turns."""
    bench = Bench(dut)
    await bench.start(0, idle, stall)
    for slot in range(SLOTS):
        await bench.load(slot)
    for _ in range(harness.repeat(40, 4)):
        slot = random.randrange(SLOTS)
        # Bits of the settings without meaning are any.
        dut.cfg.value = random.getrandbits(60) << 4 | slot
        due = []
        for _ in range(30):
            data, extent = random.randbytes(elements.size()), any_extent()
            await bench.send(data, elements.any_user(), extent)
            due.append(cipher(bench.keys[slot], data, extent.offset, extent.nonce))
        for data in due:
            await bench.expect(data)
        await bench.load(slot)
    await bench.silent()
    assert int(dut.status.value) == 0


@cocotb.test()
@cocotb.parametrize(key_bytes=[16, 32])
async def object_in_packets(dut, key_bytes: int) -> None:
    """However an object is cut, and in whatever order its parts come, it is encrypted the same."""
    bench = Bench(dut)
    await bench.start(7)
    key = await bench.load(7, random.randbytes(key_bytes))
    whole = random.randbytes(5000)
    nonce = random.getrandbits(64)
    due = cipher(key, whole, 0, nonce)
    for count in (0, 1, 40):
        cuts = sorted(random.sample(range(1, len(whole)), count))
        parts = list(itertools.pairwise([0, *cuts, len(whole)]))
        random.shuffle(parts)
        for first, end in parts:
            extent = WHOLE_BLOCK._replace(offset=first, nonce=nonce)
            await bench.send(whole[first:end], elements.PART, extent)
        for first, end in parts:
            await bench.expect(due[first:end])


@cocotb.test()
async def last_bytes(dut) -> None:
    """Up to the last byte that an object can have."""
    bench = Bench(dut)
    await bench.start()
    key = await bench.load(0)
    for size in (1, 15, 16, 17, 63, 64, 65, 100, 300):
        data, nonce = random.randbytes(size), 2**64 - 1
        offset = 2**64 - size
        await bench.send(data, extent=WHOLE_BLOCK._replace(offset=offset, nonce=nonce))
        await bench.expect(cipher(key, data, offset, nonce))


@cocotb.test()
@cocotb.parametrize(idle=[0.0, 0.4], stall=[0.0, 0.4])
async def off(dut, idle: float, stall: float) -> None:
    """Packets pass as they are, with a key or without."""
    bench = Bench(dut)
    await bench.start(PASS | 2, idle, stall)
    for _ in range(2):
        packets = [random.randbytes(elements.size()) for _ in range(40)]
        for data in packets:
            await bench.send(data, elements.any_user(), any_extent())
        for data in packets:
            await bench.expect(data)
        await bench.load(2)
    assert int(dut.status.value) == 0


@cocotb.test()
async def without_key(dut) -> None:
    """No byte of a packet without a key leaves; each is counted, up to what the counter holds."""
    bench = Bench(dut)
    await bench.start(3, idle=0.2, stall=0.2)
    await bench.load(2)
    count = 0
    for before, sent in ((None, 50), (2**32 - 5, 10)):
        if before:
            dut.keyless_q.value = count = before
            await harness.step(dut.clk)
        packets = [elements.size() for _ in range(sent)]
        for size in packets:
            await bench.send(random.randbytes(size), elements.any_user(), any_extent())
        for size in packets:
            await bench.expect(bytes(size))
        count = min(count + sent, 2**32 - 1)
        assert int(dut.status.value) == count
    key = await bench.load(3)
    await bench.send(b"secret", extent=MID_BLOCK)
    await bench.expect(cipher(key, b"secret", 5, 0))
    assert await bench.control(3, CLEAR) == OKAY
    await bench.send(b"secret", extent=MID_BLOCK)
    await bench.expect(bytes(6))


@cocotb.test()
async def keys_while_packets_flow(dut) -> None:
    """A packet has one key from its first byte to its last, whenever the key changes."""
    bench = Bench(dut)
    await bench.start(1, idle=0.1, stall=0.1)
    old = await bench.load(1)
    for _ in range(harness.repeat(100, 12)):
        new = random.choice([b"", random.randbytes(16), random.randbytes(32)])
        packets = [(random.randbytes(elements.size()), any_extent()) for _ in range(12)]
        for data, extent in packets:
            await bench.send(data, extent=extent)
        await harness.step(dut.clk, random.randrange(150))
        command = cocotb.start_soon(bench.load(1, new) if new else bench.control(1, CLEAR))
        users = [old]
        for data, extent in packets:
            found = await with_timeout(bench.sink.recv(), 1, "ms")
            bench.due.popleft()
            dues = [
                cipher(key, data, extent.offset, extent.nonce) if key else bytes(len(data))
                for key in (old, new)
            ]
            assert bytes(found.tdata) in dues
            users.append((old, new)[dues.index(bytes(found.tdata))])
        # Once, and not back again.
        assert [old, new] == [key for key, _ in itertools.groupby([*users, new])] or old == new
        await with_timeout(command, 1, "ms")
        old = new


@cocotb.test()
@cocotb.parametrize(stops=["source", "sink"])
async def load_waits(dut, stops: str) -> None:
    """A load waits for the end of a packet that has begun, and holds the next one back."""
    bench = Bench(dut)
    await bench.start()
    key = await bench.load(0)
    stream = getattr(bench, stops)
    harness.stall(stream, 0)
    data = [random.randbytes(3 * BEAT) for _ in range(2)]
    stream.pause = stops == "sink"
    await bench.send(data[0], extent=MID_BLOCK)
    await harness.until(dut.clk, dut.open_q)
    stream.pause = True
    command = cocotb.start_soon(bench.load(0, random.randbytes(32)))
    await harness.until(dut.clk, dut.hold)
    await bench.send(data[1], extent=MID_BLOCK)
    await harness.step(dut.clk, 100)
    assert not command.done()
    assert dut.s_axis_object_tready.value == int(stops == "source")
    stream.pause = False
    await bench.expect(cipher(key, data[0], 5, 0))
    key = await with_timeout(command, 1, "ms")
    await bench.expect(cipher(key, data[1], 5, 0))
    assert await bench.read(CONTROL) == 3


@cocotb.test()
async def nothing_is_read_back(dut) -> None:
    """Of the whole map only the controls are read as other than zero."""
    bench = Bench(dut)
    await bench.start()
    await bench.load(5, random.randbytes(16))
    await bench.load(6, random.randbytes(32))
    for staged in (b"", random.randbytes(32)):
        if staged:
            await bench.stage(6, staged)
        for address in range(0, 0x1000, 4):
            due = {0x40 * 5 + CONTROL: 1, 0x40 * 6 + CONTROL: 3}.get(address, 0)
            assert await bench.read(address) == due
        for address in (0x40 * 5 + CONTROL + 2, 3):
            assert await bench.read(address & ~3) in (0, 1)
    # Nor is anything of a slot that has been cleared.
    assert await bench.control(6, CLEAR) == OKAY
    assert await bench.read(0x40 * 6 + CONTROL) == 0


@cocotb.test()
async def refused(dut) -> None:
    """Values that control does not know, bytes of a word, loads without a whole key."""
    bench = Bench(dut)
    await bench.start(4)
    key = await bench.load(4)
    for value in (0, 4, 5, 0x101, 0x80000001, 0xFFFFFFFF):
        assert await bench.control(4, value) == SLVERR
    # The words of the last load are forgotten, and those of another slot are no key of this one.
    for value in (1, 2):
        assert await bench.control(4, value) == SLVERR
    await bench.stage(3, random.randbytes(32))
    for value in (1, 2):
        assert await bench.control(4, value) == SLVERR
    # With bytes of a word missing it is not written; the word that was there stays.
    new = random.randbytes(16)
    await bench.stage(4, new[:12])
    for first, end in ((12, 13), (13, 16), (12, 15)):
        assert await bench.write(0x100 + first, new[first:end]) == SLVERR
        assert await bench.control(4, LOAD[16]) == SLVERR
    assert await bench.write(0x10C, new[12:]) == OKAY
    assert await bench.control(4, LOAD[32]) == SLVERR
    assert await bench.write(0x100 + CONTROL, b"\1") == SLVERR
    # Elsewhere writes are ignored: beside the registers, beyond the slots.
    for address in (0x124, 0x13C, 0x200, 0x300, 0x100 + 0x800 + CONTROL, 0xFFC):
        assert await bench.write(address, random.randbytes(4)) == OKAY
    await bench.send(b"secret", extent=MID_BLOCK)
    await bench.expect(cipher(key, b"secret", 5, 0))
    assert await bench.control(4, LOAD[16]) == OKAY
    await bench.send(b"secret", extent=MID_BLOCK)
    await bench.expect(cipher(new, b"secret", 5, 0))


async def raw_write(dut, address: int, data: int, strobes: int) -> int:
    """Write by hand, address first, and take the response late."""
    dut.s_axil_awaddr.value, dut.s_axil_awvalid.value = address, 1
    await harness.step(dut.clk, random.randrange(3))
    dut.s_axil_wdata.value, dut.s_axil_wstrb.value, dut.s_axil_wvalid.value = data, strobes, 1
    await harness.until(dut.clk, dut.s_axil_wready)
    assert dut.s_axil_awready.value == 1
    await harness.step(dut.clk)
    dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
    await harness.until(dut.clk, dut.s_axil_bvalid)
    await harness.step(dut.clk, 5)
    response = int(dut.s_axil_bresp.value)
    assert dut.s_axil_bvalid.value == 1
    dut.s_axil_bready.value = 1
    await harness.step(dut.clk)
    dut.s_axil_bready.value = 0
    return response


@cocotb.test()
async def writes_without_bytes(dut) -> None:
    """What a bridge from a wider bus writes beside its word: nothing, and it is no error."""
    bench = elements.Bench(dut)
    harness.clear(dut, "s_axil_*valid", "s_axil_*addr", "s_axil_w*", "s_axil_bready")
    dut.s_axil_rready.value = 0
    await bench.start()
    for address in (0x00, 0x04, CONTROL, 0x24):
        assert await raw_write(dut, address, 1, 0) == OKAY
    assert await raw_write(dut, CONTROL, 1, 15) == SLVERR
    for index in range(4):
        assert await raw_write(dut, 4 * index, index, 15) == OKAY
    assert await raw_write(dut, CONTROL, 1, 7) == SLVERR
    # A read and a write at once: each has its turn, whichever was last.
    for _ in range(2):
        dut.s_axil_araddr.value, dut.s_axil_arvalid.value = CONTROL, 1
        write = cocotb.start_soon(raw_write(dut, CONTROL, 1, 0))
        await harness.until(dut.clk, dut.s_axil_arready)
        await harness.step(dut.clk)
        dut.s_axil_arvalid.value = 0
        dut.s_axil_rready.value = 1
        await harness.until(dut.clk, dut.s_axil_rvalid)
        assert int(dut.s_axil_rdata.value) == 0
        await harness.step(dut.clk)
        dut.s_axil_rready.value = 0
        assert await with_timeout(write, 1, "us") == OKAY
    # Reads without an end do not keep a write from its turn.
    dut.s_axil_arvalid.value = dut.s_axil_rready.value = 1
    assert await with_timeout(raw_write(dut, CONTROL, 1, 15), 1, "us") == OKAY
    assert int(dut.key_set.value) == 1


@cocotb.test()
async def reset_in_mid_packet(dut) -> None:
    """A reset forgets packets, keys, words of keys, and the count."""
    bench = Bench(dut)
    await bench.start()
    for _ in range(12):
        await bench.send(bytes(10))
        await bench.expect(bytes(10))
        key = await bench.load(0)
        await bench.stage(1, key)
        await bench.send(random.randbytes(20 * BEAT), extent=MID_BLOCK)
        await harness.step(dut.clk, random.randrange(2, 60))
        # Source, sink and host are told, too: they forget what they were about to do.
        await harness.reset(dut, 2)
        bench.forget()
        await harness.step(dut.clk, 2)
        assert int(dut.status.value) == 0
        assert not any([await bench.read(0x40 * slot + CONTROL) for slot in range(SLOTS)])
        for slot in range(2):
            assert await bench.control(slot, LOAD[len(key)]) == SLVERR
        data = random.randbytes(elements.size())
        await bench.send(data)
        await bench.expect(bytes(len(data)))
        assert int(dut.status.value) == 1
        key = await bench.load(0)
        await bench.send(data, extent=MID_BLOCK)
        await bench.expect(cipher(key, data, 5, 0))
        await bench.silent()
        await harness.reset(dut, 1)
        bench.forget()


@cocotb.test()
async def reset_in_mid_load(dut) -> None:
    """A load that waits, or is under way, is forgotten, as is the packet that it waits for."""
    bench = Bench(dut)
    await bench.start()
    harness.stall(bench.sink, 0)
    for stops in (True, False):
        bench.sink.pause = stops
        await bench.send(bytes(BEAT))
        await bench.stage(0, random.randbytes(16))
        cocotb.start_soon(bench.host.write(CONTROL, LOAD[16].to_bytes(4, "little")))
        await harness.until(dut.clk, dut.hold)
        await harness.step(dut.clk, 20)
        await harness.reset(dut, 1)
        await FallingEdge(dut.clk)
        assert dut.hold.value == dut.s_axil_bvalid.value == 0 and int(dut.key_set.value) == 0
        bench.forget()
        bench.sink.pause = False
        key = await bench.load(0)
        await bench.send(b"secret", extent=MID_BLOCK)
        await bench.expect(cipher(key, b"secret", 5, 0))


async def cycles_of(bench: Bench, sizes: Sequence[int], extent: Extent) -> tuple[int, int, int]:
    """Send packets without pauses.

    Returns
    -------
    tuple of int
        Cycles from the first beat in to the last one in, to the first one out, and from that to the
        last one out.
    """
    dut = bench.dut
    came: list[int] = []
    gone: list[int] = []
    tasks = []
    for prefix, found in (("s", came), ("m", gone)):
        valid = getattr(dut, f"{prefix}_axis_object_tvalid")
        ready = getattr(dut, f"{prefix}_axis_object_tready")
        tasks.append(cocotb.start_soon(harness.record(dut.clk, valid, ready, found)))
    packets = [random.randbytes(size) for size in sizes]
    for data in packets:
        await bench.send(data, extent=extent)
    for data in packets:
        await bench.expect(cipher(bench.keys[0], data, extent.offset, extent.nonce))
    for task in tasks:
        task.cancel()
    beats = sum(-(-size // BEAT) for size in sizes)
    assert len(came) == len(gone) == beats
    return came[-1] - came[0], gone[0] - came[0], gone[-1] - gone[0]


@cocotb.test()
@cocotb.parametrize(key_bytes=[16, 32])
async def full_rate(dut, key_bytes: int) -> None:
    """A beat in 4 / Lanes cycles, and a cycle for each packet that begins within a block."""
    bench = Bench(dut)
    await bench.start()
    await bench.load(0, random.randbytes(key_bytes))
    groups = 4 // lanes(dut)
    for sizes in ([100 * BEAT], [BEAT] * 100, [1] * 50, [2 * BEAT + 1, BEAT - 1] * 30):
        beats = sum(-(-size // BEAT) for size in sizes)
        for extent, extra in ((WHOLE_BLOCK, 0), (MID_BLOCK, 1)):
            _, latency, out = await cycles_of(bench, sizes, extent)
            assert latency == LATENCY[lanes(dut)] + extra
            assert out == groups * (beats - 1) + extra * (len(sizes) - 1)


@cocotb.test()
async def full_rate_of_any_packets(dut) -> None:
    """Sustained over packets of any length, some of which begin within a block."""
    bench = Bench(dut)
    await bench.start()
    key = await bench.load(0)
    gone: list[int] = []
    valid, ready = dut.m_axis_object_tvalid, dut.m_axis_object_tready
    cocotb.start_soon(harness.record(dut.clk, valid, ready, gone))
    packets = [(random.randbytes(elements.size()), any_extent()) for _ in range(100)]
    for data, extent in packets:
        await bench.send(data, extent=extent)
    for data, extent in packets:
        await bench.expect(cipher(key, data, extent.offset, extent.nonce))
    within = sum(extent.offset % 16 != 0 for _, extent in packets[1:])
    assert gone[-1] - gone[0] == 4 // lanes(dut) * (len(gone) - 1) + within


@harness.provocation
async def withdraw(dut) -> None:
    """The checker is awake, and that of its port."""
    bench = Bench(dut)
    await bench.start()
    await harness.withdraw(dut.clk, dut.u_check.u_out)


@harness.provocation
async def stream_without_beat(dut) -> None:
    """A keystream is there, and no beat."""
    bench = Bench(dut)
    await bench.start()
    await FallingEdge(dut.clk)
    dut.u_streams.valid_q.value = 1
    await harness.step(dut.clk, 2)


@harness.provocation
async def no_room_for_stream(dut) -> None:
    """The memory of keystreams is full where one comes."""
    bench = Bench(dut)
    await bench.start()
    await bench.send(bytes(BEAT))
    while not int(dut.whole_q.value) >> LANE_LATENCY:
        await FallingEdge(dut.clk)
    dut.u_streams.level_q.value = 64
    await harness.step(dut.clk, 2)


@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_aes_ctr(lanes: int) -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_pe_aes_ctr", {"Lanes": lanes}, filelist="rtl/pe/elements.f")


def test_assertions_fire() -> None:
    """The checkers fire."""
    simulate(
        __file__,
        "fb_pe_aes_ctr",
        {"Lanes": 1},
        filelist="rtl/pe/elements.f",
        fires={
            "withdraw": "m_axis_object: valid fell",
            "stream_without_beat": "stream_of_a_beat",
            "no_room_for_stream": "room_for_stream",
        },
    )
