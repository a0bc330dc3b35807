"""The attack suite: every attack that a bundle's claims call for, run by its holder, who can count right answers.

Source and key tell which row is whose, to count with; an attack itself uses what its adversary has. What was not
attacked is said by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pramana.counting.classes import Layout
from pramana.errors import InputError
from pramana.holder.audit.anonymity import (
    attribute_inference,
    class_linkage,
    control_inference,
    left_in,
    smallest_class,
)
from pramana.holder.audit.attacked import UNTRACED, Attacked, Numbers
from pramana.holder.audit.collusion import collude
from pramana.holder.audit.container import beside_the_table, file_times
from pramana.holder.audit.epsilon import epsilon_by_attribute, epsilon_in_one_run, neighbouring_runs
from pramana.holder.audit.identification import identification_attacks, identified_in_file, withheld_matrix
from pramana.holder.audit.linkage import LinkedTable, linkage_attacks
from pramana.holder.audit.order_of_rows import (
    bytes_of_cells,
    classified_by_bytes,
    classified_by_place,
    dictionary_attack,
    order_attack,
    places_in_file,
    seed_attack,
    share_by_place,
    values_of_cells,
)
from pramana.holder.audit.presence import choice_attack, reversal
from pramana.holder.audit.together import attacks_together
from pramana.holder.audit.verdict import Attack, AttackReport, NotRun, Outcome
from pramana.mechanisms.channel import Channel
from pramana.mechanisms.table import ChannelGroup, Exchange
from pramana.methods.invariant.plan import InvariantPlan
from pramana.methods.invariant.table_law import channel_for
from pramana.methods.levels.method import LevelPlan
from pramana.methods.presence.plan import PresencePlan
from pramana.methods.presence.search import Pair, matched
from pramana.methods.retention.plan import RandomisedPlan
from pramana.notions.classes import KAnonymity
from pramana.notions.identification import EveryCountBound, IdentificationBound
from pramana.notions.randomised import CentralPrivacy, PkAnonymity
from pramana.randomness.key import Key
from pramana.reporting.attacks import audited_files
from pramana.run.trace import coded_as_certified, retraced


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
    release in two files. `also` are further bundles made from the same source under the same key, any number of
    them, which are attacked together with the first; with a `ledger` its total stands beside what they tell.
    `recipients` of a ledger of levels collude.

    >>> pramana.holder.audit.suite.audit_bundle("published", "people.csv", "published.key").ok  # doctest: +SKIP
    True
    """
    if recipients and ledger is None:
        raise InputError("Recipients must come with the ledger that knows them", "no ledger")
    attacked = Attacked.of(retraced(bundle, source, key))
    outcomes = [*_key(attacked), *row_attacks(attacked)]
    outcomes += _randomised(attacked) if attacked.coded else _celled(attacked)
    outcomes += [*_presence(attacked, source, public), *_control(attacked, control)]
    others = [Attacked.of(retraced(path, source, key)) for path in also]
    outcomes += attacks_together([attacked, *others], ledger)
    outcomes += _collusion(attacked, ledger, recipients, bool(others))
    attacks = tuple(o for o in outcomes if isinstance(o, Attack))
    left = tuple(o for o in outcomes if isinstance(o, NotRun))
    return AttackReport(attacks, left, audited_files(attacked.traced.bundle))


# ---------------------------------------------------------------- key, rows and files


def _key(attacked: Attacked) -> list[Outcome]:
    stated = attacked.traced.bundle.certificate.key or {}
    same = attacked.traced.same
    told = (
        "the rows are those that source and key make" if same else "the rows are others than source and key make"
    )
    again = Attack("data, made again", 1.0, float(same), same, told)
    return [seed_attack(str(stated.get("commitment")), stated.get("seeded") is not False), again]


