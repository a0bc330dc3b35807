"""`python -m tests.notions.sentence_page` writes the tables of docs/understanding/guarantees.md anew."""

from __future__ import annotations

from pathlib import Path

from tests.notions.word_checks import sentence_table

from pramana.notions.registry import NOTIONS, explanation_of

PAGE = Path(__file__).parents[2] / "docs" / "understanding" / "guarantees.md"
HEADS = (
    "| notion | title in the report | what its number measures |\n| --- | --- | --- |\n",
    "| notion | sentence | printed where |\n| --- | --- | --- |\n",
)


def tables() -> tuple[str, str]:
    """The notions, and their sentences: those under a seed only add an opening, which the page has once."""
    notions = [f"| `{n}` | {explanation_of(n).title} | {explanation_of(n).meaning} |\n" for n in NOTIONS]
    said = []
    for row in sentence_table():
        if "seeded" not in row["conditions"]:
            conditions = "; ".join(words for name, words in row["conditions"].items() if name != "secret")
            said.append(f"| `{row['notion']}` | {row['sentence']} | {conditions} |\n")
    return HEADS[0] + "".join(notions), HEADS[1] + "".join(said)


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for head, table in zip(HEADS, tables(), strict=True):
        before, after = page.split(head)
        rest = after.split("\n\n", 1)
        page = before + table + (f"\n{rest[1]}" if len(rest) > 1 else "")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
