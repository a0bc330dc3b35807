"""The pictures of README and pages: a survey and reports. Those of the studio are made by its own journey, in
test_studio.py. `make pictures` stores them again.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import NewPage
from tests.collection.running import Running
from tests.docs.pictures import WIDEST, check_picture

import pramana

pytestmark = pytest.mark.xdist_group("browser")


def test_a_survey(demo: Running, new_page: NewPage) -> None:
    page = new_page(WIDEST)
    page.goto(demo.survey)
    check_picture(page, "survey", 900)


RECIPES = {
    "report": """
k = 50
tables = [["sex", "age"]]
[attributes.sex]
role = "quasi-identifying"
domain = ["female", "male"]
[attributes.age]
role = "quasi-identifying"
domain = "from-data"
[attributes.income]
role = "sensitive"
""",
    "report-generalised": """
method = "generalize"
algorithm = "mondrian"
k = 10
[attributes.sex]
role = "quasi-identifying"
domain = ["female", "male"]
[attributes.age]
role = "quasi-identifying"
domain = "from-data"
[attributes.income]
role = "sensitive"
""",
}


@pytest.mark.parametrize("name", RECIPES)
def test_reports(name: str, new_page: NewPage, tmp_path: Path) -> None:
    pramana.datasets.census(10_000, seed=1).select(["sex", "age", "income"]).write_csv(tmp_path / "people.csv")
    about = '[about]\ntitle = "Household survey, public file"\nholder = "Office of Statistics"\n'
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'{about}[source]\npath = "people.csv"\n[release]{RECIPES[name]}')
    key = tmp_path / "people.key"
    pramana.Key(bytes(range(32))).write(key)  # a picture needs the same coins; it is of no one
    pramana.release(recipe, tmp_path / "published", key=key)
    page = new_page(WIDEST)
    page.goto((tmp_path / "published" / "report.html").as_uri())
    check_picture(page, name)
