"""The JSON Schemas in docs/reference, as the code has them. `python -m tests.reference` writes them again."""

from __future__ import annotations

import json
from pathlib import Path

from pramana.methods import certificate_schema, recipe_schema

FOLDER = Path(__file__).parents[1] / "docs" / "reference"


def schemas() -> dict[str, str]:
    made = {"recipe.schema.json": recipe_schema(), "certificate.schema.json": certificate_schema()}
    return {name: json.dumps(schema, indent=2) + "\n" for name, schema in made.items()}


def main() -> None:
    for name, text in schemas().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
