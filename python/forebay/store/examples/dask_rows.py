# SPDX-License-Identifier: Apache-2.0
"""Dask: `python -m forebay.store.examples.dask_rows DIR [SCHEDULER]`.

DIR is what `forebay store export RECORDING DIR --to parquet` wrote. Without the address of a
scheduler the cluster is one of this machine's processes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
from dask.distributed import Client, LocalCluster

from forebay.store.examples.work import RESULT, on_table

# Rows of a task: enough that handing it over costs little.
ROWS = 256


def tasks(folder: Path) -> list[pa.Table]:
    """References in handy parts; the payloads are not among them."""
    rows = pyarrow.dataset.dataset(folder, partitioning="hive").to_table()
    return [rows.slice(at, ROWS) for at in range(0, len(rows), ROWS)]


def run(folder: Path, client: Client) -> pa.Table:
    """Each worker reads its payloads from the recording itself."""
    results = client.gather(client.map(on_table, tasks(folder)))
    return pa.concat_tables(results) if results else RESULT.empty_table()


def main() -> None:
    """Run the command line."""
    folder, *scheduler = sys.argv[1:]
    if scheduler:
        with Client(scheduler[0]) as client:
            print(run(Path(folder), client))
        return
    with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as client:
        print(run(Path(folder), client))


if __name__ == "__main__":
    main()
