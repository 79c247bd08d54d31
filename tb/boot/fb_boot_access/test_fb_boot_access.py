# SPDX-License-Identifier: Apache-2.0
"""fb_boot_access between requests of a sequencer and a bridge that may answer late or never."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import cocotb
import pytest
from cocotb.triggers import FallingEdge, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteSlave

import harness
from runner import simulate

MASK = 2**64 - 1
TIMEOUT = 300  # cycles
UNSENT = 2  # cycles to the answer of what is not sent
PORTS = ("cfg", "mmio")
WRITES, READS = ("aw", "w", "b"), ("ar", "r")


@dataclass(frozen=True)
class Request:
    """An access as the sequencer asks for it."""

    write: bool
    wide: bool
    mmio: bool
    addr: int
    wdata: int = 0

    @property
    def port(self) -> str:
        """The port that it belongs to."""
        return PORTS[self.mmio]

    @property
    def halves(self) -> list[int]:
        """The addresses of its accesses of 32 bits."""
        return [self.addr, self.addr + 4][: 1 + self.wide]

    @property
    def possible(self) -> bool:
        """Whether it may be sent at all."""
        aligned = self.addr % (8 if self.wide else 4) == 0
        return aligned and self.addr < (2**32 if self.mmio else 2**28)

    @property
    def needs_link(self) -> bool:
        """Whether it goes beyond bus 0."""
        return self.mmio or self.addr >= 1 << 20


@dataclass
class Bridge:
    """Registers behind one port: they read as a function of their address, some as an error."""

    offset: int
    salt: int = 0
    bad: set[int] = field(default_factory=set)
    seen: list[tuple] = field(default_factory=list)

    def word(self, addr: int) -> int:
        """Return what 32 bits at a bus address read as."""
        return (addr * 0x9E3779B1 ^ self.salt) & 0xFFFFFFFF

    def _enter(self, kind: str, addr: int, *data: int) -> int:
        addr = (addr - self.offset) & MASK
        self.seen.append((kind, addr, *data))
        if addr in self.bad:
            raise ValueError("refused")
        return addr

    async def read(self, addr: int, length: int) -> bytes:
        """Answer a read of the bus."""
        return self.word(self._enter("read", addr)).to_bytes(length, "little")

    async def write(self, addr: int, data: bytes) -> None:
        """Take a write of the bus."""
        assert len(data) == 4
        self._enter("write", addr, int.from_bytes(data, "little"))


class Bench:
    """The device under test, its requests, and the bridge."""

    def __init__(self, dut) -> None:
        self.dut = dut
        offset = int(dut.MmioOffset.value)
        self.bridges = {"cfg": Bridge(0), "mmio": Bridge(offset)}
        self.slaves = {}
        for port, bridge in self.bridges.items():
            bridge.salt = random.getrandbits(32)
            bus = AxiLiteBus.from_entity(getattr(dut, f"m_axil_{port}"))
            slave = AxiLiteSlave(bus, dut.clk, dut.rst, target=bridge)
            for half in (slave.write_if, slave.read_if):
                half.log.setLevel("ERROR")
            self._other_errors(slave)
            self.slaves[port] = slave
            cocotb.start_soon(self._poison(port))

    def _other_errors(self, slave: AxiLiteSlave) -> None:
        """Let each response that is an error have any of the codes that are not OKAY."""
        for channel, name in (
            (slave.write_if.b_channel, "bresp"),
            (slave.read_if.r_channel, "rresp"),
        ):
            send = channel.send

            async def changed(response, send=send, name=name) -> None:
                if getattr(response, name):
                    setattr(response, name, random.randint(1, 3))
                    if name == "rresp":
                        response.rdata = random.getrandbits(32)
                await send(response)

            channel.send = changed

    async def _poison(self, port: str) -> None:
        """Let responses that are not valid say anything."""
        bus = getattr(self.dut, f"m_axil_{port}")
        while True:
            await FallingEdge(self.dut.clk)
            if not harness.high(bus.rvalid):
                bus.rdata.value, bus.rresp.value = random.getrandbits(32), random.getrandbits(2)
            if not harness.high(bus.bvalid):
                bus.bresp.value = random.getrandbits(2)

    def channel(self, port: str, name: str) -> object:
        """Return a channel of a port's model."""
        slave = self.slaves[port]
        return getattr(slave.write_if if name in WRITES else slave.read_if, f"{name}_channel")

    def stall(self, share: float) -> None:
        """Pause all channels at random."""
        for port in PORTS:
            for name in (*WRITES, *READS):
                harness.stall(self.channel(port, name), share)

    def valids(self) -> int:
        """Return the VALID signals of both ports, as a number."""
        buses = [getattr(self.dut, f"m_axil_{port}") for port in PORTS]
        signals = [each for bus in buses for each in (bus.awvalid, bus.wvalid, bus.arvalid)]
        return sum(harness.high(each) << n for n, each in enumerate(signals))

    def ask(self, request: Request) -> None:
        """Offer a request; what does not count of it is anything."""
        dut = self.dut
        dut.s_valid.value = 1
        dut.s_write.value, dut.s_wide.value = request.write, request.wide
        dut.s_mmio.value, dut.s_addr.value = request.mmio, request.addr
        other = random.getrandbits(64)
        wide = request.wdata if request.wide else request.wdata | other >> 32 << 32
        dut.s_wdata.value = wide if request.write else other

    async def answer(self) -> tuple[bool, int, int]:
        """Wait for the answer; return whether it is an error, the data, and the cycles it took."""
        dut = self.dut
        since = harness.cycle()
        await harness.until(dut.clk, dut.s_ready, limit=3 * TIMEOUT)
        assert dut.m_valid.value == 0
        await harness.step(dut.clk)
        dut.s_valid.value = 0
        dut.s_addr.value, dut.s_wdata.value = random.getrandbits(64), random.getrandbits(64)
        dut.s_write.value, dut.s_mmio.value = random.getrandbits(1), random.getrandbits(1)
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 1
        found = harness.high(dut.m_error), int(dut.m_rdata.value), harness.cycle() - since
        await FallingEdge(dut.clk)
        assert dut.m_valid.value == 0
        await harness.step(dut.clk)
        return found

    async def access(self, request: Request) -> tuple[bool, int, int]:
        """Make an access."""
        self.ask(request)
        return await self.answer()

    def expect(self, request: Request, error: bool, rdata: int, *, link: bool = True) -> None:
        """Compare an access with what it has to do, and forget what the bridges have seen."""
        bridge = self.bridges[request.port]
        seen, right = [], request.possible and (link or not request.needs_link)
        for n, at in enumerate(request.halves if right else []):
            data = [request.wdata >> 32 * n & 0xFFFFFFFF] if request.write else []
            seen.append(("write" if request.write else "read", at, *data))
            if at in bridge.bad:
                right = False
                break
        other = self.bridges[PORTS[not request.mmio]]
        assert (bridge.seen, other.seen) == (seen, []), request
        assert error == (not right), request
        if right and not request.write:
            value = sum(bridge.word(at) << 32 * n for n, at in enumerate(request.halves))
            assert rdata & (MASK if request.wide else 2**32 - 1) == value, request
        bridge.seen.clear()

    async def right(self, request: Request, *, link: bool = True) -> None:
        """Make an access and compare it."""
        error, rdata, _ = await self.access(request)
        self.expect(request, error, rdata, link=link)


