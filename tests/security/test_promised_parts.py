"""Every part of what a certificate promises is compared: warnings, guarantees too many or too few, and content.

The digest of the certificate is made again after each change, so that it is the part itself that is noticed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.security.bundles import Json, copied, failed, made, statement_of, write_statement

NAMES = ["retention k", "retention epsilon", "levels", "invariant", "generalize labels", "presence flag"]
NAMES += ["microaggregate", "matrix"]


def one_warning_more(statement: Json) -> None:
    statement["warnings"].append("Handle with care.")


def all_warnings_fewer(statement: Json) -> None:
    statement["warnings"].clear()


def other_words(statement: Json) -> None:
    statement["warnings"][0] = statement["warnings"][0].upper()


def surplus_guarantee(statement: Json) -> None:
    statement["guarantees"].append(copy.deepcopy(statement["guarantees"][-1]))


def missing_guarantee(statement: Json) -> None:
    statement["guarantees"].pop()


def no_guarantee(statement: Json) -> None:
    statement["guarantees"].clear()


def other_content(statement: Json) -> None:
    statement["content"] = statement["content"][::-1]


def as_long_content(statement: Json) -> None:
    statement["content"] = "0" * 64


PARTS: dict[Callable[[Json], None], set[str]] = {
    one_warning_more: {"warnings"},
    all_warnings_fewer: {"warnings"},
    other_words: {"warnings"},
    surplus_guarantee: {"guarantees"},
    missing_guarantee: {"guarantees", "guarantee"},
    no_guarantee: {"guarantees", "guarantee"},
    other_content: {"data", "content"},
    as_long_content: {"data", "content"},
}


@pytest.mark.parametrize("name", NAMES)
def test_each_part_is_noticed_by_its_own_check(name: str, tables: Path, tmp_path: Path) -> None:
    bundle = copied(made(name, "csv", tables), tmp_path / "forged")
    whole, tried = statement_of(bundle), 0
    for change, checks in PARTS.items():
        statement = copy.deepcopy(whole)
        if change in (all_warnings_fewer, other_words) and not statement["warnings"]:
            continue
        change(statement)
        write_statement(bundle, statement)
        wrong = {check.split()[0] for check in failed(bundle)}
        assert wrong & checks, f"{change.__name__}: {wrong}"
        assert "certificate" not in wrong, "its digest was made again"
        tried += 1
    assert tried >= 6
    write_statement(bundle, whole)
    assert failed(bundle) == set()


def test_some_of_these_releases_have_warnings(tables: Path) -> None:
    assert sum(bool(statement_of(made(name, "csv", tables))["warnings"]) for name in NAMES) >= 4
