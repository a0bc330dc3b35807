"""What is proved, where it is computed, and which test holds it to brute force or to the paper's own numbers.

`pramana theorems` prints this table and docs/papers.md is written from it; a test keeps both in step.
"""

from __future__ import annotations

from pramana.theory.statements.paper_1 import PAPER_1
from pramana.theory.statements.paper_2 import PAPER_2
from pramana.theory.statements.paper_3 import PAPER_3
from pramana.theory.statements.paper_4 import PAPER_4, PAPER_4_PRESENCE
from pramana.theory.statements.statement import Statement

PAPERS = {
    1: "Ikarashi, Kikuchi, Chida, Takahashi: k-anonymous Microdata Release via Post Randomisation Method",
    2: "An Improved Bound for Security in an Identity Disclosure Problem",
    3: "Xiao, Tao, Chen: Optimal Random Perturbation at Multiple Privacy Levels",
    4: "Nergiz, Cetintas, Akova: Generalizations with Probability Distributions for Data Anonymization",
}

STATEMENTS: tuple[Statement, ...] = (*PAPER_1, *PAPER_2, *PAPER_3, *PAPER_4, *PAPER_4_PRESENCE)
__all__ = ["PAPERS", "STATEMENTS", "Statement", "as_markdown"]


def as_markdown() -> str:
    """docs/papers.md."""
    lines = [
        "# The papers, statement by statement",
        "",
        "Where each statement is computed and which test holds it to brute force or to the paper's own numbers.",
        "Written from `pramana.theory.statements`; `pramana theorems` prints the same. Symbols, proofs of what is",
        "ours, and corrections stand beside the code: `src/pramana/theory/*.md`.",
    ]
    for paper, title in PAPERS.items():
        rows = [s for s in STATEMENTS if s.paper == paper]
        if not rows:
            continue
        lines += [
            "",
            f"## Paper {paper}. {title}",
            "",
            "| statement | says | function | test |",
            "|---|---|---|---|",
        ]
        for s in rows:
            says = s.says.replace("|", "\\|").replace("*", "\\*")  # a product is no emphasis
            lines.append(f"| {s.name} | {says} | `pramana.{s.function.replace(':', '.')}` | `{s.test}` |")
    return "\n".join(lines) + "\n"
