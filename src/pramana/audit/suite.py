"""The attack suite: every attack that a bundle's claims call for, run by its holder, who can count right answers.

Source and key tell which row is whose, to count with; an attack itself uses what its adversary has. What was not
attacked is said by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.audit.classes import both_classes, by_source_row, class_linkage, looks_of, smallest_class
from pramana.audit.classifiers import bytes_of_lines, classified_by_bytes, classified_by_place, places_in_file
from pramana.audit.collusion import collude
from pramana.audit.epsilon import epsilon_by_attribute, epsilon_in_one_run, neighbouring_runs
from pramana.audit.identification import identification_attacks
from pramana.audit.inference import attribute_inference, control_inference
from pramana.audit.linkage import LinkedTable, linkage_attacks
from pramana.audit.pairs import averaged_epsilon, reused_coins
from pramana.audit.positions import (
    Agreement,
    dictionary_attack,
    guessed_orders,
    order_attack,
    seed_attack,
    share_by_place,
)
from pramana.audit.reversal import reversal
from pramana.audit.verdict import Attack, AttackReport, NotRun, Outcome
from pramana.errors import InputError
from pramana.ledger import Ledger
from pramana.mechanisms import CoinGroups, Exchange, Product, RecordRetention
from pramana.methods.levels import LevelPlan
from pramana.methods.presence import PresencePlan
from pramana.methods.retention import RandomisedPlan
from pramana.pipeline import Retraced, coded_as_certified, retraced
from pramana.randomness import Codes, Key

Numbers = NDArray[np.int64]
_UNTRACED = "the rows are not those that source and key make, and whose they are is not known"


def audit_bundle(
    bundle: str | Path,
    source: object,
    key: Key | str | Path,
    *,
    control: object = None,
    public: object = None,
    also: Sequence[str | Path] = (),
    ledger: str | Path | None = None,
    recipients: Sequence[str] = (),
) -> AttackReport:
    """Attack a bundle with its source and key at hand, all in memory.

    `control` is a table of other people, who are not in the release. `public` is the public table of a presence
    release in two files. `also` are further bundles made from the same source under the same key; with a `ledger`
    its total stands beside what they tell together. `recipients` of a ledger of levels collude.

    >>> pramana.audit.audit_bundle("published", "people.csv", "published.key").ok  # doctest: +SKIP
    True
    """
    if recipients and ledger is None:
        raise InputError("Recipients must come with the ledger that knows them", "no ledger")
    attacked = _Attacked.of(retraced(bundle, source, key))
    outcomes = [*attacked.key(), *attacked.rows()]
    outcomes += attacked.randomised() if attacked.coded else attacked.celled()
    outcomes += [*_presence(attacked, source, public), *_control(attacked, control)]
    for path in also:
        outcomes += _together(attacked, _Attacked.of(retraced(path, source, key)), ledger)
    outcomes += _collusion(attacked, ledger, recipients)
    attacks = tuple(o for o in outcomes if isinstance(o, Attack))
    return AttackReport(attacks, tuple(o for o in outcomes if isinstance(o, NotRun)))


@dataclass(frozen=True, eq=False)
class _Attacked:
    """A bundle with what its attacks are counted by; `order` is None where nobody knows it."""

    traced: Retraced
    coded: bool  # published values are codes of public domains, not cells of classes
    published: dict[str, Codes]
    look: Numbers  # of every published row of cells
    agreement: Agreement
    order: Numbers | None

    @classmethod
    def of(cls, traced: Retraced) -> _Attacked:
        coded = bool(traced.mechanism.sizes)
        if coded:
            published = traced.bundle.codes(list(traced.true))
            agreement, look = _agreement(traced, published), np.zeros(0, np.int64)
        else:
            published, (look, agreement) = {}, _by_look(traced)
        attacked = cls(traced, coded, published, look, agreement, traced.order if traced.same else None)
        return attacked if traced.same else replace(attacked, order=attacked._guessed())

    def orders(self) -> dict[str, Numbers]:
        kept = np.sort(self.traced.order)
        orders = guessed_orders(len(kept), (self.traced.context,))
        return {name: kept[order] for name, order in orders.items()}

    def _guessed(self) -> Numbers | None:
        """The order that fits rows which are not those of the key: the key's own, or one that anyone can guess."""
        for order in (self.traced.order, *self.orders().values()):
            if not order_attack(self.agreement, {"": order}).ok:
                return order
        return None

    @property
    def table(self) -> LinkedTable | None:
        """What linkage is counted on; None where there is no law, or no order."""
        law = self.traced.mechanism
        if isinstance(self.traced.plan, RandomisedPlan):
            law = self.traced.plan.law or law
        if self.order is None or not isinstance(law, Product | RecordRetention | CoinGroups | Exchange):
            return None
        if not set(law.sizes) <= set(self.traced.true):  # strata, each with a law of its own
            return None
        true = {name: self.traced.true[name] for name in law.sizes}
        return LinkedTable(law, true, {name: self.published[name] for name in law.sizes}, self.order)

    def claim(self, notion: str) -> object:
        """The value of a guarantee of the certificate, of its first unit; None where it has none."""
        stated = self.traced.bundle.certificate.guarantees
        return next((g["value"] for g in stated if g["notion"] == notion), None)

    def key(self) -> list[Outcome]:
        stated = self.traced.bundle.certificate.key
        same = self.traced.same
        told = (
            "the rows are those that source and key make"
            if same
            else "the rows are others than source and key make"
        )
        made = Attack("data, made again", 1.0, float(same), same, told)
        told_of = stated or {}
        return [seed_attack(str(told_of.get("commitment")), told_of.get("seeded") is not False), made]

    def rows(self) -> list[Outcome]:
        certificate = self.traced.bundle.certificate
        if not certificate.shuffled:
            return [NotRun("rows", "published in source order, as the certificate says: nothing is claimed of it")]
        outcomes: list[Outcome] = [order_attack(self.agreement, self.orders())]
        if self.order is None or len(self.order) != certificate.records:
            outcomes.append(NotRun("rows, places and classifiers", _UNTRACED))
        else:
            rank = np.argsort(np.argsort(self.order))
            outcomes.append(share_by_place(rank, np.arange(len(rank))))
            outcomes += classified_by_place(rank, places_in_file(self.traced.bundle, len(rank)))
            outcomes += self._by_bytes(rank)
        if self.coded:
            outcomes.append(dictionary_attack(self.traced.bundle, self.traced.plan.attributes, self._appearance()))
        return outcomes

    def _by_bytes(self, rank: Numbers) -> list[Outcome]:
        lines = bytes_of_lines(self.traced.bundle, len(rank))
        found = pa.Table.from_batches(self.traced.bundle.batches()) if lines is not None else pa.table({})
        look = looks_of(found, found.column_names) if lines is not None else rank
        return classified_by_bytes(rank, look, lines)

    def _appearance(self) -> dict[str, list[str]]:
        found = {}
        for a in self.traced.plan.attributes:
            if not a.raw:
                codes = self.traced.true[a.name]
                first = np.unique(codes, return_index=True)[1]
                found[a.name] = [
                    a.coded.labels[c] for c in codes[np.sort(first)].tolist() if c < len(a.coded.labels)
                ]
        return found

    def randomised(self) -> list[Outcome]:
        table, plan = self.table, self.traced.plan
        if table is None:
            reason = _UNTRACED if self.order is None else "the law is one of strata, or has no matrix"
            return [NotRun("linkage, epsilon, identification and attribute inference", reason)]
        if isinstance(plan, RandomisedPlan) and plan.draws is not None:
            reason = "people have several rows that share coins, and these attacks count rows"
            return [NotRun("linkage, epsilon and attribute inference", reason)]
        outcomes: list[Outcome] = []
        if self.claim("pk-anonymity") is None:
            outcomes.append(NotRun("linkage", "the certificate claims no Pk-anonymity"))
        else:
            outcomes += linkage_attacks(table)
        if isinstance(table.law, Exchange):
            risks = (self.claim("identification-bound"), self.claim("identification-bound-every-count"))
            return [*outcomes, *self._identified(table.law, risks)]
        outcomes += [*epsilon_by_attribute(table), epsilon_in_one_run(table), *neighbouring_runs(table.law)]
        return [*outcomes, attribute_inference(table)]

    def _identified(self, law: Exchange, risks: tuple[object, object]) -> list[Outcome]:
        own, every = (risk if isinstance(risk, float | int) else 1.0 for risk in risks)
        withheld = NotRun("what a withheld certificate gives away", "its rounded figures are not attacked")
        return [*identification_attacks(law, self.traced.true, own, every), withheld]

    def celled(self) -> list[Outcome]:
        k, unit = self.claim("k-anonymity"), self.traced.plan.unit
        unclaimed = NotRun("l and t", "counted again by `pramana verify`, and not attacked")
        if not isinstance(k, float | int):
            return [NotRun("linkage", "the certificate claims no k-anonymity"), unclaimed]
        if unit is not None and unit.kind != "row":
            return [NotRun("linkage", "people have several rows, and these attacks count rows"), unclaimed]
        outcomes: list[Outcome] = [smallest_class(self.look, float(k))]
        if self.order is None:
            outcomes.append(NotRun("linkage, within classes", _UNTRACED))
        else:
            outcomes.append(class_linkage(self.look, self.order, float(k)))
        return [*outcomes, unclaimed]


