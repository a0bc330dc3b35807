"""What commands share: options, one JSON object or words, and progress on anything that takes over two seconds."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import click

from pramana.errors import CheckError, MissingExtraError, RecipeError, install_command, printable

_QUIET = 2.0
Command = Callable[..., Any]


@dataclass(frozen=True)
class Answer:
    """What a command says: one JSON object, or lines of words. Exit is 1 where it is not `ok` or has a problem."""

    content: dict[str, Any]
    lines: Iterable[str]
    ok: bool = True
    problem: str = ""  # said on standard error, too


def json_option(command: Command) -> Command:
    """Show the Answer that a command returns."""

    @functools.wraps(command)
    def shown(as_json: bool, **given: Any) -> int:
        answer = command(**given)
        if as_json:
            click.echo(json.dumps(answer.content, allow_nan=False))
        else:
            for line in answer.lines:
                click.echo(printable(line))  # names and labels in a line may be anyone's
        if answer.problem:
            raise CheckError(answer.problem)
        return 0 if answer.ok else 1

    return click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")(shown)


def engine_options(command: Command) -> Command:
    """Where the rows are worked on: the command gets one `engine`."""

    @functools.wraps(command)
    def chosen(engine: Any, master: str | None, **given: Any) -> Any:
        if master is not None and engine != "spark":
            raise RecipeError("--master must come with --engine spark", f"--engine {engine}")
        if engine == "spark":
            from pramana.rows.spark.rows import SparkEngine

            engine = SparkEngine(master)
        return command(engine=engine, **given)

    master = click.option("--master", default=None, help="Where Spark runs, e.g. local[4] or spark://host:7077.")
    return click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)(
        master(chosen)
    )


def csv_options(command: Command) -> Command:
    """How a CSV file is written: the command gets `encoding` and `delimiter`."""
    delimiter = click.option("--delimiter", default=None, help="Of a CSV file; the likeliest one if not given.")
    return click.option("--encoding", default=None, help="Of a CSV file; recognised without it.")(
        delimiter(command)
    )


unverified_option = click.option("--unverified", is_flag=True, help="Go on with a bundle that fails verification.")
sign_option = click.option(
    "--sign", default=None, help="An Ed25519 private key (PEM) to sign the certificate with."
)
html_option = click.option(
    "--html", default=None, help="Also write the page to this new file, for its owner alone."
)


class ParsedText(click.ParamType):  # type: ignore[type-arg]  # not generic in every version
    """An option that `read` makes a value of; `must` says what it takes to be one."""

    name = "text"

    def __init__(self, read: Callable[[str], Any], must: str = "") -> None:
        self._read, self._must = read, must

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        try:
            return self._read(value) if isinstance(value, str) else value
        except (ValueError, ZeroDivisionError):
            option = "It" if param is None else param.opts[-1]
            raise RecipeError(f"{option} must be {self._must}", repr(value[:80])) from None


def numbers(kind: Callable[[str], Any], must: str, least: float | None = None) -> ParsedText:
    """Numbers with commas between them; no text is none of them."""

    def read(text: str) -> tuple[Any, ...]:
        values = tuple(kind(part.strip()) for part in text.split(",")) if text.strip(" ,") else ()
        if least is not None and any(value < least for value in values):
            raise ValueError("a number that is too small")
        return values

    return ParsedText(read, must)


NAMES = ParsedText(lambda text: tuple(part.strip() for part in text.split(",") if part.strip()))


def guarantee_lines(guarantees: Iterable[Mapping[str, Any]], cited: bool = False) -> Iterator[str]:
    """Each guarantee after a blank line, with its assumptions and, if it is cited, the statement behind it."""
    for guarantee in guarantees:
        statement = f"; {guarantee['statement']}" if cited else ""
        yield from ("", f"{guarantee['notion']} (holds for {guarantee['scope']}{statement})")
        yield f"  {guarantee['words']}"
        yield from (f"  - assumes: {assumption}" for assumption in guarantee["assumptions"])


def table_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Rows under their names, set right; the first row names the columns."""
    if not rows:
        return []
    head = list(rows[0])
    return aligned(head, [[_cell(row.get(name)) for name in head] for row in rows])


def aligned(head: list[str], rows: list[list[str]], left: int = 0) -> list[str]:
    """Rows of texts under their head; so many columns are set left, the others right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return ["  ".join(_set(row, widths, left)) for row in [head, *rows]]


def _set(row: list[str], widths: list[int], left: int) -> Iterator[str]:
    for i, (text, width) in enumerate(zip(row, widths, strict=True)):
        yield text.ljust(width) if i < left else text.rjust(width)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def free_path(path: Path, *endings: str) -> Path:
    """The path, or one with a number added, at which nothing is yet, nor with any of these endings."""
    paths = (path if i == 1 else path.with_name(f"{path.name}-{i}") for i in count(1))
    return next(p for p in paths if not any(p.with_name(p.name + ending).exists() for ending in ("", *endings)))


def missing_server(error: ModuleNotFoundError) -> MissingExtraError:
    hint = install_command("studio")
    return MissingExtraError("Pages that are served need starlette and uvicorn", error.name, hint)


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

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown and sys.stderr.isatty():
            click.echo("\r" + " " * 60 + "\r", err=True, nl=False)
