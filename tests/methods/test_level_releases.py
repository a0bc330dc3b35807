"""Versions as bundles, from a ledger: certified per level, the same when asked again, whole under kill -9."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.security.bundles import failed, statement_of, write_statement

from pramana import Bundle, Ledger, collude, create_levels, crosstab, issue, release, verify
from pramana.app.main import run
from pramana.errors import (
    BundleError,
    InputError,
    LedgerError,
    RecipeError,
    RefusedError,
    SourceError,
    UnreachableError,
)
from pramana.theory import levels, pk
from pramana.theory.levels import Level

RECIPE = """
[source]
path = "people.csv"
[release]
method = "levels"
{release}
[attributes.name]
role = "identifying"
[attributes.sex]
role = "quasi-identifying"
{sex}
[attributes.income]
role = "sensitive"
domain = ["low", "mid", "high"]
{income}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    lines = [f"p{i},{'FM'[rng.integers(2)]},{['low', 'mid', 'high'][rng.integers(3)]}" for i in range(400)]
    (tmp_path / "people.csv").write_text("name,sex,income\n" + "\n".join(lines) + "\n")
    recipe(tmp_path)
    return tmp_path


def recipe(folder: Path, release: str = "", sex: str = "", income: str = "", name: str = "recipe.toml") -> Path:
    place = folder / name
    place.write_text(RECIPE.format(release=release, sex=sex, income=income))
    return place


def guarantees(certificate: Any) -> dict[str, Any]:
    return {g["notion"]: g for g in certificate.guarantees}


# ---------------------------------------------------------------- one version


def test_a_version_is_certified_for_its_level(folder: Path) -> None:
    done = release(recipe(folder, "retention = 0.3"), folder / "out")
    found = guarantees(done.certificate)
    assert set(found) == {"local-differential-privacy", "rho1-rho2-privacy", "delta-growth", "collusion"}
    ratio = pk.likelihood_ratio_of_redraw(Fraction(3, 10), min(levels.uniform_law(3)))
    assert ratio is not None
    assert found["local-differential-privacy"]["value"] == pytest.approx(float(np.log(float(ratio))))
    for pair in found["rho1-rho2-privacy"]["value"]:
        exact = levels.posterior_bound(ratio, Fraction(str(pair["rho1"])))
        assert 0 <= Fraction(pair["rho2"]) - exact < Fraction(1, 10**15)
    assert found["delta-growth"]["value"] == levels.growth_bound(ratio)
    assert found["collusion"]["value"] == "0.3"
    assert not any("only release" in a for g in found.values() for a in g["assumptions"])
    checks = verify(done.bundle, source=folder / "people.csv", key=done.key_file)
    assert checks.valid, checks
    assert any("sex" in w for w in done.certificate.warnings)


def test_pk_is_claimed_where_the_quasi_identifiers_are_perturbed(folder: Path) -> None:
    perturbed = 'randomise = true\ndomain = ["F", "M"]'
    done = release(recipe(folder, "retention = 0.1", perturbed), folder / "out")
    found = guarantees(done.certificate)
    each = [pk.likelihood_ratio_of_redraw(Fraction(1, 10), min(levels.uniform_law(s))) for s in (2, 3)]
    k = 1 + 399 / (each[0] * each[1]) ** 2  # type: ignore[operator]
    assert found["pk-anonymity"]["value"] == pytest.approx(float(k))
    assert "central-differential-privacy" in found
    joint = release(recipe(folder, "retention = 0.1\ntogether = true", perturbed), folder / "joint")
    whole = pk.likelihood_ratio_of_redraw(Fraction(1, 10), min(levels.uniform_law(6)))
    k = 1 + 399 / whole**2  # type: ignore[operator]
    assert guarantees(joint.certificate)["pk-anonymity"]["value"] == pytest.approx(float(k))
    assert verify(joint.bundle, source=folder / "people.csv", key=joint.key_file).valid


def test_the_highest_level_within_epsilon(folder: Path) -> None:
    done = release(recipe(folder, "epsilon = 1.5"), folder / "out")
    level = Level.of(done.certificate.mechanism["law"]["level"])
    law = levels.uniform_law(3)
    reached, beyond = (pk.likelihood_ratio_of_redraw(Level(level.steps + i).retention, min(law)) for i in (0, 1))
    assert reached is not None and beyond is not None
    assert float(reached) <= np.exp(1.5) * (1 + 1e-14) and float(beyond) >= np.exp(1.5) * (1 - 1e-14)
    with pytest.raises(UnreachableError):
        release(recipe(folder, "retention = 0.9\nepsilon = 1.5"), folder / "other")
    with pytest.raises(RecipeError, match="retention, k or epsilon"):
        release(recipe(folder), folder / "other")


