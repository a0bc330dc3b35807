"""What commands share: one JSON object or words, and progress on anything that takes over two seconds."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from pramana.errors import RecipeError, printable

_QUIET = 2.0


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")(command)


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the rows are worked on; `engine_of` reads both."""
    master = click.option("--master", default=None, help="Where Spark runs, e.g. local[4] or spark://host:7077.")
    engine = click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
    return engine(master(command))


def engine_of(engine: str, master: str | None) -> Any:
    if master is not None and engine != "spark":
        raise RecipeError("--master must come with --engine spark", f"--engine {engine}")
    if engine != "spark":
        return engine
    from pramana.rows.spark.rows import SparkEngine

    return SparkEngine(master)


def show(as_json: bool, content: dict[str, Any], lines: Iterable[str]) -> None:
    """One JSON object, or lines of words. Names and labels in a line may be anyone's: each is made printable."""
    if as_json:
        click.echo(json.dumps(content, allow_nan=False))
        return
    for line in lines:
        click.echo(printable(line))


def table_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows under their names, set right; the first row names the columns."""
    if not rows:
        return []
    head = list(rows[0])
    texts = [[_cell(row.get(name)) for name in head] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    return ["  ".join(t.rjust(w) for t, w in zip(row, widths, strict=True)) for row in [head, *texts]]


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class ProgressLine:
    """A line on standard error that appears after two seconds and is overwritten as work goes on."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()
        self.shown = False
        self.stage, self.begun = "", self.start

    def __call__(self, stage: str, done: int, of: int) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.begun = stage, now
        if now - self.start < _QUIET or (self.shown and now - self.last < 0.2):
            return
        self.last, self.shown = now, True
        share = f" {done / of:4.0%}" if of > 1 else ""
        rate = f", {done / (now - self.begun):,.0f} rows/s" if done > 1 and now > self.begun else ""
        left = f", {(now - self.begun) * (of - done) / done:.0f} s left" if rate and of > done else ""
        text = f"{stage}{share} ({now - self.start:.0f} s{rate}{left})"
        click.echo(f"\r{text:<60}" if sys.stderr.isatty() else text, err=True, nl=not sys.stderr.isatty())

    def close(self) -> None:
        if self.shown and sys.stderr.isatty():
            click.echo("\r" + " " * 60 + "\r", err=True, nl=False)
