"""What is wrong with a folder of pages: links and anchors that lead nowhere, and what is loaded from elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself when it shows a page; a link that a reader may follow is none of it.
LOADED = {
    ("audio", "src"), ("embed", "src"), ("iframe", "src"), ("image", "href"), ("img", "src"), ("img", "srcset"),
    ("input", "src"), ("link", "href"), ("object", "data"), ("script", "src"), ("source", "src"),
    ("source", "srcset"), ("track", "src"), ("use", "href"), ("video", "poster"), ("video", "src"),
}  # fmt: skip
IN_STYLES = re.compile(r"""(?:url\(\s*|@import\s+)['"]?([^'")\s;]+)""")
OPENED_BY = ("a", "area", "form")


@dataclass
class _Page(HTMLParser):
    """The anchors of a page, and what it points to: (where, whether a browser loads it by itself)."""

    anchors: set[str] = field(default_factory=set)
    targets: list[tuple[str, bool]] = field(default_factory=list)
    in_style: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.in_style = tag == "style"
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
            elif (tag, name) in LOADED:
                self.targets.append((value, dict(attrs).get("rel") not in ("canonical", "prev", "next")))
            elif tag in OPENED_BY and name in ("href", "action"):
                self.targets.append((value, False))
            elif name == "style":
                self.targets += [(url, True) for url in IN_STYLES.findall(value)]

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.targets += [(url, True) for url in IN_STYLES.findall(data)]

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self.in_style = False


def problems_of_site(site: Path) -> list[str]:
    """One line for each link or anchor that leads nowhere, and for each thing that comes from elsewhere."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    problems = [] if site / "index.html" in pages else ["there is no index.html to begin with"]
    for path, page in pages.items():
        if path.name == "404.html":  # a server shows it under any address; a folder never does
            continue
        for target, loaded in page.targets:
            if problem := _problem_of(target, loaded, path, pages):
                problems.append(f"{path.relative_to(site)}: {problem}")
    for path in sorted(site.rglob("*.css")):
        found = (_problem_of(target, True, path, pages) for target in IN_STYLES.findall(path.read_text("utf-8")))
        problems += [f"{path.relative_to(site)}: {problem}" for problem in found if problem]
    return sorted(set(problems))


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text("utf-8"))
    return page


def _problem_of(target: str, loaded: bool, path: Path, pages: dict[Path, _Page]) -> str | None:
    parts = urlsplit(target)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        return f"{target} is loaded from elsewhere" if loaded else None
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not there.is_file():
        return f"{target} leads nowhere"
    anchor = unquote(parts.fragment)
    if anchor and there in pages and anchor not in pages[there].anchors:
        return f"{target}: there is no such heading"
    return None
