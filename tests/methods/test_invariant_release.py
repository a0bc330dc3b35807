"""Releases with method = "invariant": what is promised, what is withheld, and what verification catches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana import Recipe, crosstab, release, verify
from pramana.bundle.certificate import Certificate
from pramana.errors import CheckError, InputError
from pramana.mechanisms.invariant import BlockInvariant, inverse_frequency
from pramana.mechanisms.stated import mechanism_from_json
from pramana.mechanisms.table import ChannelGroup, Exchange
from pramana.methods.recipe import AnyRecipe
from pramana.randomness.key import Key

JOBS = ["farmer", "smith", "miller", "baker", "weaver", "potter", "clerk", "astronomer"]
COUNTS = [205, 431, 106, 230, 221, 611, 194, 2]  # paper 2, Table 2, in another order


def people(seed: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    job = np.repeat(JOBS, COUNTS)
    rng.shuffle(job)
    sex = rng.choice(["F", "M"], len(job))
    region = rng.choice(["north", "south", "west"], len(job), p=[0.6, 0.39, 0.01])
    return pa.table({"job": job, "sex": sex, "region": region, "income": rng.integers(0, 9, len(job))})


def recipe(**release_keys: Any) -> AnyRecipe:
    content: dict[str, Any] = {
        "release": {"method": "invariant", "xi": 0.1, **release_keys},
        "attributes": {
            "job": {"role": "quasi-identifying", "domain": JOBS},
            "sex": {"role": "quasi-identifying", "domain": ["F", "M"]},
            "region": {"role": "insensitive"},
            "income": {"role": "sensitive"},
        },
    }
    return Recipe.parse(content)


def counts_of(bundle: Path, name: str) -> dict[str, int]:
    column = pq.read_table(bundle / "data.parquet").column(name).to_pylist()
    return {value: column.count(value) for value in set(column)}


def edited(bundle: Path, change: Callable[[dict[str, Any]], None]) -> None:
    place = bundle / "certificate.json"
    content = json.loads(place.read_text())
    change(content)
    place.write_text(Certificate.from_json(content).text())  # with a digest of itself that fits again


def test_xi_for_this_table_and_no_epsilon(tmp_path: Path) -> None:
    done = release(recipe(), tmp_path / "out", data=people())
    notions = {g["notion"]: g for g in done.guarantees}
    assert set(notions) == {"identification-bound", "identification-bound-every-count"}
    assert 0 < notions["identification-bound"]["value"] <= 0.1
    assert notions["identification-bound-every-count"]["value"] <= 0.1  # blocks of two
    assert {g["scope"] for g in notions.values()} == {"this table"}
    words = " ".join(done.certificate.warnings)
    assert "withheld" in words
    assert "k is 1" in words
    assert "no epsilon" in words
    risks = done.certificate.mechanism["risks"]["job"]
    # the xi that was asked for, and three figures of few digits: more would give the true frequencies away
    assert set(risks) == {"xi", "xi_all_counts", "risk_all_counts_left_out", "total_expected_squared_error"}
    assert risks["xi"] == 0.1
    assert all(len(f"{risks[key]:g}".lstrip("0.").replace(".", "")) <= 2 for key in risks)
    assert "law" not in done.certificate.mechanism
    assert "frequencies" not in done.certificate.mechanism
    assert verify(tmp_path / "out").valid


def test_the_report_says_that_counts_are_taken_as_they_are(tmp_path: Path) -> None:
    release(recipe(), tmp_path / "out", data=people())
    page = (tmp_path / "out" / "report.html").read_text()
    assert "counts are taken directly from the file" in page
    assert "Counts taken directly are biased" not in page
    assert "The chance of a correct match" in page


def test_tables_are_reconstructed_where_the_matrix_is_published(tmp_path: Path) -> None:
    release(recipe(matrix="published"), tmp_path / "out", data=people(), seed=2)
    table = crosstab(tmp_path / "out", ["job"], method="inverse")
    cells = {cell["job"]: cell["estimate"] for cell in table.cells()}
    assert cells["smith"] == pytest.approx(431, abs=1e-6)  # in no block: exact
    release(recipe(), tmp_path / "other", data=people())
    shown = crosstab(tmp_path / "other", ["job"])  # as published, which is right on average
    seen = counts_of(tmp_path / "other", "job")
    assert {c["job"]: c["estimate"] for c in shown.cells()} == {job: seen.get(job, 0) for job in JOBS}
    assert all(c["low"] <= n <= c["high"] for c, n in zip(shown.cells(), COUNTS, strict=True))


def test_frequencies_stay_near_and_only_blocks_move(tmp_path: Path) -> None:
    release(recipe(), tmp_path / "out", data=people())
    counts = counts_of(tmp_path / "out", "job")
    untouched = [j for j, c in zip(JOBS, COUNTS, strict=True) if counts.get(j) == c]
    assert len(untouched) >= 6  # the rare one and one partner exchange, nothing else does
    assert all(abs(counts.get(j, 0) - c) < 12 for j, c in zip(JOBS, COUNTS, strict=True))


@pytest.mark.parametrize("shown", ["withheld", "published"])
def test_made_again_from_source_and_key(tmp_path: Path, shown: str) -> None:
    table = people()
    release(recipe(matrix=shown), tmp_path / "out", data=table)
    found = verify(tmp_path / "out", source=table, key=tmp_path / "out.key")
    assert found.valid, [c for c in found.checks if not c.ok]
    assert {"risks", "made again", "source"} <= {c.name for c in found.checks}


@pytest.mark.parametrize(
    "options", [{"kind": "two-stage"}, {"kind": "sinkhorn", "k": 3}, {"kind": "sinkhorn", "retention": 0.4}]
)
def test_other_kinds_with_the_same_numbers(tmp_path: Path, options: dict[str, Any]) -> None:
    table = people()
    done = release(recipe(unreached="publish", matrix="published", **options), tmp_path / "out", data=table)
    xi = next(g["value"] for g in done.guarantees if g["notion"] == "identification-bound")
    if options["kind"] == "two-stage":
        assert xi > 0.1  # no bound was made for the rare category
        assert any("was asked for" in w for w in done.certificate.warnings)
    k = [g["value"] for g in done.guarantees if g["notion"] == "pk-anonymity"]
    assert bool(k) and k[0] >= options.get("k", 1)
    assert verify(tmp_path / "out", source=table, key=tmp_path / "out.key").valid


def test_the_published_law_is_the_one_that_ran(tmp_path: Path) -> None:
    done = release(recipe(matrix="published"), tmp_path / "out", data=people())
    law = mechanism_from_json(done.certificate.mechanism["law"])
    assert isinstance(law, Exchange)
    channel = law.groups[0].channel
    assert isinstance(channel, BlockInvariant)
    assert [len(block.members) for block in channel.blocks] == [2]
    assert 7 in channel.blocks[0].members
    assert done.certificate.mechanism["frequencies"]["job"] == COUNTS


def test_a_lowered_risk_is_caught(tmp_path: Path) -> None:
    table = people()
    release(recipe(matrix="published"), tmp_path / "a", data=table)
    release(recipe(), tmp_path / "b", data=table)

    def lower(content: dict[str, Any]) -> None:
        summary = content["mechanism"]["risks"]["job"]
        if "risk" in summary:
            summary["risk"] = [min(r, 0.05) for r in summary["risk"]]
        summary["xi"] = 0.05
        content["guarantees"][0]["value"] = 0.05
        content["guarantees"][0]["words"] = content["guarantees"][0]["words"].replace("0.1,", "0.05,")

    edited(tmp_path / "a", lower)
    assert not next(c for c in verify(tmp_path / "a").checks if c.name == "law").ok  # from the stated law
    edited(tmp_path / "b", lower)
    found = verify(tmp_path / "b", source=table, key=tmp_path / "b.key")  # derived from the source
    assert not next(c for c in found.checks if c.name == "risks").ok
    edited(tmp_path / "b", lambda content: content["mechanism"]["risks"]["job"].update(xi=0.01))
    found = verify(tmp_path / "b")  # no longer what the certificate promises
    assert not next(c for c in found.checks if c.name == "guarantee identification-bound").ok


def test_an_unreachable_xi_is_refused_and_nothing_written(tmp_path: Path) -> None:
    small = people().slice(0, 8)
    with pytest.raises(CheckError, match="at best") as error:
        release(recipe(), tmp_path / "out", data=small)
    assert error.value.exit_code == 1
    assert list(tmp_path.iterdir()) == []
    done = release(recipe(unreached="publish"), tmp_path / "out", data=small)
    assert any("was reached" in w for w in done.certificate.warnings)
    assert verify(tmp_path / "out").valid


def test_columns_together(tmp_path: Path) -> None:
    table = people()
    done = release(recipe(together=[["job", "sex"]]), tmp_path / "out", data=table)
    assert set(done.certificate.mechanism["risks"]) == {"job and sex"}
    assert verify(tmp_path / "out", source=table, key=tmp_path / "out.key").valid
    published = pq.read_table(tmp_path / "out" / "data.parquet")
    pairs = set(zip(published["job"].to_pylist(), published["sex"].to_pylist(), strict=True))
    assert pairs <= set(zip(table["job"].to_pylist(), table["sex"].to_pylist(), strict=True))


def test_strata_keep_their_own_frequencies(tmp_path: Path) -> None:
    """Nothing moves between strata: their sizes stay, and a value absent from one never shows up in it."""
    table = people()
    plain = recipe(strata=["region"])
    done = release(plain, tmp_path / "out", data=table)
    assert done.guarantees[0]["value"] <= 0.1
    published = pq.read_table(tmp_path / "out" / "data.parquet")
    seen = set(zip(published["region"].to_pylist(), published["job"].to_pylist(), strict=True))
    assert seen <= set(zip(table["region"].to_pylist(), table["job"].to_pylist(), strict=True))
    assert verify(tmp_path / "out", source=table, key=tmp_path / "out.key").valid


def test_forbidden_and_ordered_columns(tmp_path: Path) -> None:
    content: dict[str, Any] = {
        "release": {"method": "invariant", "xi": 0.1, "matrix": "published"},
        "attributes": {
            "job": {
                "role": "quasi-identifying",
                "domain": JOBS,
                "ordered": True,
                "forbidden": [["astronomer", "clerk"]],
            }
        },
    }
    done = release(Recipe.parse(content), tmp_path / "out", data=people().select(["job"]))
    block = done.certificate.mechanism["law"]["groups"][0]["channel"]["blocks"][0]["members"]
    assert sorted(block) == [5, 7]  # the nearest neighbour is forbidden, so the next
    assert verify(tmp_path / "out").valid


@pytest.mark.parametrize(
    "options",
    [
        {"xi": 2},
        {"xi": "a"},
        {"kind": "other"},
        {"rule": "worst"},
        {"matrix": "shown"},
        {"together": [["job", "nobody"]]},
        {"together": [["job", "sex"], ["sex"]]},
        {"together": "job"},
        {"strata": ["sex"]},
        {"strata": ["nowhere"]},
        {"strata": 3},
        {"unreached": True},
        {"shuffle": False},
        {"epsilon": 1.0},
        {"k": 3},
        {"kind": "sinkhorn"},
        {"kind": "two-stage", "strata": ["region"]},
        {"kind": "two-stage", "diagonal": 3},
    ],
)
def test_wrong_recipes_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        release(recipe(**options), tmp_path / "out", data=people())
    assert list(tmp_path.iterdir()) == []


def test_wrong_statements_do_not_pass(tmp_path: Path) -> None:
    release(recipe(), tmp_path / "out", data=people())
    text = (tmp_path / "out" / "certificate.json").read_text()
    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda m: m.pop("risks"),
        lambda m: m.update(risks={}),
        lambda m: m["setting"].update(kind="other"),
        lambda m: m["setting"].update(xi="1/0"),
        lambda m: m.update(matrix="published"),
        lambda m: m.update(k="many"),
    ]
    for change in changes:
        content = json.loads(text)
        change(content["mechanism"])
        (tmp_path / "out" / "certificate.json").write_text(Certificate.from_json(content).text())
        assert not next(c for c in verify(tmp_path / "out").checks if c.name == "law").ok


def test_combinations_are_published_as_the_joint_channel_says() -> None:
    """Joining, publishing and splitting agree with the channel on the joint codes."""
    counts = np.full(12, 30)
    channel = BlockInvariant(12, (inverse_frequency(counts, [0, 5, 11], 20.0),))
    law = Exchange({"a": 3, "b": 4}, (ChannelGroup(("a", "b"), channel),))
    rng = np.random.default_rng(1)
    codes = {"a": rng.integers(0, 3, 5000).astype(np.uint8), "b": rng.integers(0, 4, 5000).astype(np.uint8)}
    out = {name: np.empty_like(column) for name, column in codes.items()}
    stream = Key.from_seed(2).stream("value")
    law.publish(lambda _purpose, _column: stream, 7, codes, out)
    joint = (codes["a"] * 4 + codes["b"]).astype(np.uint8)
    expected = np.empty_like(joint)
    channel.publish(stream.words(7, 5000), joint, expected)
    assert (out["a"] * 4 + out["b"] == expected).all()
    assert mechanism_from_json(json.loads(json.dumps(law.to_json()))).to_json() == law.to_json()


def test_verification_does_not_claim_to_derive_what_is_withheld(tmp_path: Path) -> None:
    release(recipe(), tmp_path / "withheld", data=people())
    release(recipe(matrix="published"), tmp_path / "published", data=people())
    details = {
        name: {c.name: c.detail for c in verify(tmp_path / name).checks} for name in ("withheld", "published")
    }
    assert details["withheld"]["law"].startswith("withheld")
    assert "derived again" not in details["withheld"]["guarantee identification-bound"]
    assert "derived again" in details["published"]["guarantee identification-bound"]


def test_columns_that_need_no_change_are_named_and_so_is_who_xi_is_for(tmp_path: Path) -> None:
    done = release(recipe(), tmp_path / "out", data=people())
    words = " ".join(done.certificate.warnings)
    assert "need a change: sex published as in the source" in words  # job has a rare value and is changed
    assert "who knows one of these: job; sex" in words
    assert "who knows one of these" not in " ".join(
        release(recipe(together=[["job", "sex"]]), tmp_path / "joint", data=people()).certificate.warnings
    )
    report = (tmp_path / "out" / "report.html").read_text()
    assert "count them as they are" in report and "crosstab" not in report


def test_verification_passes_on_that_a_seeded_release_is_not_private(tmp_path: Path) -> None:
    release(recipe(), tmp_path / "out", data=people(), seed=1)
    found = verify(tmp_path / "out")
    assert found.valid and any("not private" in w for w in found.warnings)


def test_domains_and_missing_categories_read_from_the_data_are_flagged(tmp_path: Path) -> None:
    content: dict[str, Any] = {
        "release": {"method": "invariant", "xi": 0.1},
        "attributes": {
            "job": {"role": "quasi-identifying", "domain": "from-data"},
            "sex": {"role": "quasi-identifying", "domain": ["F", "M"]},
        },
    }
    table = people().select(["job", "sex"])
    done = release(Recipe.parse(content), tmp_path / "out", data=table)
    words = "Domains read from the data, which tells which values occur in it: job."
    assert words in done.certificate.warnings
    assert words in (tmp_path / "out" / "report.html").read_text()
    assert verify(tmp_path / "out").valid
    assert not any(
        "read from the data" in w
        for w in release(recipe(), tmp_path / "declared", data=people()).certificate.warnings
    )
    gaps = pa.table({"job": table["job"], "sex": [None, *table["sex"].to_pylist()[1:]]})
    done = release(Recipe.parse(content), tmp_path / "gaps", data=gaps)
    assert any("missing category" in w and "has: sex" in w for w in done.certificate.warnings)


def test_a_stronger_intruders_larger_chance_is_warned_of(tmp_path: Path) -> None:
    """Blocks of three and more: xi holds for who sees one count, and not for who sees them all."""
    done = release(recipe(rule="paper"), tmp_path / "out", data=people())
    every = next(g["value"] for g in done.guarantees if g["notion"] == "identification-bound-every-count")
    assert done.guarantees[0]["value"] <= 0.1 < every
    (words,) = [w for w in done.certificate.warnings if "every category's published count" in w]
    assert words.startswith("xi = 0.1 is asked for against anyone who sees how many records show the person's own")
    shown = float(words.split("chance of up to ")[1].split(",")[0].rstrip("."))
    assert every <= shown < every + 1e-5  # rounded against ourselves
    assert f"at most {shown}" in done.guarantees[1]["words"]  # the same number in the promise itself
    assert verify(tmp_path / "out").valid
    pairs = release(recipe(), tmp_path / "two", data=people())  # blocks of two: the same chance for both
    assert not any("every category's published count" in w for w in pairs.certificate.warnings)
