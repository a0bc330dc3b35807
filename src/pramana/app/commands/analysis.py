"""`pramana crosstab`, `compare`, `quantiles`, `regression` and `synthesise`: what a bundle tells."""

from __future__ import annotations

import functools
from typing import Any

import click

from pramana.app.screen import (
    NAMES,
    Answer,
    Command,
    ProgressLine,
    aligned,
    engine_options,
    json_option,
    numbers,
    unverified_option,
)
from pramana.errors import RecipeError

_LINES = 60
_SHARES = numbers(float, "numbers, such as 0.25,0.5")
_QUANTILE = ("share", "estimate", "low", "high")
_COEFFICIENT = ("name", "estimate", "error", "low", "high", "p_value", "within")


def _study_options(command: Command) -> Command:
    """What every question to a bundle takes: the command gets the `study` to ask, and the confidence."""

    @functools.wraps(command)
    def opened(bundles: Any, unverified: bool, weights: str | None, engine: Any, **given: Any) -> Any:
        from pramana.recipient.analysis import open_study

        study = open_study(bundles, unverified=unverified, weights=weights, engine=engine)
        return command(study=study, **given)

    weights = click.option(
        "--weights", default=None, help="A column of survey weights that was released unchanged."
    )
    confidence = click.option(
        "--confidence", type=float, default=0.95, show_default=True, help="Of the intervals, such as .95."
    )
    return weights(confidence(unverified_option(engine_options(opened))))


@click.command("crosstab")
@click.argument("bundles", metavar="BUNDLE...", nargs=-1, required=True)
@click.option("--by", type=NAMES, default="", help="Attributes, such as sex,age. Without: the total.")
@click.option("--where", default=None, help="A filter, such as: age >= 65 and sex = F")
@click.option("--method", type=click.Choice(["em", "inverse", "smooth"]), default="em", show_default=True)
@click.option("--shares", is_flag=True, help="Shares of the selected records instead of counts.")
@click.option("--mean", default=None, help="The mean of this numeric attribute in each cell instead of counts.")
@click.option("--within-bins", is_flag=True, help="Intervals of means that hold values anywhere in their bins.")
@click.option("--profile", is_flag=True, help="Likelihood intervals (em, small tables).")
@click.option(
    "--simultaneous", is_flag=True, help="Intervals that hold all together, for picking the largest cells."
)
@_study_options
@json_option
def crosstab_command(
    study: Any, by: tuple[str, ...], where: str | None, method: str, shares: bool, mean: str | None,
    within_bins: bool, profile: bool, simultaneous: bool, confidence: float,
) -> Answer:  # fmt: skip
    """Estimate how many records of the private table have each combination of values, from BUNDLE alone.

    Several BUNDLEs must be versions of one table at levels; the one that keeps most is asked.
    """
    content: dict[str, Any] = {"records": study.records, "confidence": confidence, "where": where}
    if mean is not None:
        if shares or profile or simultaneous:
            raise RecipeError("--mean must come without --shares, --profile and --simultaneous", "one of them")
        cells = study.means(mean, by, where, confidence=confidence, within_bins=within_bins)
        return Answer(content | {"mean": mean, "cells": cells}, _cell_lines(cells, by, confidence))
    if within_bins:
        raise RecipeError("--within-bins must come with --mean", "--within-bins alone")
    table = study.crosstab(
        by, where, method=method, confidence=confidence, shares=shares, profile=profile, simultaneous=simultaneous
    )
    content |= {"method": table.method, "converged": table.converged, "gap": table.gap}
    content |= {"simultaneous": simultaneous, "cells": table.cells()}
    expected = table.method == "expected"
    lines = _cell_lines(table.shown(), by, confidence, expected)
    if simultaneous:
        lines.append(f"With {confidence:.0%} chance all of these intervals hold at once.")
    lines += [f"Note: {note}" for note in table.stopped()]
    if expected:
        lines.append("Expected by the published cells; the least and the most are what they leave possible.")
    return Answer(content, lines)


def _cell_lines(
    cells: list[dict[str, Any]], names: tuple[str, ...], confidence: float, expected: bool = False
) -> list[str]:
    rows = [
        [*("(missing)" if cell[n] is None else str(cell[n]) for n in names), *_interval(cell)]
        for cell in cells[:_LINES]
    ]
    head = ["expected", "least", "most"] if expected else ["estimate", f"{confidence:.0%} from", "to"]
    lines = aligned([*names, *head], rows, left=len(names))
    if len(cells) > _LINES:
        lines.append(f"... and {len(cells) - _LINES} more cells; --json gives them all.")
    return lines


