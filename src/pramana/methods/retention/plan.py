"""A mechanism, the attributes it runs on, and the circumstances its guarantees depend on (paper 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import msgspec

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate, JsonObject, canonical
from pramana.errors import BundleError, MatrixError, SchemaError
from pramana.mechanisms.channel import profile_of_shuffled
from pramana.mechanisms.guarantees import Circumstances, guarantees_of, k_of
from pramana.mechanisms.stated import mechanism_from_json
from pramana.mechanisms.table import (
    CoinGroups,
    Mechanism,
    Product,
    RecordRetention,
    digest_of,
)
from pramana.mechanisms.units import UnitDraws, composed, unit_guarantees
from pramana.methods.coded import CodedPlan
from pramana.methods.columns import read_from_data, sizes_of
from pramana.methods.protocol import (
    Capabilities,
    Examination,
    Explanation,
    Law,
    Publication,
    fields_of_certificate,
    statement_of,
)
from pramana.methods.retention.choosing import check_choice, check_fit
from pramana.methods.retention.explanation import explanation_of_law
from pramana.methods.retention.setting import ChoiceForm, DrawnStatement
from pramana.methods.retention.units import around_units, check_constant, check_people, unit_warnings
from pramana.methods.usefulness import Usefulness, worth_of_law
from pramana.notions.guarantee import Guarantee
from pramana.rows.protocol import Rows
from pramana.schema.domain import Attribute
from pramana.theory import rounding
from pramana.theory.composition import PrivacyProfile

_COLLECTED = (
    "Collected from {records} devices that randomised their own records. Epsilon holds against everyone, whoever "
    "ran the collector included; k and the central guarantee do not hold against someone who saw records arrive. "
    "k counts the records that came, not those that were planned."
)
_MOST_REMEMBERED = 4096  # combinations for which devices remember one coin for the record; see randomise.ts
_ASKED_AGAIN = (
    "Whoever is asked again by the same law and answers the same, on a device that remembered its coins, sends "
    "the same again and spends no further epsilon. Another answer, another device, or coins that were not kept, "
    "spend it again."
)
_ASKED_ANEW = (
    "One coin for so many combinations of answers is remembered on no device: whoever is asked again spends "
    "epsilon again, also with the same answers."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomisedPlan(CodedPlan):
    """Each published value is drawn from a channel of the true one."""

    mechanism: Mechanism
    circumstances: Circumstances
    draws: UnitDraws | None = None  # of people and households, where rows are not people
    choice: ChoiceForm | None = None  # what the law was chosen from, by coin = "best"

    @property
    def records(self) -> int:
        return self.circumstances.records

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(streams=True, spark=True, single_records=True)

    @property
    def law(self) -> Law | None:
        drawn = Product | RecordRetention | CoinGroups
        return self.mechanism if isinstance(self.mechanism, drawn) else None

    @property
    def countable(self) -> bool:
        return self.law is not None

    def context(self, commitment: str = "") -> str:
        """What the coins are bound to: dataset, law and source.

        So one key never runs two laws, two datasets, or two states of one table on the same coins. With the same
        coins the difference of two releases would show exactly who was changed, and to what.
        """
        law = f"{self.dataset}\n{digest_of(self.mechanism)}\n{commitment}"
        return law if self.draws is None else f"{law}\n{canonical(_stated(self.draws)).decode()}"

    @property
    def repeated(self) -> Mapping[str, int]:
        return {} if self.draws is None else {name: self.draws.rows_sharing(name) for name in self.draws.once}

    def statement(self) -> JsonObject:
        units = {} if self.draws is None else {"units": _stated(self.draws)}
        choice = {} if self.choice is None else {"choice": msgspec.to_builtins(self.choice)}
        return {
            "law": self.mechanism.to_json(),
            "out_of": "2^62",
            "delta": self.circumstances.delta,
            "candidates": self.circumstances.candidates,
            "tables": [list(table) for table in self.tables],
            **units,
            **choice,
        }

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        around = replace(self.circumstances, seeded=seeded)
        if self.draws is not None and isinstance(self.mechanism, Product):
            return unit_guarantees(self.mechanism, around, self.draws)
        return guarantees_of(self.mechanism, around)

    def _k(self) -> Fraction:
        """Of the unit, the largest where there are two."""
        if self.draws is None or not isinstance(self.mechanism, Product):
            return k_of(self.mechanism, self.circumstances)
        whole = composed(self.mechanism, self.draws, self.draws.size(self.draws.largest))
        return k_of(whole, around_units(self.circumstances, self.draws))

    def profile(self) -> PrivacyProfile | None:
        blankets, ratio = self.mechanism.blankets, self.mechanism.likelihood_ratio
        hidden = self.circumstances.shuffled and not self.circumstances.raw_columns and self.draws is None
        if not hidden or blankets is None or ratio is None:
            return None
        return profile_of_shuffled(blankets, ratio, self.records)

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
        if circumstances.shuffled and (k := self._k()) < 2:
            shown = rounding.shown_down(rounding.float_down(k), 4)
            warnings.append(f"k is {shown}: a link can be more likely right than wrong.")
        if self.draws is not None and self.unit is not None:
            warnings += unit_warnings(self.mechanism, circumstances, self.draws, self.unit)
        if circumstances.on_devices:
            warnings.append(_COLLECTED.format(records=self.records))
            one_coin = isinstance(self.mechanism, RecordRetention)
            combinations = math.prod(self.mechanism.sizes.values())
            warnings.append(_ASKED_ANEW if one_coin and combinations > _MOST_REMEMBERED else _ASKED_AGAIN)
        return tuple(warnings)

    def usefulness(self) -> Usefulness:
        """By the law, whatever the table. Rows that share one draw count as one."""
        columns = [a.name for a in self.attributes if not a.raw]  # the law has them in any order
        ordered = {a.name: len(a.coded.labels) for a in self.attributes if not a.raw and a.coded.kind.has_order}
        records = self.records // max(self.repeated.values(), default=1)
        return worth_of_law(self.law, columns, records, self.tables, ordered)

    def usefulness_by_law(self) -> Usefulness:
        return self.usefulness()

    def publish(self, rows: Rows) -> Publication:
        context = self.context(rows.commitment())
        if self.draws is None:
            return self.publish_drawn(rows, self.mechanism, context)
        check_constant(rows, self.draws, self.mechanism.sizes)
        checks = (check_people(rows, self.draws),)
        return self.publish_drawn(rows, self.mechanism, context, checks, self.draws.once)

    def examine(self, bundle: Bundle) -> Examination:
        """With the choice of the coin, where there was one, made again."""
        examined = super().examine(bundle)
        if self.choice is None:
            return examined
        again = check_choice(self.choice, self.mechanism, self.mechanism.sizes, self.tables, self.circumstances)
        return replace(examined, checks=(*examined.checks, again))

    def explain(self) -> Explanation:
        return explanation_of_law(self.law, self.attributes, self.records, self.tables, self.shuffled, self.draws)


def _stated(draws: UnitDraws) -> JsonObject:
    return {"once": dict(draws.once), "same": draws.same, "alike": list(draws.alike)}


def circumstances_for(
    attributes: tuple[Attribute, ...],
    records: int,
    shuffled: bool,
    delta: float,
    candidates: int | None,
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


def circumstances_of(certificate: Certificate, delta: float, candidates: int | None) -> Circumstances:
    around = circumstances_for(
        certificate.attributes, certificate.records, certificate.shuffled, delta, candidates
    )
    return replace(around, on_devices=certificate.on_devices)


def restore_drawn(certificate: Certificate) -> RandomisedPlan:
    """The plan that a certificate states."""
    stated = statement_of(certificate, DrawnStatement)
    try:
        mechanism = mechanism_from_json(law_in_order(stated.law, certificate.attributes))
    except MatrixError as error:
        raise BundleError(error.what, error.got) from None
    if stated.candidates is not None and stated.candidates < certificate.records:
        raise BundleError(
            f"The candidates of a certificate must be at least its {certificate.records} records",
            str(stated.candidates),
        )
    check_sizes(mechanism, certificate)
    if stated.choice is not None:
        check_fit(stated.choice, mechanism.sizes)
    return RandomisedPlan(
        **fields_of_certificate(certificate, stated.tables),
        mechanism=mechanism,
        circumstances=circumstances_of(certificate, stated.delta, stated.candidates),
        draws=_draws(stated, certificate, mechanism),
        choice=stated.choice,
    )


def _draws(stated: DrawnStatement, certificate: Certificate, law: Mechanism) -> UnitDraws | None:
    """What units draw, of the certificate's unit and its law."""
    unit, units = certificate.unit, stated.units
    several = unit is not None and unit.kind != "row"
    if several != (units is not None):
        raise BundleError("A certificate must state what units draw where it counts them, and only there")
    if unit is None or units is None:
        return None
    fits = isinstance(law, Product) and set(units.once) <= set(law.sizes) and stated.candidates is None
    if not fits or unit.rows is None or unit.people is None or (unit.kind == "household" and unit.persons is None):
        raise BundleError(
            "The units of a certificate must state their rows and people, and draw columns of its law once",
            f"{', '.join(units.once) or 'no columns'} of a {unit.kind}",
        )
    try:
        return UnitDraws(
            people=unit.people,
            rows=unit.rows,
            households=unit.households,
            persons=unit.persons or 1,
            once={a.name: units.once[a.name] for a in certificate.attributes if a.name in units.once},
            same=units.same,
            alike=units.alike,
            from_data=unit.from_data,
        )
    except SchemaError as error:
        raise BundleError(error.what, error.got) from None


def check_sizes(mechanism: Mechanism, certificate: Certificate) -> None:
    if (sizes := sizes_of(certificate.attributes)) != mechanism.sizes:
        raise BundleError(f"The law of a certificate must fit its domains, {sizes}", str(mechanism.sizes))


def law_in_order(law: Mapping[str, Any], attributes: tuple[Attribute, ...]) -> dict[str, Any]:
    """The law with its columns as the table has them: JSON sorted them, and sums of floats feel their order."""
    rank = {a.name: i for i, a in enumerate(attributes)}
    ordered = dict(law)
    for key in ("channels", "sizes", "laws"):
        if isinstance(ordered.get(key), Mapping):
            ordered[key] = dict(sorted(ordered[key].items(), key=lambda item: rank.get(item[0], len(rank))))
    return ordered
