"""Where an experiment writes its tables and pictures, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pramana.pages import Picture, write_figure, write_table


@dataclass
class Outputs:
    """Tables as CSV and Markdown, pictures as SVG and PNG, all in one folder."""

    folder: Path
    tables: list[Path] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)

    def table(self, rows: Sequence[Mapping[str, Any]], name: str) -> None:
        self.tables += write_table(rows, self.folder / name)

    def figure(self, picture: Picture, name: str) -> None:
        self.figures += write_figure(picture, self.folder / name)

    def to_json(self) -> dict[str, list[str]]:
        return {"tables": [str(p) for p in self.tables], "figures": [str(p) for p in self.figures]}
