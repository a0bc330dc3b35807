"""Attributes: a column's role, its domain, and what is to be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pramana.errors import SchemaError
from pramana.schema.domain import Domain


class Role(StrEnum):
    """What a column tells of a person, in the field's words."""

    IDENTIFYING = "identifying"  # names a person: dropped
    QUASI_IDENTIFYING = "quasi-identifying"  # an intruder may know it: randomised or generalised
    SENSITIVE = "sensitive"  # what an intruder wants to learn
    INSENSITIVE = "insensitive"  # neither

    @classmethod
    def read(cls, text: object, attribute: str) -> Role:
        try:
            return cls(str(text))
        except ValueError:
            raise SchemaError(
                f"The role of {attribute} must be one of {', '.join(r.value for r in cls)}", repr(text)
            ) from None


@dataclass(frozen=True)
class Attribute:
    """A column that is published. `domain` is None for a column that passes unchanged."""

    name: str
    role: Role
    domain: Domain | None

    def __post_init__(self) -> None:
        if not self.name:
            raise SchemaError("An attribute must have a name", "an empty one")
        if self.role is Role.IDENTIFYING:
            raise SchemaError("An identifying attribute is dropped and must not be published", self.name)

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
        domain = None if self.domain is None else self.domain.to_json()
        return {"name": self.name, "role": self.role.value, "raw": self.raw, "domain": domain}

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> Attribute:
        try:
            name, role, domain = statement["name"], statement["role"], statement["domain"]
        except (KeyError, TypeError):
            raise SchemaError("An attribute must be stated with name, role and domain") from None
        return cls(str(name), Role.read(role, str(name)), None if domain is None else Domain.from_json(domain))
