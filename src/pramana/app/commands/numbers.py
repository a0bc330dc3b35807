"""`pramana calibrate`, `guarantee`, `theorems`, `experiment`: from promise to parameters and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import click

from pramana.app.screen import Answer, ParsedText, guarantee_lines, json_option, numbers
from pramana.errors import MatrixError, RecipeError
from pramana.experiments.outputs import EXPERIMENTS
from pramana.schema.kind import exact_number

_NUMBER = ParsedText(lambda text: exact_number(text.strip()), "one number, such as .3")
_RETENTIONS = numbers(exact_number, "numbers, such as .3 or .3,.3,.3")
_DOMAINS = numbers(int, "whole numbers of at least 1, such as 2,5,10", least=1)
_records = click.option("--records", type=click.IntRange(min=1), required=True, help="Number of records R.")
_coin = click.option("--coin", type=click.Choice(["attribute", "record"]), default="attribute", show_default=True)
_delta = click.option(
    "--delta", type=float, default=1e-6, show_default=True, help="delta of the central guarantee."
)
_population = click.option(
    "--population", type=int, default=None, help="People among whom the records are a secret uniform sample."
)


def _named(values: Iterable[Any]) -> dict[str, Any]:
    return {f"attribute {i + 1}": value for i, value in enumerate(values)}


def _circumstances(records: int, delta: float, population: int | None) -> Any:
    from pramana.mechanisms.guarantees import Circumstances

    if not 0 < delta < 1:
        raise RecipeError("delta must lie between 0 and 1", str(delta))
    if population is not None and population < records:
        raise RecipeError(f"The population must be at least the {records} records", str(population))
    return Circumstances(records=records, delta=delta, candidates=population)


def _answer(mechanism: Any, circumstances: Any) -> Answer:
    """What a law guarantees."""
    from pramana.mechanisms.guarantees import guarantees_of

    by_notion = {g.notion: g for g in guarantees_of(mechanism, circumstances)}
    central = by_notion.get("central-differential-privacy")
    guarantees = [g.to_json() for g in by_notion.values()]
    content = {
        "retention": mechanism.retentions(),
        "k": by_notion["pk-anonymity"].value,
        "epsilon": by_notion["local-differential-privacy"].value,
        "central": {"epsilon": None, "delta": circumstances.delta} if central is None else central.value,
        "guarantees": guarantees,
    }
    retentions = ", ".join(f"{r:.12g}" for r in content["retention"])
    return Answer(content, [f"retention  {retentions}", *guarantee_lines(guarantees, cited=True)])


@click.command("calibrate")
@_records
@click.option("--domains", type=_DOMAINS, required=True, help="Domain sizes, such as 2,5,10.")
@click.option("--k", type=_NUMBER, default=None, help="No link with more than 1/k confidence.")
@click.option("--epsilon", type=_NUMBER, default=None, help="Local differential privacy.")
@click.option(
    "--central-epsilon", "central", type=_NUMBER, default=None, help="Of the whole shuffled release, at --delta."
)
@_coin
@_delta
@_population
@json_option
def calibrate_command(
    records: int, domains: tuple[int, ...], k: Fraction | None, epsilon: Fraction | None, central: Fraction | None,
    coin: str, delta: float, population: int | None,
) -> Answer:  # fmt: skip
    """Find the largest retention that reaches k, epsilon and/or a central epsilon, and say what it guarantees."""
    from pramana.methods.retention.calibration import Wanted, calibrate

    circumstances = _circumstances(records, delta, population)
    mechanism = calibrate(_named(domains), Wanted(circumstances, k, epsilon, central), coin)
    return _answer(mechanism, circumstances)


@click.command("guarantee")
@_records
@click.option("--domains", type=_DOMAINS, default=None, help="Domain sizes, such as 2,5,10.")
@click.option(
    "--retention",
    "retentions",
    type=_RETENTIONS,
    default=None,
    help="One retention for all attributes, or one each.",
)
@click.option("--matrix", "matrices", multiple=True, help="A transition matrix per attribute, as CSV files.")
@_coin
@_delta
@_population
@json_option
def guarantee_command(
    records: int, domains: tuple[int, ...] | None, retentions: tuple[Fraction, ...] | None,
    matrices: tuple[str, ...], coin: str, delta: float, population: int | None,
) -> Answer:  # fmt: skip
    """Say what a retention or transition matrices guarantee for a table of R records."""
    from pramana.mechanisms.table import Product
    from pramana.methods.retention.setting import read_matrix

    if matrices:
        if domains or retentions:
            raise RecipeError("A law must be stated as matrices or as domains with retention", "both")
        if coin == "record":
            raise RecipeError("Matrices must be used with one coin per attribute", "--coin record")
        mechanism: Any = Product(_named(read_matrix(m) for m in matrices))
    else:
        if not domains or not retentions:
            raise RecipeError("A law must be stated as --domains with --retention, or as --matrix", "neither")
        mechanism = _retention_law(domains, retentions, coin)
    return _answer(mechanism, _circumstances(records, delta, population))


def _retention_law(sizes: tuple[int, ...], retentions: tuple[Fraction, ...], coin: str) -> Any:
    from pramana.mechanisms.channel import Retention
    from pramana.mechanisms.table import Product, RecordRetention

    if coin == "record":
        if len(retentions) != 1:
            raise RecipeError("A record coin must have one retention", str(len(retentions)))
        return RecordRetention.at(retentions[0], _named(sizes))
    if len(retentions) not in (1, len(sizes)):
        raise MatrixError(f"There must be one retention, or {len(sizes)} like the domains", str(len(retentions)))
    each = retentions * len(sizes) if len(retentions) == 1 else retentions
    return Product(_named(Retention.at(r, size) for r, size in zip(each, sizes, strict=True)))


@click.command("theorems")
@json_option
def theorems_command() -> Answer:
    """List every statement of the papers with its function and its test."""
    from pramana.theory.statements import PAPERS, STATEMENTS

    lines: list[str] = []
    for paper, title in PAPERS.items():
        rows = [s for s in STATEMENTS if s.paper == paper]
        if rows:
            lines += ["", f"Paper {paper}. {title}"]
        for s in rows:
            lines += [f"  {s.name}: {s.says}", f"      {s.function.replace(':', '.')}", f"      {s.test}"]
    return Answer({"statements": [asdict(s) for s in STATEMENTS]}, lines[1:])


_HELP = f"""Reproduce the experiment NAME: tables as CSV and Markdown, pictures as SVG and PNG.

NAME is one of {", ".join(sorted(EXPERIMENTS))}."""


@click.command("experiment", help=_HELP)
@click.argument("name")
@click.option("--out", required=True, help="The folder to write tables and figures into.")
@click.option("--quick", is_flag=True, help="Smaller sizes: a minute at most.")
@json_option
def experiment_command(name: str, out: str, quick: bool) -> Answer:
    from pramana.experiments.outputs import run_experiment

    content = run_experiment(name, out, quick).to_json()
    return Answer(content, [*content["tables"], *content["figures"]])
