"""One version of many: the sensitive attributes at a level, the others as they are (paper 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Form
from pramana.errors import BundleError, InputError
from pramana.mechanisms.guarantees import level_guarantees
from pramana.mechanisms.levels import AtLevel, LevelSource
from pramana.mechanisms.table import Product, RecordRetention
from pramana.methods.protocol import (
    Capabilities,
    Explanation,
    Law,
    Publication,
    Version,
    fields_of_certificate,
)
from pramana.methods.retention.explanation import explanation_of_law
from pramana.methods.retention.plan import RandomisedPlan, check_sizes, circumstances_for, law_in_order
from pramana.notions.guarantee import Guarantee
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import Rows
from pramana.schema.domain import Role
from pramana.schema.typed import Count, read_section
from pramana.theory.levels import GRID


class LevelsStatement(Form, frozen=True, kw_only=True):
    """`law` is the design and the level, which `AtLevel.from_json` reads."""

    law: dict[str, Any]
    out_of: str
    delta: Annotated[float, Meta(gt=0, lt=1)]
    candidates: Count | None
    tables: list[list[str]]
    keyed: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelPlan(RandomisedPlan):
    """One version. Its coins are bound to the dataset and the design and not to the level."""

    mechanism: AtLevel
    keyed: bool = True
    recorded: LevelSource | None = None  # where versions come from if not from the key

    @property
    def law(self) -> Law | None:
        single = self.mechanism.as_single()
        return single if isinstance(single, Product | RecordRetention) else None

    @property
    def version(self) -> Version | None:
        return Version(f"{self.dataset}\n{self.mechanism.design.digest}", self.mechanism.level.retention)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(streams=self.keyed, spark=self.keyed, reason="whose versions come from a history")

    def context(self, commitment: str = "") -> str:
        return f"{self.dataset}\n{self.mechanism.design.digest}\n{commitment}"

    def statement(self) -> JsonObject:
        return {**super().statement(), "out_of": str(GRID), "keyed": self.keyed}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        around = replace(self.circumstances, seeded=seeded)
        return level_guarantees(self.mechanism, around, self.linkable, self.keyed)

    @property
    def linkable(self) -> bool:
        """Whether quasi-identifiers are perturbed, and none is released as it is: Pk then speaks of someone."""
        linked = [a for a in self.attributes if a.role is Role.QUASI_IDENTIFYING]
        return bool(linked) and not any(a.raw for a in linked)

    def explain(self) -> Explanation:
        with_k = self.shuffled and self.linkable
        explanation = explanation_of_law(self.law, self.attributes, self.records, self.tables, with_k)
        level = f"This is the version at level {self.mechanism.level}; other levels are other versions."
        return replace(explanation, notes=(level, *explanation.notes))

    def version_in_order(self, rows: Rows) -> dict[str, Codes]:
        """The published codes in the order of the source, for the holder's own checks."""
        names = list(self.mechanism.sizes)
        publication = replace(self, shuffled=False).publish(rows)
        pieces = list(publication.pieces())
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in names}

    def publish(self, rows: Rows) -> Publication:
        if self.keyed:
            return super().publish(rows)
        if self.recorded is None:
            raise BundleError(
                "A version drawn from a history must be looked up in it", "a key", "Ask the ledger for it again."
            )
        whole = rows.whole()
        version = self.recorded.version(self.mechanism.level, whole.codes(self.mechanism.sizes))
        for name, codes in version.items():
            whole.attach(name, (name,), codes)
        return self.publish_drawn(rows, Product({}), self.context(rows.commitment()))


def restore_version(certificate: Certificate) -> LevelPlan:
    stated = read_section(LevelsStatement, certificate.mechanism, "The mechanism of a certificate", BundleError)
    try:
        version = AtLevel.from_json(law_in_order(stated.law, certificate.attributes))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, InputError):
        raise BundleError("The certificate must state its level and design", "something else") from None
    if stated.out_of != str(GRID):
        raise BundleError(f"The level of a certificate must be out of {GRID}", stated.out_of)
    check_sizes(version, certificate)
    return LevelPlan(
        **fields_of_certificate(certificate, stated.tables),
        mechanism=version,
        circumstances=circumstances_for(
            certificate.attributes, certificate.records, certificate.shuffled, stated.delta, stated.candidates
        ),
        keyed=stated.keyed,
    )
