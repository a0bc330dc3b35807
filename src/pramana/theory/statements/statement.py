"""One line of a paper."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A line of a paper, the function that computes it (room:name) and a test (file::name)."""

    paper: int
    name: str
    says: str
    function: str
    test: str
