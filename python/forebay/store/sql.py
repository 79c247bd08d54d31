# SPDX-License-Identifier: Apache-2.0
"""`python -m forebay.store.sql`: asks a recording in SQL; DuckDB answers.

Tables: `objects` (stored and whole) and `extents` (every row that counts and is not void).
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
from typing import TYPE_CHECKING, TextIO

from forebay.store import tell

if TYPE_CHECKING:
    import duckdb
    from duckdb import DuckDBPyRelation as Answer

    from forebay.store.recording import Recording

# Rows of a table on a terminal; of others DuckDB shows the first and the last.
SHOWN = 200
# Rows that are held at once.
BATCH = 65536


def connect(recording: Recording) -> duckdb.DuckDBPyConnection:
    """Return a database with both tables."""
    duckdb = tell.needed("duckdb")
    database = duckdb.connect(config={"preserve_insertion_order": True})
    # What is shown of a time does not depend on where it is shown.
    database.execute("set timezone = 'UTC'")
    database.register("extents", recording.table())
    database.execute("create view objects as from extents where whole and stored")
    return database


def write_json(answer: Answer, out: TextIO) -> None:
    """Write rows as one JSON array, one row a line."""
    packed = answer.query("answer", "select to_json(answer)::varchar from answer")
    before = "["
    for batch in packed.to_arrow_reader(BATCH):
        for row in batch.column(0).to_pylist():
            out.write(f"{before}\n{row}")
            before = ","
    out.write("[]\n" if before == "[" else "\n]\n")


def write_csv(answer: Answer, out: TextIO) -> None:
    """Write rows as CSV with a header, values as DuckDB writes them as text."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(answer.columns)
    texts = answer.query("answer", "select columns(*)::varchar from answer")
    for batch in texts.to_arrow_reader(BATCH):
        writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def write_arrow(answer: Answer, out: TextIO) -> None:
    """Write rows as an Arrow IPC stream."""
    ipc = tell.needed("pyarrow.ipc")
    reader = answer.to_arrow_reader(BATCH)
    with ipc.new_stream(out.buffer, reader.schema) as stream:
        for batch in reader:
            stream.write_batch(batch)


def write_text(answer: Answer, out: TextIO) -> None:
    """Write rows as a table for people."""
    duckdb = tell.needed("duckdb")
    rows = answer.query("answer", f"from answer limit {SHOWN + 1}").to_arrow_table()
    out.flush()
    width = shutil.get_terminal_size((120, 40)).columns
    duckdb.from_arrow(rows.slice(0, SHOWN)).show(max_rows=SHOWN, max_width=width)
    if len(rows) > SHOWN:
        print(f"there are more than these {SHOWN} rows: -o csv gives all", file=sys.stderr)


WRITERS = {"text": write_text, "json": write_json, "csv": write_csv, "arrow": write_arrow}


def ask(options: argparse.Namespace) -> int:
    """Answer; returns the exit code."""
    duckdb = tell.needed("duckdb")
    from forebay.store.recording import Recording

    with Recording(options.disk) as recording:
        tell.warn(recording.complaints)
        with connect(recording) as database:
            try:
                answer = database.sql(options.query)
                # Of orders such as `copy … to 'file'` there is nothing to show.
                if answer is not None:
                    WRITERS[options.output](answer, sys.stdout)
            except duckdb.Error as error:
                tell.failure(error, "tables are `objects` and `extents`; `describe objects` lists")
                return tell.BAD_INPUT
        return tell.DAMAGED if recording.blocks.damaged() else tell.GOOD


def main(command_line: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="forebay store sql", description=__doc__.splitlines()[0])
    parser.add_argument("disk", nargs="+", help="the image or drive; of an array its members")
    parser.add_argument("query", help="what to ask")
    parser.add_argument("-o", "--output", choices=WRITERS, default="text", help="form of rows")
    options = parser.parse_args(command_line)
    for module in ("numpy", "pyarrow", "google_crc32c", "duckdb"):
        tell.needed(module)
    return tell.guarded(lambda: ask(options))


if __name__ == "__main__":
    sys.exit(main())
