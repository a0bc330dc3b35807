"""`pramana presence`: how likely each person of one class is in the private table (paper 4, section V)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from pramana.app.screen import json_option, show
from pramana.errors import RecipeError

_EXACT = 64  # people up to whom the check is made in rationals
_MOST = 100_000


@click.command("presence")
@click.option("--likelihoods", required=True, help="Of each person of the class, such as 3,9,9,3,1 or 0.2,1/3.")
@click.option("--present", type=click.IntRange(min=0), required=True, help="People of the class who are present.")
@click.option("--delta", help="The range that existence probabilities must keep to, such as .4,.95.")
@json_option
def presence_command(likelihoods: str, present: int, delta: str | None, as_json: bool) -> None:
    """Say how likely each person of a class is in the private table, between which bounds that lies, and whether
    a range holds."""
    from pramana.theory import presence

    weights = _numbers(likelihoods)
    wanted = None if delta is None else _delta(delta)
    possible = sum(1 for w in weights if w)
    if present > possible:
        raise RecipeError(f"--present must be at most the {possible} who may be present", str(present))
    scale = max(weights)
    small = [float(w / scale) if scale else 0.0 for w in weights]
    low, high = presence.exact_bounds(len(weights), present, min(weights), max(weights))
    if len(weights) <= _EXACT:
        exact = presence.exact_existence(weights, present)
        found = [float(x) for x in exact]
        least, most = min(exact), max(exact)
    else:
        found = presence.existence(small, present).tolist()
        least, most = Fraction(min(found)), Fraction(max(found))
    star = None if wanted is None else presence.ratio_bound(len(weights), present, *wanted)
    content: dict[str, Any] = {
        "people": len(weights),
        "present": present,
        "existence": found,
        "lowest": float(least),
        "highest": float(most),
        "bounds": [float(low), float(high)],
        "delta": None if wanted is None else [float(d) for d in wanted],
        "holds": None if wanted is None else wanted[0] <= least and most <= wanted[1],
        "holds_by_bounds": None if wanted is None else wanted[0] <= low and high <= wanted[1],
        "ratio": None if star is None else float(star),
    }
    show(as_json, content, _words(content))


def _numbers(text: str) -> list[Fraction]:
    must = f"--likelihoods must be 1 to {_MOST} numbers of at least 0, such as 3,9,9,3,1"
    parts = text.split(",")
    if len(parts) > _MOST:
        raise RecipeError(must, f"{len(parts)} of them")
    found = []
    for part in parts:
        try:
            found.append(_fraction(part))
        except (ValueError, ZeroDivisionError):
            raise RecipeError(must, repr(part[:80])) from None
        if found[-1] < 0:
            raise RecipeError(must, repr(part[:80]))
    return found


def _fraction(text: str) -> Fraction:
    top, _, bottom = text.strip().partition("/")
    for part in (top, bottom or "1"):
        value = float(part)
        if len(part) > 40 or (value != 0 and not 1e-30 <= abs(value) <= 1e30):
            raise ValueError("a number too long, or too far from 1 to be written out")
    return Fraction(top.strip()) / Fraction(bottom.strip() or "1")


def _delta(text: str) -> tuple[Fraction, Fraction]:
    try:
        low, high = (_fraction(part) for part in text.split(","))
    except (ValueError, ZeroDivisionError):
        low, high = Fraction(1), Fraction(0)
    if not 0 <= low <= high <= 1:
        raise RecipeError(
            "--delta must be two numbers from 0 to 1, the smaller first, such as .4,.95", repr(text[:80])
        )
    return low, high


def _words(content: dict[str, Any]) -> list[str]:
    from pramana.theory import rounding

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