def _interval(cell: dict[str, Any]) -> list[str]:
    return ["?" if cell[key] is None else _number(cell[key]) for key in ("estimate", "low", "high")]


def _number(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.6g}"


@click.command("compare")
@click.argument("bundles", metavar="BUNDLE...", nargs=-1, required=True)
@click.option("--first", required=True, help="A group, such as: sex = F")
@click.option("--second", required=True, help="The other group, such as: sex = M")
@click.option("--share", default=None, help="Compare the share of records with this filter.")
@click.option("--mean", default=None, help="Compare the mean of this numeric attribute.")
@_study_options
@json_option
def compare_command(
    study: Any, first: str, second: str, share: str | None, mean: str | None, confidence: float
) -> Answer:
    """Compare two groups of the private table, from BUNDLE alone."""
    comparison = study.compare(first, second, share=share, mean=mean, confidence=confidence).to_json()
    words = f"{confidence:.0%} interval" if "p_value" in comparison else "possible are"
    lines = [
        "{:<10}  {}  ({} {} to {})".format(name, _interval(m)[0], words, *_interval(m)[1:])
        for name, m in comparison.items()
        if isinstance(m, dict)
    ]
    if "p_value" in comparison:
        lines.append(f"p-value     {comparison['p_value']:.3g} of no difference")
    return Answer(comparison, lines)


@click.command("quantiles")
@click.argument("bundles", metavar="BUNDLE")
@click.argument("attribute")
@click.option(
    "--shares", type=_SHARES, default="0.25,0.5,0.75", show_default=True, help="Of the records that lie below."
)
@click.option("--where", default=None, help="A filter, such as: sex = F")
@_study_options
@json_option
def quantiles_command(
    study: Any, attribute: str, shares: tuple[float, ...], where: str | None, confidence: float
) -> Answer:
    """Estimate quantiles of ATTRIBUTE, a number or date, from BUNDLE alone. Intervals hold whole bins."""
    quantiles = [q.to_json() for q in study.quantiles(attribute, shares, where, confidence=confidence)]
    content = {"attribute": attribute, "confidence": confidence, "where": where, "quantiles": quantiles}
    head = ["share", "estimate", f"{confidence:.0%} from", "to"]
    return Answer(content, aligned(head, [[_shown(q[key]) for key in _QUANTILE] for q in quantiles], left=1))


@click.command("regression")
@click.argument("bundles", metavar="BUNDLE")
@click.argument("attribute")
@click.option("--on", "names", type=NAMES, required=True, help="Attributes, such as age,sex.")
@click.option("--where", default=None, help="A filter, such as: age < 85")
@_study_options
@json_option
def regression_command(
    study: Any, attribute: str, names: tuple[str, ...], where: str | None, confidence: float
) -> Answer:
    """Estimate the least-squares regression of ATTRIBUTE on others in the private table, from BUNDLE alone."""
    if not names:
        raise RecipeError("--on must name at least one attribute", "no name")
    fitted = study.regression(attribute, names, where, confidence=confidence).to_json()
    head = ["", "estimate", "error", f"{confidence:.0%} from", "to", "p-value", "within bins"]
    rows = [[_shown(c[key]) for key in _COEFFICIENT] for c in fitted["coefficients"]]
    return Answer({**fitted, "confidence": confidence, "where": where}, aligned(head, rows, left=1))


def _shown(value: float | str | None) -> str:
    if value is None:
        return "no end"
    return value if isinstance(value, str) else f"{value:,.6g}"


@click.command("synthesise")
@click.argument("bundle")
@click.option(
    "--out", required=True, help="The file to make, .csv or .parquet, or its URL in a store; it must not exist."
)
@click.option("--records", type=click.IntRange(1), default=None, help="How many. Without: as many as BUNDLE has.")
@click.option("--key", default=None, help="A key file, for other records than everyone's.")
@unverified_option
@engine_options
@json_option
def synthesise_command(bundle: str, **options: Any) -> Answer:
    """Draw records from what BUNDLE tells of the private table, corrected, at no further cost to privacy."""
    from pramana.recipient.synthesis import synthesise

    with ProgressLine() as progress:
        drawn = synthesise(bundle, progress=progress, **options)
    content = drawn.to_json()
    lines = [
        f"{drawn.records:,} records drawn ({drawn.model}): {content['path']}",
        f"What they are, and the guarantees that they keep: {content['certificate']}",
    ]
    return Answer(content, lines)
