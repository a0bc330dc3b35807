"""`pramana crosstab`, `compare`, `quantiles`, `regression`: what a bundle tells of the private table."""

from __future__ import annotations

from typing import Any

import click

from pramana.app.screen import ProgressLine, engine_of, engine_options, json_option, show
from pramana.errors import RecipeError

_unverified = click.option("--unverified", is_flag=True, help="Go on with a bundle that fails verification.")
_confidence = click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Of the intervals, such as .95."
)
_weights = click.option("--weights", default=None, help="A column of survey weights that was released unchanged.")
_LINES = 60


@click.command("crosstab")
@click.argument("bundles", metavar="BUNDLE...", nargs=-1, required=True)
@click.option("--by", default="", help="Attributes, such as sex,age. Without: the total.")
@click.option("--where", default=None, help="A filter, such as: age >= 65 and sex = F")
@click.option("--method", type=click.Choice(["em", "inverse", "smooth"]), default="em", show_default=True)
@click.option("--shares", is_flag=True, help="Shares of the selected records instead of counts.")
@click.option("--mean", default=None, help="The mean of this numeric attribute in each cell instead of counts.")
@click.option("--within-bins", is_flag=True, help="Intervals of means that hold values anywhere in their bins.")
@click.option("--profile", is_flag=True, help="Likelihood intervals (em, small tables).")
@click.option(
    "--simultaneous", is_flag=True, help="Intervals that hold all together, for picking the largest cells."
)
@_weights
@_confidence
@_unverified
@engine_options
@json_option
def crosstab_command(
    bundles: tuple[str, ...], by: str, where: str | None, method: str, shares: bool, mean: str | None,
    within_bins: bool, profile: bool, simultaneous: bool, weights: str | None, confidence: float,
    unverified: bool, engine: str, master: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Estimate how many records of the private table have each combination of values, from BUNDLE alone.

    Several BUNDLEs must be versions of one table at levels; the one that keeps most is asked.
    """
    from pramana.recipient.analysis import open_study

    names = [name.strip() for name in by.split(",")] if by.strip() else []
    study = open_study(bundles, unverified=unverified, weights=weights, engine=engine_of(engine, master))
    content: dict[str, Any] = {"records": study.records, "confidence": confidence, "where": where}
    notes: list[str] = []
    if mean is not None:
        if shares or profile or simultaneous:
            raise RecipeError("A mean must be asked without --shares, --profile and --simultaneous", "both")
        means = study.means(mean, names, where, confidence=confidence, within_bins=within_bins)
        content |= {"mean": mean, "cells": means}
    elif within_bins:
        raise RecipeError("--within-bins must be asked of a mean", "none")
    else:
        table = study.crosstab(
            names, where, method=method, confidence=confidence, shares=shares, profile=profile,
            simultaneous=simultaneous,
        )  # fmt: skip
        content |= {"method": table.method, "converged": table.converged, "gap": table.gap}
        content |= {"simultaneous": simultaneous}
        notes = table.stopped()
        content |= {"cells": table.cells() if as_json else table.shown()}
    show(as_json, content, _words(content, names, confidence, notes))


def _words(content: dict[str, Any], names: list[str], confidence: float, notes: list[str]) -> list[str]:
    rows = [
        [*("(missing)" if cell[n] is None else str(cell[n]) for n in names), *_numbers(cell)]
        for cell in content["cells"][:_LINES]
    ]
    expected = content.get("method") == "expected"
    head = [*names, "expected" if expected else "estimate", "least" if expected else f"{confidence:.0%} from"]
    head.append("most" if expected else "to")
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [_line(row, widths, len(names)) for row in [head, *rows]]
    if len(content["cells"]) > _LINES:
        lines.append(f"... and {len(content['cells']) - _LINES} more cells; --json gives them all.")
    if content.get("simultaneous"):
        lines.append(f"With {confidence:.0%} chance all of these intervals hold at once.")
    lines += [f"Note: {note}" for note in notes]
    if expected:
        lines.append("Expected by the published cells; the least and the most are what they leave possible.")
    return lines


def _numbers(cell: dict[str, Any]) -> list[str]:
    return ["?" if cell[key] is None else _number(cell[key]) for key in ("estimate", "low", "high")]


def _number(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.6g}"


def _line(row: list[str], widths: list[int], words: int) -> str:
    set_ = [
        text.ljust(w) if i < words else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(set_)


@click.command("compare")
@click.argument("bundles", metavar="BUNDLE...", nargs=-1, required=True)
@click.option("--first", required=True, help="A group, such as: sex = F")
@click.option("--second", required=True, help="The other group, such as: sex = M")
@click.option("--share", default=None, help="Compare the share of records with this filter.")
@click.option("--mean", default=None, help="Compare the mean of this numeric attribute.")
@_weights
@_confidence
@_unverified
@engine_options
@json_option
def compare_command(
    bundles: tuple[str, ...], first: str, second: str, share: str | None, mean: str | None, weights: str | None,
    confidence: float, unverified: bool, engine: str, master: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Compare two groups of the private table, from BUNDLE alone."""
    from pramana.recipient.analysis import open_study

    study = open_study(bundles, unverified=unverified, weights=weights, engine=engine_of(engine, master))
    found = study.compare(first, second, share=share, mean=mean, confidence=confidence).to_json()
    words = f"{confidence:.0%} interval" if "p_value" in found else "possible are"
    lines = [
        "{:<10}  {}  ({} {} to {})".format(name, _numbers(m)[0], words, *_numbers(m)[1:])
        for name, m in found.items()
        if isinstance(m, dict)
    ]
    if "p_value" in found:
        lines.append(f"p-value     {found['p_value']:.3g} of no difference")
    show(as_json, found, lines)


@click.command("quantiles")
@click.argument("bundle")
@click.argument("attribute")
@click.option("--shares", default="0.25,0.5,0.75", show_default=True, help="Of the records that lie below.")
@click.option("--where", default=None, help="A filter, such as: sex = F")
@_weights
@_confidence
@_unverified
@engine_options
@json_option
def quantiles_command(
    bundle: str, attribute: str, shares: str, where: str | None, weights: str | None, confidence: float,
    unverified: bool, engine: str, master: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Estimate quantiles of ATTRIBUTE, a number or date, from BUNDLE alone. Intervals hold whole bins."""
    from pramana.recipient.analysis import open_study

    try:
        wanted = [float(share) for share in shares.split(",")]
    except ValueError:
        raise RecipeError("--shares must be numbers, such as 0.25,0.5", repr(shares)[:80]) from None
    study = open_study(bundle, unverified=unverified, weights=weights, engine=engine_of(engine, master))
    found = [q.to_json() for q in study.quantiles(attribute, wanted, where, confidence=confidence)]
    content = {"attribute": attribute, "confidence": confidence, "where": where, "quantiles": found}
    head = ["share", "estimate", f"{confidence:.0%} from", "to"]
    show(as_json, content, _aligned(head, [[_shown(q[key]) for key in _QUANTILE] for q in found]))


@click.command("regression")
@click.argument("bundle")
@click.argument("attribute")
@click.option("--on", "names", required=True, help="Attributes, such as age,sex.")
@click.option("--where", default=None, help="A filter, such as: age < 85")
@_weights
@_confidence
@_unverified
@engine_options
@json_option
def regression_command(
    bundle: str, attribute: str, names: str, where: str | None, weights: str | None, confidence: float,
    unverified: bool, engine: str, master: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Estimate the least-squares regression of ATTRIBUTE on others in the private table, from BUNDLE alone."""
    from pramana.recipient.analysis import open_study

    study = open_study(bundle, unverified=unverified, weights=weights, engine=engine_of(engine, master))
    on = [name.strip() for name in names.split(",")]
    fitted = study.regression(attribute, on, where, confidence=confidence).to_json()
    head = ["", "estimate", "error", f"{confidence:.0%} from", "to", "p-value", "within bins"]
    rows = [[_shown(c[key]) for key in _COEFFICIENT] for c in fitted["coefficients"]]
    show(as_json, {**fitted, "confidence": confidence, "where": where}, _aligned(head, rows))


_QUANTILE = ("share", "estimate", "low", "high")
_COEFFICIENT = ("name", "estimate", "error", "low", "high", "p_value", "within")


def _shown(value: float | str | None) -> str:
    if value is None:
        return "no end"
    return value if isinstance(value, str) else f"{value:,.6g}"


def _aligned(head: list[str], rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return [_line(row, widths, 1) for row in [head, *rows]]


# `pramana synthesise`: records drawn from what a bundle tells of the private table.


@click.command("synthesise")
@click.argument("bundle")
@click.option(
    "--out", required=True, help="The file to make, .csv or .parquet, or its URL in a store; it must not exist."
)
@click.option("--records", type=click.IntRange(1), default=None, help="How many. Without: as many as BUNDLE has.")
@click.option("--key", default=None, help="A key file, for other records than everyone's.")
@click.option("--unverified", is_flag=True, help="Go on with a bundle that fails verification.")
@engine_options
@json_option
def synthesise_command(
    bundle: str, out: str, records: int | None, key: str | None, unverified: bool, engine: str, master: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Draw records from what BUNDLE tells of the private table, corrected, at no further cost to privacy."""
    from pramana.recipient.synthesis import synthesise

    progress = ProgressLine()
    chosen = engine_of(engine, master)
    done = synthesise(bundle, out, records, key, unverified=unverified, engine=chosen, progress=progress)
    progress.close()
    content = done.to_json()
    lines = [
        f"{done.records:,} records drawn ({done.model}): {content['path']}",
        f"What they are, and the guarantees that they keep: {content['certificate']}",
    ]
    show(as_json, content, lines)