def _agreement(traced: Retraced, published: dict[str, Codes]) -> Agreement:
    def agreement(rows: Numbers) -> NDArray[np.float64]:
        same = [traced.true[name][rows] == codes for name, codes in published.items()]
        return np.asarray(np.mean(same, axis=0), np.float64)

    return agreement


def _by_look(traced: Retraced) -> tuple[Numbers, Agreement]:
    """The looks of published rows, and how far a source row's own look agrees with them."""
    found = pa.Table.from_batches(traced.bundle.batches())
    quasi = {a.name for a in traced.plan.attributes if not a.raw} | {a.name for a in traced.plan.celled}
    columns = [n for n in found.column_names if n in quasi or n not in {a.name for a in traced.plan.attributes}]
    both = {n: pa.concat_arrays([_plain(t.column(n)) for t in (found, traced.table)]) for n in columns}
    looks = looks_of(pa.table(both), columns)
    shown, own = looks[: found.num_rows], looks[found.num_rows :]
    of_row = by_source_row(own, traced.order, int(traced.order.max(initial=0)) + 1)
    return shown, lambda rows: (of_row[rows] == shown[: len(rows)]).astype(np.float64)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """A column by its texts: a CSV has no types of its own, and dictionaries differ from file to file."""
    return pa.array([str(cell) for cell in column.to_pylist()], pa.string())


