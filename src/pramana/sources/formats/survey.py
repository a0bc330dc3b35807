"""SPSS, Stata and SAS files, by pyreadstat in a process of its own, some rows at a time.

Values with labels arrive as their labels, in the order of their codes, unless a recipe has the column as numbers.
What a file declares missing is missing. The library is in C, and was not written for hostile files: damage may end
the process that reads, and is told here as what it is.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from pramana.errors import PramanaError, SourceError
from pramana.sources.columns import select
from pramana.sources.formats.extras import missing_library
from pramana.sources.formats.labels import Variable

if TYPE_CHECKING:
    from pramana.sources.table import Source

_WORKER = "pramana.sources.formats.survey_worker"
_CELLS = 1 << 22  # values read at a time: the library makes a Python object of each
_LEAST_ROWS = 1 << 15  # each chunk goes over the rows before it once more
_LONGEST_HEADER = 1 << 28


def survey_variables(path: Path, kind: str) -> dict[str, Variable]:
    """What the file says of its variables; no row is read."""
    with _reading(path, kind) as (variables, _, _):
        return variables


def survey_batches(
    source: Source, wanted: Sequence[str] | None, rows: int | None = None
) -> Iterator[pa.RecordBatch]:
    path = source.path
    assert isinstance(path, Path), "a kind that is refused elsewhere"
    with _reading(path, source.kind) as (variables, asked, told):
        names = select(list(variables), wanted, str(path))
        fitting = max(_LEAST_ROWS, _CELLS // max(1, len(names)))
        wish = {
            "names": names,
            "codes": [name for name in names if name in source.forms and source.forms[name].codes],
            "missing": {name: source.forms[name].missing for name in names if name in source.forms},
            "size": fitting if rows is None else max(_LEAST_ROWS, min(rows, fitting)),
        }
        asked.write(json.dumps(wish).encode() + b"\n")
        asked.close()
        with pa.ipc.open_stream(told) as reader:
            for batch in reader:
                batch.validate(full=True)
                yield batch


@contextlib.contextmanager
def _reading(path: Path, kind: str) -> Iterator[tuple[dict[str, Variable], IO[bytes], IO[bytes]]]:
    """The variables, where to ask for rows, and where they come."""
    if find_spec("pyreadstat") is None:
        raise missing_library("pyreadstat", "SPSS, Stata and SAS files")
    command = [sys.executable, "-P", "-m", _WORKER, str(path), kind]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as worker:
        assert worker.stdin is not None and worker.stdout is not None
        ended = False
        try:
            header = json.loads(worker.stdout.readline(_LONGEST_HEADER))
            yield (
                {name: Variable.from_json(statement) for name, statement in header.items()},
                worker.stdin,
                worker.stdout,
            )
            worker.stdin.close()
            worker.stdout.read(1)
            ended = worker.wait() == 0
        except GeneratorExit:
            raise
        except (PramanaError, MemoryError):
            raise
        except (ValueError, KeyError, TypeError, OSError):  # Arrow's errors are among them; some quote a row
            pass
        finally:
            worker.kill()
        if not ended:
            raise SourceError(f"The source {path} must be a readable file of its kind", "damaged data")
