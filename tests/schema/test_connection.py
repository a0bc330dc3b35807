"""What a recipe may say of databases; and that no refusal repeats a connection string."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana import Recipe
from pramana.errors import RecipeError
from pramana.methods.recipe import AnyRecipe
from pramana.schema.connection import shown_url
from pramana.schema.sections import SourceSection

COLUMNS = {"sex": {"role": "quasi-identifying", "domain": ["F", "M"]}}


def parsed(source: dict[str, Any] | None = None, output: dict[str, Any] | None = None) -> AnyRecipe:
    return Recipe.parse(
        {"source": source or {}, "attributes": COLUMNS, "output": output or {}}, Path("/where/the/recipe/is")
    )


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://reader:s3cr3t@host/people",
        "postgresql://reader:@host/people",
        "postgresql://:s3cr3t@host/people",
        "postgresql://reader:s3/cr3t@host/people",
        "postgresql://reader:s3@cr3t@host/people",
        "postgresql://reader:s3?cr3t@host/people",
        "postgresql://reader:s3#cr3t@host/people",
        "postgresql://reader:s3\ncr3t@host/people",
        "postgresql://host/people?user=reader&password=s3cr3t",
        "postgresql://host/people?sslmode=require&sslpassword=s3cr3t",
        "postgresql://host/people?PASSWORD=s3cr3t",
        "postgresql://host/people?pass%77ord=s3cr3t",
        "postgresql://host/people?%70%61%73%73word=s3cr3t",
        "postgresql://host/people?sslmode=require;password=s3cr3t",
        "postgresql://host/people?pwd=s3cr3t",
        "postgresql://host/people?passwd=s3cr3t",
        "postgresql://host/people?oauth_client_secret=s3cr3t",
        "postgresql://host/people?scram_client_key=s3cr3t",
        "postgresql://host/people?access_token=s3cr3t",
        "postgresql://reader:s3%2Fcr3t@host/people",
        "mysql://reader:s3cr3t@host/people",
    ],
)
def test_a_recipe_holds_no_password(url: str) -> None:
    database = {"url": url, "table": "people"}
    for source, output in ((database, None), (None, database)):
        with pytest.raises(RecipeError, match="must hold no password") as refused:
            parsed(source, output)
        assert "cr3t" not in str(refused.value) and "host" not in str(refused.value)
        assert "env:NAME" in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://host/people",
        "postgresql://reader@host:5432/people?sslmode=verify-full",
        "postgresql://reader@[::1]:5432/people",
        "postgresql:///people?host=/run/postgresql",
        "postgresql://host/people?passfile=/home/reader/.pgpass&sslkey=/home/reader/key",
        "env:PEOPLE_DATABASE",
    ],
)
def test_a_url_without_a_password_is_kept_as_it_is(url: str) -> None:
    assert parsed({"url": url, "table": "people"}).source.url == url
    assert parsed({}, {"url": url, "table": "people"}).output.url == url


def test_a_database_file_lies_beside_the_recipe() -> None:
    assert parsed({"url": "sqlite:///a.db", "table": "t"}).source.url == "sqlite:////where/the/recipe/is/a.db"
    assert parsed({"url": "duckdb:////b.db", "table": "t"}).source.url == "duckdb:////b.db"


def test_nothing_is_looked_up_in_the_environment_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEOPLE_DATABASE", "postgresql://reader:s3cr3t@host/people")
    found = parsed(
        {"url": "env:PEOPLE_DATABASE", "query": "select 1"}, {"url": "env:PEOPLE_DATABASE", "table": "t"}
    )
    assert "s3cr3t" not in repr(found) and "host" not in repr(found)


@pytest.mark.parametrize(
    "source, output, message",
    [
        ({"url": "env:A"}, {}, "a query or a table, got neither"),
        ({"url": "env:A", "query": "select 1", "table": "t"}, {}, "a query or a table, got a query and a table"),
        ({"url": "env:A", "table": "t", "path": "a.csv"}, {}, "a file or a database, got url and path"),
        ({"url": "env:A", "table": "t", "encoding": "latin-1"}, {}, "a file or a database, got url and encoding"),
        ({"url": "env:A", "query": "select 1", "schema": "s"}, {}, "must go with a table"),
        ({"path": "a.csv", "query": "select 1"}, {}, "source.query must have a database"),
        ({"table": "t", "path": "a.csv"}, {}, "source.table must have a database"),
        ({"table": "t", "query": "select 1"}, {}, "a table of Spark's, got query"),
        ({"table": "t", "schema": "s"}, {}, "a table of Spark's, got schema"),
        ({"url": "env:A", "table": " "}, {}, "source.table must be text, got an empty one"),
        ({"url": "env:A", "table": 5}, {}, "source.table must be text, got 5"),
        ({"url": ["postgresql://reader:s3cr3t@host"], "table": "t"}, {}, "source.url must be text, got list"),
        ({"url": "env:reader:s3cr3t@host", "table": "t"}, {}, "must name an environment variable"),
        ({"url": "host=h password=s3cr3t", "table": "t"}, {}, "must be a URL such as"),
        ({}, {"url": "env:A"}, "a url and a table, or neither, got url"),
        ({}, {"table": "t"}, "a url and a table, or neither, got table"),
        ({}, {"url": "env:A", "schema": "s"}, "a url and a table, or neither"),
        ({}, {"url": "env:A", "table": ""}, "output.table must be text, got an empty one"),
    ],
)
def test_what_does_not_go_together_is_refused(source: Any, output: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message) as refused:
        parsed(source, output)
    assert "s3cr3t" not in str(refused.value)


@given(st.text(max_size=40), st.sampled_from(["", "env:", "postgresql://", "sqlite:///", "postgresql://u:"]))
def test_any_text_is_taken_as_it_is_or_refused(text: str, start: str) -> None:
    """What is taken names a variable, a file beside the recipe, or a server without a password."""
    url = start + text
    try:
        found = parsed({"url": url, "table": "t"}).source.url
    except RecipeError:
        assert not re.fullmatch(r"env:[A-Za-z_][A-Za-z0-9_]*|(sqlite|duckdb):///[^\0]*|postgresql://[a-z/]*", url)
        return
    assert found is not None and "\0" not in found
    if start == "env:":
        assert found == url and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text)
    elif start == "sqlite:///":
        assert found == f"sqlite:///{Path('/where/the/recipe/is') / text}"
    else:
        assert found == url
        scheme, _, rest = url.partition("://")
        assert rest is not None and re.fullmatch("[a-z][a-z0-9+]*", scheme)
        before, at, _ = rest.partition("@")
        assert not at or ":" not in before.partition("/")[0]


@given(st.text("abc123/?#@:%. ", min_size=1, max_size=12), st.sampled_from(["reader", "", "a.b"]))
def test_no_password_is_taken_whatever_it_is_made_of(password: str, user: str) -> None:
    for url in (f"postgresql://{user}:{password}@host/people", f"postgresql://host/people?password={password}"):
        with pytest.raises(RecipeError, match="must hold no password"):
            parsed({"url": url, "table": "t"})


def test_another_file_takes_the_place_of_a_database() -> None:
    found = parsed({"url": "env:A", "table": "t", "schema": "s", "dataset": "d"}).with_source("b.csv")
    assert found.source == SourceSection(dataset="d", path="b.csv")


# ---------------------------------------------------------------- how a database is shown

SECRETS = [
    "postgresql://reader:s3cr3t@host/people",
    "postgresql://reader:s3%40cr3t@host/people",
    "postgresql://reader:s3@cr3t@host/people",
    "postgresql://reader:s3/cr3t@host/people",
    "postgresql://reader:12/s3cr3t?x@host/people",
    "postgresql://reader:12#s3cr3t@host/people",
    "postgresql://s3cr3t@host/people",
    "postgresql://:s3cr3t@host/people",
    "postgresql://host/people?password=s3cr3t",
    "postgresql://host/people?sslpassword=s3cr3t&sslmode=require",
    "postgresql://host/people?pass%77ord=s3cr3t",
    "postgresql://host/people?unheard_of=s3cr3t",
    "postgresql://host/people#s3cr3t",
    "postgresql://host/s3cr3t%20people",
    "postgresql://host/s3cr3t/people",
    "postgresql://host:s3cr3t/people",
    "postgres:/reader:s3cr3t@host/people",
    "postgresql//reader:s3cr3t@host/people",
    "host=host password=s3cr3t",
    "HOST=host PASSWORD=s3cr3t",
    "env:reader:s3cr3t@host",
    "://s3cr3t",
]


@pytest.mark.parametrize("url", SECRETS)
def test_no_secret_of_a_url_is_shown(url: str) -> None:
    assert "cr3t" not in shown_url(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://reader:s3cr3t@host:5432/people?password=x", "postgresql://host:5432/people"),
        ("postgresql://host", "postgresql://host"),
        ("postgresql://reader@[::1]:5432/people", "postgresql://[::1]:5432/people"),
        ("postgresql:///people?host=/run/postgresql", "postgresql:///people"),
        ("env:LEDGER", "env:LEDGER"),
        ("folder/ledger.db", "folder/ledger.db"),
        (Path("folder/my passwords.db"), "folder/my passwords.db"),
    ],
)
def test_what_can_be_shown_is(url: str | Path, shown: str) -> None:
    assert shown_url(url) == shown


@given(st.text("abc123:/?#@%&=.+-[] ", min_size=1, max_size=12), st.sampled_from(["", "?sslmode=require"]))
def test_no_part_of_any_password_is_shown(password: str, options: str) -> None:
    """Whatever signs it holds, and though it was not written as a URL asks."""
    shown = shown_url(f"postgresql://u:ZQ{password}QZ@host/people{options}")
    assert "ZQ" not in shown and "QZ" not in shown
