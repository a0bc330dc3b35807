"""One reader under Atheris: `python -m tests.security.fuzzing.one NAME [libFuzzer's options]`. It never returns."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["pramana"]):
    from tests.security.fuzzing.readers import READERS


def main(name: str, options: list[str]) -> None:
    reader, folder = READERS[name], Path(tempfile.mkdtemp(prefix="pramana-fuzz-"))

    def try_input(content: bytes) -> None:
        reader.attempt(content, folder)

    atheris.Setup([sys.argv[0], f"-max_len={reader.most}", *options], try_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
