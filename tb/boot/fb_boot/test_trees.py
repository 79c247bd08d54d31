# SPDX-License-Identifier: Apache-2.0
"""fb_boot with its own program before random trees of cocotbext-pcie's models."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import cocotb
from cocotb.triggers import Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiLiteSlave, Region, SparseMemoryRegion
from cocotbext.pcie.core.utils import PcieId

import harness
from forebay import boot_regs as regs
from forebay import spec
from pcietree import ROOT_DEVICE, Endpoint, Node, Tree
from runner import simulate

HERE = Path(__file__).parent
MMIO_OFFSET = 0x2_0000_0000  # as in fb_boot_tb
ROOM_FIRST, ROOM_END = 0xE000_0000, 0xF000_0000  # fb_boot's own
DRIVES = spec.RAM_DRIVES_MOST
MEBIBYTE = 1 << 20
ANSWER_NS = 5000  # of the model
LIMIT_US = 5000
TREES = harness.repeat(200, 8, share=25)


class Bridge(Region):
    """A root port IP's side of AXI4-Lite: what is refused is in `refused`."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(2**64)
        self.rc, self.root = tree.rc, tree.root.bridge
        self.refused: list[int] = []

    def refuse(self, address: int) -> None:
        """Answer with SLVERR."""
        self.refused.append(address)
        raise ValueError("refused")


class Configuration(Bridge):
    """Configuration space as ECAM."""

    def _function(self, address: int) -> PcieId:
        """Return whom an address is of."""
        bus, device, function = address >> 20, address >> 15 & 31, address >> 12 & 7
        if bus > self.root.sub_bus_num or (bus == 0 and (device, function) != (0, 0)):
            self.refuse(address)
        return PcieId(bus, device if bus else ROOT_DEVICE, function)

    async def read(self, address: int, length: int) -> bytes:
        """Read; a request that no function supports gives all ones."""
        function = self._function(address)
        return await self.rc.config_read(function, address & 0xFFF, length, ANSWER_NS)

    async def write(self, address: int, data: bytes) -> None:
        """Write."""
        function = self._function(address)
        await self.rc.config_write(function, address & 0xFFF, data, ANSWER_NS)


class Memory(Bridge):
    """Memory of the tree. Where no controller is fit, there is no reason to write to any."""

    async def read(self, address: int, length: int) -> bytes:
        """Read."""
        try:
            return await self.rc.mem_read(address - MMIO_OFFSET, length, ANSWER_NS)
        except Exception:
            self.refuse(address)

    async def write(self, address: int, data: bytes) -> None:
        """Refuse."""
        self.refuse(address)


