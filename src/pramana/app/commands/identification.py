"""`pramana block` and `identification`: an invariant matrix with a bound on correct matches (paper 2).

`pramana presence`: how likely each person of one class is in the private table (paper 4, section V).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from pramana.app.screen import Answer, ParsedText, json_option, numbers
from pramana.errors import RecipeError
from pramana.theory import identification, presence, rounding

_MOST_SHOWN = 2000  # categories up to which the matrix is printed
_EXACT = 64  # people up to whom the check is made in rationals
_MOST = 100_000

_COUNTS = numbers(int, "whole numbers, such as 2,205,431", least=0)
_xi = click.option(
    "--xi", required=True, help="The largest chance of a correct match that is accepted, such as 0.1."
)


def _pair(text: str) -> tuple[int, int]:
    first, second = (int(part) for part in text.split(","))
    if min(first, second) < 0:
        raise ValueError("positions count from 0")
    return first, second


def _fraction(text: str) -> Fraction:
    top, _, bottom = text.strip().partition("/")
    for part in (top, bottom or "1"):
        value = float(part)
        if len(part) > 40 or (value != 0 and not 1e-30 <= abs(value) <= 1e30):
            raise ValueError("a number too long, or too far from 1 to be written out")
    return Fraction(top.strip()) / Fraction(bottom.strip() or "1")


def _range(text: str) -> tuple[Fraction, Fraction]:
    low, high = (_fraction(part) for part in text.split(","))
    if not 0 <= low <= high <= 1:
        raise ValueError("no range of probabilities")
    return low, high


@click.command("block")
@click.option(
    "--frequency", type=click.IntRange(min=1, max=1 << 40), required=True, help="Records in the category."
)
@_xi
@json_option
def block_command(frequency: int, xi: str) -> Answer:
    """Say how many records a rare category must exchange (theta), and in a block of what size."""
    from pramana.methods.invariant.blocks import checked_xi

    level = checked_xi(xi)
    theta = identification.theta_for_xi(frequency, level)
    content = {
        "frequency": frequency,
        "xi": float(level),
        "theta": theta,
        "size": identification.block_size(frequency, level),
        "partner_of_a_pair": None if theta == 0 else -(-level.denominator // level.numerator),
    }
    lines = [f"A category of {frequency} records needs nothing: a match has a chance of 1/{frequency} already."]
    if theta != 0:
        lines = [
            f"theta {rounding.shown_up(theta, 9)}, block size {content['size']} with partners of at least "
            f"{frequency} records;",
            f"or a block of two with one partner of at least {content['partner_of_a_pair']} records.",
        ]
    return Answer(content, lines)


@click.command("identification")
@click.option(
    "--frequencies", "counts", type=_COUNTS, required=True, help="Records in each category, such as 2,205,431."
)
@_xi
@click.option(
    "--rule",
    type=click.Choice(["auto", "best", "paper"]),
    default="auto",
    show_default=True,
    help="paper: theta* and the ceiling size; best: least error; auto: the paper's where it reaches xi.",
)
@click.option("--ordered", is_flag=True, help="The categories are in order: prefer neighbours.")
@click.option(
    "--forbid",
    type=ParsedText(_pair, "two positions, such as 0,3"),
    multiple=True,
    help="FROM,TO: two positions, from 0, that must not be exchanged.",
)
@click.option("--go-on", is_flag=True, help="Exit with 0 although xi is not reached.")
@json_option
def identification_command(
    counts: tuple[int, ...], xi: str, rule: str, ordered: bool, forbid: tuple[tuple[int, int], ...], go_on: bool
) -> Answer:
    """Choose blocks for a whole attribute, and say how far two intruders get: one who sees the count of the
    target's category, and one who sees every count."""
    from pramana.mechanisms.invariant import match_risk
    from pramana.methods.invariant.blocks import plan_blocks

    plan = plan_blocks(counts, xi, rule=rule, ordered=[ordered], forbidden=[list(forbid)])
    risk = match_risk(plan.channel, counts)
    thetas = list(plan.thetas)
    content = {
        "blocks": [list(block) for block in plan.blocks],
        "theta": thetas[0] if len(thetas) == 1 else thetas or 0.0,
        "thetas": thetas,
        "xi": float(plan.wanted),
        "xi_reached": plan.xi_reached,
        "reached": plan.holds,
        **risk.to_json(),
        "matrix": (plan.channel.weights / float(1 << 62)).tolist() if len(counts) <= _MOST_SHOWN else None,
    }
    problem = ""
    if not plan.holds and not go_on:
        problem = f"xi = {float(plan.wanted):g} is not reached, {rounding.shown_up(plan.xi_reached)} is"
    return Answer(content, _words(content, counts), problem=problem)


