"""Versions at levels, as they lie in their files: what their recipients have together (paper 3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from pramana.audit.attacked import UNTRACED, Attacked
from pramana.audit.collusion import Version, collusion
from pramana.audit.verdict import Attack, NotRun, Outcome
from pramana.mechanisms import AtLevel


def colluding_files(releases: Sequence[Attacked]) -> list[Outcome]:
    """The versions of several bundles of one design: together they must tell what the best tells alone."""
    name = "collusion across levels, in the files"
    levels = [release.traced.mechanism for release in releases]
    at_level = [level for level in levels if isinstance(level, AtLevel)]
    if len(at_level) < len(levels) or len({level.design.digest for level in at_level}) > 1:
        return [NotRun(name, "they are not versions of one design that come from the key")]
    outcomes: list[Outcome] = [*repeated_requests(releases)]
    versions: list[Version] = []
    for release, level in zip(releases, at_level, strict=True):
        placed = release.in_source_order()
        if placed is None:
            return [*outcomes, NotRun(name, UNTRACED)]
        versions.append((level.level, {n: placed[n] for n in level.sizes}))
    design, true = at_level[0].design, releases[0].traced.true
    found = collusion(design, {n: true[n] for n in design.sizes}, versions)
    what = (
        f"{found.members} files together reconstruct {found.together:.4g}, the best alone {found.best_alone:.4g}, "
        f"if they come from one process; that they do has a p-value of {found.p_value:.2g}"
    )
    more = {"p_value": found.p_value}
    return [*outcomes, Attack(name, found.best_alone, found.together, found.useless, what, more=more)]


def repeated_requests(releases: Sequence[Attacked]) -> list[Outcome]:
    """A level that was asked for again: the same rows, or a second opinion about every one of them."""
    name = "repeated requests of one level"
    told = [(release, release.traced.mechanism) for release in releases]
    pairs = [
        (one, other)
        for (one, level), (other, again) in combinations(told, 2)
        if isinstance(level, AtLevel) and isinstance(again, AtLevel) and level.level == again.level
    ]
    if not pairs:
        return []
    differing = max(_differing(one, other) for one, other in pairs)
    what = f"{differing:.4g} of the rows differ between {len(pairs)} pairs of files at the same level"
    return [Attack(name, 0.0, differing, differing == 0, what)]


def _differing(one: Attacked, other: Attacked) -> float:
    if one.published.keys() != other.published.keys():
        return 1.0
    pairs = [(codes, other.published[name]) for name, codes in one.published.items()]
    if any(len(codes) != len(again) for codes, again in pairs):
        return 1.0
    return float(np.logical_or.reduce([codes != again for codes, again in pairs]).mean())
