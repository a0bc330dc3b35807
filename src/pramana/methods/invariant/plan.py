"""A plan of invariant matrices: the design, what it came to on the table, and the law where it is published.

The matrices are made from the table, so the guarantees speak of this table alone and no epsilon holds. By default
they stay with the holder: the plan of a certificate then makes them again from the source.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.form import Check, Form
from pramana.errors import BundleError, MatrixError
from pramana.mechanisms.channel import Channel
from pramana.mechanisms.stated import mechanism_from_json
from pramana.mechanisms.table import Exchange, digest_of
from pramana.methods.coded import CodedPlan
from pramana.methods.columns import read_from_data, sizes_of
from pramana.methods.invariant.design import InvariantDesignForm, worth_of_exchange
from pramana.methods.invariant.explanation import explanation_of_exchange
from pramana.methods.invariant.table_law import InvariantLaw, alike, channel_for, law_for, stratum_of, summaries_of
from pramana.methods.protocol import (
    ColumnUncertainty,
    Counts,
    Explanation,
    Law,
    Publication,
    StatedTables,
    fields_of_certificate,
    stated_tables,
    statement_of,
)
from pramana.methods.usefulness import Usefulness
from pramana.notions.guarantee import ANY_TABLE, THIS_TABLE, Guarantee
from pramana.notions.method_notions import EveryCountBound, IdentificationBound
from pramana.notions.randomised import PkAnonymity
from pramana.rows.protocol import Rows
from pramana.schema.typed import read_section
from pramana.theory import rounding

Risk = Annotated[float, Meta(ge=0, le=1)]


class RiskForm(Form, frozen=True, kw_only=True):
    """What the matrices of one group of columns came to."""

    xi: Risk
    xi_all_counts: Risk
    risk_all_counts_left_out: Risk
    total_expected_squared_error: Annotated[float, Meta(ge=0)]
    largest_match: Annotated[float, Meta(ge=0)] | None = None  # this and what follows of published matrices
    largest_drift: str | None = None
    risk: list[Risk | None] | None = None
    risk_all_counts: list[Risk | None] | None = None
    risk_all_counts_exact: list[bool] | None = None
    risk_all_counts_found: list[Risk | None] | None = None
    match: list[float | None] | None = None
    match_all_counts: list[tuple[float, float] | None] | None = None
    expected_squared_error: list[Annotated[float, Meta(ge=0)]] | None = None
    drift: list[float] | None = None


class InvariantStatement(Form, frozen=True, kw_only=True):
    """`law` and `frequencies` are there where the matrices are published."""

    setting: InvariantDesignForm
    matrix: Literal["published", "withheld"]
    out_of: Literal["2^62"]
    risks: dict[str, dict[str, Any]]
    k: Annotated[float, Meta(ge=1)]
    law: dict[str, Any] | None = None
    frequencies: dict[str, list[Annotated[int, Meta(ge=0)]]] | None = None
    tables: StatedTables = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class InvariantPlan(CodedPlan):
    """The design, and what it came to on the table: risks by group, k, and the law where it is published."""

    design: InvariantDesignForm
    total: int  # records
    summaries: Mapping[str, Mapping[str, Any]]
    k: float
    published_law: Mapping[str, Any] | None = None
    frequencies: Mapping[str, list[int]] | None = None
    table_law: InvariantLaw | None = field(default=None, repr=False)  # at the holder's only

    @property
    def records(self) -> int:
        return self.total

    @property
    def xi(self) -> float:
        return max(float(s["xi"]) for s in self.summaries.values())

    @property
    def xi_all_counts(self) -> float:
        """For the stronger intruder, whom the wanted xi is not about: one who sees every published count."""
        return max(float(s["xi_all_counts"]) for s in self.summaries.values())

    @property
    def left_out(self) -> float:
        """The probability of the outcomes that `xi_all_counts` does not cover."""
        return max(float(s["risk_all_counts_left_out"]) for s in self.summaries.values())

    @property
    def law(self) -> Law | None:
        """The law, where recipients may see it; tables are then reconstructed like those of other releases.

        Within strata the published counts are used as they are.
        """
        if self.published_law is None or self.design.strata:
            return None
        mechanism = mechanism_from_json(self.published_law)
        return mechanism if isinstance(mechanism, Exchange) else None

    def doubt(self, name: str) -> ColumnUncertainty:
        """Counts stay on average. How often any set of values is published varies by no more than all together."""
        group = next((g for g in self.design.groups if name in g), None)
        if group is None:
            return ColumnUncertainty()
        error = float(self.summaries[" and ".join(group)]["total_expected_squared_error"])
        return ColumnUncertainty(together=tuple(group), deviation=math.sqrt(error))

    @property
    def withheld(self) -> bool:
        return self.published_law is None

    def channel_by_rule(self, columns: tuple[str, ...], counts: Counts) -> Channel:
        return channel_for(self.design, columns, counts, self.design.exact_retention)

    @property
    def reached(self) -> bool:
        """Printed numbers are rounded up, so the wanted one is compared as it would be printed."""
        return (wanted := self.design.exact_xi) is None or self.xi <= rounding.float_up(wanted)

    def statement(self) -> JsonObject:
        stated: dict[str, Any] = {
            "setting": msgspec.to_builtins(self.design),
            "matrix": "withheld" if self.withheld else "published",
            "out_of": "2^62",
            "risks": {name: dict(summary) for name, summary in self.summaries.items()},
            "k": self.k,
        }
        if not self.withheld:
            stated["law"], stated["frequencies"] = self.published_law, self.frequencies
        return {**stated, **stated_tables(self.tables)}

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        common = self._assumptions(seeded)
        known = (
            "the intruder knows a person's true values of "
            + "; or of ".join(" and ".join(group) for group in self.design.groups)
            + ("" if not self.design.strata else f", and of {', '.join(self.design.strata)}")
            + ", and may know the true frequencies and the matrices, but not the key"
        )
        raw = self._uncovered
        guarantees: list[Guarantee] = [
            IdentificationBound(
                THIS_TABLE,
                "paper 2, Eq. 10 and Theorem 3.1, from the integers that were sampled",
                xi=self.xi,
                uncovered=raw,
                assumptions=(known, "the intruder sees how many records show that value and picks one", *common),
            ),
            EveryCountBound(
                THIS_TABLE,
                "paper 1, Theorem 3, for the counts of this table",
                xi=self.xi_all_counts,
                left_out=self.left_out,
                uncovered=raw,
                assumptions=(known, *common),
            ),
        ]
        if self.k > 1:
            known = "every true value of the protected columns" if raw else "every true record"
            words = f"the intruder may know {known}, the method and all its parameters, but not the key"
            guarantees.append(
                PkAnonymity(ANY_TABLE, "paper 1, Theorem 3", k=self.k, uncovered=raw, assumptions=(words, *common))
            )
        return tuple(guarantees)

    @property
    def _uncovered(self) -> tuple[str, ...]:
        """Columns released unchanged, but for strata."""
        return tuple(a.name for a in self.attributes if a.raw and a.name not in self.design.strata)

    def _assumptions(self, seeded: bool) -> tuple[str, ...]:
        assumptions = [
            f"the release has exactly {self.records} records, published in an order that only the key tells",
            "this is the only release about these people",
            "AES-256 in counter mode is indistinguishable from random bits to anyone without the key",
        ]
        if seeded:
            assumptions[-1] = (
                "NONE OF THIS HOLDS IN EARNEST: the key was made from a seed; reproducible, not private"
            )
        if raw := self._uncovered:
            assumptions.append(
                "the intruder does not know the people's values of the columns released unchanged: "
                + ", ".join(raw)
            )
        return tuple(assumptions)

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        warnings, wanted = [], self.design.exact_xi
        if seeded:
            warnings.append("The key was made from a seed that anyone can guess: reproducible, not private.")
        if not self.reached:
            warnings.append(
                f"xi = {float(wanted or 1):g} was asked for and {rounding.shown_up(self.xi)} was reached."
            )
        if wanted is not None and self.xi_all_counts > rounding.float_up(wanted):
            chance = rounding.shown_up(self.left_out)
            usual = f", but for outcomes of a total probability of {chance}" if self.left_out else ""
            warnings.append(
                f"xi = {float(wanted):g} is asked for against anyone who sees how many records show the "
                "person's own category. Anyone who sees every category's published count finds them with a chance "
                f"of up to {rounding.shown_up(self.xi_all_counts)}{usual}."
            )
        if not self.withheld:
            warnings.append("The matrices are published, and with them the true frequencies they were made from.")
        else:
            warnings.append(
                "The matrices are withheld, as paper 2 has it; the published counts are used as they are. The "
                "certificate tells of the true frequencies no more than its few rounded figures; the bounds hold "
                "for intruders who know the frequencies anyway."
            )
        groups = [" and ".join(group) for group in self.design.groups]
        same = [g for g in groups if self.summaries.get(g, {}).get("total_expected_squared_error") == 0]
        if same:
            warnings.append(
                f"No value is rare enough to need a change: {'; '.join(same)} published as in the source."
            )
        if len(groups) > 1:
            warnings.append(
                f"xi is for anyone who knows one of these: {'; '.join(groups)}. Anyone who knows more of them may "
                "find a person with a higher chance; together = [[...]] protects combinations."
            )
        if self.k <= 1:
            warnings.append(
                "k is 1: the matrices have blocks, so a published value rules out every value of other blocks, "
                "and for some table a link would be certain (paper 1, Theorem 3). What is promised is xi."
            )
        warnings.append("The matrices were made from this table: no epsilon holds.")
        raw = [a.name for a in self.attributes if a.raw]
        if raw:
            warnings.append(
                f"Released unchanged: {', '.join(raw)}. Anyone who knows a person's values there can link their "
                "record."
            )
        warnings += read_from_data(self.attributes)
        return tuple(warnings)

    def publish(self, rows: Rows) -> Publication:
        law = self.table_law or law_for(self.design, self.attributes, rows, not self.withheld)
        context = f"{self.dataset}\n{digest_of(law.mechanism)}\n{rows.commitment()}"  # one table, one law
        same = alike(law.summaries, self.summaries) and alike(law.k(self.records, not self.withheld), self.k)
        risks = Check("risks", same, "as derived from the source" if same else "differ from those of the source")
        return self.publish_drawn(rows, law.mechanism, context, (risks,))

    def usefulness(self) -> Usefulness:
        return worth_of_exchange(self.attributes, self.design, self.summaries, self.records, self.tables)

    def explain(self) -> Explanation:
        return explanation_of_exchange(self.attributes, self.design, self.summaries, not self.withheld)


def restore_invariant(certificate: Certificate) -> InvariantPlan:
    stated = statement_of(certificate, InvariantStatement)
    for summary in stated.risks.values():
        read_section(RiskForm, summary, "The risks of a certificate", BundleError)
    shown = stated.matrix == "published"
    try:
        plan = InvariantPlan(
            **fields_of_certificate(certificate, stated.tables),
            design=stated.setting,
            total=certificate.records,
            summaries=stated.risks,
            k=stated.k,
            published_law=stated.law if shown else None,
            frequencies=stated.frequencies if shown else None,
        )
        _check_stated(plan, shown)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, MatrixError):
        raise BundleError("The certificate must state its invariant matrices and their risks") from None
    return plan


def _check_columns(plan: InvariantPlan) -> None:
    """Every randomised column is in one group; the design names no column that is not there."""
    sizes = sizes_of(plan.attributes)
    grouped = sorted(name for group in plan.design.groups for name in group)
    barred = dict(plan.design.forbidden)
    if grouped != sorted(sizes) or not {*plan.design.ordered, *barred} <= set(sizes):
        raise BundleError("The design of a certificate must name its randomised columns, each in one group")
    if strange := set(plan.design.strata) - set(plan.raw_names()):
        raise BundleError("The strata of a certificate must be columns released unchanged", repr(min(strange)))
    if any(code >= sizes[name] for name, pairs in barred.items() for pair in pairs for code in pair):
        raise BundleError("The forbidden transitions of a certificate must be between values of their domain")
    if not plan.shuffled:
        raise BundleError("An invariant release must be shuffled", "one in source order")


def _check_stated(plan: InvariantPlan, shown: bool) -> None:
    """Where the law is stated, every risk is derived from it again."""
    _ = plan.design.exact_xi, plan.design.exact_retention  # refuses shares that are no numbers, such as 1/0
    _check_columns(plan)
    if {" and ".join(group) for group in plan.design.groups} != set(plan.summaries):
        raise BundleError(
            "The certificate must state the risks of every group of columns", ", ".join(plan.summaries)
        )
    if shown != (plan.published_law is not None and plan.frequencies is not None):
        raise BundleError("Published matrices must be stated with their frequencies", "one without the other")
    if plan.published_law is None or plan.frequencies is None:
        return
    mechanism = mechanism_from_json(plan.published_law)
    if not isinstance(mechanism, Exchange):
        raise BundleError("The law of an invariant release must be an exchange", type(mechanism).__name__)
    _check_fit(plan, mechanism, plan.frequencies)
    if not alike(summaries_of(mechanism, plan.frequencies, plan.design, published=True), plan.summaries):
        raise BundleError("The stated risks must be those of the stated law, and some are not")
    k = rounding.float_down(1 + (plan.records - 1) * mechanism.anonymity_ratio)
    if not alike(k, plan.k):
        raise BundleError("The stated k must be that of the stated law", str(plan.k))


def _check_fit(plan: InvariantPlan, mechanism: Exchange, frequencies: Mapping[str, list[int]]) -> None:
    """Law, domains and frequencies speak of the same columns and values, before anything of their size is made."""
    strata = bool(plan.design.strata)
    columns = [(stratum_of(group), *group) if strata else group for group in plan.design.groups]
    if [group.columns for group in mechanism.groups] != columns:
        raise BundleError(
            "The law of a certificate must be of the design's groups", str([g.columns for g in mechanism.groups])
        )
    if any(mechanism.sizes[a.name] != a.coded.size for a in plan.attributes if not a.raw):
        raise BundleError("The law of a certificate must fit its domains", str(mechanism.sizes))
    for group, own in zip(mechanism.groups, plan.design.groups, strict=True):
        counts = frequencies.get(" and ".join(own), [])
        if len(counts) != group.channel.size or sum(counts) != plan.records:
            raise BundleError(
                "The frequencies of a certificate must be those of its records",
                f"{len(counts)} of {' and '.join(own)}",
            )
    if len(frequencies) != len(plan.design.groups):
        raise BundleError("The frequencies of a certificate must be those of its groups", ", ".join(frequencies))