def _words(content: dict[str, Any], counts: tuple[int, ...]) -> list[str]:

    lines = [f"xi reached {rounding.shown_up(content['xi_reached'])} of {content['xi']:g} wanted"]
    for block, theta in zip(content["blocks"], content["thetas"], strict=True):
        lines.append(f"block {block}: the first gives {theta:.6g} records on average")
    lines += ["", "category  records      risk  all counts  match      error"]
    for i, count in enumerate(counts):
        if count:
            lines.append(
                f"{i:8d} {count:8d} {rounding.shown_up(content['risk'][i]):>9}"
                f" {rounding.shown_up(content['risk_all_counts'][i]):>11}"
                f" {content['match'][i]:9.6f} {content['expected_squared_error'][i]:8.4g}"
            )
    if not all(content["risk_all_counts_exact"]):
        lines.append("Risks under all counts are upper bounds where the block is large.")
    return lines


@click.command("presence")
@click.option("--likelihoods", required=True, help="Of each person of the class, such as 3,9,9,3,1 or 0.2,1/3.")
@click.option("--present", type=click.IntRange(min=0), required=True, help="People of the class who are present.")
@click.option(
    "--delta",
    "wanted",
    type=ParsedText(_range, "two numbers from 0 to 1, the smaller first, such as .4,.95"),
    help="The range that existence probabilities must keep to, such as .4,.95.",
)
@json_option
def presence_command(likelihoods: str, present: int, wanted: tuple[Fraction, Fraction] | None) -> Answer:
    """Say how likely each person of a class is in the private table, between which bounds that lies, and whether
    a range holds."""

    weights = _weights(likelihoods)
    possible = sum(1 for w in weights if w)
    if present > possible:
        raise RecipeError(f"--present must be at most the {possible} who may be present", str(present))
    scale = max(weights)
    small = [float(w / scale) if scale else 0.0 for w in weights]
    low, high = presence.bounds(len(weights), present, min(weights), max(weights))
    if len(weights) <= _EXACT:
        exact = presence.exact_existence(weights, present)
        existence = [float(x) for x in exact]
        least, most = min(exact), max(exact)
    else:
        existence = presence.existence(small, present).tolist()
        least, most = Fraction(min(existence)), Fraction(max(existence))
    star = None if wanted is None else presence.ratio_bound(len(weights), present, *wanted)
    content: dict[str, Any] = {
        "people": len(weights),
        "present": present,
        "existence": existence,
        "lowest": float(least),
        "highest": float(most),
        "bounds": [float(low), float(high)],
        "delta": None if wanted is None else [float(d) for d in wanted],
        "holds": None if wanted is None else wanted[0] <= least and most <= wanted[1],
        "holds_by_bounds": None if wanted is None else wanted[0] <= low and high <= wanted[1],
        "ratio": None if star is None else float(star),
    }
    return Answer(content, _presence_words(content))


def _weights(text: str) -> list[Fraction]:
    must = f"--likelihoods must be 1 to {_MOST} numbers of at least 0, such as 3,9,9,3,1"
    parts = text.split(",")
    if len(parts) > _MOST:
        raise RecipeError(must, f"{len(parts)} of them")
    weights = []
    for part in parts:
        try:
            weights.append(_fraction(part))
        except (ValueError, ZeroDivisionError):
            raise RecipeError(must, repr(part[:80])) from None
        if weights[-1] < 0:
            raise RecipeError(must, repr(part[:80]))
    return weights


def _presence_words(content: dict[str, Any]) -> list[str]:

    lines = [f"{content['present']} of {content['people']} people are present"]
    shown = ", ".join(f"{x:.6g}" for x in content["existence"][:20])
    lines.append(f"existence probabilities {shown}{', ...' if content['people'] > 20 else ''}")
    lines.append(f"from {rounding.shown_down(content['lowest'])} to {rounding.shown_up(content['highest'])}")
    low, high = content["bounds"]
    lines.append(f"bounds {rounding.shown_down(low)} and {rounding.shown_up(high)}")
    if content["delta"] is not None:
        verdict = "holds" if content["holds"] else "does not hold"
        low, high = content["delta"]
        lines.append(f"({low:g}, {high:g})-presence {verdict}")
        if content["ratio"] is not None:
            factor = rounding.shown_down(content["ratio"])
            lines.append(f"likelihoods may differ by a factor of {factor} by the bounds alone")
    return lines