async def bench(dut) -> Bench:
    """Reset, with the link up."""
    harness.clear(dut, "s_valid", "s_write", "s_wide", "s_mmio", "s_addr", "s_wdata")
    dut.link_up.value = 1
    made = Bench(dut)
    await harness.start(dut)
    await harness.step(dut.clk)
    return made


def drawn(**fixed: object) -> Request:
    """Draw a request; most can be sent."""
    wide, mmio = random.random() < 0.5, random.random() < 0.5
    most = random.choice([2**32, 2**28, 2**21, 2**20, 2**12])
    if random.random() < 0.1:
        most = random.choice([2**64, 2**34, 2**33])
    addr = random.randrange(most) & -8
    addr |= random.choice([0, 0, 0, 4, 4, 1, 2, 6, 7])
    wdata = random.getrandbits(64 if fixed.get("wide", wide) else 32)
    values = {"write": random.random() < 0.5, "wide": wide, "mmio": mmio, "addr": addr}
    return Request(**(values | {"wdata": wdata} | fixed))


def sendable(**fixed: object) -> Request:
    """Draw a request that can be sent and needs the link."""
    while True:
        request = drawn(**fixed)
        if request.possible and request.needs_link:
            return request


@cocotb.test()
@cocotb.parametrize(share=[0.0, 0.5])
async def accesses(dut, share: float) -> None:
    """Accesses of all kinds arrive as they are, halves in order; an error ends each."""
    made = await bench(dut)
    made.stall(share)
    for _ in range(harness.repeat(3000, 200)):
        request = drawn()
        bad = {at for at in request.halves if random.random() < 0.15}
        made.bridges[request.port].bad = bad
        await made.right(request)
        await harness.step(dut.clk, random.choice([0, 0, 1, 5]))
        assert dut.hung.value == 0
    made.stall(0)


