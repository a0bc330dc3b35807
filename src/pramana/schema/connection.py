"""Connection strings, in recipes and of ledgers. What is kept, shown and handed on may hold no secret.

"env:NAME" names the environment variable that holds the connection string; it is looked up when the connection is
made, so that nothing that describes a recipe ever holds it. What messages call a database is `shown_url`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pramana.errors import InputError, RecipeError

ENVIRONMENT = "env:"
_FILES = ("sqlite:///", "duckdb:///")
_FOR_FILES = ("format", "delimiter", "encoding", "missing", "decimal", "thousands", "trim", "sheet", "labels")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_OPTION = re.compile(r"(?:pass(?!file)|pwd|secret|token|credential|scram)[^=&]*=", re.IGNORECASE)
_SECRET_NAME = re.compile(r"pass|pwd|secret|token|credential|key|sas|sig", re.IGNORECASE)  # of an option
_SECRET_USER = re.compile(r":.*@", re.DOTALL)
_PLAIN_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+]*)://(?:[^@/?#]*@)?"
    r"(?P<server>(?:[A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?(?:/[\w.-]*)?)(?P<options>[?#].*)?",
    re.DOTALL,
)
_HINT = 'Write url = "env:NAME" and put the connection string into the environment variable NAME.'


def connection_url(value: object, what: str, folder: Path) -> str:
    """A URL as a recipe may hold it; a database file is looked for beside the recipe, like every other file."""
    if not isinstance(value, str) or "\0" in value:
        raise RecipeError(f"{what} must be text", type(value).__name__, _HINT)
    if value.startswith(ENVIRONMENT):
        if not _NAME.fullmatch(value.removeprefix(ENVIRONMENT)):
            raise RecipeError(f"{what} must name an environment variable after env:", "text that is no such name")
        return value
    for start in _FILES:
        if value.startswith(start):
            return f"{start}{folder / value.removeprefix(start)}"
    if not re.match(r"[a-z][a-z0-9+]*://", value):
        raise RecipeError(
            f"{what} must be a URL such as postgresql://host/database", "text without a scheme", _HINT
        )
    if _has_password(value):
        raise RecipeError(
            f"{what} must hold no password",
            "a password",
            f"{_HINT} PostgreSQL's own PGPASSWORD and ~/.pgpass serve too.",
        )
    return value


def _has_password(url: str) -> bool:
    """Rather one too many: a password may itself hold the signs that part a URL."""
    return bool(
        re.search(r"://[^@/]*:.*@", url, re.DOTALL) or _SECRET_OPTION.search(unquote(url.partition("?")[2]))
    )


def connection_string(url: str, what: str, error: type[InputError], hint: str) -> str:
    """The connection string itself, looked up where `url` names an environment variable."""
    if not url.startswith(ENVIRONMENT):
        return url
    name = url.removeprefix(ENVIRONMENT)
    if not _NAME.fullmatch(name):
        raise error(f"{what} must name an environment variable after env:", "text that is no such name")
    text = os.environ.get(name, "").strip()
    if not text:
        raise error(f"The environment variable {name} must hold the connection string of {what}", "no text", hint)
    return text


def shown_url(place: str | Path) -> str:
    """What a message, a log or JSON may call a database or a file: server and database, no user and no option.

    A URL that can be read in two ways, since a password may hold the signs that part it, is not shown at all.
    """
    text = str(place)
    if text.startswith(ENVIRONMENT):
        return text if _NAME.fullmatch(text.removeprefix(ENVIRONMENT)) else f"{ENVIRONMENT}..."
    if "://" not in text:
        return "a connection string" if _SECRET_OPTION.search(text) or _SECRET_USER.search(text) else text
    plain = _PLAIN_URL.fullmatch(text)
    if plain is None or "@" in (plain["options"] or ""):
        return "a connection string"
    return f"{plain['scheme']}://{plain['server']}"


def check_database_source(body: Mapping[str, Any]) -> None:
    """[source] names a file, or a database with a query or a table."""
    _texts(body, ("query", "table", "schema"), "source")
    if "url" not in body and "table" in body and "path" not in body:
        _check_catalogue(body)
        return
    if "options" in body:
        raise RecipeError("source.options must go with a table that Spark reads", "another source")
    if "url" not in body:
        if given := [key for key in ("query", "table", "schema") if key in body]:
            raise RecipeError(f"source.{given[0]} must have a database to read from", "no url", _HINT)
        return
    if given := [key for key in ("path", *_FOR_FILES) if key in body]:
        raise RecipeError("[source] must name a file or a database", f"url and {given[0]}")
    if ("query" in body) == ("table" in body):
        raise RecipeError(
            "[source] with a url must have a query or a table",
            "a query and a table" if "query" in body else "neither of them",
        )
    if "query" in body and "schema" in body:
        raise RecipeError("source.schema must go with a table", "a query")


def _check_catalogue(body: Mapping[str, Any]) -> None:
    """A table that Spark knows by its name: nothing of how files or databases are read, and no secret."""
    own = (key for key in _FOR_FILES if key != "format")
    if given := [key for key in (*own, "query", "schema") if key in body]:
        raise RecipeError("[source] with a table and no url must be a table of Spark's", f"{given[0]}", _HINT)
    table, options = str(body["table"]), body.get("options") or {}
    secret = any(_SECRET_NAME.search(name) for name in options)
    if secret or ("://" in table and (_has_password(table) or "?" in table)):
        raise RecipeError(
            "A table of Spark's must be named without secrets",
            "a secret option or a password",
            "Give them to the session that Spark runs in.",
        )


def output_table(body: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """The table that [output] asks for beside the bundle; empty where it asks for none."""
    _texts(body, ("table", "schema"), "output")
    target = {key: body[key] for key in ("table", "schema") if key in body}
    if "url" in body:
        target["url"] = connection_url(body["url"], "output.url", folder)
    if target and not {"url", "table"} <= set(target):
        raise RecipeError("[output] must have a url and a table, or neither", " and ".join(target))
    return target


def _texts(body: Mapping[str, Any], keys: Collection[str], section: str) -> None:
    for key in keys:
        value = body.get(key, "given")
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            got = "an empty one" if isinstance(value, str) else type(value).__name__
            raise RecipeError(f"{section}.{key} must be text", got)


def lost_its_end(file: Path) -> bool:
    """Whether a SQLite file ends within a page: SQLite takes the rest for zeros, and its rows for empty ones.

    To be asked when the file was read from: what a killed writer left of a transaction is then undone.
    """
    with file.open("rb") as opened:
        head = opened.read(18)
    if not head.startswith(b"SQLite format 3\0"):
        return False
    page = int.from_bytes(head[16:18], "big")
    return file.stat().st_size % (65_536 if page == 1 else max(page, 1)) != 0
