"""The pictures of a report that someone else made: taken out for comparison, if they are drawings and no more.

What a picture shows is not drawn again. So it may hold shapes and words, and nothing that a browser would run,
load, or lay over the page around it.
"""

from __future__ import annotations

import re
from typing import NoReturn
from xml.etree import ElementTree

from pramana.errors import BundleError

_START, _END = "<figure><svg", "</svg>"
_ELEMENTS = frozenset({
    "svg", "g", "defs", "style", "path", "use", "clipPath", "rect", "text", "tspan", "circle", "line", "polygon",
    "polyline", "metadata", "RDF", "Work", "type", "format",
})  # fmt: skip
_ATTRIBUTES = frozenset({
    "id", "class", "d", "x", "y", "x1", "x2", "y1", "y2", "r", "cx", "cy", "rx", "ry", "dx", "dy", "width",
    "height", "viewBox", "version", "transform", "style", "clip-path", "href", "points", "type", "resource",
    "role",
})  # fmt: skip
_PAINT = re.compile(r"(?:fill|stroke|opacity|font|text|marker|clip|aria)[a-z-]*")
_LOADED = re.compile(r"url\s*\((?!\s*#)|@|\\|expression|javascript", re.IGNORECASE)


def without_pictures(html: str) -> str:
    """The page with empty figures; BundleError where a picture is more than a drawing."""
    parts, place = [], 0
    while (start := html.find(_START, place)) >= 0:
        end = html.find(_END, start) + len(_END)
        if end < len(_END):
            _refuse()
        _check_drawing(html[start + len("<figure>") : end])
        parts.append(html[place:start] + "<figure>")
        place = end + (html[end : end + 1] == "\n")
    return "".join([*parts, html[place:]])


def _check_drawing(picture: str) -> None:
    if "<!" in picture or "<?" in picture:
        _refuse()
    try:
        root = ElementTree.fromstring(picture)
    except ElementTree.ParseError:
        _refuse()
    for element in root.iter():
        if _local(element.tag) not in _ELEMENTS:
            _refuse()
        if _local(element.tag) == "style" and (
            _LOADED.search(element.text or "") or "position" in str(element.text)
        ):
            _refuse()
        for name, value in element.attrib.items():
            _check_attribute(_local(name), value)


def _check_attribute(name: str, value: str) -> None:
    if name not in _ATTRIBUTES and not _PAINT.fullmatch(name):
        _refuse()
    if name == "href" and not value.startswith("#"):
        _refuse()
    if name != "resource" and _LOADED.search(value):
        _refuse()
    if name == "style":
        for part in filter(None, map(str.strip, value.split(";"))):
            if not _PAINT.fullmatch(part.partition(":")[0].strip()):
                _refuse()


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _refuse() -> NoReturn:
    raise BundleError("A picture of a report must be a drawing", "something more")
