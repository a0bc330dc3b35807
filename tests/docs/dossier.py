"""The filled-in dossier that is stored as an example: `python -m tests.docs.dossier` writes it again."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pramana import Key, release, report
from pramana.datasets.census import census
from pramana.holder.audit.suite import audit_bundle

STORED = Path(__file__).parents[2] / "docs" / "examples" / "dossier.html"
KEY = Key(bytes(range(32)))  # anyone's, so that the example can be made again; the table is generated
ABOUT = """\
[about]
title = "Household survey 2026, public file (generated example)"
holder = "Office of Statistics (example)"
holder_kind = "government"
contact = "data protection desk, room 7"
purpose = "teaching and research on households"
recipient = "everyone"
release_model = "public file"
date = "2026-03-31"
storage_period = "the public file without end; source and key until 2036"
region = "Utopia"
license = "https://creativecommons.org/licenses/by/4.0/"

"""


def make_example(folder: Path) -> str:
    """A small release with three columns, attacked with other people for comparison, and its dossier."""
    people = census(2_000, seed=7).select(["sex", "age", "education"])
    people.write_csv(folder / "people.csv")
    people.write_recipe(folder / "recipe.toml", source="people.csv", k=10)
    recipe = folder / "recipe.toml"
    recipe.write_text(ABOUT + recipe.read_text())
    release(recipe, folder / "published", key=KEY)
    census(1_000, seed=8).select(["sex", "age", "education"]).write_csv(folder / "others.csv")
    found = audit_bundle(folder / "published", folder / "people.csv", KEY, control=folder / "others.csv")
    return report(folder / "published", dossier=True, audit=found.to_json()).read_text()


if __name__ == "__main__":
    STORED.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        STORED.write_text(make_example(Path(place)))
