"""`pramana calibrate` and `pramana guarantee`: from promise to parameters, and back."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from typing import Any

import click

from pramana.app.screen import json_option, show
from pramana.errors import MatrixError, RecipeError
from pramana.experiments.outputs import EXPERIMENTS
from pramana.schema.kind import exact_number


def _whole_numbers(text: str, what: str) -> list[int]:
    try:
        values = [int(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or min(values) < 1:
        raise RecipeError(f"{what} must be whole numbers of at least 1, such as 2,5,10", repr(text))
    return values


def _numbers(text: str, what: str) -> list[Fraction]:
    try:
        return [exact_number(part.strip()) for part in text.split(",")]
    except ValueError:
        raise RecipeError(f"{what} must be numbers, such as .3 or .3,.3,.3", repr(text)) from None


def _number(text: str | None, what: str) -> Fraction | None:
    if text is None:
        return None
    values = _numbers(text, what)
    if len(values) != 1:
        raise RecipeError(f"{what} must be one number", repr(text))
    return values[0]


def _named(sizes: list[int]) -> dict[str, int]:
    return {f"attribute {i + 1}": size for i, size in enumerate(sizes)}


def _circumstances(records: int, delta: float, population: int | None) -> Any:
    from pramana.mechanisms.guarantees import Circumstances

    if not 0 < delta < 1:
        raise RecipeError("delta must lie between 0 and 1", str(delta))
    if population is not None and population < records:
        raise RecipeError(f"The population must be at least the {records} records", str(population))
    return Circumstances(records=records, delta=delta, candidates=population)


def _content(mechanism: Any, circumstances: Any) -> dict[str, Any]:
    from pramana.mechanisms.guarantees import guarantees_of

    found = {g.notion: g for g in guarantees_of(mechanism, circumstances)}
    central = found.get("central-differential-privacy")
    return {
        "retention": mechanism.retentions(),
        "k": found["pk-anonymity"].value,
        "epsilon": found["local-differential-privacy"].value,
        "central": {"epsilon": None, "delta": circumstances.delta} if central is None else central.value,
        "guarantees": [g.to_json() for g in found.values()],
    }


def _words(content: dict[str, Any]) -> list[str]:
    lines = [f"retention  {', '.join(f'{r:.12g}' for r in content['retention'])}"]
    for guarantee in content["guarantees"]:
        lines += ["", f"{guarantee['notion']} (holds for {guarantee['scope']}; {guarantee['statement']})"]
        lines += [f"  {guarantee['words']}", *(f"  - assumes: {a}" for a in guarantee["assumptions"])]
    return lines


_records = click.option("--records", type=click.IntRange(min=1), required=True, help="Number of records R.")
_coin = click.option("--coin", type=click.Choice(["attribute", "record"]), default="attribute", show_default=True)
_delta = click.option(
    "--delta", type=float, default=1e-6, show_default=True, help="delta of the central guarantee."
)
_population = click.option(
    "--population", type=int, default=None, help="People among whom the records are a secret uniform sample."
)


@click.command("calibrate")
@_records
@click.option("--domains", required=True, help="Domain sizes, such as 2,5,10.")
@click.option("--k", default=None, help="No link with more than 1/k confidence.")
@click.option("--epsilon", default=None, help="Local differential privacy.")
@click.option("--central-epsilon", "central", default=None, help="Of the whole shuffled release, at --delta.")
@_coin
@_delta
@_population
@json_option
def calibrate_command(
    records: int, domains: str, k: str | None, epsilon: str | None, central: str | None, coin: str, delta: float,
    population: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Find the largest retention that reaches k, epsilon and/or a central epsilon, and say what it guarantees."""
    from pramana.methods.retention.calibration import Wanted, calibrate

    circumstances = _circumstances(records, delta, population)
    wanted = Wanted(
        circumstances, _number(k, "k"), _number(epsilon, "epsilon"), _number(central, "central epsilon")
    )
    mechanism = calibrate(_named(_whole_numbers(domains, "domains")), wanted, coin)
    content = _content(mechanism, circumstances)
    show(as_json, content, _words(content))


