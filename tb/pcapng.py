# SPDX-License-Identifier: Apache-2.0
"""Captures for tests: what stands in front of the first chunk, chunks read by scapy and by hand."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

from scapy.utils import RawPcapNgReader

PAGE = 4096
PACKET, DROP_COUNT = 6, 4


def block(kind: int, content: bytes) -> bytes:
    """Return a block (draft-ietf-opsawg-pcapng, section 3.1)."""
    length = struct.pack("<I", 12 + len(content))
    return struct.pack("<I", kind) + length + content + length


# Little-endian, of any length; Ethernet, nanoseconds.
HEAD = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(
    1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HHB3x", 9, 1, 9) + bytes(4)
)


@dataclass
class Packet:
    """A frame of a capture.

    Attributes
    ----------
    time : int
        ns since 1970.
    frame : bytes
        All of it.
    lost : int
        Frames that its block says were lost before it.
    """

    time: int
    frame: bytes
    lost: int


def walk(chunk: bytes) -> list[Packet]:
    """Read a chunk block by block, each field held against the draft; the last one fills a page."""
    assert chunk and len(chunk) % PAGE == 0
    found, at = [], 0
    while True:
        kind, length = struct.unpack_from("<II", chunk, at)
        assert length % 4 == 0 and struct.unpack_from("<I", chunk, at + length - 4) == (length,)
        if kind != PACKET:
            assert kind >> 31 and not any(chunk[at + 8 : at + length - 4])
            assert at + length == len(chunk) and found
            return found
        interface, high, low, captured, original = struct.unpack_from("<5I", chunk, at + 8)
        assert interface == 0 and captured == original
        frame = chunk[at + 28 : at + 28 + captured]
        behind = chunk[at + 28 + captured : at + length - 4]
        options = behind[-captured % 4 :]
        assert not any(behind[: -captured % 4])
        lost = 0
        if options:
            code, size, lost, end = struct.unpack("<HHQI", options)
            assert (code, size, end) == (DROP_COUNT, 8, 0) and lost
        found.append(Packet(high << 32 | low, frame, lost))
        at += length


def by_scapy(chunks: list[bytes]) -> list[tuple[int, bytes]]:
    """Return time and frame of each packet, as scapy reads the whole capture."""
    with RawPcapNgReader(io.BytesIO(HEAD + b"".join(chunks))) as reader:
        return [((m.tshigh << 32) + m.tslow, bytes(frame)) for frame, m in reader]
