# SPDX-License-Identifier: Apache-2.0
"""A recording: its rows as Arrow tables, its payloads as bytes, arrays, a tar file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google_crc32c import extend

from forebay import spec
from forebay.store import index as rows
from forebay.store import layout
from forebay.store.array import Array, PathLike, open_disk
from forebay.store.capture import first_page, whole_bytes
from forebay.store.cipher import RecordingKey
from forebay.store.disk import CHUNK, Disk
from forebay.store.errors import StoreError
from forebay.store.layout import PAGE
from forebay.store.schema import Column, Schema
from forebay.store.superblock import BadSuperblockError, Superblock, parse
from forebay.store.table import Region, Table, read_table
from forebay.store.tar import BLOCK, TarView

# Complaints that are told one by one.
TOLD = 16
# Rows that are made dictionaries together.
TOGETHER = 1024
TIME = pa.timestamp("ns", "UTC")
# Flags of a row that are columns of a table.
FLAGS = {
    "whole": spec.ROW_WHOLE,
    "cut": spec.ROW_CUT,
    "skipped": spec.ROW_SKIPPED,
    "failed": spec.ROW_FAILED,
    "result": spec.ROW_RESULT,
    "late": spec.ROW_LATE,
}


def arrow(of: Column) -> pa.DataType:
    """Return the type of a column in Arrow."""
    if of.kind == "time":
        return TIME
    if of.kind == "bytes":
        return pa.binary(of.size)
    value = pa.from_numpy_dtype(of.dtype)
    return pa.list_(value, of.size) if of.size else value


def array(of: Column, values: np.ndarray, valid: np.ndarray | None) -> pa.Array:
    """Make an array of the memory of a column; `valid` has a bit for each row that is not null."""
    data = pa.py_buffer(np.ascontiguousarray(values))
    bits = None if valid is None else pa.py_buffer(valid)
    if not of.is_list:
        return pa.Array.from_buffers(arrow(of), len(values), [bits, data])
    items = pa.Array.from_buffers(pa.from_numpy_dtype(of.dtype), values.size, [None, data])
    return pa.Array.from_buffers(arrow(of), len(values), [bits], children=[items])


def schema_of(schema: Schema) -> pa.Schema:
    """Return the columns of a recording's table."""
    bases = [of for of in schema.bases if of.name not in ("missing", "flags")]
    missing = [of for of in schema.bases if of.name == "missing"]
    return pa.schema(
        [(of.name, arrow(of)) for of in (*bases, *missing, *schema.results)]
        + [(name, pa.bool_()) for name in (*FLAGS, "stored", "wrong")]
        + [("code", pa.uint8())]
    )