def test_a_replacement_law_of_the_holders(folder: Path) -> None:
    done = release(recipe(folder, "retention = 0.2", "", "distribution = [0.5, 0.3, 0.2]"), folder / "out")
    value = guarantees(done.certificate)["local-differential-privacy"]["value"]
    assert value == pytest.approx(float(np.log(1 + 0.2 / (0.8 * 0.2))))
    assert verify(done.bundle, source=folder / "people.csv", key=done.key_file).valid
    for wrong in ("[0.5, 0.5]", "3", '["a"]', "[1, 1, 1]"):
        with pytest.raises(InputError):
            release(recipe(folder, "retention = 0.2", "", f"distribution = {wrong}"), folder / "other")


@pytest.mark.parametrize("design", ["", "together = true", "distribution"])
def test_a_recipient_reconstructs_tables_as_ever(folder: Path, design: str) -> None:
    """Theorem 2: a version is analysed like any other randomised release."""
    law = "distribution = [0.5, 0.3, 0.2]" if design == "distribution" else ""
    together = "together = true" if design == "together = true" else ""
    sex = 'randomise = true\ndomain = ["F", "M"]'
    done = release(recipe(folder, f"retention = 0.8\n{together}", sex, law), folder / "out", seed=7)
    table = crosstab(done.bundle, ["income"])
    lines = (folder / "people.csv").read_text().splitlines()[1:]
    for cell in table.cells():
        true = sum(line.endswith("," + cell["income"]) for line in lines)
        assert cell["estimate"] == pytest.approx(true, abs=45)


@pytest.mark.parametrize("stated", ["retention = 0.3000000000000001", "retention = 1.5", "together = 3"])
def test_what_is_no_level_or_design(folder: Path, stated: str) -> None:
    with pytest.raises(InputError):
        release(recipe(folder, stated), folder / "out")
    assert not (folder / "out").exists()


def test_a_forged_level_is_caught(folder: Path) -> None:
    """Its digest is made again each time, so that the level itself is what is wrong."""
    done = release(recipe(folder, "retention = 0.3"), folder / "out")
    whole = statement_of(done.bundle)
    for forged, noticed in {
        "0.2": "guarantee local-differential-privacy",
        "0.31": "guarantee local-differential-privacy",
        "0.30": "law",
        "two": "law",
        "0.1234567890123": "law",
    }.items():
        law = {**whole["mechanism"]["law"], "level": forged}
        write_statement(done.bundle, {**whole, "mechanism": {**whole["mechanism"], "law": law}})
        wrong = failed(done.bundle)
        assert noticed in wrong and "certificate" not in wrong, (forged, wrong)
    write_statement(done.bundle, whole)
    assert failed(done.bundle) == set()


# ---------------------------------------------------------------- many versions, with a ledger


@pytest.mark.parametrize("history", ["", "history = true"])
def test_versions_from_a_ledger(folder: Path, history: str) -> None:
    ledger = folder / "ledger.db"
    made = create_levels(ledger, recipe(folder, history))
    assert made.records == 400 and made.key_file.stat().st_mode & 0o777 == 0o600
    for who, level in (("anna", "0.3"), ("bert", "0.1"), ("carl", "0.5"), ("dora", "0.4")):
        done = issue(ledger, who, level, folder / who)
        assert not done.again and done.release.status == "committed"
        assert verify(done.bundle).valid
    again = issue(ledger, "bert", "0.10", folder / "bert again")
    assert again.again and again.release.repeats == 0
    for name in ("data.parquet", "certificate.json"):
        assert (folder / "bert" / name).read_bytes() == (folder / "bert again" / name).read_bytes()
    shared = issue(ledger, "emil", "0.3", folder / "emil")
    assert (shared.bundle / "data.parquet").read_bytes() == (folder / "anna" / "data.parquet").read_bytes()
    found = collude(ledger, ["anna", "bert", "carl", "dora"])
    assert found.together == pytest.approx(found.best_alone) and found.useless and found.members == 4
    statuses = [(r.recipient, str(r.level), r.status, r.repeats) for r in Ledger.open(ledger).releases()]
    assert statuses == [
        ("anna", "0.3", "committed", 0), ("bert", "0.1", "committed", 1), ("carl", "0.5", "committed", 0),
        ("dora", "0.4", "committed", 0), ("emil", "0.3", "committed", 0),
    ]  # fmt: skip
    if not history:
        assert verify(folder / "anna", source=folder / "people.csv", key=made.key_file).valid


