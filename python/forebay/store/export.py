# SPDX-License-Identifier: Apache-2.0
"""`python -m forebay.store.export`: writes a recording as Parquet, WebDataset shards, pcapng."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from forebay.store import tell
from forebay.store.errors import StoreError

if TYPE_CHECKING:
    from forebay.store.recording import Recording

# Problems that are told one by one.
TOLD = 16
UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Sink(Protocol):
    """What takes extents, one after the other."""

    def put(self, row: dict[str, Any], recording: Recording) -> None:
        """Take an extent; fails, with nothing of it left, where its bytes are not as they were."""

    def close(self) -> None:
        """Finish all files."""


@dataclass
class Report:
    """What was exported."""

    session: str
    schema: str = "forebay.store-export/1"
    extents: int = 0
    bytes: int = 0
    files: int = 0
    left_out: int = 0
    not_stored: int = 0
    damaged_blocks: int = 0
    problems: list[str] = field(default_factory=list)

    def leave_out(self, why: str) -> None:
        """Count an extent that is left out."""
        self.left_out += 1
        if len(self.problems) < TOLD:
            self.problems.append(why)

    @property
    def code(self) -> int:
        """The exit code."""
        return tell.DAMAGED if self.left_out or self.damaged_blocks else tell.GOOD


def size(text: str) -> int:
    """Read a size such as 64MiB, at least 1."""
    number = text.rstrip("KMGTiB")
    unit = text[len(number) :].removesuffix("B").removesuffix("i")
    if not number.isdecimal() or unit not in UNITS or int(number) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no size such as 256MiB")
    return int(number) * UNITS[unit]


def empty_folder(path: Path) -> Path:
    """Make a folder; one that has anything in it is refused."""
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise StoreError(
            f"the folder {path} is not empty, but nothing is overwritten", "name another folder"
        )
    return path


def export(recording: Recording, sink: Sink, report: Report) -> None:
    """Give each extent to the sink, and count."""
    from forebay.store.recording import rows_of

    pc, total = tell.needed("pyarrow.compute"), 0
    for batch in recording.batches():
        total += pc.sum(batch.filter(batch["stored"])["length"]).as_py() or 0
    progress = tell.Progress("exporting", total)
    try:
        for batch in recording.batches():
            for row in rows_of(batch):
                if row["wrong"]:
                    report.leave_out(_said(row, "its index record is invalid"))
                elif not row["stored"]:
                    report.not_stored += 1
                else:
                    _put(row, recording, sink, report)
                    progress.add(row["length"])
    finally:
        progress.close()
        sink.close()


def _said(row: dict[str, Any], why: str) -> str:
    return f"object {row['object']} of stream {row['stream']}: {why}"


def _put(row: dict[str, Any], recording: Recording, sink: Sink, report: Report) -> None:
    try:
        sink.put(row, recording)
    except StoreError as error:
        report.leave_out(str(error))
    else:
        report.extents += 1
        report.bytes += row["length"]


def show(report: Report) -> None:
    """Print the report for people."""
    print("Forebay store: exported")
    print(f"  session    {report.session}")
    print(f"  exported   {report.extents:,} extents, {report.bytes / 2**20:,.1f} MiB")
    print(f"  files      {report.files:,}")
    for problem in report.problems:
        print(f"  problem    {problem}")
    if len(report.problems) < report.left_out:
        print(f"  problem    and {report.left_out - len(report.problems):,} more")
    missing = [
        (report.left_out, "extents are damaged and were left out"),
        (report.damaged_blocks, "blocks of the index are damaged: `forebay store repair`"),
    ]
    words = [f"{count:,} {what}" for count, what in missing if count]
    print(f"\n✗ {'; '.join(words)}" if words else "\n✓ all that is stored is there")


def run(options: argparse.Namespace) -> int:
    """Export; returns the exit code."""
    from forebay.store.recording import Recording

    with Recording(options.disk) as recording:
        tell.warn(recording.complaints)
        folder = empty_folder(options.folder)
        if options.to == "parquet":
            from forebay.store.parquet import Parquet

            sink: Sink = Parquet(folder, recording, options)
        elif options.to == "pcapng":
            from forebay.store.capture import Capture

            sink = Capture(folder, recording)
        else:
            from forebay.store.shards import Shards

            sink = Shards(folder, recording, options.shard_size)
        report = Report(
            session=str(recording.superblock.session),
            damaged_blocks=len(recording.blocks.damaged()),
        )
        export(recording, sink, report)
        report.files = sum(path.is_file() for path in folder.rglob("*"))
    text = json.dumps(asdict(report), indent=2)
    if options.json == "-":
        print(text)
    else:
        if options.json:
            Path(options.json).write_text(text + "\n")
        show(report)
    return report.code


def main(command_line: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="forebay store export", description=__doc__.splitlines()[0]
    )
    parser.add_argument("disk", nargs="+", help="the image or drive; of an array its members")
    parser.add_argument("folder", type=Path, help="a folder that is new or empty")
    parser.add_argument("--to", choices=("parquet", "webdataset", "pcapng"), required=True)
    parser.add_argument("--payload", action="store_true", help="Parquet: payloads as a column")
    parser.add_argument("--by", choices=("date", "hour"), default="date", help="Parquet: folders")
    parser.add_argument("--path", help="Parquet: path of the recording that references have")
    parser.add_argument("--unchecked", action="store_true", help="Parquet: read no payload")
    parser.add_argument("--shard-size", type=size, default=2**30, help="WebDataset: bytes a shard")
    parser.add_argument("--json", help="JSON to this file; -: to standard output in place of text")
    options = parser.parse_args(command_line)
    for module in ("numpy", "pyarrow", "google_crc32c"):
        tell.needed(module)
    return tell.guarded(lambda: run(options))


if __name__ == "__main__":
    sys.exit(main())
