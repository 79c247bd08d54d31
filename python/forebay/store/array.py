# SPDX-License-Identifier: Apache-2.0
"""Several drives as one disk, opened from the members of an array in any order, read only."""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from forebay.store import layout
from forebay.store.disk import Disk, crc32c
from forebay.store.errors import StoreError
from forebay.store.layout import PAGE

PathLike = str | os.PathLike[str]
# By how much the generation grows with a change: who is further behind was replaced.
STEP = 2
# Linux's superblock of a member, version 1.0 (linux/raid/md_p.h).
MD_MAGIC, MD_BYTES = 0xA92B4EFC, 256
MD_EVENTS_AT, MD_SUM_AT, MD_ROLES_AT = 200, 216, 220


@dataclass(frozen=True)
class Member:
    """What a member superblock says.

    Attributes
    ----------
    array : UUID
        Which array.
    number, drives : int
        Which member of how many.
    generation : int
        More with each change.
    present : int
        Bit n: member n has what was written last.
    parity : bool
        The last member holds the parity of the others.
    stripe_unit, each : int
        Bytes of a stripe unit, and of each member that hold stripe units.
    """

    array: uuid.UUID
    number: int
    drives: int
    generation: int
    present: int
    parity: bool
    stripe_unit: int
    each: int

    def has(self, number: int) -> bool:
        """Whether a member was there when the array was last changed."""
        return bool(self.present >> number & 1)


def parse(page: bytes, drive_bytes: int) -> Member | None:
    """Read the member superblock of a drive of these bytes; none where it cannot be used."""
    if len(page) != PAGE or not page.startswith(layout.MEMBER_MAGIC):
        return None
    crc_at = layout.SUPER_CRC_AT
    if crc32c(page[:crc_at]) != struct.unpack_from("<I", page, crc_at)[0]:
        return None
    raw = {name: page[at : at + length] for name, (at, length) in layout.MEMBER_FIELDS.items()}
    numbers = {name: int.from_bytes(value, "little") for name, value in raw.items()}
    member = Member(
        array=uuid.UUID(bytes=raw["array"]),
        number=numbers["number"],
        drives=numbers["members"],
        generation=numbers["generation"],
        present=numbers["present"],
        parity=bool(numbers["flags"] & layout.MEMBER_PARITY),
        stripe_unit=numbers["stripe_unit"],
        each=numbers["each"],
    )
    unit = member.stripe_unit
    good = (
        numbers["version"] == layout.MEMBER_VERSION
        and numbers["flags"] & ~layout.MEMBER_PARITY == 0
        and numbers["drive_bytes"] == drive_bytes
        and 2 <= member.drives <= layout.DRIVES_MOST
        and member.number < member.drives
        and member.present < 1 << member.drives
        and member.has(member.number)
        and layout.STRIPE_UNIT_LEAST <= unit <= layout.STRIPE_UNIT_MOST
        and unit & (unit - 1) == 0
        and 0 < member.each <= _places(drive_bytes)[0]
        and member.each % unit == 0
    )
    return member if good else None


def _places(drive_bytes: int) -> tuple[int, int]:
    """Where the copies of a member superblock lie."""
    first = (drive_bytes - layout.TAIL_BYTES) // PAGE * PAGE
    return first, first + 2 * PAGE


def _page(disk: Disk, at: int) -> bytes:
    """Return a page; nothing where it cannot be read."""
    try:
        return disk.read(at, PAGE)
    except StoreError:
        return b""


def _member(disk: Disk) -> Member | None:
    """Return the member superblock of a drive, the copy with the greater generation.

    Where Linux's md has written later, its superblock says who has what was written last.
    """
    if disk.bytes < layout.TAIL_BYTES:
        return None
    first, second = _places(disk.bytes)
    copies = [parse(_page(disk, at), disk.bytes) for at in (first, second)]
    good = [copy for copy in copies if copy is not None]
    if not good:
        return None
    member = max(good, key=lambda copy: copy.generation)
    md = _md(_page(disk, first + PAGE), member)
    if md is None or md[0] <= member.generation:
        return member
    return replace(member, generation=md[0], present=md[1])