def test_a_history_cannot_be_made_again_from_a_key(folder: Path) -> None:
    made = create_levels(folder / "ledger.db", recipe(folder, "history = true"))
    issue(folder / "ledger.db", "anna", "0.3", folder / "anna")
    with pytest.raises(BundleError, match="history"):
        verify(folder / "anna", source=folder / "people.csv", key=made.key_file)
    with pytest.raises(RecipeError, match="ledger"):
        release(recipe(folder, "history = true\nretention = 0.3"), folder / "out")
    shutil.rmtree(folder / "ledger.db.versions")
    with pytest.raises(LedgerError, match="history"):
        issue(folder / "ledger.db", "bert", "0.2", folder / "bert")


def test_requests_that_break_the_promise_are_refused(folder: Path) -> None:
    ledger = folder / "ledger.db"
    stated = 'people = "town"\ntotal_epsilon = 1.5\nallowances = { anna = 0.6, "*" = 0.2 }'
    create_levels(ledger, recipe(folder, stated))
    issue(ledger, "anna", "0.3", folder / "anna")
    with pytest.raises(RefusedError, match="allowance"):
        issue(ledger, "bert", "0.3", folder / "bert")
    with pytest.raises(RefusedError, match=r"total epsilon.*`pramana ledger limit`"):
        issue(ledger, "anna", "0.6", folder / "more")
    with pytest.raises(RefusedError, match="one key"):
        create_levels(ledger, recipe(folder), name="again")
    assert not (folder / "ledger.db.again.key").exists()  # nothing is left of it
    again = create_levels(ledger, recipe(folder), name="again", independent=True)
    assert again.warnings and again.key_file.exists()
    with pytest.raises(RefusedError, match="another key"):
        issue(ledger, "anna", "0.3", folder / "other", dataset="recipe", key=again.key_file)
    people = folder / "people.csv"
    people.write_text(people.read_text().replace("low", "mid", 1))
    with pytest.raises(RefusedError, match="changed"):
        issue(ledger, "anna", "0.1", folder / "other", dataset="recipe")
    with pytest.raises(RefusedError, match="changed"):
        collude(ledger, ["anna"], dataset="recipe")
    assert sorted(p.name for p in folder.iterdir() if p.is_dir()) == ["anna"]


def test_editing_the_recipe_changes_nothing(folder: Path) -> None:
    create_levels(folder / "ledger.db", recipe(folder))
    recipe(folder, "together = true", "", "distribution = [0.5, 0.3, 0.2]")
    issue(folder / "ledger.db", "anna", "0.3", folder / "anna")
    law = Bundle.open(folder / "anna").certificate.mechanism["law"]
    assert law["laws"]["income"]["kind"] == "uniform" and law["joint"] is False


def test_nothing_is_reserved_for_a_folder_that_exists(folder: Path) -> None:
    create_levels(folder / "ledger.db", recipe(folder))
    (folder / "out").mkdir()
    with pytest.raises(BundleError, match="already exists"):
        issue(folder / "ledger.db", "anna", "0.3", folder / "out")
    assert not Ledger.open(folder / "ledger.db").releases()


def test_other_failures_in_one_line(folder: Path) -> None:
    ledger = folder / "ledger.db"
    with pytest.raises(RecipeError, match="levels"):
        other = folder / "other.toml"
        other.write_text(RECIPE.format(release="", sex="", income="").replace('"levels"', '"retention"'))
        create_levels(ledger, other)
    for wrong in ("people = 3", "allowances = 3", "total_epsilon = 1.0", "total_epsilon = -1\npeople = 'x'",
                  "history = 3", "allowances = { anna = 2 }"):  # fmt: skip
        with pytest.raises(InputError):
            create_levels(folder / "wrong.db", recipe(folder, wrong, name="wrong.toml"))
    assert not list(folder.glob("*.db*"))  # nothing was written
    create_levels(ledger, recipe(folder))
    with pytest.raises(LedgerError):
        collude(ledger, ["nobody"])
    (folder / "people.csv").unlink()
    with pytest.raises(SourceError):
        issue(ledger, "anna", "0.3", folder / "anna")
    with pytest.raises(LedgerError, match="--key"):
        (folder / "people.csv").write_text("name,sex,income\np,F,low\n")
        create_levels("postgresql://nobody@localhost:1/none", recipe(folder))


