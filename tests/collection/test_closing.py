"""A closed survey is a bundle: certified for the records that came, with the page's digest and without a key."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.collection.running import SURVEY
from tests.notions.word_checks import overclaims_in, problems_of

from pramana import Ledger, crosstab, make_signing_key, report, verify
from pramana.app import collector
from pramana.app.collector.application import SurveyPage
from pramana.app.collector.closing import CollectionFolder, close_collection, results_of
from pramana.app.collector.store import CollectionStore
from pramana.app.collector.submission import Submission
from pramana.app.collector.survey import Survey
from pramana.app.main import run
from pramana.bundle.certificate import Certificate
from pramana.errors import BundleError, CollectionError, RefusedError, SourceError, UnreachableError
from pramana.mechanisms.guarantees import k_of
from pramana.methods.recipe import Recipe

ATTRIBUTES = {
    "smokes": {"role": "sensitive", "randomise": True, "domain": ["yes", "no"]},
    "age": {"role": "quasi-identifying", "bins": [0, 30, 60, float("inf")]},
}


def survey_of(release: dict[str, Any], **section: Any) -> Survey:
    return Survey.read(Recipe.parse({"release": release, "attributes": ATTRIBUTES, "survey": section}))


def filled(survey: Survey, place: CollectionFolder, records: int) -> tuple[CollectionStore, str]:
    page = SurveyPage(survey).digest
    store = place.open(page, len(survey.columns))
    random = np.random.default_rng(5)
    batch = [
        Submission(random.bytes(16), (int(random.integers(3)), int(random.integers(4)))) for _ in range(records)
    ]
    if batch:
        store.add(batch)
    return store, page


@pytest.mark.parametrize(
    "release", [{"epsilon": 3}, {"epsilon": 2, "coin": "record"}], ids=["attribute", "record"]
)
def test_a_closed_survey_is_a_bundle_like_any_other(release: dict[str, Any], tmp_path: Path) -> None:
    survey, place = survey_of(release), CollectionFolder(tmp_path / "bundle")
    store, page = filled(survey, place, 400)
    certificate = close_collection(survey, store, page, place.out)
    checked = verify(place.out)
    assert checked.valid, [check for check in checked.checks if not check.ok]
    said = {check.name for check in checked.checks if not check.derived}
    assert said == {"page", "key"}, "what only the organiser can know is marked as said"
    assert certificate.records == 400 and certificate.key is None and certificate.shuffled
    assert dict(certificate.source) == {"format": "devices", "page": page}
    (k,) = (g for g in certificate.guarantees if g["notion"] == "pk-anonymity")
    exact = k_of(survey.plan.mechanism, replace(survey.plan.circumstances, records=400))
    assert k["value"] <= exact < k["value"] * 1.0001
    assert not any(overclaims_in(warning) for warning in certificate.warnings)
    for guarantee in certificate.guarantees:
        assert problems_of(guarantee) == []
        assert any("ran the page whose digest" in words for words in guarantee["assumptions"])
        told = [*guarantee["assumptions"], guarantee["words"]]
        assert not any("the key" in words or "AES" in words for words in told), told
    assert any("whoever ran the collector included" in warning for warning in certificate.warnings)
    (again,) = (warning for warning in certificate.warnings if "asked again" in warning)
    assert "answers the same" in again and "spends no further epsilon" in again
    live = results_of(survey, store.records())
    for table in live.tables:
        names = [axis.name for axis in table.axes]
        assert table.cells() == crosstab(place.out, names).cells(), "what was shown live is what recipients get"
    text = (place.out / "report.html").read_text()
    assert page in text and "nobody holds a table of the true ones" in text
    assert report(place.out, tmp_path / "report.html").exists()
    dossier = report(place.out, tmp_path / "dossier.html", dossier=True).read_text()
    assert "randomised on people&#39;s own devices" in dossier and "No key exists." in dossier
    with pytest.raises(BundleError, match="nobody has them"):
        verify(place.out, source=tmp_path / "x.csv", key=tmp_path / "k")
    store.close()


def test_the_published_order_is_another_than_the_stores(tmp_path: Path) -> None:
    survey, place = survey_of({"epsilon": 3}), CollectionFolder(tmp_path / "bundle")
    store, page = filled(survey, place, 300)
    close_collection(survey, store, page, place.out)
    import pyarrow.parquet as pq

    published = pq.read_table(place.out / "data.parquet").column("age").to_pylist()
    labels = [*survey.plan.attributes[1].coded.labels, None]
    stored = [labels[code] for code in store.records()[:, 1]]
    assert sorted(map(str, published)) == sorted(map(str, stored)) and published != stored
    store.close()


def test_k_that_is_not_reached_keeps_a_survey_open_unless_fewer_will_do(tmp_path: Path) -> None:
    """Planned for 2,000 and met by 50: k = 20 is not what 50 known participants have."""
    release = {"k": 20, "records": 2000}
    survey, place = survey_of(release), CollectionFolder(tmp_path / "bundle")
    store, page = filled(survey, place, 50)
    live = results_of(survey, store.records())
    assert live.k < 2 and live.k_planned is not None and live.k_planned >= 20 and live.planned == 2000
    with pytest.raises(UnreachableError, match="k = 20"):
        close_collection(survey, store, page, place.out)
    assert not place.out.exists() and not store.is_closed and store.count() == 50
    store.close()
    fewer, other = survey_of(release, fewer=True), CollectionFolder(tmp_path / "other")
    store, page = filled(fewer, other, 50)
    certificate = close_collection(fewer, store, page, other.out)
    assert certificate.guarantees[0]["value"] == live.k
    assert verify(other.out).valid and store.is_closed
    store.close()


def test_epsilon_is_never_waived(tmp_path: Path) -> None:
    survey, place = survey_of({"epsilon": 3}, fewer=True), CollectionFolder(tmp_path / "bundle")
    store, page = filled(survey, place, 30)
    lax = replace(survey, recipe=survey_of({"epsilon": 1}, fewer=True).recipe)
    with pytest.raises(UnreachableError, match="epsilon = 1"):
        close_collection(lax, store, page, place.out)
    store.close()


def test_nothing_is_published_of_nobody_and_a_bundle_is_not_overwritten(tmp_path: Path) -> None:
    survey, place = survey_of({"epsilon": 3}), CollectionFolder(tmp_path / "bundle")
    store, page = filled(survey, place, 0)
    assert results_of(survey, store.records()).tables == ()
    with pytest.raises(SourceError, match="at least one record"):
        close_collection(survey, store, page, place.out)
    assert not store.is_closed
    place.out.mkdir()
    with pytest.raises(BundleError, match="already exists"):
        CollectionFolder(place.out)
    store.close()


def test_invitations_are_made_once_and_kept_as_digests(tmp_path: Path) -> None:
    survey, place = survey_of({"epsilon": 3}, invitations=5), CollectionFolder(tmp_path / "bundle")
    store = place.open("0" * 64, 2)
    place.invite(survey, store, lambda token: f"http://x/#{token}")
    links = place.invitations.read_text().split()
    assert len(set(links)) == 5 and place.invitations.stat().st_mode & 0o077 == 0
    place.invite(survey, store, lambda token: f"http://y/#{token}")
    assert place.invitations.read_text().split() == links
    content = (place.path / "records.db").read_bytes()
    assert not any(link.partition("#")[2].encode() in content for link in links)
    store.close()


def test_the_command_line_closes_and_signs(tmp_path: Path, monkeypatch: Any, capfd: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("survey.toml").write_text(SURVEY)
    make_signing_key("holder")
    survey = Survey.read("survey.toml")
    store, _ = filled(survey, CollectionFolder(Path("bundle")), 40)
    store.close()
    assert run(["collect", "survey.toml", "--out", "bundle", "--close", "--sign", "holder"]) == 0
    assert json.loads(capfd.readouterr().out) == {"bundle": "bundle", "records": 40}
    assert verify("bundle", public_key="holder.pub").valid
    assert run(["collect", "survey.toml", "--out", "bundle", "--close"]) == 2


def test_another_recipe_does_not_go_on_with_these_records(tmp_path: Path) -> None:
    survey, place = survey_of({"epsilon": 3}), CollectionFolder(tmp_path / "bundle")
    store, _ = filled(survey, place, 3)
    store.close()
    with pytest.raises(CollectionError, match="begun with"):
        place.open(SurveyPage(survey_of({"epsilon": 2})).digest, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"key": {"commitment": "0" * 64, "seeded": False}},
        {"source": {"format": "devices"}},
        {"source": {"format": "devices", "page": "0" * 64, "commitment": "0" * 64}},
        {"source": {"format": "csv", "page": "0" * 64}},
        {"source": {"format": "csv", "commitment": "0" * 64}},
        {"source": {"format": "devices", "page": "x"}},
    ],
)
def test_a_certificate_is_of_devices_wholly_or_not_at_all(change: dict[str, Any], tmp_path: Path) -> None:
    survey, place = survey_of({"epsilon": 3}), CollectionFolder(tmp_path / "bundle")
    store, page = filled(survey, place, 20)
    stated = close_collection(survey, store, page, place.out).to_json()
    store.close()
    assert Certificate.from_json(stated).on_devices
    with pytest.raises(BundleError):
        Certificate.from_json({**stated, **change})


def test_waves_of_the_same_people_go_through_the_ledger(tmp_path: Path) -> None:
    """Reserved before anyone answers, committed when closed; each adds its epsilon, a limit refuses more."""
    ledger = Ledger.create(tmp_path / "town.ledger")
    content = {"release": {"epsilon": 1.5}, "attributes": ATTRIBUTES, "survey": {}}
    section = {"path": str(tmp_path / "town.ledger"), "people": "town"}
    survey = Survey.read(Recipe.parse({**content, "ledger": section}))
    page = SurveyPage(survey).digest
    for wave in (1, 2):
        place = CollectionFolder(tmp_path / f"wave{wave}")
        place.reserve(survey, page)
        place.reserve(survey, page)  # after a restart
        assert [r.status for r in ledger.releases()] == ["committed"] * (wave - 1) + ["reserved"]
        store, _ = filled(survey, place, 300)
        close_collection(survey, store, page, place.out)
        store.close()
        assert ledger.total("town").releases == wave
        assert ledger.total("town").epsilon == pytest.approx(1.5 * wave)
    ledger.limit("town", Fraction(4), "test")
    with pytest.raises(RefusedError, match=r"total epsilon .* within 4, got 4.5"):
        CollectionFolder(tmp_path / "wave3").reserve(survey, page)
    assert [r.status for r in ledger.releases()] == ["committed", "committed"]


def test_a_run_killed_between_bundle_and_ledger_is_completed_by_closing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create(tmp_path / "town.ledger")
    Path("survey.toml").write_text(f'{SURVEY}\n[ledger]\npath = "town.ledger"\npeople = "town"\n')
    survey, place = Survey.read("survey.toml"), CollectionFolder(Path("bundle"))
    page = SurveyPage(survey).digest
    place.reserve(survey, page)
    store, _ = filled(survey, place, 40)
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr("pramana.app.collector.closing.commit_collection", interrupted)
        close_collection(survey, store, page, place.out)
    store.close()
    assert verify("bundle").valid and [r.status for r in ledger.releases()] == ["reserved"]
    assert run(["collect", "survey.toml", "--out", "bundle", "--close"]) == 0
    assert json.loads(capfd.readouterr().out) == {"bundle": "bundle", "records": 40}
    assert [r.status for r in ledger.releases()] == ["committed"]
    assert run(["collect", "survey.toml", "--out", "bundle", "--close"]) == 2  # nothing is left to say


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_coin_that_no_device_remembers_is_said_to_cost_again() -> None:
    """As many combinations as the browser's module remembers, and one value more."""
    module = Path(collector.__file__).parent / "randomiser" / "src" / "randomise.ts"
    stated = re.search(r"const MOST_RECORDS = (\d+);", module.read_text())
    assert stated is not None
    most = int(stated[1])
    for second, costs in ((most // 64, False), (most // 64 + 1, True)):
        columns = {
            name: {"role": "sensitive", "randomise": True, "domain": list(range(size - 1))}  # and no answer
            for name, size in (("a", 64), ("b", second))
        }
        for coin, forgotten in (("record", costs), ("attribute", False)):
            release = {"retention": 0.5, "coin": coin, "records": 100}
            survey = Survey.read(Recipe.parse({"release": release, "attributes": columns, "survey": {}}))
            circumstances = replace(survey.plan.circumstances, on_devices=True)
            said = " ".join(replace(survey.plan, circumstances=circumstances).warnings(seeded=False))
            assert ("remembered on no device" in said) == forgotten
            assert ("spends no further epsilon" in said) != forgotten
