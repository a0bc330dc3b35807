"""Rows from and to PostgreSQL: this reader beside rows of Python objects, each in a process of its own.

python -m benchmarks.databases postgresql:///scratch?host=/run/postgresql [ROWS]

The database gets a table `pramana_benchmark` of ROWS x 7 (and a copy), which are dropped at the end. Every way is
run at a fifth of the rows too: memory that does not grow with them is the point.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

TABLE, COPY = "pramana_benchmark", "pramana_benchmark_copy"
FILL = """
CREATE UNLOGGED TABLE {table} AS SELECT (i * 7 % 2)::int2 AS a,
CASE WHEN i % 3 = 0 THEN 'female' ELSE 'male' END AS b,
(i * 31 % 100)::int4 AS c, 'town ' || (i % 500) AS d, (i * 13 % 1000) / 10.0::float8 AS e, (i % 17)::int8 AS f,
date '2000-01-01' + (i % 3000)::int AS g FROM generate_series(1::bigint, {rows}) AS i
"""
BATCH = 1 << 16


def ours(url: str, rows: int) -> int:
    from pramana.io.database import batches

    return sum(batch.num_rows for batch in batches(url, query=f"SELECT * FROM {TABLE} LIMIT {rows}"))


def ours_and_back(url: str, rows: int) -> int:
    """Read the rows and write them to a new table."""
    import contextlib

    from pramana.io.database import TableName, batches, open_database

    source = batches(url, query=f"SELECT * FROM {TABLE} LIMIT {rows}")
    first = next(source)

    def all_of_them() -> Iterator[Any]:
        yield first
        yield from source

    with contextlib.closing(open_database(url, "output", writing=True)) as database:
        database.create(TableName(COPY), first.schema, all_of_them())
        database.commit()
        database.drop(TableName(COPY))
    return rows


def psycopg_rows(url: str, rows: int) -> int:
    import psycopg
    import pyarrow as pa

    count = 0
    with psycopg.connect(url) as connection, connection.cursor(name="rows", binary=True) as cursor:
        cursor.itersize = BATCH
        cursor.execute(f"SELECT * FROM {TABLE} LIMIT {rows}")
        while found := cursor.fetchmany(BATCH):
            count += len(found)
            for column in zip(*found, strict=True):
                pa.array(column)
    return count


def sqlalchemy_rows(url: str, rows: int) -> int:
    import pyarrow as pa
    import sqlalchemy

    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:", 1))
    count = 0
    with engine.connect().execution_options(stream_results=True, max_row_buffer=BATCH) as connection:
        for found in connection.execute(sqlalchemy.text(f"SELECT * FROM {TABLE} LIMIT {rows}")).partitions(BATCH):
            count += len(found)
            for column in zip(*found, strict=True):
                pa.array(column)
    return count


WAYS: dict[str, Callable[[str, int], int]] = {
    "pramana": ours,
    "pramana, and back into a table": ours_and_back,
    "psycopg, server-side cursor": psycopg_rows,
    "SQLAlchemy, streamed": sqlalchemy_rows,
}


def measure(name: str, url: str, rows: int) -> None:
    """One way, in this process."""
    start = time.perf_counter()
    assert WAYS[name](url, rows) == rows
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"| {name} | {rows:,} | {seconds:.1f} | {rows / seconds:,.0f} | {peak:.0f} |", flush=True)


def main() -> None:
    if len(sys.argv) == 4:
        measure(sys.argv[3], sys.argv[1], int(sys.argv[2]))
        return
    import psycopg

    url, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(FILL.format(table=TABLE, rows=rows))
        try:
            print("| way | rows | seconds | rows per second | peak MiB |\n|---|---|---|---|---|", flush=True)
            for name in WAYS:
                for some in (rows // 5, rows):
                    subprocess.run(
                        [sys.executable, "-m", "benchmarks.databases", url, str(some), name], check=True
                    )
        finally:
            connection.execute(f"DROP TABLE {TABLE}")


if __name__ == "__main__":
    main()