# ---------------------------------------------------------------- killed anywhere


def start(work: Callable[[], None]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.__stderr__)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(step: int) -> None:
    """Die before the step-th of: a statement of the ledger, its commit, a rename, a flush to disk."""
    from sqlalchemy import Engine, event

    count = 0

    def tick(*_: Any) -> None:
        nonlocal count
        count += 1
        if count == step:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "commit"):
        event.listen(Engine, name, tick)
    for owner, name in ((Path, "rename"), (os, "fsync")):
        known = getattr(owner, name)

        def counted(*arguments: Any, known: Any = known) -> Any:
            tick()
            return known(*arguments)

        setattr(owner, name, counted)


@pytest.mark.parametrize("history", ["", "history = true"])
def test_killed_at_every_step_of_an_issue(folder: Path, history: str) -> None:
    ledger = folder / "ledger.db"
    create_levels(ledger, recipe(folder, history))
    issue(ledger, "first", "0.7", folder / "first")
    step, ended = 0, -signal.SIGKILL
    while ended == -signal.SIGKILL:
        step += 1
        who, level, out = f"recipient {step}", f"0.{step:03d}1", folder / f"out {step}"

        def work(step: int = step, who: str = who, level: str = level, out: Path = out) -> None:
            kill_at(step)
            issue(ledger, who, level, out, threads=1, even_if_useless=True)

        ended = start(work)
        seen = (out / "data.parquet").read_bytes() if out.exists() else None
        if ended == -signal.SIGKILL:
            status = {r.recipient: r.status for r in Ledger.open(ledger).releases()}
            place = folder / f"again {step}" if status.get(who) == "committed" else out
            issue(ledger, who, level, place, threads=1, even_if_useless=True)
            if seen is not None:  # a bundle that may have left the house is the one that stands
                assert (place / "data.parquet").read_bytes() == seen
    assert ended == 0 and step > 15
    releases = Ledger.open(ledger).releases()
    assert [r.status for r in releases] == ["committed"] * (step + 1)
    assert Ledger.open(ledger).is_unbroken()
    assert collude(ledger, [r.recipient for r in releases]).useless


def test_killed_while_a_dataset_is_registered(folder: Path) -> None:
    ledger = folder / "ledger.db"
    step, ended = 0, -signal.SIGKILL
    while ended == -signal.SIGKILL:
        step += 1

        def work(step: int = step) -> None:
            kill_at(step)
            create_levels(ledger, folder / "recipe.toml")

        ended = start(work)
        if _datasets(ledger):  # killed after all was done
            break
    assert list(_datasets(ledger)) == ["recipe"]
    issue(ledger, "anna", "0.3", folder / "anna")


def _datasets(ledger: Path) -> list[str]:
    try:
        return list(Ledger.open(ledger).state().datasets)
    except LedgerError:
        return []


# ---------------------------------------------------------------- the command line


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    made = told(capsys, "levels", "create", "L.db", "--recipe", "recipe.toml")
    assert made["records"] == 400 and made["key"] == "L.db.key" and Path("L.db.key").exists()
    for who, level in (("anna", ".5"), ("bert", "0.25")):
        done = told(capsys, "levels", "issue", "L.db", "--recipient", who, "--retention", level, "--out", who)
        assert {"bundle", "records", "guarantees"} <= set(done)
    listed = told(capsys, "levels", "list", "L.db")["releases"]
    assert [(r["recipient"], r["retention"], r["status"]) for r in listed] == [
        ("anna", "0.5", "committed"), ("bert", "0.25", "committed"),
    ]  # fmt: skip
    found = told(capsys, "levels", "collude", "L.db", "--recipients", "anna, bert", "--picture", "pic")
    assert found["together"] == pytest.approx(found["best_alone"]) and Path("pic.svg").exists()
    found = told(capsys, "levels", "collude", "L.db", "--recipients", "anna, bert", "--picture", "c.svg")
    assert found["picture"] == ["c.svg"] and Path("c.svg").exists() and not Path("c.svg.svg").exists()
    assert told(capsys, "levels", "allow", "L.db", "--recipient", "*", "--retention", "0.3")["retention"] == "0.3"
    assert told(capsys, "levels", "limit", "L.db", "--people", "all", "--epsilon", "4.5")["epsilon"] == 4.5
    assert told(capsys, "levels", "check", "L.db") == {"valid": True, "entries": 7}
    assert run(["levels", "export", "L.db"]) == 0
    assert [json.loads(line)["number"] for line in capsys.readouterr().out.splitlines()] == list(range(1, 8))
    for words in (
        ["issue", "L.db", "--recipient", "carl", "--retention", "0.4", "--out", "carl"],
        ["issue", "L.db", "--recipient", "carl", "--retention", "1/3", "--out", "carl"],
        ["issue", "none.db", "--recipient", "carl", "--retention", "0.2", "--out", "carl"],
        ["collude", "L.db", "--recipients", "anna,zoe"],
        ["collude", "L.db", "--recipients", ","],
        ["abandon", "L.db", "nothing", "--reason", "x"],
        ["limit", "L.db", "--people", "all", "--epsilon", "1e999999999"],
        ["limit", "L.db", "--people", "all", "--epsilon", "-1"],
        ["list", "L.db", "--dataset", "other"],
    ):
        assert run(["levels", *words]) == 2
        told_ = capsys.readouterr()
        assert told_.out == "" and len(told_.err.strip().splitlines()) == 1
    assert not Path("carl").exists() and not Path("none.db").exists()
    assert run(["levels", "issue", "L.db", "--recipient", "bert", "--retention", "0.25", "--out", "bert2"]) == 0
    assert run(["levels", "list", "L.db"]) == 0
    assert "the same as before" in capsys.readouterr().out


