"""What a file of a statistics program says of its variables: a label for each, and one for each of its codes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pramana.errors import SourceError
from pramana.schema import label_of

Code = int | float | str


@dataclass(frozen=True)
class Variable:
    """A variable's label, and its codes by their labels, in the order of the codes."""

    label: str = ""
    codes: Mapping[str, Code] = field(default_factory=dict)
    ordered: bool = False

    def __post_init__(self) -> None:
        kinds = {isinstance(code, str) for code in self.codes.values()}
        if len(kinds) > 1 or any(
            isinstance(c, bool) or c != c or c in (math.inf, -math.inf) for c in self.codes.values()
        ):
            raise SourceError("The codes of a variable must be numbers or texts", "others")
        if len({label_of(code) for code in self.codes.values()}) != len(self.codes):
            raise SourceError("Every label of a variable must have a code of its own", "one code twice")

    @classmethod
    def of(cls, label: object, value_labels: Mapping[Any, Any], ordered: bool) -> Variable:
        """As a file has it. Labels that are empty or stand for several codes tell nothing: the codes stay."""
        texts = {code: str(text).strip() for code, text in value_labels.items() if _is_code(code)}
        known = {code: text for code, text in texts.items() if text}
        if len(set(known.values())) != len(known):
            known = {}
        if len({isinstance(code, str) for code in known}) > 1:
            known = {code: text for code, text in known.items() if not isinstance(code, str)}
        codes = {known[code]: _plain(code) for code in sorted(known)}
        return cls("" if label is None else str(label).strip(), codes, ordered)

    @property
    def texts(self) -> dict[str, str]:
        """The label of each code, as codes are written."""
        return {label_of(code): text for text, code in self.codes.items()}

    def of_published(self, labels: set[str]) -> Variable:
        """What may be said of it where only these values are published: nothing of any other."""
        told = {text: c for text, c in self.codes.items() if text in labels or label_of(c) in labels}
        return Variable(self.label, told, self.ordered)

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "codes": dict(self.codes), "ordered": self.ordered}

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> Variable:
        codes = sorted(statement["codes"].items(), key=lambda pair: (isinstance(pair[1], str), pair[1]))
        return cls(statement["label"], dict(codes), statement["ordered"])


def _is_code(code: object) -> bool:
    return isinstance(code, str) or (isinstance(code, int | float) and math.isfinite(code))


def _plain(code: Code) -> Code:
    return int(code) if isinstance(code, float) and code.is_integer() and abs(code) < 1 << 53 else code
