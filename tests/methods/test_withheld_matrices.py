"""What the certificate of a withheld release gives away: the attack that read true counts from it, run again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pramana import Recipe, release
from pramana.methods.invariant.table_law import down_to_digits, up_to_digits

VALUES = 12


def certificate_of(counts: list[int], folder: Path, matrix: str) -> dict[str, Any]:
    """Of a table with so many records of each value."""
    folder.mkdir()
    (folder / "t.csv").write_text("job\n" + "".join(f"v{v}\n" for v, n in enumerate(counts) for _ in range(n)))
    recipe = {
        "source": {"path": "t.csv"},
        "release": {"method": "invariant", "xi": 0.1, "matrix": matrix},
        "attributes": {"job": {"role": "quasi-identifying", "domain": [f"v{v}" for v in range(VALUES)]}},
    }
    bundle = release(Recipe.parse(recipe, folder), folder / "out", seed=3).bundle
    content: dict[str, Any] = json.loads((bundle / "certificate.json").read_text())
    return content


def tables(number: int) -> list[list[int]]:
    """Tables alike but for one small count, which is what an intruder wants to know."""
    frequent = [350, 300, 280, 260, 240, 220, 200, 180, 160]
    return [[400 - small, *frequent, small, 30] for small in range(2, 2 + number)]  # as many records in all


def told(content: dict[str, Any]) -> str:
    """Everything in a certificate that can depend on the true counts, but not on the published rows."""
    return json.dumps(
        [content["mechanism"]["risks"], content["mechanism"]["k"], content["guarantees"]], sort_keys=True
    )


def test_a_small_count_cannot_be_read_from_the_certificate(tmp_path: Path) -> None:
    """Of eight tables that differ in a count of 2 to 9, a withheld certificate tells at most three groups apart.

    With the matrix published every one is told from every other: the attack has power.
    """
    withheld = {told(certificate_of(c, tmp_path / f"w{i}", "withheld")) for i, c in enumerate(tables(8))}
    published = {told(certificate_of(c, tmp_path / f"p{i}", "published")) for i, c in enumerate(tables(8))}
    assert len(published) == 8
    assert len(withheld) <= 3


def test_no_figure_is_by_value(tmp_path: Path) -> None:
    risks = certificate_of(tables(1)[0], tmp_path / "one", "withheld")["mechanism"]["risks"]["job"]
    assert all(isinstance(figure, float | int) for figure in risks.values())
    assert certificate_of(tables(1)[0], tmp_path / "two", "withheld")["mechanism"]["setting"]["retention"] is None


@pytest.mark.parametrize("digits", [1, 2, 3])
def test_few_digits_are_on_the_safe_side(digits: int) -> None:
    for value in np.random.default_rng(digits).random(300) ** 7:
        up, down = up_to_digits(float(value), digits), down_to_digits(float(value), digits)
        assert down <= value <= up
        assert up - down <= 1.0001 * 10.0 ** (np.floor(np.log10(value)) + 1 - digits)
    assert up_to_digits(0.1, 2) == 0.1
    assert up_to_digits(0.1000000001, 2) == 0.11
