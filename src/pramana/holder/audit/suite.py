"""The attack suite: every attack that a bundle's claims call for, run by its holder, who can count right answers.

Source and key tell which row is whose, to count with; an attack itself uses what its adversary has. What was not
attacked is said by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pramana.errors import InputError
from pramana.holder.audit.anonymity import (
    attribute_inference,
    class_linkage,
    control_inference,
    left_in,
    smallest_class,
)
from pramana.holder.audit.attacked import UNTRACED, Attacked, order_attack, share_by_place
from pramana.holder.audit.collusion import collude
from pramana.holder.audit.epsilon import epsilon_by_attribute, epsilon_in_one_run, neighbouring_runs
from pramana.holder.audit.identification import identified
from pramana.holder.audit.linkage import linkage_attacks
from pramana.holder.audit.presence import presence_attacks
from pramana.holder.audit.together import attacks_together
from pramana.holder.audit.verdict import Attack, AttackReport, NotRun, Outcome
from pramana.mechanisms.table import Exchange
from pramana.notions.classes import KAnonymity
from pramana.notions.randomised import CentralPrivacy, PkAnonymity
from pramana.randomness.key import Key
from pramana.reporting.attacks import audited_files
from pramana.run.trace import coded_as_certified, retraced

_SEEDS = 2048  # that are tried as keys


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
    outcomes: list[Outcome] = [_guessed_seed(attacked), _made_again(attacked), *row_attacks(attacked)]
    outcomes += _randomised(attacked) if attacked.coded else _celled(attacked)
    outcomes += [*presence_attacks(attacked, source, public), *_control(attacked, control)]
    others = [Attacked.of(retraced(path, source, key)) for path in also]
    outcomes += attacks_together([attacked, *others], ledger)
    outcomes += _collusion(attacked, ledger, recipients, bool(others))
    attacks = tuple(o for o in outcomes if isinstance(o, Attack))
    left = tuple(o for o in outcomes if isinstance(o, NotRun))
    return AttackReport(attacks, left, audited_files(attacked.traced.bundle))


# ---------------------------------------------------------------- key and rows


def _guessed_seed(attacked: Attacked) -> Attack:
    """The keys that someone would make from a small number, held against the certificate's commitment.

    Where the certificate says itself that the key is from a seed, there is nothing left to guess.
    """
    stated = attacked.traced.bundle.certificate.key or {}
    commitment, seeded = stated.get("commitment"), stated.get("seeded") is not False
    guessed = next((seed for seed in range(_SEEDS) if Key.from_seed(seed).commitment() == commitment), None)
    what = f"none of the keys from seeds below {_SEEDS:,}"
    if guessed is not None:
        what = f"the key is made from the seed {guessed}: whoever tries it undoes the release, row by row"
    elif seeded:
        what = "the certificate says that the key is from a seed: whoever tries enough of them undoes the release"
    lost = seeded or guessed is not None
    return Attack("key, guessed seed", 0.0, float(lost), not lost, what)


def _made_again(attacked: Attacked) -> Attack:
    same = attacked.traced.same
    what = f"the rows are {'those that' if same else 'others than'} source and key make"
    return Attack("data, made again", 1.0, float(same), same, what)


def row_attacks(attacked: Attacked) -> list[Outcome]:
    """What the order of the published rows tells of the order of the source."""
    certificate, order = attacked.traced.bundle.certificate, attacked.order
    if not certificate.shuffled:
        return [NotRun("rows", "published in source order, as the certificate says: nothing is claimed of it")]
    guessed: Outcome = NotRun("rows, guessed order", "the file has not as many rows as source and key make")
    if attacked.whole:
        guessed = order_attack(attacked.agreement, attacked.orders())
    if order is None or len(order) != certificate.records:
        return [guessed, NotRun("rows, places", UNTRACED)]
    return [guessed, share_by_place(order)]


# ---------------------------------------------------------------- values


def _randomised(attacked: Attacked) -> list[Outcome]:
    table, plan = attacked.table, attacked.traced.plan
    if table is None:
        reason = UNTRACED if attacked.order is None else "the law is one of strata, or has no matrix"
        return [NotRun("linkage, epsilon, identification and attribute inference", reason)]
    if plan.draws is not None:
        reason = "people have several rows that share coins, and these attacks count rows"
        return [NotRun("linkage, epsilon and attribute inference", reason)]
    outcomes: list[Outcome] = []
    if not attacked.claim(PkAnonymity.notion):
        outcomes.append(NotRun("linkage", "the certificate claims no Pk-anonymity"))
    else:
        outcomes += linkage_attacks(table)
    if isinstance(table.law, Exchange):
        return [*outcomes, *identified(attacked, table, table.law)]
    outcomes += [*epsilon_by_attribute(table), epsilon_in_one_run(table), *neighbouring_runs(table.law)]
    return [*outcomes, attribute_inference([table])]


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


def _control(attacked: Attacked, control: object) -> list[Outcome]:
    name = "attribute inference, against a control"
    if control is None:
        return [NotRun(name, "no control table was given")]
    if not attacked.coded:
        return [NotRun(name, "published cells are no single values to guess from")]
    traced = attacked.traced
    others = coded_as_certified(traced.bundle.path, control)
    central = attacked.claim(CentralPrivacy.notion).get("value")
    pair = (float(central["epsilon"]), float(central["delta"])) if isinstance(central, dict) else None
    return [control_inference(traced.true, others, attacked.published, pair)]


def _collusion(
    attacked: Attacked, ledger: str | Path | None, recipients: Sequence[str], in_files: bool
) -> list[Outcome]:
    name = "collusion across levels"
    if ledger is None or not recipients:
        alone = attacked.traced.plan.version is not None and not in_files
        return [NotRun(name, "no ledger and recipients were given")] if alone else []
    result = collude(ledger, recipients)
    what = (
        f"{result.members} versions together reconstruct {result.together:.4g}, the best alone "
        f"{result.best_alone:.4g}; drawn separately they would have {result.independent:.4g}"
    )
    more = {"p_value": result.p_value}
    return [Attack(name, result.best_alone, result.together, result.useless, what, more=more)]
