"""The page of trust says what the stored results say, and those say that everything went as it should."""

from __future__ import annotations

import json
import re

from benchmarks.judges.__main__ import page as judges_page
from tests.docs.trust import DOCS, PAGE, with_figures
from tests.security.fuzzing.figures import JSON
from tests.security.fuzzing.figures import PAGE as FUZZING
from tests.security.fuzzing.figures import page as fuzzing_page

EXPERIMENTS = DOCS / "experiments"


def test_the_page_shows_the_stored_results() -> None:
    assert PAGE.read_text() == with_figures(PAGE.read_text()), "run `python -m tests.docs.trust`"


def test_stored_pages_are_those_of_their_figures() -> None:
    assert FUZZING.read_text() == fuzzing_page(json.loads(JSON.read_text()))
    judges = EXPERIMENTS / "judges"
    assert (judges / "README.md").read_text() == judges_page(json.loads((judges / "judges.json").read_text()))


def test_every_part_was_run_and_found_nothing_open() -> None:
    parts = json.loads(JSON.read_text())
    assert {"guided", "chance", "edits", "kernels"} <= set(parts)
    for part in parts.values():
        assert part["lines"] and all(line["findings"] == 0 for line in part["lines"].values())
        done = [line.get("executions", line.get("passed", 0)) for line in part["lines"].values()]
        assert sum(done) > 0 and (all(done) or part is parts["edits"])  # edits take turns while the time lasts
    assert set(json.loads((EXPERIMENTS / "judges" / "judges.json").read_text())) == {
        "releases", "epsilons", "classes", "optima",
    }  # fmt: skip
    honest, of_honest, broken, of_broken = map(
        int,
        re.findall(
            r"^(\d+) of (\d+) honest .*; (\d+) of (\d+) broken", (EXPERIMENTS / "attacks.md").read_text(), re.M
        )[0],
    )
    assert honest == of_honest >= 4 and broken == of_broken >= 9


def test_experiments_link_somewhere() -> None:
    for page in (
        EXPERIMENTS / "README.md",
        EXPERIMENTS / "attacks.md",
        EXPERIMENTS / "judges" / "README.md",
        FUZZING,
    ):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"