@cocotb.test()
async def edges(dut) -> None:
    """The first and last address of each port, and those behind them."""
    made = await bench(dut)
    for mmio, last in ((0, 2**28), (1, 2**32)):
        for write in (False, True):
            for wide, size in ((False, 4), (True, 8)):
                for addr in (0, last - size, last, 2**33, 2**63, 2**64 - size):
                    await made.right(
                        Request(
                            write, wide, bool(mmio), addr, 0x1122334455667788 >> (0 if wide else 32)
                        )
                    )
                for off in range(1, size):
                    await made.right(Request(write, wide, bool(mmio), 64 + off, 1))


@cocotb.test()
async def latency(dut) -> None:
    """What is not sent is answered after two cycles; the halves of an access without a pause."""
    made = await bench(dut)
    _, _, refused = await made.access(Request(False, True, True, 4))
    _, _, narrow = await made.access(Request(False, False, True, 8))
    _, _, wide = await made.access(Request(False, True, True, 8))
    # The model answers two cycles after it was asked; the first half's next cycle decides.
    assert (refused, narrow, wide) == (UNSENT, 5, 9)


@cocotb.test()
async def answers_at_once(dut) -> None:
    """A target that answers in the cycle in which it takes an address is understood."""
    made = await bench(dut)
    bus = dut.m_axil_mmio
    for name in (*WRITES, *READS):
        made.channel("mmio", name).pause = True
    for request in (Request(False, False, True, 64), Request(True, False, True, 64, 7)):
        made.ask(request)
        valid = bus.awvalid if request.write else bus.arvalid
        await RisingEdge(valid)
        await FallingEdge(dut.clk)
        await FallingEdge(dut.clk)
        for each in (bus.awready, bus.wready, bus.arready):
            each.value = 1
        bus.rdata.value, bus.rresp.value, bus.bresp.value = 0x12345678, 0, 0
        bus.rvalid.value, bus.bvalid.value = not request.write, request.write
        await harness.step(dut.clk)
        for each in (bus.awready, bus.wready, bus.arready, bus.rvalid, bus.bvalid):
            each.value = 0
        error, rdata, _ = await made.answer()
        assert not error and (request.write or rdata & 0xFFFFFFFF == 0x12345678)


@cocotb.test()
async def link_is_down(dut) -> None:
    """Without the link only the root port's own header answers, and nothing else is sent."""
    made = await bench(dut)
    for _ in range(harness.repeat(1000, 150)):
        link = random.random() < 0.3
        dut.link_up.value = link
        await made.right(drawn(), link=link)
    assert dut.hung.value == 0


@cocotb.test()
async def link_falls(dut) -> None:
    """The link falls at each moment: what was offered is ended, and nothing is offered after it."""
    made = await bench(dut)
    made.stall(0.3)
    outcomes = set()
    for moment in range(harness.repeat(800, 80)):
        request = sendable(wide=True)
        bridge = made.bridges[request.port]
        made.ask(request)
        answer = cocotb.start_soon(made.answer())
        await harness.step(dut.clk, moment % 40)
        dut.link_up.value = 0
        await FallingEdge(dut.clk)
        offered = made.valids()
        while not answer.done():
            assert made.valids() | offered == offered, "offered though the link is down"
            offered = made.valids()
            await FallingEdge(dut.clk)
        error, rdata, _ = await answer
        outcomes.add((error, len(bridge.seen)))
        if error:
            assert len(bridge.seen) < 2
            bridge.seen.clear()
        else:
            made.expect(request, error, rdata)
        assert dut.hung.value == 0
        dut.link_up.value = 1
        await harness.step(dut.clk)
        await made.right(sendable())
    assert outcomes == {(True, 0), (True, 1), (False, 2)}
    made.stall(0)


async def hangs(made: Bench, request: Request, stuck: str) -> int:
    """Let a channel stand still in an access; return the VALID signals that are held then."""
    dut = made.dut
    made.channel(request.port, stuck).pause = True
    error, _, cycles = await made.access(request)
    assert error and dut.hung.value == 1
    # Of a second half the first has its own time, which is short here.
    assert TIMEOUT <= cycles <= TIMEOUT + 20
    return made.valids()


@cocotb.test()
@cocotb.parametrize(stuck=[*WRITES, *READS], late=[False, True])
async def never_answers(dut, stuck: str, late: bool) -> None:
    """An access is bounded; after it the port waits for good, and nothing more is sent."""
    made = await bench(dut)
    for port in PORTS * 2:
        request = sendable(mmio=port == "mmio", write=stuck in WRITES)
        held = await hangs(made, request, stuck)
        assert bool(held) == (stuck not in ("b", "r"))
        if late:
            await harness.step(dut.clk, random.randrange(60))
            made.channel(port, stuck).pause = False
        for _ in range(8):
            other = sendable()
            error, _, cycles = await made.access(other)
            assert error and cycles == UNSENT and dut.hung.value == 1
            assert late or made.valids() == held
        # Each half that was sent at all is the request's; none came twice, none of the others.
        bridge, other = made.bridges[port], made.bridges[PORTS[port == "cfg"]]
        assert other.seen == []
        assert [each[1] for each in bridge.seen] in (request.halves[:n] for n in range(2))
        assert not late or (bridge.seen and made.valids() == 0)
        dut.rst.value = 1
        made.channel(port, stuck).pause = False
        await harness.reset(dut)
        bridge.seen.clear()
        await harness.step(dut.clk)
        assert dut.hung.value == 0
        for _ in range(4):
            await made.right(sendable())


