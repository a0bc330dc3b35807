"""What is handed out: one version, archives of the same bytes, lower bounds for all, and an image of few rights.

The long part, made twice and compared, is `make wheels`; the wheel is tried by `make try-wheel`.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from distribution import floors, tried, wheels
from packaging.requirements import Requirement

import pramana
from pramana.errors import DISTRIBUTION, install_command

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def tracked() -> list[Path]:
    """The files of the repository; where it has no history (a source distribution), all of some folders."""
    told = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if told.returncode == 0:
        return [ROOT / name for name in told.stdout.splitlines()]
    return [p for name in ("src", "tests", "distribution") for p in (ROOT / name).rglob("*") if p.is_file()]


def test_the_version_stands_in_one_place() -> None:
    version = pramana.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert PROJECT["project"]["dynamic"] == ["version", "readme"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "pramana.__version__"}
    assignment = re.compile(
        rf"""["']?version["']?__?\s*[:=]\s*["']?{re.escape(version)}["']?\s*,?$""", re.MULTILINE
    )
    code = [p for p in tracked() if p.suffix in {".py", ".toml", ".cff", ".cfg"} or p.name == "package.json"]
    places = [p for p in code if assignment.search(p.read_text("utf-8"))]
    assert places == [ROOT / "src/pramana/__init__.py"]
    assert "version" not in json.loads((ROOT / "package.json").read_text())


def test_no_address_is_claimed_that_does_not_exist() -> None:
    """The project has no home on the web yet: a made-up one would lead people who report faults to strangers."""
    assert "urls" not in PROJECT["project"]
    assert not re.search(r"^(url|repository-code|doi):", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)


def metadata_of(tree: Path, urls: str = "") -> str:
    """What the build writes of the project, without its compiler: from the files that it is made of."""
    (tree / "src" / "pramana").mkdir(parents=True)
    (tree / "made").mkdir()
    for name in ("setup.py", "README.md", "LICENSE", "src/pramana/__init__.py"):
        shutil.copy(ROOT / name, tree / name)
    project = (ROOT / "pyproject.toml").read_text()
    (tree / "pyproject.toml").write_text(project.replace("[project.scripts]", f"{urls}\n[project.scripts]"))
    code = "from setuptools import build_meta; print(build_meta.prepare_metadata_for_build_wheel('made'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, check=True)
    return (tree / "made" / done.stdout.split()[-1] / "METADATA").read_text()


def test_the_description_leads_nowhere_that_an_index_of_packages_does_not_have(tmp_path: Path) -> None:
    text = metadata_of(tmp_path / "plain")
    wheels._check_description(text)
    readme = (ROOT / "README.md").read_text()
    kept = [line for line in readme.splitlines() if "](" not in line and line.strip()]
    assert all(line in text for line in kept) and "![" in readme and "![" not in text
    placed = metadata_of(tmp_path / "placed", '[project.urls]\nDocumentation = "https://pramana.example/"')
    wheels._check_description(placed)
    assert "](https://pramana.example/images/studio-dial.png)" in placed
    for wrong in (readme, "see [this](docs/start.md)", '<img src="x.png">'):
        with pytest.raises(SystemExit, match="does not have"):
            wheels._check_description(f"Description-Content-Type: text/markdown\n\n# Pramana\n{wrong}")
    with pytest.raises(SystemExit, match="is not README"):
        wheels._check_description("Name: pramana-privacy\n\n")


def packed(names: list[str], time: int, owner: str) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.uname, entry.mode = 3, time, owner, 0o600
            archive.addfile(entry, io.BytesIO(name[-3:].encode()))
    return content.getvalue()


def test_an_archive_is_the_same_whoever_packs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made = []
    for number, (names, owner) in enumerate(((["p/b.c", "p/a.c"], "one"), (["p/a.c", "p/b.c"], "other"))):
        (tmp_path / f"{number}.tar.gz").write_bytes(packed(names, 1_600_000_000 + number, owner))
        made.append(wheels._in_order(tmp_path / f"{number}.tar.gz", tmp_path / f"made-{number}").read_bytes())
    assert made[0] == made[1]


def test_a_source_distribution_must_be_whole_and_unbuilt(tmp_path: Path) -> None:
    needed = [
        "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "distribution/Containerfile",
        "tests/conftest.py", "docs/limits.md", "src/pramana/_buffers.h",
    ]  # fmt: skip
    path = tmp_path / "p.tar.gz"
    path.write_bytes(packed([f"p/{name}" for name in needed], 0, "x"))
    assert wheels._check_source(path) == len(needed)
    for name in needed:
        path.write_bytes(packed([f"p/{other}" for other in needed if other != name], 0, "x"))
        with pytest.raises(SystemExit, match=f"lacks {name}"):
            wheels._check_source(path)
    path.write_bytes(packed([f"p/{name}" for name in [*needed, "src/k.abi3.so"]], 0, "x"))
    with pytest.raises(SystemExit, match="which was built"):
        wheels._check_source(path)
    for name in needed:
        assert (ROOT / name).exists()


