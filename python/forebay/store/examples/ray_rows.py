# SPDX-License-Identifier: Apache-2.0
"""Ray: `python -m forebay.store.examples.ray_rows DIR` (requirements-clusters.txt).

DIR is what `forebay store export RECORDING DIR --to parquet` wrote.
"""

from __future__ import annotations

import sys

from forebay.store.examples.work import on_table, show


def main() -> None:
    """Run the command line."""
    import ray

    rows = ray.data.read_parquet(sys.argv[1])
    # Ray splits the references over its nodes; each reads payloads from the recording itself.
    show(rows.map_batches(on_table, batch_format="pyarrow", batch_size=256).iter_rows())


if __name__ == "__main__":
    main()
