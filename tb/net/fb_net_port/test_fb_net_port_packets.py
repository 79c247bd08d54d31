# SPDX-License-Identifier: Apache-2.0
"""The network side by its registers, with whole frames as a capture."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import RisingEdge, Timer, with_timeout
from cocotb.utils import get_sim_time
from cocotbext.eth import EthMacFrame, PtpClock
from scapy.layers.inet import ICMP, IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

import frames
import pcapng
from forebay import spec
from frames import OUR_IP, OUR_MAC, PEER_IP, PEER_MAC, Sender, ether, udp, wire
from netport import MAC_PS, PATIENCE_US, Bench
from runner import simulate

ENABLE, OPEN = 1, 2
PAGES_AT, WAIT_AT = 8, 32
IEEE_1588 = 1 << 63
SECOND = 10**9
BROADCAST = "ff:ff:ff:ff:ff:ff"


def good() -> list[bytes]:
    """Return a frame of each kind that is taken."""
    elsewhere = Ether(src=PEER_MAC, dst="02:aa:bb:cc:dd:ee")
    data = Raw(random.randbytes(random.randrange(1, 1400)))
    bad_sum = bytearray(wire(udp(bytes(100))))
    bad_sum[40] ^= 1
    packets = [
        elsewhere / IP(src=PEER_IP, dst="10.1.1.1") / TCP(dport=80) / data,
        elsewhere / IPv6(dst="2001:db8::1") / data,
        elsewhere / Dot1Q(vlan=5) / Dot1Q(vlan=6) / IP(dst="10.1.1.2") / data,
        ether() / IP(src=PEER_IP, dst=OUR_IP, frag=3) / data,
        ether(dst=BROADCAST) / ARP(op="who-has", hwsrc=PEER_MAC, psrc=PEER_IP, pdst=OUR_IP),
        ether() / IP(src=PEER_IP, dst=OUR_IP) / ICMP(id=1, seq=2) / Raw(random.randbytes(56)),
    ]
    ours = [wire(udp(datagram)) for datagram in Sender().datagrams(1, bytes(data), 700)]
    return [wire(packet) for packet in packets] + ours + [bytes(bad_sum)]


def bad() -> dict[int, tuple[bytes, bool]]:
    """Return what is refused by its cause, and whether the MAC calls it damaged."""
    pause = ether(dst="01:80:c2:00:00:01", type=spec.ETHERTYPE_MAC_CONTROL)
    quanta = Raw(spec.PAUSE_OPCODE.to_bytes(2, "big") + bytes(2))
    return {
        spec.ARRIVAL_DAMAGED: (wire(udp(bytes(100))), True),
        spec.ARRIVAL_RUNT: (random.randbytes(59), False),
        spec.ARRIVAL_GIANT: (random.randbytes(frames.GIANT + 1), False),
        spec.ARRIVAL_PAUSE: (wire(pause / quanta), False),
    }


async def end(bench: Bench, settings: int) -> None:
    """Let what is open end."""
    await bench.put("packets", settings & ~ENABLE)
    while await bench.get("packets") & OPEN:
        pass
    await Timer(1, "us")


@cocotb.test()
async def all_but_what_is_no_frame(dut) -> None:
    """Everybody's frames are in the capture, requests are answered, the rest has its counter."""
    bench = Bench(dut, at_line_rate=False)
    settings = ENABLE | 2 << PAGES_AT
    await bench.start(packets=settings)
    dut.now_ns.value, dut.now_seconds.value = 1_700_000_000_000_000_000, 1_700_000_000
    await Timer(1, "us")
    sent = []
    for _ in range(12):
        batch = [(frame, False, True) for frame in good()]
        batch += [(frame, damaged, False) for frame, damaged in bad().values()]
        random.shuffle(batch)
        for frame, damaged, taken in batch:
            bench.hand(frame, damaged)
            sent += [frame] * taken
    answers = 0
    for _ in range(2 * 12):
        answer = Ether(bytes((await with_timeout(bench.tx.recv(), PATIENCE_US, "us")).data))
        answers += answer.src == OUR_MAC and (ARP in answer or ICMP in answer)
    assert answers == 24 and await bench.get("unanswered") == 0
    await bench.settle()
    await end(bench, settings)
    chunks = []
    while not bench.objects.empty():
        chunk, whole = await bench.object()
        assert whole
        chunks.append(chunk)
        sequence, number, flags, missing = bench.head()
        assert (number, flags, missing) == (len(chunks) - 1, 3, 0) and sequence < len(sent)
    packets = [packet for chunk in chunks for packet in pcapng.walk(chunk)]
    assert [packet.frame for packet in packets] == sent
    assert {packet.time for packet in packets} == {1_700_000_000_000_000_000}
    assert [frame for _, frame in pcapng.by_scapy(chunks)] == sent
    arrivals, places = await bench.sums()
    assert places == {spec.PLACE_DELIVERED: (len(sent), sum(map(len, sent)))}
    assert arrivals.keys() == {spec.ARRIVAL_DATAGRAM, *bad()}
    assert all(arrivals[cause][0] == 12 for cause in bad())


