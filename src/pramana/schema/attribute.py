"""Attributes: a column's role, its domain, and what is to be done with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pramana.errors import SchemaError
from pramana.schema.domain import Domain
from pramana.schema.kind import Kind
from pramana.schema.statement import flag_in, mapping_in, text_in

_KEYS = {"name", "role", "kind", "raw", "domain"}


class Role(StrEnum):
    """What a column tells of a person, in the field's words."""

    IDENTIFYING = "identifying"  # names a person: dropped
    QUASI_IDENTIFYING = "quasi-identifying"  # an intruder may know it: randomised or generalised
    SENSITIVE = "sensitive"  # what an intruder wants to learn
    INSENSITIVE = "insensitive"  # neither

    @classmethod
    def read(cls, text: object, attribute: str) -> Role:
        try:
            return cls(text)  # type: ignore[arg-type] # anything that is no role is refused
        except ValueError:
            raise SchemaError(
                f"The role of {attribute} must be one of {', '.join(r.value for r in cls)}", repr(text)
            ) from None


@dataclass(frozen=True)
class Attribute:
    """A column that is published. `domain` is None for a column that passes unchanged.

    `kind` is that of the domain; of a column without one it is stated, for recipients to know how to read it.
    """

    name: str
    role: Role
    domain: Domain | None
    kind: Kind = None  # type: ignore[assignment] # never None once made

    def __post_init__(self) -> None:
        if not self.name:
            raise SchemaError("An attribute must have a name", "an empty one")
        if self.role is Role.IDENTIFYING:
            raise SchemaError("An identifying attribute is dropped and must not be published", self.name)
        own = None if self.domain is None else self.domain.kind
        if self.kind is None:
            object.__setattr__(self, "kind", own or Kind.NOMINAL)
        elif own is not None and own is not self.kind:
            raise SchemaError(f"The kind of {self.name} must be that of its domain, {own.value}", self.kind.value)

    @property
    def raw(self) -> bool:
        """Released unchanged, outside every guarantee."""
        return self.domain is None

    @property
    def coded(self) -> Domain:
        if self.domain is None:
            raise SchemaError(f"The attribute {self.name} must have a domain", "none")
        return self.domain

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "role": self.role.value,
            "kind": self.kind.value,
            "raw": self.raw,
            "domain": None if self.domain is None else self.domain.to_json(),
        }

    @classmethod
    def from_json(cls, content: object) -> Attribute:
        """Read what `to_json` wrote; anything else is refused."""
        statement = mapping_in(content, "An attribute", _KEYS)
        name = text_in(statement, "name", "An attribute")
        domain = None if statement["domain"] is None else Domain.from_json(statement["domain"])
        if flag_in(statement, "raw", "An attribute") != (domain is None):
            raise SchemaError(f"The attribute {name} must be raw exactly where it has no domain", "otherwise")
        return cls(name, Role.read(statement["role"], name), domain, Kind.read(statement["kind"], name))
