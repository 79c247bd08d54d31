# SPDX-License-Identifier: Apache-2.0
"""What the benches of fb_pe_aes_ctr share: its registers, and AES-CTR by `cryptography`."""

from __future__ import annotations

import random

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import elements
import harness

SLOTS = 8
CONTROL = 0x20
LOAD = {16: 1, 32: 2}  # by the key's bytes
CLEAR = 3
PASS = 1 << 3
OKAY, SLVERR = 0, 2


def cipher(key: bytes, data: bytes, offset: int, nonce: int) -> bytes:
    """Encrypt bytes of an object from `offset` on."""
    counter = nonce << 64 | offset // 16
    context = Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(16, "big"))).encryptor()
    before = offset % 16
    return context.update(bytes(before) + data)[before:]


def any_offset() -> int:
    """Return where a packet begins: at a block's first byte or within one, low or high."""
    high = random.choice(
        [0, random.getrandbits(20), random.getrandbits(60), 2**60 - 1000, 2**32 - 3, 2**58 - 2]
    )
    return high << 4 | random.choice([0, 0, 1, 15, random.randrange(16)])


def any_extent() -> elements.Extent:
    """Return an extent with such an offset."""
    return elements.any_extent(elements.WHOLE, 0)._replace(offset=any_offset())


class Bench(elements.Bench):
    """An element whose keys are known."""

    def __init__(self, dut) -> None:
        super().__init__(dut)
        self.host = harness.axil_master(dut, "s_axil")
        self.keys: dict[int, bytes] = {}

    async def write(self, address: int, data: bytes) -> int:
        """Write bytes; returns the response."""
        return int((await self.host.write(address, data)).resp)

    async def control(self, slot: int, value: int) -> int:
        """Write a slot's control; returns the response."""
        return await self.write(0x40 * slot + CONTROL, value.to_bytes(4, "little"))

    async def read(self, address: int) -> int:
        """Read a register, which answers OKAY."""
        found = await self.host.read(address, 4)
        assert int(found.resp) == OKAY
        return int.from_bytes(found.data, "little")

    async def stage(self, slot: int, key: bytes) -> None:
        """Write the words of a key."""
        assert await self.write(0x40 * slot, key) == OKAY

    async def load(self, slot: int, key: bytes | None = None) -> bytes:
        """Set a slot's key, by default any; returns it."""
        key = key or random.randbytes(random.choice([16, 32]))
        await self.stage(slot, key)
        assert await self.control(slot, LOAD[len(key)]) == OKAY
        self.keys[slot] = key
        return key

    def forget(self) -> None:
        """Do as after a reset."""
        super().forget()
        self.keys.clear()
