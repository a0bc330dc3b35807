"""The tier of every test: one table of where it stands, one of what it asks for. What neither names is fast.

`make check` runs the fast ones, `make test` all but the nightly ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

# The longest line that a test's name begins with decides. A folder ends in a slash.
BY_PATH = {
    "tests/browser/": "browser",
    "tests/collection/test_faults.py": "faults",
    "tests/cluster/": "cluster",
    "tests/docs/": "docs",
    "tests/faults/": "faults",
    "tests/ledger/test_faults.py": "faults",
    "tests/pipeline/test_killed.py": "faults",
    "tests/rows/test_spark.py": "spark",
    "tests/rows/test_spark_frames.py": "spark",
    "tests/rows/test_spark_parts.py": "spark",
    "tests/rows/test_spark_refusals.py": "spark",
    "tests/rows/test_spark_stores.py": "spark",
    "tests/stores/": "servers",
    # all that a test function, with all of its parameters, takes more than a second of a processor for
    **dict.fromkeys(Path(__file__).with_name("slow.txt").read_text("utf-8").split(), "slow"),
}
# Fixtures, and values of parameters, that start what the fast tests do without.
BY_NEED = {"bucket": "servers", "postgresql": "servers", "spark": "spark", "store_server": "servers"}


def tier_of(name: str, needs: Collection[str] = ()) -> str:
    """The tier of a test, a file or a folder, by its name from the root and what it asks for."""
    lines = [line for line in BY_PATH if name.startswith(line)]
    if lines:
        return BY_PATH[max(lines, key=len)]
    return next((BY_NEED[need] for need in needs if need in BY_NEED), "fast")


def is_a_test(root: Path, name: str) -> bool:
    """Whether `name` is that of a folder, a file or a test function that is there."""
    file, _, test = name.partition("::")
    if not test:
        return (root / file).exists()
    function = re.escape(test.partition("[")[0])
    text = (root / file).read_text("utf-8") if (root / file).is_file() else ""
    return re.search(rf"^def {function}\(", text, re.MULTILINE) is not None