@given(recipient=st.text(max_size=30), level=st.one_of(st.text(max_size=20), st.decimals(0, 1, places=3).map(str)))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_request_ends_in_a_bundle_or_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], recipient: str, level: str
) -> None:
    ledger, out = folder / "ledger.db", folder / "out"
    if not ledger.exists():
        create_levels(ledger, folder / "recipe.toml")
    shutil.rmtree(out, ignore_errors=True)
    before = len(Ledger.open(ledger).entries())
    code = run(
        ["levels", "issue", str(ledger), f"--recipient={recipient}", f"--retention={level}", f"--out={out}"]
    )
    told_ = capsys.readouterr()
    assert code in (0, 2) and out.exists() == (code == 0)
    if code == 2:
        assert len(told_.err.strip().splitlines()) == 1 and len(Ledger.open(ledger).entries()) == before


def test_domains_read_from_the_data_are_flagged(folder: Path) -> None:
    place = recipe(folder, "retention = 0.3")
    place.write_text(place.read_text().replace('domain = ["low", "mid", "high"]', 'domain = "from-data"'))
    done = release(place, folder / "out")
    assert "Domains read from the data, which tells which values occur in it: income." in done.certificate.warnings


def test_a_listed_epsilon_is_rounded_up_like_the_one_that_was_issued(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three values at level 1/2: epsilon = ln 4 = 1.386294..., which must not be shown as 1.38629."""
    ledger = str(folder / "ledger.db")
    create_levels(ledger, folder / "recipe.toml")
    asked = ["--recipient", "anna", "--retention", "0.5", "--out", str(folder / "anna")]
    assert run(["levels", "issue", ledger, *asked]) == 0
    assert "(epsilon 1.3863)" in capsys.readouterr().out
    assert run(["levels", "list", ledger]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "anna" in line]
    assert line.split()[4] == "1.3863"


def test_a_recipe_without_a_level_is_for_a_ledger(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["release", str(folder / "recipe.toml"), "--out", str(folder / "out")]) == 2
    said = capsys.readouterr().err
    assert "`pramana levels create`" in said and "`pramana levels issue`" in said
    assert not (folder / "out").exists()


@pytest.mark.parametrize("together", ["true", "false"])
def test_the_report_is_rebuilt_whatever_the_order_of_names(together: str, tmp_path: Path) -> None:
    """Certificates sort their keys; columns and the tables of them stay as the recipe has them."""
    (tmp_path / "people.csv").write_text("z,m,a\n" + "".join(f"{i % 3},{i % 2},{i % 5}\n" for i in range(40)))
    columns = "".join(f'[attributes.{n}]\nrole = "sensitive"\ndomain = "from-data"\n' for n in "zma")
    setting = f'[release]\nmethod = "levels"\nretention = 0.5\ntogether = {together}\n'
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'[source]\npath = "people.csv"\n{setting}{columns}')
    made = release(recipe, tmp_path / "bundle")
    assert verify(made.bundle).valid
    assert verify(made.bundle, source=tmp_path / "people.csv", key=made.key_file).valid
