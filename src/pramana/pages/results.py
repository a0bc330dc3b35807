"""Results as a notebook shows them: rows to take elsewhere, a text, a table with small drawings, and a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pramana.errors import MissingExtraError, printable
from pramana.pages.content import Block, Grid
from pramana.pages.figures import Panel, Picture, Series, draw, in_words
from pramana.pages.rendering import fragment_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure


Scalar = str | float | bool | None
_MOST_LINES = 60
_WIDEST = 60


class TabularResult(ABC):
    """A result that is a table: of estimates with intervals, of promises, of choices."""

    @abstractmethod
    def to_rows(self) -> Sequence[Mapping[str, Scalar]]:
        """One dictionary per row, with every digit; the first names the columns."""

    @abstractmethod
    def picture(self) -> Picture:
        """What `plot` draws."""

    def shown_rows(self) -> Sequence[Mapping[str, Scalar]]:
        """The rows as people read them; `repr` shows these."""
        return self.to_rows()

    def blocks(self) -> Sequence[Block]:
        """What a notebook shows."""
        return [Grid(self.to_rows())]

    def remarks(self) -> Sequence[str]:
        """What is said below the rows."""
        return ()

    def to_arrow(self) -> pa.Table:
        import pyarrow as pa

        rows = self.to_rows()
        return pa.table({name: pa.array([row[name] for row in rows]) for name in (rows[0] if rows else ())})

    def to_polars(self) -> pl.DataFrame:
        try:
            import polars as pl
        except ImportError:
            raise _missing("polars") from None
        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_pandas(self) -> pd.DataFrame:
        try:
            import pandas as pd
        except ImportError:
            raise _missing("pandas") from None
        return pd.DataFrame(list(self.to_rows()))

    def plot(self) -> Figure:
        """A figure of matplotlib, which a notebook shows by itself."""
        return draw(self.picture())

    def _repr_html_(self) -> str:
        return fragment_of(self.blocks(), self.remarks())

    def __repr__(self) -> str:
        rows = self.shown_rows()
        lines = text_table(rows[:_MOST_LINES])
        if len(rows) > _MOST_LINES:
            lines.append(f"... and {len(rows) - _MOST_LINES:,} more rows")
        return "\n".join([*lines, *map(printable, self.remarks())])


def text_table(rows: Sequence[Mapping[str, Scalar]]) -> list[str]:
    """Columns side by side: words to the left, numbers to the right."""
    if not rows:
        return ["(no rows)"]
    heads = list(rows[0])
    texts = [[_cell(row[head]) for head in heads] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    right = [all(isinstance(row[head], int | float | None) for row in rows) for head in heads]
    lines = []
    for line in [heads, *texts]:
        cells = [t.rjust(w) if r else t.ljust(w) for t, w, r in zip(line, widths, right, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines


def _cell(value: Scalar) -> str:
    words = printable(in_words(value))
    return words if len(words) <= _WIDEST else words[: _WIDEST - 3] + "..."


def _missing(name: str) -> MissingExtraError:
    return MissingExtraError(f"to_{name} needs {name}", "no such library", f"Install it: pip install {name}.")


# Paper 3, Figure 7: how far a growing coalition can reconstruct the true values.


def coalition_picture(by_size: Sequence[tuple[int, float, float]]) -> Picture:
    """`by_size`: members so far, reconstruction probability together, and had the versions been independent."""
    members = [float(m) for m, _, _ in by_size]
    return Picture(
        [
            Panel(
                [
                    Series("versions of one process", members, [together for _, together, _ in by_size]),
                    Series("independent versions", members, [apart for _, _, apart in by_size]),
                ],
                x_label="recipients who collude",
                y_label="chance to reconstruct a value",
                from_zero=True,
            )
        ],
        width=5.2,
        height=3.2,
    )