def row_attacks(attacked: Attacked) -> list[Outcome]:
    """What the bundle's files tell of the order of the source, and of how they were written."""
    bundle = attacked.traced.bundle
    files: list[Outcome] = [file_times(bundle), beside_the_table(bundle)]
    if not bundle.certificate.shuffled:
        left = NotRun("rows", "published in source order, as the certificate says: nothing is claimed of it")
        return [*files, left]
    outcomes, order = files, attacked.order
    if attacked.whole:
        outcomes.append(order_attack(attacked.agreement, attacked.orders()))
    else:
        outcomes.append(NotRun("rows, guessed order", "the file has not as many rows as source and key make"))
    if order is None or len(order) != bundle.certificate.records:
        outcomes.append(NotRun("rows, places and classifiers", UNTRACED))
    else:
        rank = np.argsort(np.argsort(order))
        outcomes.append(share_by_place(rank, np.arange(len(rank))))
        outcomes += classified_by_place(rank, places_in_file(bundle, len(rank)))
        outcomes += _by_bytes(attacked, rank)
    if attacked.coded:
        outcomes.append(dictionary_attack(bundle, attacked.traced.plan.attributes, _appearance(attacked)))
    return outcomes


def _by_bytes(attacked: Attacked, rank: Numbers) -> list[Outcome]:
    bundle = attacked.traced.bundle
    written = bytes_of_cells(bundle, len(rank))
    values = {} if written is None else values_of_cells(bundle, attacked.traced.table.schema)
    return classified_by_bytes(rank, values, written)


def _appearance(attacked: Attacked) -> dict[str, list[str]]:
    """The labels of each column as the source has them, one after another."""
    listed = {}
    for a in attacked.traced.plan.attributes:
        if not a.raw:
            codes = attacked.traced.true[a.name]
            first = np.unique(codes, return_index=True)[1]
            seen = codes[np.sort(first)].tolist()
            listed[a.name] = [a.coded.labels[c] for c in seen if c < len(a.coded.labels)]
    return listed


# ---------------------------------------------------------------- values


def _randomised(attacked: Attacked) -> list[Outcome]:
    table, plan = attacked.table, attacked.traced.plan
    if table is None:
        reason = UNTRACED if attacked.order is None else "the law is one of strata, or has no matrix"
        return [NotRun("linkage, epsilon, identification and attribute inference", reason)]
    if isinstance(plan, RandomisedPlan) and plan.draws is not None:
        reason = "people have several rows that share coins, and these attacks count rows"
        return [NotRun("linkage, epsilon and attribute inference", reason)]
    outcomes: list[Outcome] = []
    if attacked.claim(PkAnonymity.notion) is None:
        outcomes.append(NotRun("linkage", "the certificate claims no Pk-anonymity"))
    else:
        outcomes += linkage_attacks(table)
    if isinstance(table.law, Exchange):
        return [*outcomes, *identified(attacked, table, table.law)]
    outcomes += [*epsilon_by_attribute(table), epsilon_in_one_run(table), *neighbouring_runs(table.law)]
    return [*outcomes, attribute_inference(table)]


def identified(attacked: Attacked, table: LinkedTable, law: Exchange) -> list[Outcome]:
    """The intruders of an invariant release: on its law, in its file, and without its matrix."""
    plan = attacked.traced.plan
    own = attacked.number(IdentificationBound.notion)
    every = attacked.number(EveryCountBound.notion)
    xi, xi_all = (1.0 if claim is None else claim for claim in (own, every))
    outcomes = identification_attacks(law, attacked.traced.true, xi, xi_all)
    if not isinstance(plan, InvariantPlan):
        return outcomes
    outcomes += identified_in_file(table, xi, xi_all, plan.left_out)
    if not plan.withheld:
        return outcomes

    def planned(group: ChannelGroup, counts: Numbers) -> Channel:
        shape = [law.sizes[name] for name in group.columns]
        return channel_for(plan.design, group.columns, counts.reshape(shape), plan.design.retention)

    claimed = min(1.0, xi_all + plan.left_out)
    return [*outcomes, withheld_matrix(law, attacked.traced.true, claimed, planned)]


