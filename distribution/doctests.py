"""Examples in docstrings become blocks of code on the page of the API; Markdown takes `>>>` for quotations."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)  # to the next empty line

NOTE = re.compile(r" *# doctest:.*$", re.MULTILINE)  # to the test runner, not to readers


def with_blocks(text: str) -> str:
    return EXAMPLE.sub(lambda match: f"```pycon\n{NOTE.sub('', match.group(0))}\n```", text)


class Doctests(griffe.Extension):
    """Rewrites each docstring once, when its object has been read."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ARG002 - griffe's signature
        if obj.docstring is not None and ">>> " in obj.docstring.value and "```pycon" not in obj.docstring.value:
            obj.docstring.value = with_blocks(obj.docstring.value)