def rows_of(table: pa.Table | pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Rows of a table one by one, `time` as nanoseconds since 1970."""
    at = table.schema.get_field_index("time")
    table = table.set_column(at, "time", table["time"].cast(pa.int64()))
    for begin in range(0, table.num_rows, TOGETHER):
        yield from table.slice(begin, TOGETHER).to_pylist()


class Recording:
    """A recording on an image, a drive or the members of an array, opened where it lies.

    Parameters
    ----------
    path : path-like or sequence of path-like
        The image or the whole drive; of an array the members, in any order.
    key : bytes, optional
        Of an encrypted recording, the 16 or 32 bytes that it was recorded with: `read` and `parts`
        decrypt then; `view`, `samples` and `tar`, which give payload as it lies there, refuse.

    Attributes
    ----------
    superblock : Superblock
        What it is.
    complaints : list of str
        What is not as it should be, and did not keep it from being opened.

    Raises
    ------
    StoreError
        Where there is no recording, too little of it is left, or the key is not its own.
    """

    def __init__(self, path: PathLike | Sequence[PathLike], key: bytes | None = None) -> None:
        self.disk = open_disk(path)
        try:
            table = read_table(self.disk)
            self.superblock, self.complaints = _superblock(self.disk, table)
            self.complaints += self.disk.complaints
            self.blocks = rows.Index(self.disk, self.superblock)
            self.key = None if key is None else RecordingKey(key, self.superblock)
        except BaseException:
            self.disk.close()
            raise
        damaged = self.blocks.damaged()
        self.complaints += [
            f"block {number} of the index is damaged: {self.blocks.why(number)}"
            for number in damaged[:TOLD]
        ]
        if len(damaged) > TOLD:
            self.complaints.append(f"{len(damaged) - TOLD} more blocks of the index are damaged")
        cipher = self.superblock.schema.cipher
        if cipher and self.key is None:
            self.complaints.append(
                f"payload is encrypted with {cipher}, and comes as it lies there"
            )

    def __enter__(self) -> Recording:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the disk."""
        self.close()

    def close(self) -> None:
        """Let go of the disk; arrays that were taken from it stay."""
        self.disk.close()

    def index(self) -> pa.Table:
        """All good blocks of the index as they lie there, of version 1 with rows that fill them up.

        Returns
        -------
        pyarrow.Table
            Its columns are memory of the mapped disk: nothing is copied.
        """
        of, batches = self.superblock.schema, []
        optional = of.results if of.valid_at is not None else ()
        fields = [pa.field(each.name, arrow(each), each in optional) for each in of.columns]
        schema = pa.schema(fields)
        for block, valid in self.blocks.blocks():
            arrays = [
                array(each, block[each.name], valid if each in optional else None)
                for each in of.columns
            ]
            batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        return pa.Table.from_batches(batches, schema)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Rows of all extents that count and are not void, some ten thousand at a time."""
        for void, columns in self.blocks.rows():
            keep = rows.counts(columns["flags"]) & ~void
            chosen = {name: values[keep] for name, values in columns.items()}
            yield _batch(chosen, self.superblock, self.disk.bytes)

    def table(self) -> pa.Table:
        """Rows of all extents that count and are not void, oldest first.

        Flags are columns of booleans; `stored` says that there is a payload to read, `wrong` that
        the row is one that cannot be. The columns of a result are null where there is none.
        """
        return pa.Table.from_batches(self.batches(), schema_of(self.superblock.schema))

    def objects(self) -> pa.Table:
        """Rows of the objects that are stored and whole."""
        table = self.table()
        both = pc.and_(table["whole"], table["stored"])
        return table.filter(both)

    def view(self, row: Mapping[str, Any]) -> np.ndarray:
        """Payload of an extent, where it lies, unchecked.

        Returns
        -------
        ndarray of uint8, read-only
            Memory of the mapped disk.
        """
        self._as_it_lies()
        address, length = self._place(row)
        return self.disk.map(address, length)

    def read(self, row: Mapping[str, Any]) -> bytes:
        """Payload of an extent, checked.

        Parameters
        ----------
        row : mapping
            A row of `table()` or `objects()`, as `rows_of` gives them.

        Raises
        ------
        StoreError
            Where it was not stored, or its bytes are not those that its row says.
        """
        return b"".join(self.parts(row))

    def parts(self, row: Mapping[str, Any]) -> Iterator[bytes]:
        """Payload of an extent in parts; behind the last one it is checked."""
        if self.key is None:
            return self._stored(row)
        return self.key.decrypt(row["nonce"], row["offset"], self._stored(row))

    def _stored(self, row: Mapping[str, Any]) -> Iterator[bytes]:
        address, length = self._place(row)
        total = 0
        for at in range(address, address + length, CHUNK):
            part = self.disk.read(at, min(CHUNK, address + length - at))
            total = extend(total, part)
            yield part
        if total != row["crc32c"]:
            says = f"its index record says {row['crc32c']:08x}"
            raise StoreError(
                f"{_name(row)}: its CRC32C is {total:08x}, and {says}",
                "`forebay store verify` lists what is damaged",
            )

    def _as_it_lies(self) -> None:
        if self.key is not None:
            remedy = "take `read` or `parts`; opened without a key it gives the ciphertext"
            raise StoreError("payload lies there encrypted, and a key is given", remedy)

    def _place(self, row: Mapping[str, Any]) -> tuple[int, int]:
        if not row["stored"]:
            what = "its index record is invalid" if row["wrong"] else "nothing of it was stored"
            raise StoreError(f"{_name(row)}: {what}", "take rows that are `stored`")
        return row["address"], row["length"]

    def samples(self, dtype: np.typing.DTypeLike = np.uint8) -> np.ndarray:
        """All samples up to the last that was stored, where they lie.

        Parameters
        ----------
        dtype : dtype
            Of what a sample is made.

        Returns
        -------
        memmap of dtype, shape (samples, stride / size of dtype), read-only
            What is shorter than the stride is followed by what was there before: lengths and
            which samples there are say the rows.

        Raises
        ------
        StoreError
            Where there are none, or dtype does not divide the stride.
        """
        self._as_it_lies()
        of, kind = self.superblock, np.dtype(dtype)
        if of.mode != "samples":
            raise StoreError(f"the recording's mode is {of.mode}, not samples", "take `read`")
        if of.stride % kind.itemsize:
            raise StoreError(
                f"dtype {kind} has {kind.itemsize} bytes, but the stride is {of.stride}",
                "take a dtype whose size divides the stride",
            )
        table = self.table()
        addresses = table.filter(table["stored"])["address"].to_numpy()
        count = (int(addresses.max(initial=of.data.at - of.stride)) - of.data.at) // of.stride + 1
        shape = (count, of.stride // kind.itemsize)
        if count == 0:
            return np.zeros(shape, kind)
        return np.memmap(self.disk.path, kind, "r", of.data.at, shape)

    def tar(self) -> io.RawIOBase:
        """Return the extents as a tar file to read: in a ring, too, and without a trailer.

        >>> tarfile.open(fileobj=recording.tar())
        """
        self._as_it_lies()
        of = self.superblock
        if of.mode != "objects":
            raise StoreError(f"the recording's mode is {of.mode}, not objects", "take `samples`")
        table = self.table()
        table = table.filter(table["stored"])
        address, length = table["address"].to_numpy(), table["length"].to_numpy().astype(np.int64)
        parts = of.front + (length + of.grain - 1) // of.grain * of.grain
        # tarfile wants a file behind the fillers up to the page's end: the last has none.
        parts[-1:] = of.front + (length[-1:] + BLOCK - 1) // BLOCK * BLOCK
        return TarView(self.disk, address.astype(np.int64) - of.front, parts)

    def capture(self) -> io.RawIOBase:
        """Return all frames as one pcapng file to read, up to where the index goes, unchecked.

        >>> scapy.utils.PcapNgReader(io.BufferedReader(recording.capture()))
        """
        of = self.superblock
        if of.mode != "packets":
            raise StoreError(f"the recording's mode is {of.mode}, not packets", "take `read`")
        first_page(self.disk, of.data.at)
        table = self.table()
        table = table.filter(table["stored"])
        address = table["address"].to_numpy().astype(np.int64)
        length = table["length"].to_numpy().astype(np.int64)
        # Only the end of the data cuts a chunk.
        for at in np.flatnonzero(table["cut"].to_numpy()):
            length[at] = whole_bytes(self.disk.read(int(address[at]), int(length[at])))
        starts, lengths = np.insert(address, 0, of.data.at), np.insert(length, 0, PAGE)
        return TarView(self.disk, starts, lengths, end=b"")


def _name(row: Mapping[str, Any]) -> str:
    return f"object {row['object']} of stream {row['stream']}"


def _batch(columns: rows.Columns, of: Superblock, disk_bytes: int) -> pa.RecordBatch:
    flags = columns["flags"]
    bad = rows.wrong(columns, of, disk_bytes)
    result = flags & spec.ROW_RESULT != 0
    derived = {name: flags & bit != 0 for name, bit in FLAGS.items()}
    derived["stored"] = rows.stored(flags) & ~bad
    derived["wrong"] = bad
    derived["code"] = (flags >> spec.ROW_CODE_LSB).astype(np.uint8)
    arrays, valid = [], np.packbits(result, bitorder="little")
    own = {of.name: of for of in of.schema.columns}
    optional = {of.name for of in of.schema.results}
    schema = schema_of(of.schema)
    for field in schema:
        if field.name in derived:
            arrays.append(pa.array(derived[field.name], field.type))
        else:
            bits = valid if field.name in optional else None
            arrays.append(array(own[field.name], columns[field.name], bits))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _copies(disk: Disk | Array, region: Region) -> list[Superblock | str]:
    found: list[Superblock | str] = []
    for at in (region.at, region.end - PAGE):
        try:
            found.append(parse(disk.read(at, PAGE)))
        except (BadSuperblockError, StoreError) as error:
            found.append(str(error))
    return found


def _superblock(disk: Disk | Array, table: Table | None) -> tuple[Superblock, list[str]]:
    """Return the copy that counts, and what is not as it should be."""
    region = table.superblocks if table else Region(layout.PARTITION_ALIGN, layout.SUPER_BYTES)
    copies = _copies(disk, region)
    good = [copy for copy in copies if isinstance(copy, Superblock)]
    if not good:
        raise StoreError(
            f"{disk.path}: of the superblocks the first cannot be used ({copies[0]}), nor the "
            f"second ({copies[1]})",
            "name the image or the whole drive; `forebay store repair` brings superblocks back",
        )
    of = max(good, key=lambda copy: copy.generation)
    complaints = []
    for copy, name in zip(copies, ("first", "second"), strict=True):
        if isinstance(copy, str):
            complaints.append(f"the {name} copy of the superblock is damaged: {copy}")
        elif copy.session != of.session:
            complaints.append(f"the {name} copy of the superblock is of another recording")
        elif copy.generation != of.generation:
            complaints.append(f"the {name} copy of the superblock is older")
    if table is None:
        complaints.append("the partition table is damaged, in both copies")
    elif (table.index, table.data) != (of.index, of.data):
        complaints.append("the partition table has other places than the superblock")
    if of.index.end > disk.bytes:
        raise StoreError(
            f"the index ends at byte {of.index.end}, but the disk has {disk.bytes}",
            "take the whole image",
        )
    if of.drive_bytes > disk.bytes:
        complaints.append(
            f"the disk has {disk.bytes} bytes, the recording was made on one of {of.drive_bytes}: "
            "what lay behind is missing"
        )
    return of, complaints
