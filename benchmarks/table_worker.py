"""Runs inside the environment of a peer that anonymises tables: reads one order a line, answers with the seconds.

Imports nothing but the peer, pandas and NumPy. The table and its hierarchies are read before the clock starts.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")


def frame_of(place: str, rows: int) -> tuple[pd.DataFrame, dict[str, dict[int, list[str]]]]:
    """The first rows of a table of codes, as texts, and the levels of its hierarchies, leaf by leaf."""
    file = np.load(place)
    columns = {n: file[n][:rows] for n in file.files if "/" not in n}
    levels: dict[str, dict[int, list[str]]] = {}
    for name in file.files:
        if "/" in name:
            column, level = name.split("/")
            levels.setdefault(column, {})[int(level)] = [f"{column}-{level}-{c}" for c in file[name].tolist()]
    shown = {n: [f"{n}-0-{c}" for c in codes.tolist()] for n, codes in columns.items()}
    return pd.DataFrame(shown), levels


def pycanon(way: str, place: str, rows: int) -> Callable[[], Any]:
    from pycanon import anonymity

    frame, _ = frame_of(place, rows)
    quasi = [c for c in frame.columns if c != "secret"]
    ways = {
        "k": lambda: anonymity.k_anonymity(frame, quasi),
        "l": lambda: anonymity.l_diversity(frame, quasi, ["secret"]),
        "t": lambda: anonymity.t_closeness(frame, quasi, ["secret"]),
    }
    return ways[way]


def anonypy(way: str, place: str, rows: int) -> Callable[[], Any]:
    import anonypy as peer

    assert way == "mondrian"
    frame = frame_of(place, rows)[0].astype("category")
    quasi = [c for c in frame.columns if c != "secret"]
    return lambda: peer.Preserver(frame, quasi, "secret").anonymize_k_anonymity(k=10)


def anjana(way: str, place: str, rows: int) -> Callable[[], Any]:
    from anjana.anonymity import k_anonymity

    assert way == "full-domain"
    frame, levels = frame_of(place, rows)
    quasi = [c for c in frame.columns if c != "secret"]
    tables = {c: {level: np.array(values) for level, values in levels[c].items()} for c in quasi}

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            k_anonymity(frame.copy(), [], quasi, 10, 0, tables)

    return run


WAYS = {"pycanon": pycanon, "anonypy": anonypy, "anjana": anjana}


def main(environment: str) -> None:
    ready: dict[str, Callable[[], Any]] = {}
    print(json.dumps({"version": version(environment)}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if line not in ready:
                ready[line] = WAYS[environment](order["way"], order["place"], order["rows"])
            start = time.perf_counter()
            ready[line]()
            print(json.dumps({"seconds": time.perf_counter() - start}), flush=True)
        except Exception as error:  # the row of the table says what the peer said
            print(json.dumps({"error": f"{type(error).__name__}: {error}"[:120]}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
