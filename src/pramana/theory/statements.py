"""What is proved, where it is computed, and which test holds it to brute force or to the paper's own numbers.

`pramana theorems` prints this table and docs/papers.md is written from it; a test keeps both in step.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """A line of a paper, the function that computes it (room:name) and a test (file::name)."""

    paper: int
    name: str
    says: str
    function: str
    test: str


PAPERS = {
    1: "Ikarashi, Kikuchi, Chida, Takahashi: k-anonymous Microdata Release via Post Randomisation Method",
    2: "An Improved Bound for Security in an Identity Disclosure Problem",
    3: "Xiao, Tao, Chen: Optimal Random Perturbation at Multiple Privacy Levels",
    4: "Nergiz, Cetintas, Akova: Generalizations with Probability Distributions for Data Anonymization",
}

_PK = "tests/theory/test_pk.py::"
_SHUFFLING = "tests/theory/test_shuffling.py::"

PAPER_1 = (
    Statement(
        1,
        "Theorem 1, Corollaries 1 and 2",
        "epsilon = sum of ln max A[u,v']/A[v,v']; for retention ln((1+(V-1)rho)/(1-rho))",
        "theory:pk.likelihood_ratio_from_retention",
        _PK + "test_epsilon_is_tight_for_the_shuffled_release",
    ),
    Statement(
        1,
        "Theorem 1, any matrix",
        "the largest ratio within a column; a zero beside a positive entry makes it infinite",
        "theory:pk.likelihood_ratio_of_matrix",
        _PK + "test_dense_matrix_of_the_sheet",
    ),
    Statement(
        1,
        "Theorem 3",
        "Pk holds exactly for k <= 1 + (R-1)*AR",
        "theory:pk.k_from_ratio",
        _PK + "test_theorem_3_is_tight_for_dense_matrices",
    ),
    Statement(
        1,
        "Theorem 3, AR of a matrix",
        "min over pairs of rows of m(u,v)*m(v,u)",
        "theory:pk.anonymity_ratio_of_matrix",
        _PK + "test_anonymity_ratio_equals_the_fourfold_minimum",
    ),
    Statement(
        1,
        "Corollary 4",
        "AR of independent attributes is the product of theirs",
        "mechanisms:Product",
        _PK + "test_corollary_4_is_exact_on_the_full_product",
    ),
    Statement(
        1,
        "Corollary 5",
        "AR = ((1-rho)/(1+(V-1)rho))^2",
        "theory:pk.anonymity_ratio_from_retention",
        _PK + "test_theorem_3_is_tight_for_retention",
    ),
    Statement(
        1,
        "Algorithm 1",
        "the largest retention that reaches k",
        "theory:pk.retention_for_pk",
        _PK + "test_retention_for_the_papers_example",
    ),
    Statement(
        1,
        "Algorithm 2",
        "the largest retention within epsilon",
        "theory:pk.retention_for_epsilon",
        _PK + "test_algorithm_3_takes_the_smaller",
    ),
    Statement(
        1,
        "Algorithm 3",
        "the smaller of the two",
        "theory:pk.retention_for_both",
        _PK + "test_algorithm_3_takes_the_smaller",
    ),
    Statement(
        1,
        "Secret sample (extension)",
        "k >= 1 + (n-1)*AR + (N-n)*min A[v,u']/A[u,u']",
        "theory:pk.k_with_secret_sample",
        _PK + "test_secret_sample_brute_force",
    ),
    Statement(
        1,
        "Record coin (extension)",
        "one coin for the whole record: the same epsilon and k over the joint domain",
        "mechanisms:RecordRetention",
        _PK + "test_record_coin_brute_force",
    ),
    Statement(
        1,
        "Shuffling (extension)",
        "delta <= P(N < N0) + E[(L_1+...+L_N0)+]/N0, the privacy blanket",
        "theory:shuffling.shuffled_epsilon",
        _SHUFFLING + "test_a_coin_per_attribute_is_bounded_over_all_pairs",
    ),
)

STATEMENTS: tuple[Statement, ...] = (*PAPER_1,)


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
            says = s.says.replace("|", "\\|")
            lines.append(f"| {s.name} | {says} | `pramana.{s.function.replace(':', '.')}` | `{s.test}` |")
    return "\n".join(lines) + "\n"