# ---------------------------------------------------------------- the name

EXTRAS = PROJECT["project"]["optional-dependencies"]
BARE_NAME = re.compile(  # the package `pramana` of an index is a stranger's
    r"""\b(?:pip|pipx|uv)\s[^\n]*?\b(?:install|add|download)\s(?:-[^\n]*?\s)?["'`]?pramana(?![\w./-])|\bpramana\[[a-z]"""
    r"""|\bpramana-(?:\*|\d[\w.]*)[\w.-]*\.(?:whl|tar)|\bversion\(["']pramana["']\)"""
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("pip install pramana", True),
        ("`pip install 'pramana[studio]'`", True),
        ('python -m pip install -q "pramana"', True),
        ("uv pip install pramana==0.1.0", True),
        ("pip install dist/pramana-*.whl", True),
        ('importlib.metadata.version("pramana")', True),
        ("pip install 'pramana-privacy[studio]'", False),
        ("pip install dist/pramana_privacy-*.whl", False),
        ("pip install numpy; then `pramana release` runs", False),
        ("pip install . && pramana demo", False),
    ],
)
def test_the_bare_name_is_recognised(text: str, wrong: bool) -> None:
    assert bool(BARE_NAME.search(text)) is wrong


def test_no_command_installs_a_stranger_s_package() -> None:
    texts = {".md", ".py", ".toml", ".cfg", ".yml", ".cff", ".html", ".ipynb", ".R", ".ts", ".js", ".txt", ""}
    wrong = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in tracked()
        if path.suffix in texts and path.is_file() and path != Path(__file__)
        if (found := BARE_NAME.search(path.read_text("utf-8", "replace")))
    ]
    assert wrong == []


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds our wheel alone, built without its kernels."""
    folder = tmp_path_factory.mktemp("wheel")
    metadata_of(folder / "tree")
    setup = folder / "tree" / "setup.py"
    setup.write_text(re.sub(r"ext_modules=\[.*?\n    \],", "", setup.read_text(), flags=re.DOTALL))
    code = f"from setuptools import build_meta; build_meta.build_wheel({str(folder / 'index')!r})"
    subprocess.run([sys.executable, "-c", code], cwd=folder / "tree", capture_output=True, check=True)
    return folder / "index"


def pip_takes(index: Path, *wanted: str) -> subprocess.CompletedProcess[str]:
    """What pip would install from an index without a network that holds only our wheel."""
    pip = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check"]
    asked = ["install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps", "--report", "-"]
    command = [*pip, *asked, "--no-index", "--find-links", str(index), *wanted]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_every_extra_is_installed_from_our_wheel(index: Path) -> None:
    """By the commands that hints and guides print; what an extra adds is what pyproject.toml says."""
    printed = [Requirement(shlex.split(install_command(extra))[-1]) for extra in EXTRAS]
    assert {one.name for one in printed} == {DISTRIBUTION} and [one.extras for one in printed] == [
        {e} for e in EXTRAS
    ]
    done = pip_takes(index, f"{DISTRIBUTION}[{','.join(EXTRAS)}]")  # all in one call of pip: each takes seconds
    assert done.returncode == 0 and "does not provide the extra" not in done.stderr, done.stderr
    (taken,) = json.loads(done.stdout)["install"]
    assert taken["metadata"]["name"] == DISTRIBUTION == PROJECT["project"]["name"]
    assert set(taken["requested_extras"]) == set(taken["metadata"]["provides_extra"]) == set(EXTRAS)
    needs = [Requirement(text) for text in taken["metadata"]["requires_dist"]]
    for extra in EXTRAS:
        added = {need.name for need in needs if need.marker and need.marker.evaluate({"extra": extra})}
        assert added == {Requirement(text).name for text in EXTRAS[extra]}
    (whole,) = map(Requirement, EXTRAS["all"])
    assert whole.name == DISTRIBUTION and whole.extras == set(EXTRAS) - {"all", "dev", "docs", "fuzz"}


def test_the_bare_name_is_not_found_beside_our_wheel(index: Path) -> None:
    done = pip_takes(index, "pramana")
    assert done.returncode != 0 and "No matching distribution found for pramana" in done.stderr


def test_the_import_and_the_command_keep_their_name(index: Path) -> None:
    (wheel,) = index.iterdir()
    with zipfile.ZipFile(wheel) as content:
        (entries,) = (name for name in content.namelist() if name.endswith("entry_points.txt"))
        assert "pramana = pramana.app.main:main" in content.read(entries).decode().splitlines()
        assert "pramana/__init__.py" in content.namelist()
    assert wheel.name.startswith(f"pramana_privacy-{pramana.__version__}-")


# ---------------------------------------------------------------- versions of what is needed


def test_every_dependency_has_one_lower_and_one_upper_bound(tmp_path: Path) -> None:
    lowest = floors.floors()
    project = PROJECT["project"]
    for requirement in project["dependencies"]:
        assert re.split(r"[\[<>=]", requirement)[0].lower() in lowest
        assert re.search(r">=[\d.]+,<\d+$", requirement), requirement
    wrong = tmp_path / "pyproject.toml"
    for dependencies in (["numpy"], ["numpy<3"], ["numpy==2.0"]):
        wrong.write_text(f"[project]\ndependencies = {dependencies}\n[project.optional-dependencies]\n")
        with pytest.raises(SystemExit, match="must have a lower bound"):
            floors.floors(wrong)
    wrong.write_text('[project]\ndependencies = ["a>=1,<2"]\n[project.optional-dependencies]\nx = ["a>=1.5,<2"]\n')
    with pytest.raises(SystemExit, match=r"must have one lower bound, got 1 and 1\.5"):
        floors.floors(wrong)


def test_the_tests_that_touch_every_dependency_are_there() -> None:
    listed = re.search(r"^TOUCHING := (.*?)\nSHORT", (ROOT / "Makefile").read_text(), re.MULTILINE | re.DOTALL)
    assert listed is not None
    names = listed.group(1).replace("\\\n", " ").split()
    assert names and all((ROOT / name).exists() for name in names)


# ---------------------------------------------------------------- the image


def instructions() -> list[tuple[str, str]]:
    """The container file, a line for each instruction."""
    text = (ROOT / "distribution" / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines)).splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in joined]


def test_the_image_runs_as_nobody_and_has_no_compiler() -> None:
    told = instructions()
    stages = [index for index, (word, _) in enumerate(told) if word == "FROM"]
    assert len(stages) == 2
    first, last = told[stages[0] : stages[1]], told[stages[1] :]
    assert all(
        ":" in rest and "latest" not in rest and "slim" in told[0][1] for word, rest in told if word == "FROM"
    )
    assert not any(word == "ADD" for word, _ in told), "nothing is fetched by the builder"
    assert not re.search(r"apt|gcc|build-essential|cc\b", " ".join(rest for word, rest in told if word == "RUN"))
    assert "--only-binary :all:" in " ".join(rest for _, rest in first), "what would be compiled is refused"
    (user,) = (rest for word, rest in last if word == "USER")
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user), "a number, so that a cluster can see that it is not root"
    order = [word for word, _ in last]
    assert order.index("USER") < order.index("ENTRYPOINT") and "RUN" not in order[order.index("USER") :]
    assert ("ENTRYPOINT", '["pramana"]') in last and ("VOLUME", "/data") in last
    (check,) = (rest for word, rest in last if word == "HEALTHCHECK")
    compile(json.loads(check[check.index("[") :])[2], "healthcheck", "exec")
    extras = re.search(r"\[([a-z,]+)\]\"", " ".join(rest for _, rest in first))
    assert extras is not None and set(extras.group(1).split(",")) <= set(
        PROJECT["project"]["optional-dependencies"]
    )
    ignored = (ROOT / "distribution" / "Containerfile.dockerignore").read_text().splitlines()
    assert ignored == ["*", "!dist/pramana_privacy-*.whl"], "keys and tables lying about stay out"


# ---------------------------------------------------------------- the wheel, tried


def test_pages_are_tried_as_they_stand_and_without_a_compiler(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for page in tried.PAGES:
        assert any(language in ("sh", "bash", "python") for language, _ in tried._examples(page))
    environment = tried._bare(tmp_path)
    assert not set(tried.COMPILERS) & {p.name for p in (tmp_path / "tools").iterdir()}
    page = tmp_path / "page.md"
    page.write_text("```sh\n# file: a.txt\n```\n```text\nnot run\n```\n```sh\ncat a.txt\n```\n")
    (tmp_path / "home").mkdir()
    assert tried._try(page, tmp_path / "home", environment) == 1
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(SystemExit, match="ended with"):
        tried._try(page, tmp_path / "home", environment)
    monkeypatch.setattr("sys.argv", ["tried", "--dist", str(tmp_path)])
    assert tried.main() == 2 and "must have one pramana_privacy-*.whl" in capsys.readouterr().err