class Bench:
    """The device under test before a tree."""

    def __init__(self, dut, tree: Tree) -> None:
        self.dut = dut
        self.software: AxiLiteMaster = harness.axil_master(dut, "s_axil_boot")
        harness.axi_master(dut, "s_axi_admin")
        self.bridges = Configuration(tree), Memory(tree)
        targets = *self.bridges, SparseMemoryRegion(2**16)
        names = "m_axil_cfg", "m_axil_mmio", "m_axil_ctrl"
        for name, region in zip(names, targets, strict=True):
            bus = AxiLiteBus.from_entity(getattr(dut, name))
            slave = AxiLiteSlave(bus, dut.clk, dut.rst, target=region)
            for half in (slave.write_if, slave.read_if):
                half.log.setLevel("ERROR")

    async def ends(self) -> int:
        """Wait until the program has ended, and return its code."""
        _, low = regs.FIELDS["status"]["ended"]
        for _ in range(LIMIT_US // 10):
            if await self.software.read_qword(regs.STATUS) >> low & 1:
                return await self.software.read_qword(regs.OUTCOME) & 0xFF
            await Timer(10, "us")
        raise TimeoutError("the program has not ended")

    async def codes(self) -> dict[int, int]:
        """Return how often each code has counted."""
        counts = [await self.software.read_qword(regs.CODES + 8 * code) for code in range(32)]
        return {code: count for code, count in enumerate(counts) if count}

    async def record(self, drive: int, offset: int) -> int:
        """Return a word of the record of a drive."""
        return await self.software.read_qword(
            regs.MEMORY + spec.RAM_DRIVES + drive * spec.RAM_DRIVE_BYTES + offset
        )


def check_numbers(root: Node) -> None:
    """Buses have numbers in the order in which a bridge is met, depth first."""
    bridges = list(root.bridges())
    assert [node.bridge.sec_bus_num for node in bridges] == list(range(1, len(bridges) + 1))
    assert root.bridge.pri_bus_num == 0
    for node in bridges:
        below = [each.bridge for each in node.bridges()]
        assert node.bridge.sub_bus_num == max(bridge.sec_bus_num for bridge in below)
        for each in node.below:
            function = each.bridge if isinstance(each, Node) else each
            assert function.pcie_id.bus == node.bridge.sec_bus_num
            if isinstance(each, Node):
                assert function.pri_bus_num == node.bridge.sec_bus_num


def check_bars(drives: list[Endpoint]) -> None:
    """BARs are aligned, within the room, and disjoint."""
    end = ROOM_FIRST
    for drive in sorted(drives, key=lambda drive: drive.address):
        assert drive.address % drive.size == 0
        assert drive.address >= end
        end = drive.address + drive.size
    assert end <= ROOM_END


def check_windows(node: Node, drives: list[Endpoint], first: int, last: int) -> int:
    """Windows hold the BARs below and no others; return the first address that is free behind.

    `first` and `last` are where this one may be.
    """
    bridge = node.bridge
    assert bridge.prefetchable_mem_base > bridge.prefetchable_mem_limit
    below = [drive for drive in node.endpoints() if drive in drives]
    if not below:
        assert bridge.mem_base > bridge.mem_limit
    else:
        assert first <= bridge.mem_base and bridge.mem_limit <= last
        assert bridge.mem_base % MEBIBYTE == 0 and (bridge.mem_limit + 1) % MEBIBYTE == 0
        for drive in drives:
            end = drive.address + drive.size
            inside = bridge.mem_base <= drive.address and end <= bridge.mem_limit + 1
            outside = end <= bridge.mem_base or drive.address > bridge.mem_limit
            assert inside if drive in below else outside
        # It is no larger than it has to be.
        assert max(drive.address + drive.size for drive in below) > bridge.mem_limit + 1 - MEBIBYTE
        first = bridge.mem_base
    for each in node.below:
        if isinstance(each, Node):
            first = check_windows(each, drives, first, bridge.mem_limit)
    return bridge.mem_limit + 1 if below else first


def check_enables(tree: Tree, drives: list[Endpoint]) -> None:
    """Bridges and drives are enabled, and agree about the payload; others are left alone."""
    bridges = [node.bridge for node in tree.root.bridges()]
    on = bridges + drives
    for each in on:
        # No controller answers here: a drive that has failed is no bus master any more.
        enables = (each.memory_space_enable, each.bus_master_enable)
        assert enables == (True, each in bridges)
    for each in tree.root.endpoints():
        if each not in drives:
            assert (each.memory_space_enable, each.bus_master_enable) == (False, False)
            assert each.bar == each.left
    assert tree.root.bridge.pcie_cap.crs_software_visibility_enable
    if drives:
        least = min(each.pcie_cap.max_payload_size_supported for each in on)
        assert {each.pcie_cap.max_payload_size for each in on} == {least}
        assert {each.pcie_cap.max_read_request_size for each in on} == {2}


async def check_reach(tree: Tree, drives: list[Endpoint]) -> None:
    """The first and the last word of each drive's memory are reached, and those of no other."""
    endpoints = list(tree.root.endpoints())
    for drive in drives:
        for offset in (0, drive.size - 8):
            before = [each.reached for each in endpoints]
            found = await tree.rc.mem_read(drive.address + offset, 8, ANSWER_NS)
            assert found == drive.memory[offset : offset + 8]
            after = [each.reached for each in endpoints]
            assert [b - a for a, b in zip(before, after, strict=True)] == [
                each is drive for each in endpoints
            ]


async def check_records(bench: Bench, drives: list[Endpoint]) -> None:
    """Software finds each drive in the order of its place, and with what its CAP says."""
    counts = Counter({spec.BOOT_NO_DRIVE: 1})
    for number, drive in enumerate(drives):
        mute = drive.cap & 0xFFFFFFFF == 0xFFFFFFFF
        code = spec.BOOT_NO_ANSWER if mute else spec.BOOT_CAPABILITIES
        counts[code] += 1
        bus, device, function = drive.pcie_id
        expected = {
            spec.RAM_BDF: bus << 20 | device << 15 | function << 12,
            spec.RAM_BAR: drive.address,
            spec.RAM_BAR_BYTES: drive.size,
            spec.RAM_CAP: 0 if mute else drive.cap,
            spec.RAM_CODE: code,
            spec.RAM_FOUND: drive.cap,
        }
        found = {offset: await bench.record(number, offset) for offset in expected}
        assert found == expected
    for number in range(len(drives), DRIVES):
        assert await bench.record(number, spec.RAM_BDF) == 0
        assert await bench.record(number, spec.RAM_BAR_BYTES) == 0
    assert await bench.codes() == counts


async def check_other(tree: Tree, seed: int) -> None:
    """The model's own enumeration of the same tree finds the same functions on the same buses."""
    other = Tree(seed, retry=False)
    await other.rc.enumerate()
    for ours, theirs in zip(tree.root.bridges(), other.root.bridges(), strict=True):
        for name in ("pcie_id", "pri_bus_num", "sec_bus_num", "sub_bus_num"):
            assert getattr(ours.bridge, name) == getattr(theirs.bridge, name)
    for ours, theirs in zip(tree.root.endpoints(), other.root.endpoints(), strict=True):
        assert ours.pcie_id == theirs.pcie_id
        assert other.rc.find_device(theirs.pcie_id).class_code == ours.class_code


@cocotb.test()
@cocotb.parametrize(number=range(TREES))
async def trees(dut, number: int) -> None:
    """Everything below the root port is as the model itself would have it."""
    seed = random.getrandbits(32)
    tree = Tree(seed, retry=True)
    found = [each for each in tree.root.endpoints() if each.class_code == spec.CLASS_NVME]
    drives = found[:DRIVES]
    bridges = len(list(tree.root.bridges()))
    cocotb.log.info("tree %d: seed %d, %d bridges, %d drives", number, seed, bridges, len(found))
    bench = Bench(dut, tree)
    dut.link_up.value = 1
    await harness.start(dut)
    assert await bench.ends() == spec.BOOT_NO_DRIVE
    assert [bridge.refused for bridge in bench.bridges] == [[], []]
    check_numbers(tree.root)
    check_bars(drives)
    check_windows(tree.root, drives, ROOM_FIRST, ROOM_END - 1)
    check_enables(tree, drives)
    await check_records(bench, drives)
    await check_reach(tree, drives)
    await check_other(tree, seed)


def test_trees() -> None:
    """Bring up what is in each tree."""
    simulate(
        __file__,
        "fb_boot_tb",
        {"AutoRecover": 0, "ResetUs": 1, "TimeoutUs": 500, "Drives": DRIVES},
        extra_sources=[HERE / "fb_boot_tb.sv"],
    )
