# SPDX-License-Identifier: Apache-2.0
"""Spark: `spark-submit spark_rows.py DIR` (requirements-clusters.txt; this package on each node).

DIR is what `forebay store export RECORDING DIR --to parquet` wrote.
"""

from __future__ import annotations

import sys

from forebay.store.examples.work import on_batches, show

# RESULT of forebay.store.examples.work, in Spark's words.
SCHEMA = "object bigint, mean double, sha256 string"


def main() -> None:
    """Run the command line."""
    from pyspark.sql import SparkSession

    # Spark knows no nanoseconds: it takes them for numbers, or refuses the files.
    builder = SparkSession.builder.config("spark.sql.legacy.parquet.nanosAsLong", "true")
    spark = builder.getOrCreate()
    # Nor does it know unsigned numbers.
    columns = ["cast(object as bigint) object", "path", "cast(address as bigint) address"]
    columns += ["cast(length as bigint) length", "cast(crc32c as bigint) crc32c"]
    rows = spark.read.option("recursiveFileLookup", "true").parquet(sys.argv[1])
    results = rows.selectExpr(*columns).mapInArrow(on_batches, SCHEMA)
    show(row.asDict() for row in results.toLocalIterator())


if __name__ == "__main__":
    main()