def _md(page: bytes, member: Member) -> tuple[int, int] | None:
    """Events of md's superblock, and a bit for each member that is in its array."""
    if len(page) != PAGE or struct.unpack_from("<II", page) != (MD_MAGIC, 1):
        return None
    roles = struct.unpack_from("<I", page, MD_ROLES_AT)[0]
    if roles > (PAGE - MD_BYTES) // 2:
        return None
    end = MD_BYTES + 2 * roles
    words = [*struct.unpack_from(f"<{end // 4}I", page)]
    says, words[MD_SUM_AT // 4] = words[MD_SUM_AT // 4], 0
    total = sum(words) + (struct.unpack_from("<H", page, end - 2)[0] if end % 4 else 0)
    if says != (total + (total >> 32)) & 0xFFFFFFFF:
        return None
    array, number = page[16:32], struct.unpack_from("<I", page, 160)[0]
    if array != member.array.bytes or number != member.number:
        return None
    has = struct.unpack_from(f"<{roles}H", page, MD_BYTES)
    present = sum(1 << n for n, role in enumerate(has[: member.drives]) if role == n)
    return struct.unpack_from("<Q", page, MD_EVENTS_AT)[0], present


class Array:
    """The members of an array as one disk.

    Attributes
    ----------
    bytes : int
        How many it has.
    complaints : list of str
        What is not as it should be, and did not keep it from being opened.

    Raises
    ------
    StoreError
        Members that do not belong together, or too few of them.
    """

    def __init__(self, found: list[tuple[Disk, Member | None]]) -> None:
        self.complaints: list[str] = []
        self._paths = [disk.path for disk, _ in found]
        of = next(member for _, member in found if member is not None)
        disks = _by_number(found, of)
        newest = max((member for _, member in disks.values()), key=lambda one: one.generation)
        same = [one for _, one in disks.values() if one.generation == newest.generation]
        if any(one.present != newest.present for one in same):
            raise StoreError(
                f"members of array {of.array} were written without each other",
                "name those alone that were written last",
            )
        self._members: list[Disk | None] = [None] * of.drives
        for number, (disk, member) in disks.items():
            if newest.has(number) and member.generation + STEP >= newest.generation:
                self._members[number] = disk
            else:
                self.complaints.append(
                    f"{disk.path} is left out: it is older than the other members,"
                    " which were written without it"
                )
        self._of = of
        missing = [number for number, disk in enumerate(self._members) if disk is None]
        self.complaints += [
            f"member {number} of {of.drives} of the array is missing:"
            " its bytes come from the parity"
            for number in missing
        ]
        if len(missing) > of.parity:
            which = ", ".join(map(str, missing))
            raise StoreError(
                f"of {of.drives} members of array {of.array} are missing: {which}",
                "name all members of the array, in any order",
            )
        self.bytes = of.each * (of.drives - of.parity)

    def place(self) -> str:
        """Return the paths of the members, by which `open_disk` finds them."""
        return ",".join(str(path.resolve()) for path in self._paths)

    def close(self) -> None:
        """Let go of the members."""
        for disk in self._members:
            if disk is not None:
                disk.close()

    def read(self, at: int, length: int) -> bytes:
        """Bytes from `at` on; fewer at the end of the array.

        Raises
        ------
        StoreError
            Where a member does not give them.
        """
        of, parts = self._of, []
        end = min(at + length, self.bytes)
        while at < end:
            inside = at % of.stripe_unit
            stripe, number = divmod(at // of.stripe_unit, of.drives - of.parity)
            count = min(of.stripe_unit - inside, end - at)
            parts.append(self._part(number, stripe * of.stripe_unit + inside, count))
            at += count
        return b"".join(parts)

    def _part(self, number: int, at: int, length: int) -> bytes:
        """Bytes of a member; of a missing one the sum, by exclusive or, of all others."""
        disk = self._members[number]
        if disk is not None:
            return disk.read(at, length)
        total = np.zeros(length, np.uint8)
        for other in self._members:
            if other is not None:
                total ^= np.frombuffer(other.read(at, length), np.uint8)
        return total.tobytes()

    def map(self, at: int, length: int) -> np.ndarray:
        """Bytes as an array: a copy, as they lie on several drives.

        Returns
        -------
        ndarray of uint8, read-only
        """
        return np.frombuffer(self.read(at, max(0, length)), np.uint8)


def _by_number(
    found: list[tuple[Disk, Member | None]], of: Member
) -> dict[int, tuple[Disk, Member]]:
    """Return drives by their number as members of the same array as `of`."""
    disks: dict[int, tuple[Disk, Member]] = {}
    for disk, member in found:
        if member is None:
            raise StoreError(
                f"{disk.path} has no member superblock of array {of.array}",
                "name the members of one array; where one is lost, and there is parity, leave it"
                " out; `forebay store repair` mends superblocks",
            )
        if member.array != of.array:
            raise StoreError(
                f"{disk.path} belongs to array {member.array}, others to {of.array}",
                "name the members of one array",
            )
        same = replace(member, number=of.number, generation=of.generation, present=of.present)
        if same != of:
            raise StoreError(
                f"the member superblock of {disk.path} says another shape of the array: {same}"
                f" in place of {of}",
                "one of them was not written by this project: leave it out where there is parity",
            )
        if member.number in disks:
            raise StoreError(
                f"{disks[member.number][0].path} and {disk.path} are both member {member.number}"
                " of the array",
                "name each member once",
            )
        disks[member.number] = disk, member
    return disks


def _named(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """Return all paths; of those of an array in one word each."""
    all_paths = [paths] if isinstance(paths, str | os.PathLike) else paths
    split: list[Path] = []
    for path in map(Path, all_paths):
        commas = "," in str(path) and not path.exists()
        split += map(Path, str(path).split(",")) if commas else [path]
    return split


def open_disk(paths: PathLike | Sequence[PathLike]) -> Disk | Array:
    """Open an image or drive, or the members of an array in any order.

    Parameters
    ----------
    paths : path-like or sequence of path-like
        Which; of a str, those of members may have commas between them.

    Raises
    ------
    StoreError
        Where it cannot be opened, or the members do not belong together.
    """
    found: list[tuple[Disk, Member | None]] = []
    try:
        for path in _named(paths):
            disk = Disk(path)
            found.append((disk, None))
            found[-1] = disk, _member(disk)
        if not any(member for _, member in found):
            if len(found) == 1:
                return found[0][0]
            names = ", ".join(str(disk.path) for disk, _ in found)
            raise StoreError(
                f"none of {names or 'no path'} has a member superblock at its end",
                "name the members of one array as they are: a copy must have its whole length",
            )
        return Array(found)
    except BaseException:
        for disk, _ in found:
            disk.close()
        raise