@cocotb.test()
async def a_lonely_frame(dut) -> None:
    """What is open ends by itself after the time that was set."""
    bench = Bench(dut, at_line_rate=False)
    await bench.start(packets=ENABLE | 4 << PAGES_AT | 600 << WAIT_AT)
    frame = good()[0]
    bench.hand(frame)
    await Timer(1, "us")
    assert await bench.get("packets") & OPEN and bench.objects.empty()
    chunk, whole = await bench.object()
    assert whole and [packet.frame for packet in pcapng.walk(chunk)] == [frame]
    assert not await bench.get("packets") & OPEN


@cocotb.test()
@cocotb.parametrize(whole=[True, False])
async def stamped_when_they_come(dut, whole: bool) -> None:
    """However long they wait, frames and extents have the time of a PTP clock when they came."""
    bench = Bench(dut)
    await bench.start(
        rx_ps=MAC_PS + 2, clock=IEEE_1588, packets=(ENABLE if whole else 0) | 2 << PAGES_AT
    )
    clock = PtpClock(clock=dut.clk_tx, period_ns=MAC_PS / 1000)
    clock.set_ts_tod_ns(1_700_000_000 * SECOND - 5000)

    async def tell() -> None:
        while True:
            await RisingEdge(dut.clk_tx)
            seconds, ns, _ = clock.get_ts_tod()
            dut.time_of_day.value = seconds << 32 | ns

    cocotb.start_soon(tell())
    await Timer(1, "us")
    sent: list[EthMacFrame] = []  # as they left the MAC, with the time of the simulation
    bench.objects.pause = True
    sender = Sender()
    for number in range(60):
        [datagram] = sender.datagrams(number, random.randbytes(random.randrange(1, 1400)), 1440)
        bench.hand(EthMacFrame(wire(udp(datagram)), tx_complete=sent.append))
        await Timer(random.randrange(20, 500), "ns")
    bench.objects.pause = False
    await bench.settle()
    await end(bench, 2 << PAGES_AT)
    found, came = [], []
    while not bench.objects.empty():
        data, _ = await bench.object()
        word = bytes(bench.heads.recv_nowait().tdata)
        time = int.from_bytes(word[spec.PACKET_NS_AT :][:8], "little")
        assert int.from_bytes(word[spec.PACKET_SECONDS_AT :], "little") == time // SECOND
        packets = pcapng.walk(data) if whole else []
        found += [packet.frame for packet in packets] or [data]
        came += [packet.time for packet in packets] or [time]
        assert came[-max(len(packets), 1)] == time
    inside = spec.FRAMING_BYTES + 42
    assert found == [bytes(frame.data)[0 if whole else inside :] for frame in sent]
    assert await bench.get("clock") & IEEE_1588 - 1 == 1_700_000_000
    # From the end of the frame's preamble to the stamp, in any phase of the MAC's two clocks.
    since = int(clock.get_ts_tod_ns() * 1000) - int(get_sim_time("ps"))
    late = [1000 * at - since - int(of.sim_time_sfd) for at, of in zip(came, sent, strict=True)]
    assert min(late) > 25_000 and max(late) < 34_000


def test_packets() -> None:
    """Run all coroutines."""
    simulate(__file__, "fb_net_port", {"ReceiveBeats": 1024, "SendBeats": 256})
