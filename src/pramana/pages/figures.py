"""One style for every picture and table that Pramana writes: experiments, reports and plans.

A `Picture` says what is shown; this module alone knows the plotting library, and imports it when a picture is
written to a file (a page draws its few curves itself, in `rendering`). Series differ by colour (Okabe and Ito's
palette, told apart by colour-blind readers), by marker and by dashes or hatches, so that a black-and-white print
still tells them apart.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pramana.errors import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo")
_FEW = 8
STYLE = Path(__file__).with_name("figures.mplstyle")


@dataclass(frozen=True)
class Series:
    """One named sequence. `low` and `high` draw intervals: whiskers on points and bars, a band on lines."""

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    kind: Literal["line", "points", "bars"] = "line"

    def __post_init__(self) -> None:
        for other in (self.y, self.low, self.high):
            if other is not None and len(other) != len(self.x):
                raise ValueError(f"series {self.name}: all sequences must have {len(self.x)} entries")


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `mark` draws a labelled vertical line, such as where a release sits on a curve."""

    series: Sequence[Series]
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False
    mark: tuple[float, str] | None = None

    def __post_init__(self) -> None:
        if len(self.series) > len(COLOURS):
            raise ValueError(f"a panel can tell {len(COLOURS)} series apart, got {len(self.series)}")


@dataclass(frozen=True)
class Picture:
    """Panels side by side, in rows of `columns`."""

    panels: Sequence[Panel]
    title: str = ""
    columns: int = 2
    width: float = 7.2  # inches; a printed page's text width
    height: float = 2.7  # inches of each row


def draw(picture: Picture) -> Figure:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    columns = min(picture.columns, len(picture.panels))
    rows = -(-len(picture.panels) // columns)
    with rc_context(fname=STYLE):
        size = (picture.width, picture.height * rows)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for own, panel in zip(axes, picture.panels, strict=False):
            _draw_panel(own, panel)
        _draw_legend(figure, picture)
        for unused in axes[len(picture.panels) :]:
            unused.set_axis_off()
        if picture.title:
            figure.suptitle(_plain(picture.title), fontsize=11, fontweight="bold")
    return figure


def _draw_legend(figure: Figure, picture: Picture) -> None:
    """One legend below all panels of lines, where it hides nothing; series of one style share an entry."""
    handles: dict[int, Any] = {}
    names: dict[int, list[str]] = {}
    for axes, panel in zip(figure.axes, picture.panels, strict=False):
        lines, words = axes.get_legend_handles_labels()
        if len(panel.series) < 2 or any(s.kind == "bars" for s in panel.series):
            continue
        for index, (line, word) in enumerate(zip(lines, words, strict=True)):
            handles.setdefault(index, line)
            if word not in names.setdefault(index, []):
                names[index].append(word)
    if handles:
        words = [" / ".join(names[index]) for index in handles]
        widest = max(map(len, words))
        columns = max(1, min(len(words), int(picture.width * 11 / (widest + 6))))
        figure.legend(handles.values(), words, loc="outside lower center", ncols=columns)


def _draw_panel(axes: Axes, panel: Panel) -> None:
    bars = [s for s in panel.series if s.kind == "bars"]
    for index, series in enumerate(panel.series):
        if series.kind == "bars":
            _draw_bars(axes, series, index, bars.index(series), len(bars))
        else:
            _draw_line(axes, series, index)
    if (
        not panel.log_x
        and not bars
        and panel.series
        and all(isinstance(x, int | float) for x in panel.series[0].x)
    ):
        axes.locator_params(axis="x", nbins=6)
    if panel.log_x:
        axes.set_xscale("log")
        _name_in_digits(axes.xaxis)
        _name_few_places(axes, panel)
    if panel.log_y:
        axes.set_yscale("log")
        _name_in_digits(axes.yaxis)
    if panel.from_zero or bars:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if bars else 0.0)
    if panel.mark is not None:
        axes.axvline(panel.mark[0], color="#000000", linewidth=1.0, linestyle=":")
        low = len(panel.series) > 1  # a legend seeks the emptiest corner, which is mostly a top one
        axes.annotate(
            _plain(panel.mark[1]),
            (panel.mark[0], 0.02 if low else 0.98),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            xytext=(3, 0),
            va="bottom" if low else "top",
            fontsize=8,
        )
    axes.set_title(_plain(panel.title), loc="left")
    axes.set_xlabel(_plain(panel.x_label))
    axes.set_ylabel(_plain(panel.y_label))
    if len(panel.series) > 1 and bars:  # bars fill their panel: the legend stands above it
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(panel.series), borderaxespad=0.2)


