"""Method `invariant`: frequencies kept in expectation, and no match more likely than xi (paper 2).

The matrices are made from the table, so the guarantees speak of this table alone and no epsilon holds. By
default they stay with the holder: the plan of a certificate then makes them again from the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from pramana.engines import BatchEngine, LocalEngine, Progress, Spool, commitment_to, digest_of_columns
from pramana.errors import BundleError, CheckError, MatrixError
from pramana.mechanisms import Exchange, digest_of, mechanism_from_json
from pramana.randomness import Key, counted
from pramana.release.certificate import Certificate
from pramana.release.invariant_law import (
    CodedRows,
    Law,
    Rows,
    alike,
    coded_rows,
    law_for,
    rounded_up,
    summaries_of,
)
from pramana.release.invariant_setting import InvariantSetting, read_setting
from pramana.release.invariant_strata import strata_of_spool
from pramana.release.method import Published
from pramana.release.resolve import dropped, is_randomised, published, read_from_data, resolve
from pramana.release.streamed import Streamed, StreamedTable, as_table, stream_plan
from pramana.schema import Attribute, AttributeRecipe, Recipe
from pramana.sources import Table, numbers, raw_column
from pramana.theory import (
    ANY_TABLE,
    THIS_TABLE,
    EveryCountBound,
    Guarantee,
    IdentificationBound,
    PkAnonymity,
    rounding,
)


@dataclass(frozen=True)
class InvariantPlan:
    """The setting, and what it came to on the table: risks by group, k, and the law where it is published."""

    attributes: tuple[Attribute, ...]
    dropped: tuple[str, ...]
    setting: InvariantSetting
    records: int
    summaries: Mapping[str, Mapping[str, Any]]
    k: float
    law: Mapping[str, Any] | None = None
    frequencies: Mapping[str, list[int]] | None = None
    dataset: str = ""
    made: Law | None = field(default=None, compare=False, repr=False)  # at the holder's only, like the codes
    coded: CodedRows | None = field(default=None, compare=False, repr=False)
    shuffled: bool = True

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
    def mechanism(self) -> Exchange | None:
        """The law, where recipients may see it; tables are then reconstructed like those of other releases.

        Within strata the published counts are used as they are.
        """
        found = None if self.law is None or self.setting.strata else mechanism_from_json(self.law)
        return found if isinstance(found, Exchange) else None

    @property
    def withheld(self) -> bool:
        return not self.setting.published

    @property
    def reached(self) -> bool:
        """Printed numbers are rounded up, so the wanted one is compared as it would be printed."""
        return self.setting.xi is None or self.xi <= rounding.float_up(self.setting.xi)

    def statement(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "setting": self.setting.to_json(),
            "matrix": "published" if self.setting.published else "withheld",
            "out_of": "2^62",
            "risks": {name: dict(summary) for name, summary in self.summaries.items()},
            "k": self.k,
        }
        if self.setting.published:
            found["law"], found["frequencies"] = self.law, self.frequencies
        return found

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]:
        common = self._assumptions(seeded)
        known = (
            "the intruder knows a person's true values of "
            + "; or of ".join(" and ".join(group) for group in self.setting.groups)
            + ("" if not self.setting.strata else f", and of {', '.join(self.setting.strata)}")
            + ", and may know the true frequencies and the matrices, but not the key"
        )
        raw = tuple(a.name for a in self.attributes if a.raw and a.name not in self.setting.strata)
        found: list[Guarantee] = [
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
            found.append(
                PkAnonymity(ANY_TABLE, "paper 1, Theorem 3", k=self.k, uncovered=raw, assumptions=(words, *common))
            )
        return tuple(found)

    def _assumptions(self, seeded: bool) -> tuple[str, ...]:
        found = [
            f"the release has exactly {self.records} records, published in an order that only the key tells",
            "this is the only release about these people",
            "AES-256 in counter mode is indistinguishable from random bits to anyone without the key",
        ]
        if seeded:
            found[-1] = "NONE OF THIS HOLDS IN EARNEST: the key was made from a seed; reproducible, not private"
        raw = [a.name for a in self.attributes if a.raw and a.name not in self.setting.strata]
        if raw:
            found.append(
                "the intruder does not know the people's values of the columns released unchanged: "
                + ", ".join(raw)
            )
        return tuple(found)

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        found = []
        if seeded:
            found.append("The key was made from a seed that anyone can guess: reproducible, not private.")
        if not self.reached:
            found.append(
                f"xi = {float(self.setting.xi or 1):g} was asked for and {rounding.shown_up(self.xi)} was reached."
            )
        if self.setting.xi is not None and self.xi_all_counts > rounding.float_up(self.setting.xi):
            usual = (
                f", but for outcomes of a total probability of {rounding.shown_up(self.left_out)}"
                if self.left_out
                else ""
            )
            found.append(
                f"xi = {float(self.setting.xi):g} is asked for against anyone who sees how many records show the "
                "person's own category. Anyone who sees every category's published count finds them with a chance "
                f"of up to {rounding.shown_up(self.xi_all_counts)}{usual}."
            )
        if self.setting.published:
            found.append("The matrices are published, and with them the true frequencies they were made from.")
        else:
            found.append(
                "The matrices are withheld, as paper 2 has it; the published counts are used as they are."
            )
        groups = [" and ".join(group) for group in self.setting.groups]
        same = [g for g in groups if self.summaries.get(g, {}).get("total_expected_squared_error") == 0]
        if same:
            found.append(
                f"No value is rare enough to need a change: {'; '.join(same)} published as in the source."
            )
        if len(groups) > 1:
            found.append(
                f"xi is for anyone who knows one of these: {'; '.join(groups)}. Anyone who knows more of them may "
                "find a person with a higher chance; together = [[...]] protects combinations."
            )
        if self.k <= 1:
            found.append(
                "k is 1: the matrices have blocks, so a published value rules out every value of other blocks, "
                "and for some table a link would be certain (paper 1, Theorem 3). What is promised is xi."
            )
        found.append("The matrices were made from this table: no epsilon holds.")
        raw = [a.name for a in self.attributes if a.raw]
        if raw:
            found.append(
                f"Released unchanged: {', '.join(raw)}. Anyone who knows a person's values there can link their "
                "record."
            )
        found += read_from_data(self.attributes)
        return tuple(found)

    def run(
        self, table: Table, key: Key, engine: LocalEngine, progress: Progress, show: bool = False
    ) -> Published:
        rows = coded_rows(self.setting, self.attributes, table, show) if self.coded is None else self.coded
        law = self._law(rows, rows.strata)
        codes = rows.codes
        coded = [a for a in self.attributes if not a.raw]
        with ThreadPoolExecutor(engine.workers) as pool:
            raw = {a.name: raw_column(table.column(a.name), None) for a in self.attributes if a.raw}
            shown = {a.name: codes[a.name] for a in coded}
            bound = commitment_to(shown, key, pool.map)
            commitment = commitment_to({**shown, **raw}, key, pool.map) if raw else bound
            context = self._context(law, bound)
            drawn = engine.publish(law.mechanism, key, context, codes, progress=progress)
            order = engine.order(key, context, table.records)
            drawn = engine.reorder({a.name: drawn[a.name] for a in coded}, order)
            places = numbers(order) if raw else None
            raw = {name: raw_column(column, places) for name, column in raw.items()}
            content = pool.submit(digest_of_columns, {**drawn, **raw})
            marginals = {a.name: counted(drawn[a.name], a.coded.size) for a in coded}
            published = as_table(self.attributes, {**drawn, **raw})
            return Published(published, content.result(), commitment, marginals, checks=(self._compared(law),))

    def stream(self, rows: Spool, key: Key, engine: BatchEngine, progress: Progress) -> Streamed:
        """The same bytes as `run`, of a table that need not fit in memory."""
        strata = strata_of_spool(rows, self.setting)
        law = self._law(rows, strata)
        found = stream_plan(
            self, law.mechanism, lambda bound: self._context(law, bound), rows, key, engine, progress
        )
        return replace(found, checks=(self._compared(law),))

    def _law(self, rows: Rows, strata: int | None) -> Law:
        return law_for(self.setting, self.attributes, rows, strata) if self.made is None else self.made

    def _context(self, law: Law, bound: str) -> str:
        return f"{self.dataset}\n{digest_of(law.mechanism)}\n{bound}"  # one key, one table, one law

    def _compared(self, law: Law) -> tuple[str, bool, str]:
        same = alike(law.summaries, self.summaries) and alike(law.k(self.records), self.k)
        return "risks", same, "as derived from the source" if same else "differ from those of the source"


@dataclass(frozen=True)
class InvariantMethod:
    """`invariant`: xi for this table, by blocks; or sdcMicro's two stages, or Sinkhorn, with the same numbers."""

    def columns(self, recipe: Recipe) -> list[str]:
        return [a.name for a in published(recipe)]

    def randomised(self, attribute: AttributeRecipe) -> bool:
        return is_randomised(attribute)

    def plan(self, recipe: Recipe, table: Table) -> InvariantPlan:
        attributes = tuple(resolve(a, table) for a in published(recipe))
        setting = read_setting(recipe, attributes)
        rows = coded_rows(setting, attributes, table)
        return replace(self._plan(recipe, attributes, setting, rows, rows.strata), coded=rows)

    def plan_streamed(self, recipe: Recipe, table: StreamedTable) -> InvariantPlan:
        attributes = tuple(resolve(a, table.seen) for a in published(recipe))
        setting = read_setting(recipe, attributes)
        table.settle(attributes)
        return self._plan(recipe, attributes, setting, table.rows, strata_of_spool(table.rows, setting))

    def _plan(
        self,
        recipe: Recipe,
        attributes: tuple[Attribute, ...],
        setting: InvariantSetting,
        rows: Rows,
        strata: int | None,
    ) -> InvariantPlan:
        law = law_for(setting, attributes, rows, strata, recipe.k)
        setting = replace(setting, retention=law.retention)
        plan = InvariantPlan(
            attributes,
            dropped(recipe),
            setting,
            rows.records,
            law.summaries,
            law.k(rows.records),
            law.mechanism.to_json() if setting.published else None,
            law.frequencies if setting.published else None,
            recipe.source.get("dataset", ""),
            law,
        )
        if not plan.reached and not setting.go_on:
            raise CheckError(
                f"xi = {float(setting.xi or 1):g} must be reached on this table",
                f"{rounding.shown_up(plan.xi)} at best",
                'Allow more transitions, merge rare values, or write unreached = "publish" to go on with that.',
            )
        return plan

    def plan_from(self, certificate: Certificate) -> InvariantPlan:
        statement = certificate.mechanism
        try:
            shown = statement["matrix"] == "published"
            setting = InvariantSetting.from_json(statement["setting"], shown)
            plan = InvariantPlan(
                certificate.attributes,
                certificate.dropped,
                setting,
                certificate.records,
                {str(name): dict(summary) for name, summary in statement["risks"].items()},
                float(statement["k"]),
                statement["law"] if shown else None,
                statement["frequencies"] if shown else None,
                certificate.dataset,
                shuffled=certificate.shuffled,
            )
            _check_stated(plan)
        except (KeyError, TypeError, ValueError, AttributeError, MatrixError):
            raise BundleError("The certificate must state its invariant matrices and their risks") from None
        return plan


def _check_stated(plan: InvariantPlan) -> None:
    """xi is the largest stated risk and, where the law is stated, every risk is derived from it again."""
    if {" and ".join(group) for group in plan.setting.groups} != set(plan.summaries):
        raise BundleError("The certificate must state the risks of every group of columns", "others")
    for summary in plan.summaries.values():
        stated = [float(r) for r in summary.get("risk", []) if r is not None]
        xi = float(summary["xi"]) if plan.setting.published else rounded_up(float(summary["xi"]), 3)
        if stated and not alike(max(stated), xi):
            raise BundleError("xi must be the largest of the stated risks", "another number")
    if plan.law is None or plan.frequencies is None:
        return
    mechanism = mechanism_from_json(plan.law)
    if not isinstance(mechanism, Exchange):
        raise BundleError("The law of an invariant release must be an exchange", "another kind")
    if not alike(summaries_of(mechanism, plan.frequencies, plan.setting), plan.summaries):
        raise BundleError("The stated risks must be those of the stated law", "others")
    k = rounding.float_down(1 + (plan.records - 1) * mechanism.anonymity_ratio)
    if not alike(k, plan.k):
        raise BundleError("The stated k must be that of the stated law", "another")
