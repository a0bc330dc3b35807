"""The front of the house: few names, each explained by an example that runs, and nothing loaded before its use."""

from __future__ import annotations

import builtins
import doctest
import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.golden.cells import make_tables

import pramana
from pramana import errors

NAMES = sorted(set(pramana.__all__) - {"__version__"})
MOST_NAMES = 30
FUNCTIONS = (
    "calibrate",
    "collude",
    "crosstab",
    "export",
    "inspect",
    "issue",
    "plan",
    "release",
    "report",
    "verify",
)


def modules_after(code: str) -> set[str]:
    """What a new process has loaded after some code."""
    code = f"{code}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_public_names_are_few_and_there() -> None:
    assert len(NAMES) <= MOST_NAMES
    assert len(pramana.__all__) == len(set(pramana.__all__))
    assert sorted(dir(pramana)) == sorted(pramana.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pramana.nothing  # noqa: B018


COLUMNS = """
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 30, 60, 100]
"""
RECIPES = {
    "recipe.toml": '[release]\nmethod = "retention"\nepsilon = 4\n' + COLUMNS,
    "levels.toml": '[release]\nmethod = "levels"\npeople = "town"\nhistory = false\n'
    + COLUMNS.replace("quasi-identifying", "sensitive"),
    "generalised.toml": '[release]\nmethod = "generalize"\nk = 2\n'
    '[attributes.sex]\nrole = "quasi-identifying"\nhierarchy = "sex.csv"\n'
    '[attributes.age]\nrole = "quasi-identifying"\nhierarchy = "age.csv"\n',
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the examples find where they run: a table, recipes, bundles and a ledger."""
    folder = tmp_path_factory.mktemp("desk")
    ages = [18 + 7 * row % 73 for row in range(2000)]
    lines = ["sex,age", *(f"{'FM'[row % 2]},{age}" for row, age in enumerate(ages))]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    pramana.Hierarchy((("F", "M"), ("*", "*"))).write(folder / "sex.csv")
    leaves = tuple(str(age) for age in sorted(set(ages)))
    pramana.Hierarchy((leaves, ("*",) * len(leaves))).write(folder / "age.csv")
    for name, text in RECIPES.items():
        (folder / name).write_text(f'[source]\npath = "people.csv"\n{text}')
    pramana.release(folder / "recipe.toml", folder / "published", seed=1)
    pramana.release(folder / "generalised.toml", folder / "generalised", seed=1)
    pramana.create_levels(folder / "releases.ledger", folder / "levels.toml")
    for who, level in (("university", 0.6), ("newspaper", 0.3)):
        pramana.issue(folder / "releases.ledger", who, level, folder / f"for-{who}")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example_that_runs(
    name: str, desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = inspect.getdoc(vars(pramana).get(name) or pramana.__getattr__(name))
    assert words and "+SKIP" not in words
    example = doctest.DocTestParser().get_doctest(words, {}, name, None, None)
    assert any(f"pramana.{name}" in e.source for e in example.examples)
    shutil.copytree(desk, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_its_parameters_results_and_errors(name: str) -> None:
    """Each parameter of the signature, and no other; what is returned; what is raised, by its class."""
    named: Any = getattr(pramana, name)
    if inspect.ismodule(named):
        return
    words = inspect.getdoc(named) or ""
    sections = dict(re.findall(r"^(Args|Returns|Raises):\n((?:    .*\n?)+)", words, re.MULTILINE))
    assert re.findall(r"^    (\w+): ", sections["Args"], re.MULTILINE) == [*inspect.signature(named).parameters]
    assert ("Returns" in sections) == inspect.isfunction(named)
    if named is not pramana.PramanaError:
        raised = re.findall(r"^    (\w+): ", sections["Raises"], re.MULTILINE)
        classes = [getattr(errors, error, None) or getattr(builtins, error) for error in raised]
        assert classes and all(issubclass(c, errors.PramanaError | ValueError) for c in classes)


def test_importing_the_package_loads_no_room() -> None:
    loaded = modules_after("import pramana")
    assert "pramana" in loaded
    assert {name for name in loaded if name.startswith("pramana.")} == set()
    assert loaded & {"click", "msgspec", "numpy", "pyarrow", "scipy"} == set()


def test_help_waits_for_no_large_library() -> None:
    loaded = modules_after("from pramana.app.main import run\nassert run(['--help']) == 0")
    assert "click" in loaded
    assert loaded & {"msgspec", "numpy", "pyarrow", "scipy", "sqlalchemy"} == set()


def test_functions_stay_functions_after_rooms_were_imported() -> None:
    """A room or module of a function's name would take its place in the package."""
    folder = Path(pramana.__file__).parent
    rooms = [p.stem for p in folder.iterdir() if (p / "__init__.py").exists() or p.suffix == ".py"]
    lines = [f"import pramana.{room}" for room in sorted(rooms) if not room.startswith("_")]
    lines += ["import types", "import pramana.run.release"]
    lines += [f"assert isinstance(pramana.{name}, types.FunctionType), {name!r}" for name in FUNCTIONS]
    assert "pramana.app" in modules_after("\n".join(lines))


def test_releases_do_not_load_pandas(tmp_path: Path) -> None:
    """Arrow loads it, where it is installed, for an array from a list: a third of a small command's time."""
    make_tables(tmp_path)
    names = (
        "retention k",
        "invariant",
        "levels",
        "generalize pdf",
        "generalize kl",
        "presence flag",
        "microaggregate",
    )
    lines = ["import sys", "from pathlib import Path", f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})"]
    lines += ["from tests.golden.cells import released", f"folder = Path({str(tmp_path)!r})"]
    lines += [f"released({name!r}, folder, 'csv', 'csv')" for name in names]
    lines += ["assert 'pandas' not in sys.modules"]
    assert "pyarrow" in modules_after("\n".join(lines))
