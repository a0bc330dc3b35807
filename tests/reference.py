"""What docs/reference holds, as the code has it. `python -m tests.reference` writes it again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.docs.reference_pages import pages

from pramana.app.collector.application import openapi_of
from pramana.app.collector.survey import DEMONSTRATION, Survey
from pramana.methods.registry import certificate_schema, recipe_schema

FOLDER = Path(__file__).parents[1] / "docs" / "reference"


def schemas() -> dict[str, str]:
    made = {"recipe.schema.json": recipe_schema(), "certificate.schema.json": certificate_schema()}
    made["collector.openapi.json"] = openapi_of(Survey.read(DEMONSTRATION))
    return {name: json.dumps(schema, indent=2) + "\n" for name, schema in made.items()}


def reference() -> dict[str, str]:
    """Every file of the folder that is written from the code."""
    return {**schemas(), **pages()}


def main() -> None:
    for name, text in reference().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
