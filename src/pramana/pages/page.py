"""The one-file HTML report: it shows a prepared `Page` and computes nothing.

No script, no font, no image is fetched: pictures are inline SVG, so the page reads the same from a disk, in an
archive and on paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from pramana.pages.figures import COLOURS, Picture, in_words

GENERATOR = "Pramana"
_CODE = re.compile(r"`([^`]+)`")
_STYLE = """
:root{color-scheme:light}
body{font:16px/1.5 system-ui,"Segoe UI",Helvetica,Arial,sans-serif;max-width:56rem;margin:2rem auto;
padding:0 1.2rem;color:#1a1a1a;background:#fff}
h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0}h2{font-size:1.25rem;margin:2.2rem 0 .6rem;
border-bottom:2px solid #0072B2;padding-bottom:.15rem}h3{font-size:1.02rem;margin:1.3rem 0 .3rem}
p{margin:.4rem 0}ul{margin:.3rem 0 .8rem;padding-left:1.3rem}li{margin:.15rem 0}
table{border-collapse:collapse;margin:.4rem 0 1rem;min-width:60%}th,td{border-bottom:1px solid #d5d5d5;
padding:.22rem .7rem .22rem 0;text-align:left;vertical-align:top}th{font-weight:600;border-bottom:1px solid #777}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td.short{white-space:nowrap}
td.bar{padding:.1rem 0;vertical-align:middle;border-bottom-color:#eee;min-width:260px}
.quiet{color:#555;font-size:.92rem}.promise{border-left:4px solid #0072B2;padding:.1rem 0 .1rem 1rem;margin:1rem 0}
.promise .words{font-size:1.1rem}.note{border-left:4px solid #D55E00;background:#fdf3ec;padding:.4rem .9rem;
margin:.6rem 0}.secret{border:3px solid #D55E00;padding:.6rem 1rem;font-weight:700;margin:1rem 0}
figure{margin:.8rem 0 1.2rem}figure svg{max-width:100%;height:auto}figcaption{color:#444;font-size:.92rem}
@page{margin:18mm 16mm}
@media print{body{margin:0;max-width:none;font-size:10.5pt;padding:0}h2,h3{break-after:avoid}
figure,.promise,tr{break-inside:avoid}thead{display:table-header-group}*{print-color-adjust:exact}}
"""


@dataclass(frozen=True)
class Promise:
    """A guarantee as it was proved: what it says, of what it holds, what it rests on and assumes."""

    title: str
    words: str
    meaning: str
    scope: str
    statement: str
    assumptions: Sequence[str] = ()


@dataclass(frozen=True)
class Text:
    """A paragraph; `note` sets it apart as something to heed. Words between backticks are set as code."""

    words: str
    note: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Grid:
    """A table; the first row names the columns."""

    rows: Sequence[Mapping[str, Any]]
    caption: str = ""


@dataclass(frozen=True)
class Drawn:
    """A picture with the words that go with it."""

    picture: Picture
    caption: str = ""


@dataclass(frozen=True)
class Bar:
    """One value: its published count, the estimated true count with an interval and, privately, the truth."""

    label: str
    published: float
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    true: float | None = None


@dataclass(frozen=True)
class Bars:
    """An attribute's values, one a line: numbers, and a small drawing of them to one scale."""

    bars: Sequence[Bar]
    caption: str = ""


Block = Text | Grid | Drawn | Bars


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]
    part: bool = False  # a part of the section before it


def drawn(sections: list[Section]) -> list[Section]:
    """The same sections, their pictures drawn: the work can be done before the rest of a page is known."""
    for section in sections:
        for block in section.blocks:
            if isinstance(block, Drawn):
                _ = block.picture.svg
    return sections


@dataclass(frozen=True)
class Page:
    """Everything a report shows, prepared."""

    title: str
    about: Sequence[str]
    warnings: Sequence[str] = ()
    promises: Sequence[Promise] = ()
    sections: Sequence[Section] = field(default=())
    private: bool = False


def html_of(page: Page, drawings: bool = True) -> str:
    """The page in one file; without `drawings` pictures are left out, and nothing has to be drawn."""
    secret = (
        '<p class="secret" role="note">NOT FOR RELEASE: this page shows true figures of the private table. '
        "Keep it with the source.</p>"
    )
    parts = [
        f"<h1>{escape(page.title)}</h1>",
        *(f'<p class="quiet">{escape(line)}</p>' for line in page.about),
        secret if page.private else "",
        *(f'<p class="note">{escape(w)}</p>' for w in page.warnings),
        "<h2>What is promised</h2>" if page.promises else "",
        *map(_promise, page.promises),
        *(_section(section, drawings) for section in page.sections),
        secret if page.private else "",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="generator" content="{GENERATOR}"><title>{escape(page.title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body>{''.join(parts)}</body></html>\n"
    )


def _promise(promise: Promise) -> str:
    assumptions = "".join(f"<li>{escape(a)}</li>" for a in promise.assumptions)
    return (
        f'<div class="promise"><h3>{escape(promise.title)}</h3><p class="words">{escape(promise.words)}</p>'
        + (f"<p>{escape(promise.meaning)}</p>" if promise.meaning else "")
        + f'<p class="quiet">Holds for {escape(promise.scope)}; rests on {escape(promise.statement)}.</p>'
        + (f"<p>It assumes:</p><ul>{assumptions}</ul>" if assumptions else "")
        + "</div>"
    )


def _section(section: Section, drawings: bool) -> str:
    level = "h3" if section.part else "h2"
    blocks = "".join(_block(block, drawings) for block in section.blocks)
    return f"<{level}>{escape(section.title)}</{level}>{blocks}"


def _block(block: Block, drawings: bool) -> str:
    if isinstance(block, Text):
        kind = ' class="note"' if block.note else ' class="quiet"' if block.quiet else ""
        words = _CODE.sub(r"<code>\1</code>", escape(block.words))
        return f"<p{kind}>{words}</p>"
    if isinstance(block, Grid):
        return _grid(block)
    if isinstance(block, Bars):
        return _bars(block)
    svg = block.picture.svg if drawings else ""
    return f"<figure>{svg}<figcaption>{escape(block.caption)}</figcaption></figure>"


def _grid(grid: Grid) -> str:
    if not grid.rows:
        return ""
    columns = list(grid.rows[0])
    numeric = {c: all(isinstance(row[c], int | float | None) for row in grid.rows) for c in columns}
    head = "".join(f"<th{' class=n' if numeric[c] else ''}>{escape(c)}</th>" for c in columns)
    body = "".join(
        "<tr>" + "".join(f"<td{' class=n' if numeric[c] else ''}>{escape(in_words(row[c]))}</td>" for c in columns)
        + "</tr>" for row in grid.rows
    )  # fmt: skip
    caption = f'<p class="quiet">{escape(grid.caption)}</p>' if grid.caption else ""
    return f"{caption}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


# ---------------------------------------------------------------- bars drawn in lines of a table

_WIDTH, _HEIGHT, _SHORT = 260, 18, 24


def _bars(block: Bars) -> str:
    bars = block.bars
    estimated = any(b.estimate is not None for b in bars)
    private = any(b.true is not None for b in bars)
    scale = max((v for b in bars for v in (b.published, b.high or 0, b.true or 0)), default=1.0) or 1.0
    heads = [
        "value",
        "published",
        *(["estimate", "from", "to"] if estimated else []),
        *(["true"] if private else []),
    ]
    head = "".join(f"<th{'' if i == 0 else ' class=n'}>{h}</th>" for i, h in enumerate(heads))
    rows = []
    for b in bars:
        numbers = [
            b.published,
            *([b.estimate, b.low, b.high] if estimated else []),
            *([b.true] if private else []),
        ]
        cells = "".join(f'<td class="n">{"" if n is None else f"{n:,.0f}"}</td>' for n in numbers)
        short = ' class="short"' if len(b.label) <= _SHORT else ""
        rows.append(f'<tr><td{short}>{escape(b.label)}</td>{cells}<td class="bar">{_line(b, scale)}</td></tr>')
    legend = f'<p class="quiet">{escape(block.caption)}</p>' if block.caption else ""
    return f"{legend}<table><thead><tr>{head}<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _line(bar: Bar, scale: float) -> str:
    """Grey bar: published. Blue dot and whisker: estimate. Orange diamond: the truth, in a private report."""
    middle = _HEIGHT / 2

    def at(value: float) -> float:
        return round(2 + max(0.0, value) / scale * (_WIDTH - 8), 1)

    parts = [
        f'<rect x="2" y="{middle - 4}" width="{round(at(bar.published) - 2, 1)}" height="8" '
        'fill="#c9c9c9" stroke="#8a8a8a" stroke-width=".5"/>'
    ]
    if bar.estimate is not None and bar.low is not None and bar.high is not None:
        parts.append(
            f'<path d="M{at(bar.low)} {middle}H{at(bar.high)}M{at(bar.low)} {middle - 4}v8M{at(bar.high)} '
            f'{middle - 4}v8" stroke="{COLOURS[0]}" stroke-width="1.4" fill="none"/>'
            f'<circle cx="{at(bar.estimate)}" cy="{middle}" r="3.4" fill="{COLOURS[0]}"/>'
        )
    if bar.true is not None:
        x = at(bar.true)
        parts.append(
            f'<path d="M{x} {middle - 6}l5 6l-5 6l-5 -6z" fill="none" stroke="{COLOURS[1]}" stroke-width="1.8"/>'
        )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="drawing of the numbers in this line">{"".join(parts)}</svg>'
    )
