"""Paths as texts and URLs: of this machine, or of a store.

A URL that carries credentials is refused, and shown in no message: they come from the environment.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pramana.errors import InputError, RecipeError, SourceError
from pramana.files.store_clients import SCHEMES
from pramana.files.store_path import AnyPath, StorePath

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/]*)(?:/(?P<key>.*))?", re.DOTALL)
_AUTHORITY = {
    "s3": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
    "gs": re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
    "abfs": re.compile(r"[a-z0-9$][a-z0-9-]*(?:@[a-z0-9]+(?:\.dfs\.core\.windows\.net)?)?"),
    "hdfs": re.compile(r"(?:[A-Za-z0-9._-]+(?::\d{1,5})?)?"),
}
_KNOWN = ", ".join(f"{scheme}://" for scheme in ("s3", "gs", "abfs", "hdfs", "file"))
_EXAMPLES = {
    "s3": "s3://bucket/name", "s3a": "s3://bucket/name", "s3n": "s3://bucket/name", "gs": "gs://bucket/name",
    "abfs": "abfs://container@account.dfs.core.windows.net/name",
    "abfss": "abfss://container@account.dfs.core.windows.net/name",
    "hdfs": "hdfs://host:8020/name", "file": "file:///folder/name",
}  # fmt: skip
_SCHEME = re.compile(rf"(?P<scheme>{'|'.join(_EXAMPLES)}):(?P<slash>/?)", re.IGNORECASE)
_DOTTED_SCHEME = re.compile(rf"(\./+)+({'|'.join(_EXAMPLES)}):", re.IGNORECASE)
_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "abfs": "AZURE_STORAGE_KEY",
    "abfss": "AZURE_STORAGE_KEY",
    "hdfs": "those of Hadoop",
}
_ENVIRONMENT = {s: f"Credentials come from the environment, such as {names}." for s, names in _VARIABLES.items()}
_MOST_PORT = (1 << 16) - 1


def is_store_url(text: str) -> bool:
    """Whether a text begins like the URL of a store."""
    url = _URL.match(text)
    return url is not None and url["scheme"].lower() in SCHEMES


def path_text(path: object, what: str, error: type[InputError]) -> str:
    """A path as text; refused where it is neither a text nor a pathlib.Path, or empty."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise error(f"{what} must be a path", type(path).__name__, "Give a text or a pathlib.Path.")
    if not text:
        raise error(f"{what} must be a path", "an empty text")
    return text


def located(
    path: str | os.PathLike[str] | StorePath, what: str = "The source", error: type[InputError] = SourceError
) -> AnyPath:
    """The path that a text names: of this machine, also as file://, or of a store."""
    if isinstance(path, StorePath):
        return path
    text = path_text(path, what, error)
    url = _URL.fullmatch(text)
    if url is None or not isinstance(path, str):  # pathlib makes one slash of two: no URL is left of one
        _refuse_half_url(text, not isinstance(path, str), what, error)
        # as the name of a file it stays one for whoever takes it for text, such as Arrow
        return Path(text).absolute() if _SCHEME.match(text.lstrip("./")) else Path(text)
    scheme, authority, key = url["scheme"].lower(), url["authority"], (url["key"] or "").rstrip("/")
    if scheme == "file":
        if authority not in ("", "localhost") or not key or "?" in key or "#" in key:
            raise error(
                f"{what} must have a path of this machine after file://", hint="Such as file:///folder/name."
            )
        return Path("/" + unquote(key))
    if scheme not in SCHEMES:
        hint = "Write s3:// here." if scheme in ("s3a", "s3n") else f"It may begin with {_KNOWN}."
        if scheme in ("postgresql", "postgres", "sqlite", "duckdb"):
            hint = "Databases are named in a recipe, by url."
        raise error(f"{what} must be a file, or a URL of a store", f"a URL of {scheme}://", hint)
    return _checked(scheme, authority, key, what, error)


def _refuse_half_url(text: str, was_path: bool, what: str, error: type[InputError]) -> None:
    """It would be taken for a folder of this machine that has the name of a scheme; it may hold a password."""
    url = _SCHEME.match(text)
    if url is None or (was_path and not url["slash"]):  # a pathlib.Path of ./s3:name has lost its dot
        return
    example = _EXAMPLES[url["scheme"].lower()]
    hint = f"Write {example}; or ./ before the name, if there is a file or folder of that name."
    if was_path:
        hint = f"Write {example} as a text: pathlib keeps one of the two slashes."
    raise error(f"{what} must be a path, or a URL with two slashes", "a scheme with a colon, and no URL", hint)


def _checked(scheme: str, authority: str, key: str, what: str, error: type[InputError]) -> StorePath:
    if "?" in key or "#" in key or "?" in authority or "#" in authority:
        raise error(f"{what} must be a URL without ? and #", "a ? or a #", _ENVIRONMENT[scheme])
    if _AUTHORITY[scheme.removesuffix("s") if scheme == "abfss" else scheme].fullmatch(authority) is None:
        if scheme == "hdfs" and "@" not in authority and authority.count(":") == 1:
            raise error(f"{what} must be a URL with a number as its port", "other characters", _such_as(scheme))
        if "@" in authority or ":" in authority:
            raise error(f"{what} must be a URL without user and password", "an @ or a colon", _ENVIRONMENT[scheme])
        named = {"abfs": "a container", "abfss": "a container", "hdfs": "a host"}.get(scheme, "a bucket")
        raise error(f"{what} must be a URL that names {named}", "no such name", _such_as(scheme))
    if scheme == "hdfs" and int(authority.partition(":")[2] or 0) > _MOST_PORT:
        raise error(f"{what} must be a URL with a port of at most {_MOST_PORT}", "a larger one", _such_as(scheme))
    if any(part in ("", ".", "..") for part in key.split("/") if key) or not key.isprintable():
        raise error(
            f"{what} must be a URL with plain names between its slashes",
            "an empty name, . or .., or a control character",
        )
    return StorePath(scheme, authority, key)


def _such_as(scheme: str) -> str:
    return f"Such as {_EXAMPLES[scheme]}."


def local_path(path: str | os.PathLike[str], what: str, error: type[InputError]) -> Path:
    """The path of what is read and written on this machine only: keys, recipes and their like."""
    location = located(path, what, error)
    if isinstance(location, StorePath):
        raise error(f"{what} must lie on this machine", "a URL of a store")
    return location


def path_here(path: AnyPath, what: str) -> Path:
    """For properties that are paths of this machine; `out` is where something went, wherever that is."""
    if isinstance(path, StorePath):
        raise InputError(f"{what} must lie on this machine", str(path), "Ask for `out`.")
    return path


def named_in(folder: Path, text: str, what: str, error: type[InputError] = RecipeError) -> AnyPath:
    """A path as a recipe in `folder` names it: a URL as it is, and every other path beside the recipe."""
    path = located(text, what, error)
    if isinstance(path, StorePath):
        return path
    named = folder / (text if _DOTTED_SCHEME.match(text) else path)
    return named.absolute() if _SCHEME.match(str(named)) else named  # as text it would be half a URL


def arrow_file(path: AnyPath) -> Any:
    """A file of this machine or an object of a store, opened by Arrow for reading."""
    if isinstance(path, StorePath):
        return path.open()
    import pyarrow as pa

    return pa.OSFile(str(path))


def arrow_input(path: AnyPath) -> Any:
    """What Arrow's readers take: a path of this machine as it is, and an object of a store opened."""
    return path.open() if isinstance(path, StorePath) else path