def _name_in_digits(axis: Axis) -> None:
    """Write 0.01 and 1000 instead of powers of ten, which cost more to set than the rest of a picture."""
    axis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axis.set_minor_formatter(lambda _value, _index: "")


def _name_few_places(axes: Axes, panel: Panel) -> None:
    """On a logarithmic axis with few places, name these instead of powers of ten."""
    values = sorted({float(x) for series in panel.series for x in series.x})
    if len(values) <= _FEW:
        axes.set_xticks(values, [f"{x:,.12g}" for x in values])
        axes.minorticks_off()
        if max(values, default=0) >= 10_000:
            axes.tick_params(axis="x", rotation=20)


def _draw_line(axes: Axes, series: Series, index: int) -> None:
    style: dict[str, Any] = {"color": COLOURS[index], "marker": MARKERS[index], "label": _plain(series.name)}
    if len(series.x) > 25 and series.kind == "line":
        style["marker"] = ""
    if series.kind == "points":
        low, high = _whiskers(series)
        axes.errorbar(series.x, series.y, yerr=(low, high), linestyle="none", capsize=2.5, elinewidth=1, **style)
        return
    axes.plot(series.x, series.y, linestyle=DASHES[index], **style)
    if series.low is not None and series.high is not None:
        axes.fill_between(series.x, series.low, series.high, color=COLOURS[index], alpha=0.18, linewidth=0)


def _draw_bars(axes: Axes, series: Series, index: int, turn: int, bars: int) -> None:
    width = 0.8 / bars
    offsets = [i + (turn - (bars - 1) / 2) * width for i in range(len(series.x))]
    whiskers = _whiskers(series) if series.low is not None else None
    axes.bar(
        offsets,
        series.y,
        width,
        yerr=whiskers,
        label=_plain(series.name),
        facecolor=COLOURS[index] if not HATCHES[index] else COLOURS[index] + "55",
        edgecolor=COLOURS[index],
        hatch=HATCHES[index],
        error_kw={"elinewidth": 1, "capsize": 2},
    )
    names = [_plain(str(x)) for x in series.x]
    crowded = len(names) > 6 or max(map(len, names), default=0) > 8
    axes.set_xticks(range(len(names)), names, rotation=45 if crowded else 0, ha="right" if crowded else "center")
    axes.grid(visible=False, axis="x")


def _plain(words: str) -> str:
    """Values such as "$10k" are words, not the plotting library's formulas; what has no shape is written out."""
    return printable(words).replace("$", r"\$")


def _whiskers(series: Series) -> tuple[list[float], list[float]]:
    low = series.low if series.low is not None else series.y
    high = series.high if series.high is not None else series.y
    down = [max(0.0, y - a) for y, a in zip(series.y, low, strict=True)]
    return down, [max(0.0, b - y) for y, b in zip(series.y, high, strict=True)]


KINDS = {".svg": {"Date": None, "Creator": None}, ".png": {"Software": None}}  # and what a file is not to tell


def write_figure(picture: Picture, path: str | Path) -> list[Path]:
    """PLACE.svg and PLACE.png; where PLACE is named .svg or .png already, that file alone."""
    from matplotlib import rc_context

    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    single = path.suffix.lower() in KINDS
    paths = [path] if single else [path.with_name(path.name + suffix) for suffix in KINDS]
    with rc_context(fname=STYLE):
        figure = draw(picture)
        figure.draw_without_rendering()  # ticks may change with the room for them, and the room with their words
        for path in paths:
            suffix = path.suffix.lower()
            figure.savefig(path, format=suffix.removeprefix("."), metadata=KINDS[suffix])
    return paths


def write_table(rows: Sequence[Mapping[str, Any]], stem: str | Path) -> list[Path]:
    """STEM.csv with every digit, and STEM.md with six significant ones. The first row names the columns."""
    stem = Path(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    comma, mark = stem.with_name(stem.name + ".csv"), stem.with_name(stem.name + ".md")
    columns = list(rows[0]) if rows else []
    with comma.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    mark.write_text(markdown_of(rows), encoding="utf-8")
    return [comma, mark]


def markdown_of(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return ""
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join(" --- " for _ in columns) + "|"]
    lines += ["| " + " | ".join(in_words(row[c]).replace("|", "\\|") for c in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def in_words(value: object) -> str:
    """A number as a person reads it: whole numbers with commas, others with six significant digits."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}"