@click.command("guarantee")
@_records
@click.option("--domains", default=None, help="Domain sizes, such as 2,5,10.")
@click.option("--retention", default=None, help="One retention for all attributes, or one each.")
@click.option("--matrix", "matrices", multiple=True, help="A transition matrix per attribute, as CSV files.")
@_coin
@_delta
@_population
@json_option
def guarantee_command(
    records: int, domains: str | None, retention: str | None, matrices: tuple[str, ...], coin: str, delta: float,
    population: int | None, as_json: bool,
) -> None:  # fmt: skip
    """Say what a retention or transition matrices guarantee for a table of R records."""
    from pramana.mechanisms.table import Product
    from pramana.methods.retention.setting import read_matrix

    if matrices:
        if domains or retention:
            raise RecipeError("A law must be stated as matrices or as domains with retention", "both")
        if coin == "record":
            raise RecipeError("Matrices must be used with one coin per attribute", "--coin record")
        mechanism: Any = Product({f"attribute {i + 1}": read_matrix(m) for i, m in enumerate(matrices)})
    else:
        if not domains or not retention:
            raise RecipeError("A law must be stated as --domains with --retention, or as --matrix", "neither")
        mechanism = _retention_law(_whole_numbers(domains, "domains"), _numbers(retention, "retention"), coin)
    content = _content(mechanism, _circumstances(records, delta, population))
    show(as_json, content, _words(content))


def _retention_law(sizes: list[int], retentions: list[Fraction], coin: str) -> Any:
    from pramana.mechanisms.channel import Retention
    from pramana.mechanisms.table import Product, RecordRetention

    if coin == "record":
        if len(retentions) != 1:
            raise RecipeError("A record coin must have one retention", str(len(retentions)))
        return RecordRetention.at(retentions[0], _named(sizes))
    if len(retentions) not in (1, len(sizes)):
        raise MatrixError(f"There must be one retention, or {len(sizes)} like the domains", str(len(retentions)))
    each = retentions * len(sizes) if len(retentions) == 1 else retentions
    named = _named(sizes)
    return Product({n: Retention.at(r, v) for (n, v), r in zip(named.items(), each, strict=True)})


# `pramana theorems`: what is proved, and where it is computed and tested.


@click.command("theorems")
@json_option
def theorems_command(as_json: bool) -> None:
    """List every statement of the papers with its function and its test."""
    from pramana.theory.statements import PAPERS, STATEMENTS

    lines: list[str] = []
    for paper, title in PAPERS.items():
        rows = [s for s in STATEMENTS if s.paper == paper]
        if rows:
            lines += ["", f"Paper {paper}. {title}"]
        for s in rows:
            lines += [f"  {s.name}: {s.says}", f"      {s.function.replace(':', '.')}", f"      {s.test}"]
    show(as_json, {"statements": [asdict(s) for s in STATEMENTS]}, lines[1:] if lines and not lines[0] else lines)


# `pramana experiment`: the papers' tables and figures, made again.


_HELP = f"""Reproduce the experiment NAME: tables as CSV and Markdown, pictures as SVG and PNG.

NAME is one of {", ".join(sorted(EXPERIMENTS))}."""


@click.command("experiment", help=_HELP)
@click.argument("name")
@click.option("--out", required=True, help="The folder to write tables and figures into.")
@click.option("--quick", is_flag=True, help="Smaller sizes: a minute at most.")
@json_option
def experiment_command(name: str, out: str, quick: bool, as_json: bool) -> None:
    from pramana.experiments.outputs import run_experiment

    content = run_experiment(name, out, quick).to_json()
    show(as_json, content, [*content["tables"], *content["figures"]])
