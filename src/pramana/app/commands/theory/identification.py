"""`pramana block` and `pramana identification`: an invariant matrix with a bound on correct matches (paper 2)."""

from __future__ import annotations

from typing import Any

import click

from pramana.app.screen import json_option, show
from pramana.errors import RecipeError

_MOST_SHOWN = 2000  # categories up to which the matrix is printed

_xi = click.option(
    "--xi", required=True, help="The largest chance of a correct match that is accepted, such as 0.1."
)


@click.command("block")
@click.option(
    "--frequency", type=click.IntRange(min=1, max=1 << 40), required=True, help="Records in the category."
)
@_xi
@json_option
def block_command(frequency: int, xi: str, as_json: bool) -> None:
    """Say how many records a rare category must exchange (theta), and in a block of what size."""
    from pramana.calibration import checked_xi
    from pramana.theory import identification, rounding

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
    show(as_json, content, lines)


@click.command("identification")
@click.option("--frequencies", required=True, help="Records in each category, such as 2,205,431.")
@_xi
@click.option(
    "--rule",
    type=click.Choice(["auto", "best", "paper"]),
    default="auto",
    show_default=True,
    help="paper: theta* and the ceiling size; best: least error; auto: the paper's where it reaches xi.",
)
@click.option("--ordered", is_flag=True, help="The categories are in order: prefer neighbours.")
@click.option("--forbid", multiple=True, help="FROM,TO: two positions, from 0, that must not be exchanged.")
@click.option("--go-on", is_flag=True, help="Exit with 0 although xi is not reached.")
@json_option
def identification_command(
    frequencies: str, xi: str, rule: str, ordered: bool, forbid: tuple[str, ...], go_on: bool, as_json: bool
) -> int:
    """Choose blocks for a whole attribute, and say how far two intruders get: one who sees the count of the
    target's category, and one who sees every count."""
    from pramana.calibration import plan_blocks
    from pramana.mechanisms import match_risk
    from pramana.theory import rounding

    counts = _whole(frequencies, "frequencies")
    pairs = [_pair(text) for text in forbid]
    plan = plan_blocks(counts, xi, rule=rule, ordered=ordered, forbidden=pairs)
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
    show(as_json, content, _words(content, counts))
    if not plan.holds and not go_on:
        reached = rounding.shown_up(plan.xi_reached)
        click.echo(f"pramana: xi = {float(plan.wanted):g} is not reached, {reached} is", err=True)
        return 1
    return 0


def _whole(text: str, what: str) -> list[int]:
    try:
        values = [int(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) < 0:
        raise RecipeError(f"{what} must be whole numbers, such as 2,205,431", repr(text[:80]))
    return values


def _pair(text: str) -> tuple[int, int]:
    values = _whole(text, "--forbid")
    if len(values) != 2:
        raise RecipeError("--forbid must name two positions, such as 0,3", repr(text[:80]))
    return values[0], values[1]


def _words(content: dict[str, Any], counts: list[int]) -> list[str]:
    from pramana.theory import rounding

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
