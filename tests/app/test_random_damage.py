"""Random and damaged recipes and files: no traceback, no internal error, no half-written bundle."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.conftest import PEOPLE, RECIPE

from pramana.app.main import run

BOUNDED = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def attempt(recipe: bytes, people: bytes, name: str = "people.csv") -> None:
    """Release; whatever comes out must be a bundle with its key, or one line and nothing."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("recipe.toml").write_bytes(recipe)
        Path(name).write_bytes(people)
        said, out = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(out):
            code = run(["release", "recipe.toml", "--out", "out", "--threads", "1"])
        left = {path.name for path in Path().iterdir()}
        assert code in (0, 2), said.getvalue()
        if code == 2:
            assert left == {"recipe.toml", name}
            assert said.getvalue().count("\n") == 1 and not out.getvalue()
        else:
            assert left == {"recipe.toml", name, "out", "out.key"}
            assert run(["verify", "out", "--json"]) == 0


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A few cuts, doublings and changed bytes."""
    content = whole
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(content)))
        end = draw(st.integers(place, min(len(content), place + 12)))
        middle = draw(st.binary(max_size=4) | st.just(content[place:end] * 2))
        content = content[:place] + middle + content[end:]
    return content


WORDS = st.sampled_from(
    [
        "0",
        "-1",
        "nan",
        "inf",
        "1e308",
        "true",
        '""',
        '"x"',
        "[]",
        "{}",
        "[[]]",
        "1" * 30,
        "2020-01-01",
        '["F"]',
        "[1, 2]",
    ]
)

MORE = st.sampled_from(["k", "level", "missing", "matrix", "delta", "retention", "tables", "candidates"])


@st.composite
def odd_recipe(draw: st.DrawFn) -> bytes:
    """The recipe with the right-hand sides of some lines replaced."""
    lines = RECIPE.splitlines()
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(lines) - 1))
        name, equals, _ = lines[place].partition(" = ")
        if equals:
            lines[place] = f"{name} = {draw(WORDS)}"
        else:
            lines[place] = f"{name}\n{draw(MORE)} = {draw(WORDS)}"
    return "\n".join(lines).encode()


@BOUNDED
@given(damaged(RECIPE.encode()))
def test_damaged_recipes(recipe: bytes) -> None:
    attempt(recipe, PEOPLE.encode())


@BOUNDED
@given(odd_recipe())
def test_recipes_with_odd_values(recipe: bytes) -> None:
    attempt(recipe, PEOPLE.encode())


@BOUNDED
@given(damaged(PEOPLE[:200].encode()) | st.binary(max_size=80))
@example(b"\xef\xbb\xbf")
@example(b"sex,age\r")
@example(b'"sex","age"\n"F\n"","3"')
def test_damaged_tables(people: bytes) -> None:
    attempt(RECIPE.encode(), people)


@BOUNDED
@given(st.data())
def test_damaged_parquet(data: st.DataObject) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"sex": ["F", "M"], "age": [3, 44]}), sink)
    whole = sink.getvalue()
    # Arrow trusts a file's inside further than its edges: cut it, or damage header and footer.
    place = data.draw(st.integers(0, len(whole) - 1))
    kept = whole[:place] if data.draw(st.booleans()) else whole[: place // 2] + whole[place:]
    attempt(RECIPE.replace("people.csv", "p.parquet").encode(), kept, "p.parquet")


@BOUNDED
@given(st.lists(st.sampled_from(
    ["calibrate", "guarantee", "verify", "release", "key", "new", "--records", "--domains", "--k", "--json",
     "--coin", "--epsilon", "--retention", "--delta", "--out", "5", "2,5", "0.3", "-1", "nan", "record", "",
     "\0", "nowhere"]
), max_size=9))  # fmt: skip
def test_any_words_on_the_command_line(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = run(words)
        assert code in (0, 1, 2), said.getvalue()
        assert said.getvalue().count("\n") == (code == 2)