def _presence(attacked: _Attacked, source: object, public: object) -> list[Outcome]:
    plan = attacked.traced.plan
    if not isinstance(plan, PresencePlan):
        return []
    everyone = source if plan.flag and public is None else public
    if everyone is None:
        return [NotRun("presence, reversal", "the public table was not given")]
    found = reversal(attacked.traced.bundle.path, everyone)
    line = found.to_json()
    lowest, highest = (float(end) for end in line["measured"])
    low, high = found.claimed
    what = f"existence between {lowest:.4g} and {highest:.4g}; claimed {low:.4g} to {high:.4g}"
    more = {"claimed_range": line["claimed"], "measured_range": line["measured"]}
    attack = Attack("presence, reversal", found.claimed[1], highest, found.ok, what, (lowest, highest), more)
    return [attack, NotRun("presence, what the choice of levels tells", "not attacked beyond the reversal")]


def _control(attacked: _Attacked, control: object) -> list[Outcome]:
    name = "attribute inference, against a control"
    if control is None:
        return [NotRun(name, "no control table was given")]
    if not attacked.coded:
        return [NotRun(name, "published cells are no single values to guess from")]
    traced = attacked.traced
    others = coded_as_certified(traced.bundle.path, control)
    central = attacked.claim("central-differential-privacy")
    pair = (float(central["epsilon"]), float(central["delta"])) if isinstance(central, dict) else None
    return [control_inference(traced.true, others, attacked.published, pair)]


def _together(one: _Attacked, other: _Attacked, ledger: str | Path | None) -> list[Outcome]:
    """Two bundles about the same people, under one key."""
    if one.coded != other.coded or one.order is None or other.order is None:
        return [NotRun("two releases", "they are of different kinds, or whose their rows are is not known")]
    if not one.coded:
        records = int(max(one.order.max(), other.order.max())) + 1
        looks = [
            by_source_row(release.look, release.order, records)
            for release in (one, other)
            if release.order is not None
        ]
        claims = [k for k in (one.claim("k-anonymity"), other.claim("k-anonymity")) if isinstance(k, float | int)]
        return [both_classes(looks[0], looks[1], float(min(claims)))] if claims else []
    first, second = one.table, other.table
    if isinstance(one.traced.plan, LevelPlan) or isinstance(other.traced.plan, LevelPlan):
        return [NotRun("two releases", "versions at levels collude: name their ledger and recipients")]
    epsilons = [claim for claim in (one.claim(_LOCAL), other.claim(_LOCAL)) if isinstance(claim, float | int)]
    if first is None or second is None or len(epsilons) < 2:
        return [NotRun("two releases", "one of them claims no epsilon")]
    together = averaged_epsilon(first, second, sum(map(float, epsilons)))
    return [reused_coins(first, second), together if ledger is None else _beside_total(together, ledger)]


def _beside_total(together: Attack, ledger: str | Path) -> Attack:
    """The ledger's sum over all releases about these people, which must not be exceeded either."""
    known = Ledger.open(ledger)
    total = known.total()
    known.close()
    ok = together.ok and (total.epsilon is None or together.measured <= total.epsilon)
    what = f"{together.detail}; the ledger's total about {total.people!r}: {total.words()}"
    return replace(together, ok=ok, detail=what, more={**together.more, "ledger_total": total.epsilon})


_LOCAL = "local-differential-privacy"


def _collusion(attacked: _Attacked, ledger: str | Path | None, recipients: Sequence[str]) -> list[Outcome]:
    name = "collusion across levels"
    if ledger is None or not recipients:
        return (
            [NotRun(name, "no ledger and recipients were given")]
            if isinstance(attacked.traced.plan, LevelPlan)
            else []
        )
    found = collude(ledger, recipients)
    what = (
        f"{found.members} versions together reconstruct {found.together:.4g}, the best alone "
        f"{found.best_alone:.4g}; drawn separately they would have {found.independent:.4g}"
    )
    return [Attack(name, found.best_alone, found.together, found.useless, what, more={"p_value": found.p_value})]