@cocotb.test()
async def at_the_limit(dut) -> None:
    """A response around the limit counts or is dropped; what follows is not taken for another."""
    made = await bench(dut)
    found = set()
    for wait in range(TIMEOUT - 6, TIMEOUT + 6):
        request = sendable(wide=False)
        name = "b" if request.write else "r"
        made.channel(request.port, name).pause = True
        made.ask(request)
        answer = cocotb.start_soon(made.answer())
        await harness.step(dut.clk, wait)
        made.channel(request.port, name).pause = False
        error, rdata, _ = await answer
        assert error == harness.high(dut.hung)
        found.add(error)
        if error:
            made.bridges[request.port].seen.clear()
            await harness.reset(dut)
            await harness.step(dut.clk)
        else:
            made.expect(request, error, rdata)
        await made.right(sendable())
    assert found == {False, True}


@cocotb.test()
async def responses_to_nothing(dut) -> None:
    """Responses that no access asked for are dropped, of either kind and port."""
    made = await bench(dut)
    for _ in range(40):
        port = random.choice(PORTS)
        for name in ("b", "r"):
            channel = made.channel(port, name)
            fields = {"bresp": 2} if name == "b" else {"rdata": 0xBAD, "rresp": 2}
            for _ in range(random.randrange(3)):
                channel.send_nowait(channel._transaction_obj(**fields))
        await harness.step(dut.clk, 6)
        await made.right(sendable())
    # One of the other kind, or of the other port, in the middle of an access.
    for _ in range(40):
        request = sendable()
        stray = random.choice([("b", "r")[request.write], ""])
        port = request.port if stray else PORTS[not request.mmio]
        channel = made.channel(port, stray or random.choice(["b", "r"]))
        harness.stall(made.channel(request.port, "b" if request.write else "r"), 0.7)
        made.ask(request)
        answer = cocotb.start_soon(made.answer())
        await harness.step(dut.clk, random.randrange(4))
        channel.send_nowait(channel._transaction_obj())
        error, rdata, _ = await answer
        made.expect(request, error, rdata)
        made.stall(0)
        await harness.step(dut.clk, 4)
    # One of the right kind, but in front of the address or the data.
    for waits in ("aw", "w", "ar"):
        request = sendable(write=waits in WRITES, wide=False)
        made.channel(request.port, waits).pause = True
        made.ask(request)
        answer = cocotb.start_soon(made.answer())
        await harness.step(dut.clk, 4)
        channel = made.channel(request.port, "b" if request.write else "r")
        channel.send_nowait(channel._transaction_obj())
        await harness.step(dut.clk, 4)
        assert not answer.done()
        made.channel(request.port, waits).pause = False
        error, rdata, _ = await answer
        made.expect(request, error, rdata)


@cocotb.test()
async def resets(dut) -> None:
    """A reset anywhere in an access leaves nothing behind."""
    made = await bench(dut)
    made.stall(0.4)
    for _ in range(harness.repeat(300, 40)):
        made.ask(sendable())
        await harness.step(dut.clk, random.randrange(20))
        dut.s_valid.value = 0
        await harness.reset(dut, random.randint(1, 3))
        for bridge in made.bridges.values():
            bridge.seen.clear()
        await FallingEdge(dut.clk)
        assert made.valids() == 0 and dut.m_valid.value == 0
        await harness.step(dut.clk)
        await made.right(sendable())
    made.stall(0)


def run(offset: int = 0, **options: object) -> None:
    """Build the module and simulate it."""
    simulate(
        __file__,
        "fb_boot_access",
        {"MmioOffset": f"64'h{offset:x}", "TimeoutCycles": TIMEOUT},
        interfaces={
            "m_axil_cfg": "fb_axil_if #(.AddrBits(28), .DataBits(32))",
            "m_axil_mmio": "fb_axil_if #(.AddrBits(64), .DataBits(32))",
        },
        **options,
    )


@pytest.mark.parametrize("offset", [0, 0x4_2000_0000, 2**64 - 0x8000_0000])
def test_access(offset: int) -> None:
    """All cases; AXI addresses are bus addresses, above them, below them."""
    run(offset)
