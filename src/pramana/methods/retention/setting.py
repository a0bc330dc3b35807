"""What a recipe says of a release by retention, or by a matrix for each column."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from pramana.bundle.form import Form
from pramana.errors import MatrixError, RecipeError
from pramana.files.atomic import regular_text
from pramana.files.locations import local_path
from pramana.mechanisms.channel import Dense
from pramana.mechanisms.guarantees import DEFAULT_DELTA
from pramana.schema.kind import exact_number
from pramana.schema.sections import RandomisedColumn, RecipeSection, Setting
from pramana.schema.typed import AtLeastOne, Count, FilePath, Flag, Inside, Positive, Share
from pramana.schema.unit import Storey

K = Annotated[AtLeastOne | None, Meta(description="Nobody links a person to a record more surely than 1/k.")]
Epsilon = Annotated[Positive | None, Meta(description="Local differential privacy of each record.")]
Delta = Annotated[Inside | None, Meta(description="The delta at which the central guarantee is stated.")]


class CentralTarget(RecipeSection, frozen=True, kw_only=True):
    """central = { epsilon = 0.5, delta = 1e-6 }: what the whole shuffled release may tell of a record."""

    epsilon: Positive
    delta: Inside


class DrawnSetting(Setting, frozen=True, kw_only=True):
    """What the methods share that draw every value from a public channel."""

    k: K = None
    epsilon: Epsilon = None
    delta: Delta = None
    central: Annotated[
        CentralTarget | None,
        Meta(extra={"must": "a section of two numbers, such as central = { epsilon = 0.5, delta = 1e-6 }"}),
    ] = None
    records: Annotated[Count | None, Meta(description="How many are planned, for single records.")] = None
    candidates: Annotated[Count | None, Meta(description="The people of whom the table is a secret sample.")] = (
        None
    )

    def __post_init__(self) -> None:
        if self.central is not None and self.delta not in (None, self.central.delta):
            raise RecipeError(
                "delta must be stated once", f"{self.delta} and central.delta = {self.central.delta}"
            )

    @property
    def central_epsilon(self) -> float | None:
        return None if self.central is None else self.central.epsilon

    @property
    def stated_delta(self) -> float:
        """The delta at which the central guarantee is stated."""
        if self.central is not None:
            return self.central.delta
        return DEFAULT_DELTA if self.delta is None else self.delta


class RetentionSetting(DrawnSetting, frozen=True, kw_only=True, tag="retention"):
    """method = "retention": calibrated to k and/or epsilon, or at a retention the holder states."""

    coin: Literal["attribute", "record", "best"] = "attribute"
    allocation: Literal["equal", "best"] = "equal"
    retention: Share | None = None


class MatrixSetting(DrawnSetting, frozen=True, kw_only=True, tag="matrix"):
    """method = "matrix": a transition matrix per column, written by the holder."""


class DrawnColumn(RandomisedColumn, frozen=True, kw_only=True):
    """A column whose published values are drawn."""

    constant: Annotated[
        Flag | Literal["person", "household"] | None,
        Meta(
            description="It has one value for each person (true) or household: it is drawn once and repeated.",
            extra={"must": 'true, false, "person" or "household"'},
        ),
    ] = None

    @property
    def drawn_once(self) -> Storey | None:
        """For whom, if for anyone."""
        if isinstance(self.constant, str):
            return self.constant
        return "person" if self.constant else None


class RetentionColumn(DrawnColumn, frozen=True, kw_only=True):
    """A column of a release by retention, or through a channel for values in order at the same epsilon."""

    retention: Share | None = None
    channel: Annotated[
        Literal["retention", "ordered"],
        Meta(description="ordered: near values are published rather than far ones, at the same k and epsilon."),
    ] = "retention"
    coarsen: Annotated[
        Flag,
        Meta(
            description='With coin = "best": it may be published coarser, by its hierarchy or by joining bins, '
            "where that makes the named tables better.",
        ),
    ] = False
    error_of: Annotated[
        Literal["mean", "distribution", "table", "smooth"] | None,
        Meta(description="What an ordered channel is to tell best; the distribution where nothing is said."),
    ] = None
    shape: Annotated[
        Literal["even", "falling", "rising"] | None,
        Meta(
            description='With error_of = "smooth": what is known of the column beforehand, from elsewhere. '
            "falling: the higher the rarer, as incomes are."
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.channel == "ordered" and self.retention is not None:
            raise RecipeError(
                'A column with channel = "ordered" must leave its law to be calculated', "a retention"
            )
        if self.coarsen and (self.channel == "ordered" or self.retention is not None):
            raise RecipeError(
                "A column that may be coarsened must leave its law to be calculated", "one that states it"
            )
        if self.channel != "ordered" and self.error_of is not None:
            raise RecipeError('error_of must go with channel = "ordered"', f"channel = {self.channel!r}")
        if self.shape is not None and self.error_of != "smooth":
            raise RecipeError('shape must go with error_of = "smooth"', f"error_of = {self.error_of!r}")


class MatrixColumn(DrawnColumn, frozen=True, kw_only=True):
    """A column of a release by matrices."""

    matrix: Annotated[
        FilePath | list[list[float]] | None, Meta(extra={"must": "a path or a list of rows of numbers"})
    ] = None


# The certificate's statement of a law that is drawn from, as a type: what is not so is refused.


class UnitsForm(Form, frozen=True, kw_only=True):
    """What units draw once, whether all are of one size, and how many have the telling size: people, rows."""

    once: dict[str, Storey]
    same: bool
    alike: tuple[Count, Count, Count]


class ChoiceForm(Form, frozen=True, kw_only=True):
    """What coin = "best" chose from: the promise, the records, and how many values each coarser one stands for."""

    k: Annotated[float, Meta(ge=1)] | None
    epsilon: Annotated[float, Meta(gt=0)] | None
    central: Annotated[float, Meta(gt=0)] | None
    records: Count
    coarser: dict[str, list[list[Count]]]
    taken: dict[str, Annotated[int, Meta(ge=0)]]


class DrawnStatement(Form, frozen=True, kw_only=True):
    """`law` is the mechanism in integers, which `mechanism_from_json` reads."""

    law: dict[str, Any]
    out_of: Literal["2^62"]
    delta: Annotated[float, Meta(gt=0, lt=1)]
    candidates: Count | None
    tables: list[list[str]]
    units: UnitsForm | None = None
    choice: ChoiceForm | None = None


# Reading a transition matrix from a CSV file: numbers as decimals or fractions, without labels.


def read_matrix(path: str | Path) -> Dense:
    """Rows are true values, columns published ones. Entries such as 0.7, 7e-1 or 1/3 are read exactly."""
    path = local_path(path, "A matrix", MatrixError)
    try:
        text = regular_text(path)
    except UnicodeDecodeError:
        raise MatrixError(f"The matrix {path} must be a CSV file in UTF-8", "bytes that are no text") from None
    except OSError as error:
        raise MatrixError(f"The matrix {path} must be readable", error.strerror) from None
    except ValueError:
        raise MatrixError("A matrix must be a file", repr(str(path))) from None
    try:
        rows = [row for row in _rows(text) if row]
    except csv.Error:
        raise MatrixError(f"The matrix {path} must be a CSV file", "a line that cannot be parsed") from None
    if not rows:
        raise MatrixError(f"The matrix {path} must have rows", "an empty file")
    return Dense.of([[_entry(cell, path) for cell in row] for row in rows])


def _rows(text: str) -> list[list[str]]:
    """Cells by the first usual delimiter the file has; an empty cell counts, save one after the last delimiter."""
    delimiter = next((d for d in ";\t," if d in text), None)
    if delimiter is None:
        return [line.split() for line in text.splitlines()]
    rows = []
    for row in csv.reader(text.splitlines(), delimiter=delimiter):
        cells = [cell.strip() for cell in row]
        rows.append(cells[:-1] if cells and not cells[-1] else cells)
    return rows


def _entry(cell: str, path: str | Path) -> Fraction:
    try:
        return exact_number(cell)
    except ValueError:
        raise MatrixError(
            f"Every entry of the matrix {path} must be a number",
            repr(cell),
            "Write 0.7 or 7/10, with a point, and no names of rows and columns.",
        ) from None
