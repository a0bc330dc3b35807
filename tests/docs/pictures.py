"""The pictures of the pages are made by what tests run, and compared with the stored ones: they cannot go stale.

A drawing (SVG) has the words of the stored one. Of a picture of a page (PNG), the words that the page shows are
those it showed when the picture was stored, numbers aside, and both look alike from afar: fonts differ.
`make pictures` stores all of them again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "images"
STORED = FOLDER / "pictures.json"  # the digest of the words of each page, by picture
STORING = bool(os.environ.get("PRAMANA_STORE_PICTURES"))
# page -> {what its examples make: the picture that shows it}
DRAWINGS = {
    "analyse.md": {"worked.svg": "worked.svg"},
    "choose.md": {"plan/plan.svg": "plan.svg"},
    "levels.md": {"together.svg": "together.svg"},
    "microaggregate.md": {"groups.svg": "groups.svg"},
    "synthesise.md": {"drawn.svg": "drawn.svg"},
}
WIDEST = 900
TALLEST = 1200
MOST_APART = 16.0  # of 255, the mean difference of two pictures seen from afar
NARROWEST, WIDEST_RATIO = 0.9, 1.1  # of heights


def words_of_drawing(path: Path) -> Counter[str]:
    """Words as text, or in the comment that Matplotlib puts before words drawn as outlines; numbers aside."""
    content = path.read_text("utf-8")
    words = re.findall(r"<text [^>]*>(.*?)</text>", content, re.DOTALL) + re.findall(r"<!-- (.*?) -->", content)
    return Counter(word for word in words if not re.fullmatch(r"[\d.,\u2212%$\\{}^ -]+", word))


def check_drawing(made: Path, name: str) -> None:
    if STORING:
        shutil.copy(made, FOLDER / name)
    words = words_of_drawing(made)
    assert words, f"{made} has no words"
    assert words == words_of_drawing(FOLDER / name), f"`make pictures` draws {name} again"


def check_picture(page: Any, name: str, height: int = TALLEST) -> None:
    """The top of what a browser shows, as high as the page is and at most `height`, beside the stored picture."""
    shown = page.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": min(shown, height)}
    picture = page.screenshot(full_page=True, clip=clip)
    words = re.sub(r"\d[\d,.]*", "#", " ".join(page.inner_text("body").split()))
    digest = hashlib.sha256(words.encode()).hexdigest()
    stored: dict[str, str] = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    if STORING:
        small(picture).save(FOLDER / f"{name}.png", optimize=True)
        STORED.write_text(json.dumps({**stored, name: digest}, indent=1, sort_keys=True) + "\n", "utf-8")
        return
    assert stored[name] == digest, f"the page of {name}.png says something else now: `make pictures`; {words}"
    assert_alike(small(picture), Image.open(FOLDER / f"{name}.png"), name)


def small(picture: bytes) -> Image.Image:
    """In 64 colours, which is what such pages have."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    assert image.width <= WIDEST
    return image.quantize(64)


def assert_alike(one: Image.Image, other: Image.Image, name: str) -> None:
    assert one.width == other.width
    assert NARROWEST <= one.height / other.height <= WIDEST_RATIO, (
        f"{name}.png has another height now: `make pictures`"
    )
    apart = float(np.abs(from_afar(one) - from_afar(other)).mean())
    assert apart <= MOST_APART, f"{name}.png looks different now ({apart:.1f} of 255 apart): `make pictures`"


def from_afar(image: Image.Image) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(image.convert("L").resize((24, 24)), np.float64)