def _celled(attacked: Attacked) -> list[Outcome]:
    k, unit = attacked.number(KAnonymity.notion), attacked.traced.plan.unit
    unclaimed = NotRun("l and t", "counted again by `pramana verify`, and not attacked")
    if k is None:
        return [NotRun("linkage", "the certificate claims no k-anonymity"), unclaimed]
    if unit is not None and unit.kind != "row":
        return [NotRun("linkage", "people have several rows, and these attacks count rows"), unclaimed]
    outcomes: list[Outcome] = [smallest_class(attacked.look, k), left_in(attacked.look, attacked.due)]
    if attacked.order is None:
        outcomes.append(NotRun("linkage, within classes", UNTRACED))
    else:
        outcomes.append(class_linkage(attacked.look, attacked.order, k))
    return [*outcomes, unclaimed]


# ---------------------------------------------------------------- with further tables and files


def _presence(attacked: Attacked, source: object, public: object) -> list[Outcome]:
    plan = attacked.traced.plan
    if not isinstance(plan, PresencePlan):
        return []
    everyone = source if plan.flag and public is None else public
    if everyone is None:
        return [NotRun("presence, reversal", "the public table was not given")]
    bundle = attacked.traced.bundle.path
    found = reversal(bundle, everyone)
    line = found.to_json()
    lowest, highest = (float(end) for end in line["measured"])
    low, high = found.claimed
    what = f"existence between {lowest:.4g} and {highest:.4g}; claimed {low:.4g} to {high:.4g}"
    more = {"claimed_range": line["claimed"], "measured_range": line["measured"]}
    attack = Attack("presence, reversal", found.claimed[1], highest, found.ok, what, (lowest, highest), more)
    return [attack, choice_attack(plan, _pair(attacked, plan, everyone))]


def _pair(attacked: Attacked, plan: PresencePlan, everyone: object) -> Pair:
    """The public table, and who of it is present, by source and key."""
    layout = Layout(tuple(q.ladder for q in plan.quasi))
    true = [attacked.traced.true[q.name] for q in plan.quasi]
    if plan.flag:
        present = np.zeros(len(true[0]), np.bool_)
        present[attacked.traced.order] = True
        return Pair(layout, tuple(true), present)
    coded = coded_as_certified(attacked.traced.bundle.path, everyone, [q.name for q in plan.quasi])
    columns = [coded[q.name] for q in plan.quasi]
    return Pair(layout, tuple(columns), matched(layout, columns, true)[0])


def _control(attacked: Attacked, control: object) -> list[Outcome]:
    name = "attribute inference, against a control"
    if control is None:
        return [NotRun(name, "no control table was given")]
    if not attacked.coded:
        return [NotRun(name, "published cells are no single values to guess from")]
    traced = attacked.traced
    others = coded_as_certified(traced.bundle.path, control)
    central = attacked.claim(CentralPrivacy.notion)
    pair = (float(central["epsilon"]), float(central["delta"])) if isinstance(central, dict) else None
    return [control_inference(traced.true, others, attacked.published, pair)]


def _collusion(
    attacked: Attacked, ledger: str | Path | None, recipients: Sequence[str], in_files: bool
) -> list[Outcome]:
    name = "collusion across levels"
    if ledger is None or not recipients:
        alone = isinstance(attacked.traced.plan, LevelPlan) and not in_files
        return [NotRun(name, "no ledger and recipients were given")] if alone else []
    found = collude(ledger, recipients)
    what = (
        f"{found.members} versions together reconstruct {found.together:.4g}, the best alone "
        f"{found.best_alone:.4g}; drawn separately they would have {found.independent:.4g}"
    )
    return [Attack(name, found.best_alone, found.together, found.useless, what, more={"p_value": found.p_value})]
