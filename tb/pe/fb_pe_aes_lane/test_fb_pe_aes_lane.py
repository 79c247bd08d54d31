# SPDX-License-Identifier: Apache-2.0
"""fb_pe_aes_lane and fb_pe_aes_keys against published vectors and the package `cryptography`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import cocotb
from cocotb.triggers import FallingEdge
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import harness
from runner import simulate

SLOTS = 8
ROUNDS = 14
LATENCY = 1 + 2 * ROUNDS
CYCLES = {16: 51, 32: 71}  # of a load, by the key's bytes

# FIPS 197 (2001), appendices C.1 and C.3: key, plaintext, ciphertext.
FIPS_197 = [
    (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ),
    (
        "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
        "00112233445566778899aabbccddeeff",
        "8ea2b7ca516745bfeafc49904b496089",
    ),
]
# NIST SP 800-38A (2001), F.5.1 and F.5.5, CTR-AES128 and CTR-AES256: the key; for both the same
# first counter block and plaintext; the ciphertext.
COUNTER = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
PLAIN = (
    "6bc1bee22e409f96e93d7e117393172a"
    "ae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52ef"
    "f69f2445df4f9b17ad2b417be66c3710"
)
SP_800_38A = [
    (
        "2b7e151628aed2a6abf7158809cf4f3c",
        "874d6191b620e3261bef6864990db6ce"
        "9806f66b7970fdff8617187bb9fffdff"
        "5ae4df3edbd5d35e5b4f09020db03eab"
        "1e031dda2fbe03d1792170a0f3009cee",
    ),
    (
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        "601ec313775789a5b7a7f504bbf3d228"
        "f443e3ca4d62b59aca84e990cacaf5c5"
        "2b0930daa23de94ce87017ba2d84988d"
        "dfc9c58db67aada613c2dd08457941a6",
    ),
]


def expected(key: bytes, block: bytes) -> bytes:
    """Encrypt a block by the package."""
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


async def start(dut) -> None:
    """Reset; the sweep of the memory takes 8 cycles."""
    harness.clear(dut, "slot", "word*", "load", "load_256", "clear", "block*")
    await harness.start(dut)
    await harness.until(dut.clk, dut.busy, 0, limit=10)


async def stage(dut, slot: int, key: bytes) -> None:
    """Write a key's words, in any order."""
    dut.slot.value = slot
    for index in random.sample(range(len(key) // 4), len(key) // 4):
        dut.word_valid.value = 1
        dut.word_index.value = index
        dut.word.value = int.from_bytes(key[4 * index : 4 * index + 4], "little")
        await FallingEdge(dut.clk)
    dut.word_valid.value = 0
    dut.load_256.value = int(len(key) == 32)
    await FallingEdge(dut.clk)


async def load(dut, slot: int, key: bytes) -> None:
    """Set a slot's key."""
    await stage(dut, slot, key)
    assert dut.loadable.value == 1
    dut.load.value = 1
    await FallingEdge(dut.clk)
    dut.load.value = 0
    assert int(dut.key_set.value) >> slot & 1 == 0
    cycles = 0
    while dut.busy.value == 1:
        cycles += 1
        await FallingEdge(dut.clk)
    assert cycles == CYCLES[len(key)]
    assert int(dut.key_set.value) >> slot & 1 == 1
    assert int(dut.key_256.value) >> slot & 1 == int(len(key) == 32)


async def encrypt(dut, asked: Sequence[tuple[int, bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Give the lanes two blocks a cycle, each pair with a slot; returns what comes out."""
    found = []
    for number in range(len(asked) + LATENCY):
        if number >= LATENCY:
            pair = (dut.encrypted_0.value, dut.encrypted_1.value)
            found.append(tuple(int(value).to_bytes(16, "little") for value in pair))
        slot, *blocks = asked[number] if number < len(asked) else (0, bytes(16), bytes(16))
        dut.block_slot.value = slot
        dut.block_0.value, dut.block_1.value = (int.from_bytes(b, "little") for b in blocks)
        await FallingEdge(dut.clk)
    return found


@cocotb.test()
async def published_blocks(dut) -> None:
    """FIPS 197, appendix C."""
    await start(dut)
    for slot, (key, plain, cipher) in enumerate(FIPS_197):
        await load(dut, slot, bytes.fromhex(key))
        block = bytes.fromhex(plain)
        assert await encrypt(dut, [(slot, block, block)]) == [(bytes.fromhex(cipher),) * 2]


@cocotb.test()
async def published_counters(dut) -> None:
    """NIST SP 800-38A, F.5.1 and F.5.5."""
    await start(dut)
    for slot, (key, cipher) in enumerate(SP_800_38A):
        await load(dut, slot, bytes.fromhex(key))
        first = int(COUNTER, 16)
        counts = [(first + n).to_bytes(16, "big") for n in range(4)]
        pairs = [(slot, counts[0], counts[1]), (slot, counts[2], counts[3])]
        stream = b"".join(b"".join(pair) for pair in await encrypt(dut, pairs))
        plain = bytes.fromhex(PLAIN)
        assert bytes(a ^ b for a, b in zip(stream, plain, strict=True)).hex() == cipher


@cocotb.test()
async def any_keys(dut) -> None:
    """Eight keys of both lengths, blocks of all of them back to back; some are loaded anew."""
    await start(dut)
    keys = {slot: random.randbytes(random.choice([16, 32])) for slot in range(SLOTS)}
    for slot in random.sample(range(SLOTS), SLOTS):
        await load(dut, slot, keys[slot])
    for _ in range(4 * harness.repeat(100, 10)):
        asked = [
            (random.randrange(SLOTS), random.randbytes(16), random.randbytes(16)) for _ in range(40)
        ]
        due = [tuple(expected(keys[slot], block) for block in pair) for slot, *pair in asked]
        assert await encrypt(dut, asked) == due
        slot = random.randrange(SLOTS)
        keys[slot] = random.randbytes(random.choice([16, 32]))
        await load(dut, slot, keys[slot])


@cocotb.test()
async def staged_words(dut) -> None:
    """Only words that were all written for the slot make a key, and only once."""
    await start(dut)
    key = random.randbytes(32)
    await stage(dut, 3, key[:16])
    assert dut.loadable.value == 1
    dut.load_256.value = 1
    await FallingEdge(dut.clk)
    assert dut.loadable.value == 0
    await stage(dut, 3, key)
    assert dut.loadable.value == 1
    dut.slot.value = 4
    await FallingEdge(dut.clk)
    assert dut.loadable.value == 0
    # A word of another slot forgets these.
    await stage(dut, 4, key[:4])
    dut.slot.value = 3
    await FallingEdge(dut.clk)
    assert dut.loadable.value == 0
    assert int(dut.u_keys.words_q.value) == int.from_bytes(key[:4], "little")
    # To clear another slot does not, to clear this one does.
    await stage(dut, 4, key)
    for slot, left in ((5, 1), (4, 0)):
        dut.slot.value = slot
        dut.clear.value = 1
        await FallingEdge(dut.clk)
        dut.clear.value = 0
        dut.slot.value = 4
        await FallingEdge(dut.clk)
        assert dut.loadable.value == left
    assert int(dut.u_keys.words_q.value) == 0
    await load(dut, 4, key)
    assert dut.loadable.value == 0 and int(dut.u_keys.words_q.value) == 0


async def schedule(dut, slot: int) -> list[int]:
    """Read a slot's round keys as the lanes do."""
    dut.block_slot.value = slot
    for _ in range(LATENCY):
        await FallingEdge(dut.clk)
    bits = int(dut.round_key.value)
    return [bits >> 128 * r & 2**128 - 1 for r in range(1 + ROUNDS)]


@cocotb.test()
async def keys_go(dut) -> None:
    """What is cleared, reset, or replaced by a short key is no longer in the memory."""
    await start(dut)
    for slot in range(SLOTS):
        await load(dut, slot, random.randbytes(32))
        assert all(await schedule(dut, slot))
    dut.slot.value = 2
    dut.clear.value = 1
    await FallingEdge(dut.clk)
    dut.clear.value = 0
    assert dut.busy.value == 0 and int(dut.key_set.value) == 0xFB
    assert not any(await schedule(dut, 2)) and all(await schedule(dut, 3))
    await load(dut, 3, random.randbytes(16))
    assert [bool(key) for key in await schedule(dut, 3)] == [True] + 4 * [False] + 10 * [True]
    await stage(dut, 1, random.randbytes(32))
    await harness.reset(dut, 1)
    await harness.until(dut.clk, dut.busy, 0, limit=10)
    assert int(dut.key_set.value) == 0 and int(dut.u_keys.words_q.value) == 0
    for slot in range(SLOTS):
        assert not any(await schedule(dut, slot))


@cocotb.test()
async def reset_in_mid_load(dut) -> None:
    """A key that was being loaded is not there, and the next one is right."""
    await start(dut)
    for _ in range(10):
        key = random.randbytes(random.choice([16, 32]))
        await stage(dut, 6, key)
        dut.load.value = 1
        await FallingEdge(dut.clk)
        dut.load.value = 0
        await harness.step(dut.clk, random.randrange(1, 51))
        await harness.reset(dut, 1)
        await harness.until(dut.clk, dut.busy, 0, limit=10)
        assert int(dut.key_set.value) == 0 and not any(await schedule(dut, 6))
        await load(dut, 6, key)
        block = random.randbytes(16)
        assert await encrypt(dut, [(6, block, block)]) == [(expected(key, block),) * 2]


@harness.provocation
async def too_early(dut) -> None:
    """A clear comes while a key is loaded."""
    await start(dut)
    await stage(dut, 0, bytes(16))
    dut.load.value = 1
    await FallingEdge(dut.clk)
    dut.load.value = 0
    dut.clear.value = 1
    await harness.step(dut.clk, 2)


@harness.provocation
async def half_a_key(dut) -> None:
    """A load comes before all words."""
    await start(dut)
    await stage(dut, 0, bytes(12))
    dut.load.value = 1
    await harness.step(dut.clk, 2)


def run(**options: object) -> None:
    """Simulate two lanes with their keys."""
    source = Path(__file__).with_name("aes_lane.sv")
    simulate(__file__, "aes_lane", filelist="rtl/pe/elements.f", extra_sources=[source], **options)


def test_lane() -> None:
    """Run all coroutines."""
    run()


def test_assertions_fire() -> None:
    """Commands that keys do not take stop the simulation."""
    run(fires={"too_early": "waits_while_busy", "half_a_key": "loads_whole_keys"})
