"""Results in a notebook: the same numbers as rows, frames, text, HTML and picture."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.pages.test_page import PLANTED, read

import pramana
from pramana.bundle.certificate import PromiseTable
from pramana.errors import MissingExtraError
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import Product
from pramana.pages.results import TabularResult
from pramana.recipient.study import Study
from pramana.schema.domain import Axis

LAW = Product({"sex": Retention.at(0.8, 2), "age": Retention.at(0.7, 3)})


def study(label: str = "F") -> Study:
    rng = np.random.default_rng(1)
    codes = {"sex": rng.integers(0, 2, 600).astype(np.uint8), "age": rng.integers(0, 3, 600).astype(np.uint8)}
    axes = [Axis.of_labels("sex", [label, "M"]), Axis.of_labels("age", ["[0,20)", "[20,60)", "[60,90)"])]
    return Study.of_codes(axes, LAW, codes)


RECIPE = {
    "source": {"path": "people.csv"},
    "release": {"method": "retention", "k": 2},
    "attributes": {"sex": {"role": "quasi-identifying", "domain": ["F", "M"]}},
}
PROMISE = {
    "notion": "epsilon",
    "value": 1.5,
    "unit": "record",
    "scope": "any table",
    "statement": "s",
    "words": "w",
}


def results() -> dict[str, TabularResult]:
    asked = study()
    return {
        "crosstab": asked.crosstab(["sex", "age"]),
        "shares": asked.crosstab(["sex"], shares=True),
        "total": asked.crosstab([]),
        "comparison": asked.compare("sex = F", "sex = M", mean="age"),
        "means": asked.means("age", ["sex"]),
        "number": asked.total("age >= 60"),
        "plan": pramana.plan(pramana.Recipe.parse(RECIPE, Path()), records=500),
        "promises": PromiseTable([PROMISE, {**PROMISE, "value": {"low": 1}}]),
    }


@pytest.mark.parametrize("name", results())
def test_every_form_has_the_same_rows(name: str) -> None:
    result = results()[name]
    rows = [dict(row) for row in result.to_rows()]
    assert rows
    assert result.to_arrow().to_pylist() == rows
    assert result.to_polars().to_dicts() == rows
    assert result.to_pandas().astype(object).where(lambda f: f.notna(), None).to_dict("records") == rows
    outline = read(result._repr_html_())
    assert not {"script", "link", "iframe", "img"} & set(outline.tags)
    assert result.plot().axes
    words = repr(result)
    assert "object at 0x" not in words
    for head in rows[0] if name != "number" else ():
        assert head in words
        assert name == "promises" or head in outline.text or head in ("low", "high")


def test_bars_are_those_of_the_report() -> None:
    text = study().crosstab(["sex"])._repr_html_()
    assert text.count('class="estimate"') == 2
    assert text.count('class="interval"') == 6
    low, high = (float(x) for x in re.findall(r'class="interval" x1="([\d.]+)%" x2="([\d.]+)%"', text)[0])
    cell = study().crosstab(["sex"]).shown()[0]
    widest = max(c["high"] for c in study().crosstab(["sex"]).shown())
    assert low == pytest.approx(2 + 96 * cell["low"] / widest, abs=0.1)
    assert high == pytest.approx(2 + 96 * cell["high"] / widest, abs=0.1)


def test_every_rule_of_the_style_is_for_the_result_alone() -> None:
    text = study().crosstab(["sex"])._repr_html_()
    style = re.sub(r"/\*.*?\*/", "", text[text.index("<style>") + 7 : text.index("</style>")], flags=re.DOTALL)
    for selectors in re.findall(r"([^{}@]+)\{", re.sub(r"@media[^{]*\{", "", style)):
        for selector in selectors.split(","):
            assert selector.strip().startswith(".pramana")


@pytest.mark.parametrize("planted", [p for p in PLANTED if "\ud800" not in p], ids=lambda p: p[:12])
def test_labels_are_shown_as_words(planted: str) -> None:
    text = study(planted).crosstab(["sex"])._repr_html_()
    usual = study("x" * len(planted)).crosstab(["sex"])._repr_html_()
    assert read(text).tags == read(usual).tags
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", repr(study(planted).crosstab(["sex"])).replace("\n", "")
    )


@pytest.mark.parametrize("name", ["polars", "pandas"])
def test_a_library_that_is_not_there_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    table = study().crosstab(["sex"])
    with pytest.raises(MissingExtraError, match=f"pip install {name}"):
        table.to_polars() if name == "polars" else table.to_pandas()


def test_a_comparison_says_its_p_value_and_does_not_draw_below_zero() -> None:
    comparison = study().compare("sex = F", "sex = M", mean="age")
    assert "p-value" in repr(comparison)
    assert comparison.difference.low < 0
    assert comparison._repr_html_().count('class="estimate"') == 2
    assert isinstance(comparison.to_arrow(), pa.Table)


def test_whole_numbers_add_up() -> None:
    table = study().crosstab(["age"])
    shown = [cell["estimate"] for cell in table.shown()]
    assert sum(shown) == 600
    assert all(value == int(value) for value in shown)
    assert all(c["low"] <= a <= c["high"] for c, a in zip(table.shown(), table.estimate.tolist(), strict=True))
