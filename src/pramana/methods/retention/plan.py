"""A mechanism, the attributes it runs on, and the circumstances its guarantees depend on (paper 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pramana.bundle import Certificate, JsonObject
from pramana.errors import BundleError, MatrixError
from pramana.mechanisms import (
    Circumstances,
    Mechanism,
    Product,
    RecordRetention,
    digest_of,
    guarantees_of,
    k_of,
    mechanism_from_json,
)
from pramana.methods.coded import CodedPlan
from pramana.methods.columns import read_from_data
from pramana.methods.protocol import Explanation, Law, Publication, fields_of_certificate
from pramana.methods.retention.explanation import explanation_of_law
from pramana.methods.retention.statement import DrawnStatement
from pramana.rows import Rows
from pramana.schema import Attribute, read_section
from pramana.theory import Guarantee, rounding


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomisedPlan(CodedPlan):
    """Each published value is drawn from a channel of the true one."""

    mechanism: Mechanism
    circumstances: Circumstances
    tables: tuple[tuple[str, ...], ...] = ()  # those that recipients need most

    @property
    def records(self) -> int:
        return self.circumstances.records

    @property
    def law(self) -> Law | None:
        return self.mechanism if isinstance(self.mechanism, Product | RecordRetention) else None

    @property
    def countable(self) -> bool:
        return self.law is not None

    def context(self, commitment: str = "") -> str:
        """What the coins are bound to: dataset, law and source.

        So one key never runs two laws, two datasets, or two states of one table on the same coins. With the same
        coins the difference of two releases would show exactly who was changed, and to what.
        """
        return f"{self.dataset}\n{digest_of(self.mechanism)}\n{commitment}"

    def statement(self) -> JsonObject:
        return {
            "law": self.mechanism.to_json(),
            "out_of": "2^62",
            "delta": self.circumstances.delta,
            "candidates": self.circumstances.candidates,
            "tables": [list(table) for table in self.tables],
        }

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        return guarantees_of(self.mechanism, replace(self.circumstances, seeded=seeded))

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        circumstances = self.circumstances
        warnings = []
        if seeded:
            warnings.append("The key was made from a seed that anyone can guess: reproducible, not private.")
        if circumstances.raw_columns:
            warnings.append(
                f"Released unchanged, outside every epsilon: {', '.join(circumstances.raw_columns)}. Anyone who "
                "knows a person's values there can link their record; and there is no central guarantee."
            )
        warnings += read_from_data(self.attributes)
        if not circumstances.shuffled:
            warnings.append("Published in source order: no Pk-anonymity and no central guarantee is claimed.")
        if self.mechanism.likelihood_ratio is None:
            warnings.append("Some published value rules out some true value with certainty: no epsilon holds.")
        if circumstances.shuffled and (k := k_of(self.mechanism, circumstances)) < 2:
            shown = rounding.shown_down(rounding.float_down(k), 4)
            warnings.append(f"k is {shown}: a link can be more likely right than wrong.")
        return tuple(warnings)

    def publish(self, rows: Rows) -> Publication:
        return self.publish_drawn(rows, self.mechanism, self.context(rows.commitment()))

    def explain(self) -> Explanation:
        return explanation_of_law(self.law, self.attributes, self.records, self.tables, self.shuffled)


def circumstances_for(
    attributes: tuple[Attribute, ...], records: int, shuffled: bool, delta: float, candidates: int | None
) -> Circumstances:
    coded = [a for a in attributes if a.domain is not None]
    return Circumstances(
        records=records,
        shuffled=shuffled,
        delta=delta,
        candidates=candidates,
        raw_columns=tuple(a.name for a in attributes if a.raw),
        domains_from_data=tuple(a.name for a in coded if a.coded.origin == "from-data"),
        missing_from_data=tuple(a.name for a in coded if a.coded.missing_from_data),
    )


def restore_drawn(certificate: Certificate) -> RandomisedPlan:
    """The plan that a certificate states."""
    stated = read_section(DrawnStatement, certificate.mechanism, "The mechanism of a certificate", BundleError)
    try:
        mechanism = mechanism_from_json(_in_order(stated.law, certificate.attributes))
    except (TypeError, ValueError, AttributeError, OverflowError, MatrixError):
        raise BundleError("The certificate must state its law in integers", "something else") from None
    if stated.candidates is not None and stated.candidates < certificate.records:
        raise BundleError("The candidates of a certificate must be at least its records", "fewer")
    check_sizes(mechanism, certificate)
    names = {a.name for a in certificate.attributes}
    if not all(name in names for table in stated.tables for name in table):
        raise BundleError("The tables of a certificate must be of its columns", "others")
    return RandomisedPlan(
        **fields_of_certificate(certificate),
        mechanism=mechanism,
        circumstances=circumstances_for(
            certificate.attributes, certificate.records, certificate.shuffled, stated.delta, stated.candidates
        ),
        tables=tuple(tuple(table) for table in stated.tables),
    )


def check_sizes(mechanism: Mechanism, certificate: Certificate) -> None:
    if {a.name: a.coded.size for a in certificate.attributes if not a.raw} != mechanism.sizes:
        raise BundleError("The law of a certificate must fit its domains", "other sizes")


def _in_order(law: Mapping[str, Any], attributes: tuple[Attribute, ...]) -> dict[str, Any]:
    """The law with its columns as the table has them: JSON sorted them, and sums of floats feel their order."""
    rank = {a.name: i for i, a in enumerate(attributes)}
    ordered = dict(law)
    for key in ("channels", "sizes"):
        if key in ordered:
            ordered[key] = dict(sorted(ordered[key].items(), key=lambda item: rank.get(item[0], len(rank))))
    return ordered
