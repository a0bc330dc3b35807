"""k of a table, and paper 1's Theorem 2: for deterministic methods it is the k of Pk-anonymity."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas
import pytest
from tests.theory.test_pk import link_probability

import pramana
from pramana.errors import SourceError


@pytest.mark.parametrize("recoding", [(0, 0, 1), (0, 1, 2), (0, 0, 0)])
def test_theorem_2_by_brute_force(recoding: tuple[int, ...]) -> None:
    """Recode values deterministically; the worst link over all private tables is 1/k of the published one."""
    channel = [[Fraction(int(recoding[u] == v)) for v in range(3)] for u in range(3)]
    for seen in product(sorted(set(recoding)), repeat=4):
        fitting = [t for t in product(range(3), repeat=4) if tuple(recoding[u] for u in t) == seen]
        worst = max(link_probability(channel, truth, seen) for truth in fitting)
        assert pramana.k_of_table(pandas.DataFrame({"value": seen}), ["value"]) == 1 / worst


def test_several_columns_and_missing_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame({"a": rng.integers(0, 3, 500), "b": rng.choice(["x", "y", None], 500)})
    expected = frame.fillna("-").groupby(["a", "b"]).size().min()
    assert pramana.k_of_table(frame, ["a", "b"]) == expected
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert pramana.k_of_table(tmp_path / "t.csv", ["a", "b"]) == expected
    with pytest.raises(SourceError, match="Did you mean"):
        pramana.k_of_table(frame.rename(columns={"a": "age"}), ["aeg"])
