# SPDX-License-Identifier: Apache-2.0
"""A random PCIe tree of cocotbext-pcie's models: root port, switches, drives, other functions."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from cocotbext.pcie.core import Device, MemoryEndpoint, RootComplex, Switch
from cocotbext.pcie.core.bridge import Bridge, SwitchDownstreamPort
from cocotbext.pcie.core.port import SimPort
from cocotbext.pcie.core.tlp import Tlp
from cocotbext.pcie.core.utils import PcieId

from forebay import spec

LEVELS = 4  # of ports that links go down from
FUNCTIONS = 12  # of endpoints, at most
BRIDGES = 16  # ports of switches and the root port, at most
PORTS = 4  # of a switch, at most, functions other than 0 not counted
BAR_SHIFTS = range(14, 25)  # 16 KiB to 16 MiB
OTHERS = (0x010601, 0x010803, 0x020000, 0x030000)  # classes
ROOT_DEVICE = 1  # the model's root port on its bus 0

# Models log each request that no function takes.
logging.getLogger("cocotb.pcie").setLevel(logging.ERROR)


async def _send(self: SimPort, tlp: Tlp) -> None:
    tlp.release_fc()
    await self.other.rx_handler(Tlp(tlp))


async def _rest(self: SimPort) -> None:
    pass


# Links hand packets over at once: acknowledgements and credits would take most of the time.
SimPort.send = _send
SimPort._run_transmit = SimPort._run_fc_update_idle_timer = _rest


class Endpoint(MemoryEndpoint):
    """A function with random memory behind BAR 0, which may not be ready at once.

    CAP never has the NVM command set: no controller of these is brought up.
    """

    def __init__(self, draw: random.Random, number: int, retries: int) -> None:
        super().__init__()
        self.pcie_id = PcieId(0, 0, number)
        self.class_code = spec.CLASS_NVME if draw.random() < 0.6 else draw.choice(OTHERS)
        self.size = 1 << draw.choice(BAR_SHIFTS)
        wide = draw.random() < 0.5
        self.memory = self.add_region(self.size, ext=wide, prefetch=draw.random() < 0.5)
        # What a reset leaves; not where drives are placed, since models decode without an enable.
        self.bar[0] |= draw.getrandbits(31) & self.bar_mask[0]
        self.bar[1] |= draw.getrandbits(32) & self.bar_mask[1]
        self.left = list(self.bar)
        self.cap = draw.getrandbits(64) & ~(1 << spec.CAP_CSS_NVM_BIT)
        if draw.random() < 0.3:
            self.cap |= 0xFFFFFFFF
        self.memory[:8] = self.cap.to_bytes(8, "little")
        self.memory[-8:] = draw.randbytes(8)
        self.reached = 0
        self.retries = retries

    @property
    def address(self) -> int:
        """Where BAR 0 is."""
        return (self.bar[1] << 32 if self.bar[0] & 4 else 0) | self.bar[0] & ~15

    async def read_region(self, region: int, addr: int, length: int) -> bytes:
        """Count who is reached."""
        self.reached += 1
        return await super().read_region(region, addr, length)

    async def handle_config_0_read_tlp(self, tlp: Tlp) -> None:
        """Answer the first requests with Configuration Retry."""
        if self.retries:
            self.retries -= 1
            await self.upstream_send(Tlp.create_crs_completion_for_tlp(tlp, self.pcie_id))
        else:
            await super().handle_config_0_read_tlp(tlp)


@dataclass
class Node:
    """A bridge, and what is on the bus below, in order of device and function."""

    bridge: Bridge
    below: list[Node | Endpoint] = field(default_factory=list)

    def bridges(self) -> Iterator[Node]:
        """Yield this and all bridges below, depth first."""
        yield self
        for each in self.below:
            if isinstance(each, Node):
                yield from each.bridges()

    def endpoints(self) -> Iterator[Endpoint]:
        """Yield all functions of endpoints below, depth first."""
        for each in self.below:
            if isinstance(each, Node):
                yield from each.endpoints()
            else:
                yield each


class Tree:
    """A root complex with one root port, and what hangs from it.

    Parameters
    ----------
    seed : int
        The same one draws the same tree.
    retry : bool
        Whether functions may answer with Configuration Retry.
    """

    def __init__(self, seed: int, retry: bool) -> None:
        self._draw, self._retry = random.Random(seed), retry
        self._left, self._bridges = FUNCTIONS, BRIDGES
        self.rc = RootComplex()
        # The host bridge's own window is no register.
        self.rc.upstream_bridge.mem_base, self.rc.upstream_bridge.mem_limit = 0, 2**32 - 1
        self.root = self._bridge(self.rc.make_port())
        self._grow(self.root, 1)

    def _bridge(self, bridge: Bridge) -> Node:
        """Return a bridge whose windows are as a reset may leave them."""
        draw = self._draw
        self._bridges -= 1
        bridge.pcie_cap.max_payload_size_supported = draw.randrange(6)
        bridge.mem_base = draw.getrandbits(12) << 20
        bridge.mem_limit = draw.getrandbits(12) << 20 | 0xFFFFF
        bridge.prefetchable_mem_base = draw.getrandbits(44) << 20
        bridge.prefetchable_mem_limit = draw.getrandbits(44) << 20 | 0xFFFFF
        return Node(bridge)

    def _grow(self, port: Node, level: int) -> None:
        """Connect a switch, a device or nothing to a port."""
        draw = self._draw
        link = draw.random()
        up = bool(self._left) and link < 0.95
        port.bridge.pcie_cap.data_link_layer_link_active_reporting_capable = draw.random() < 0.5
        port.bridge.pcie_cap.data_link_layer_link_active = up
        ports = draw.randint(1, PORTS)
        if up and level < LEVELS and self._bridges > 2 * ports and link < 1 - level / 5:
            self._switch(port, ports, level)
        else:
            # Without functions it answers as a port without a link does.
            device = Device()
            port.bridge.connect(device)
            for number in self._numbers() if up else []:
                function = Endpoint(draw, number, self._retry * draw.choice([0, 0, 1, 8]))
                function.pcie_cap.max_payload_size_supported = draw.randrange(6)
                port.below.append(device.add_function(function))

    def _numbers(self) -> list[int]:
        """Draw the functions of a device: 0, and perhaps some of the others."""
        count = min(self._draw.choice([1, 1, 2, 3, 8]), self._left)
        self._left -= count
        return [0, *sorted(self._draw.sample(range(1, 8), count - 1))]

    def _switch(self, port: Node, count: int, level: int) -> None:
        """Connect a switch, whose ports are anywhere on its bus."""
        draw, switch = self._draw, Switch()
        port.bridge.connect(switch)
        upper = self._bridge(switch.upstream_bridge)
        port.below.append(upper)
        devices = [draw.choice([0, draw.randrange(32), 31]) for _ in range(count)]
        # A device has function 0.
        places = {(device, number) for device in devices for number in (0, draw.choice([0, 1, 7]))}
        for device, number in sorted(places):
            bridge = SwitchDownstreamPort()
            bridge.pcie_id = PcieId(0, device, number)
            bridge.multifunction_device = any((device, other) in places for other in range(1, 8))
            switch.append_endpoint(bridge)
            upper.below.append(self._bridge(bridge))
        for lower in upper.below:
            self._grow(lower, level + 1)
