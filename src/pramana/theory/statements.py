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
_LEVELS = "tests/theory/test_levels_theory.py::"
_PROCESS = "tests/mechanisms/test_level_process.py::"
_HISTORY = "tests/mechanisms/test_level_history.py::"
_LADDER = "tests/mechanisms/test_level_ladder.py::"
_COLLUSION = "tests/audit/test_collusion.py::"

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

PAPER_3 = (
    Statement(
        3,
        "Eq. 1",
        "P(y|x) = p [x=y] + (1-p) law(y), for any replacement law",
        "theory:levels.transition",
        _LEVELS + "test_every_version_is_uniform_perturbation",
    ),
    Statement(
        3,
        "Eqs 3 and 4",
        "u and v, the chances of copying the version above and below",
        "theory:levels.tail",
        _LEVELS + "test_u_and_v_of_the_sheet",
    ),
    Statement(
        3,
        "Eq. 7 (corrected)",
        "third case (1 - p_a/p_b)/s; as printed the cases do not sum to one",
        "theory:levels.middle_law",
        _LEVELS + "test_equation_7_needs_its_correction",
    ),
    Statement(
        3,
        "Lemma 1, Eqs 9 and 10",
        "in descending order each version perturbs the one above with retention p_i/p_(i-1)",
        "theory:levels.joint_law",
        _LEVELS + "test_closed_form_multi_pert_and_process_agree_exactly",
    ),
    Statement(
        3,
        "Figure 3, multi-pert",
        "the joint law for any order of requests is Lemma 1's",
        "theory:levels.multi_pert_law",
        _LEVELS + "test_closed_form_multi_pert_and_process_agree_exactly",
    ),
    Statement(
        3,
        "Figure 3, as run",
        "the code's own coins, followed down every branch, give that law",
        "mechanisms:RecordedLevels",
        _HISTORY + "test_joint_law_of_the_code_for_three_recipients",
    ),
    Statement(
        3,
        "Theorem 1",
        "a coalition's posterior is its best member's",
        "theory:levels.coalition_posterior",
        _LEVELS + "test_collusion_is_useless",
    ),
    Statement(
        3,
        "Theorem 2",
        "every version by itself is uniform perturbation",
        "theory:levels.multi_pert_law",
        _LEVELS + "test_every_version_is_uniform_perturbation",
    ),
    Statement(
        3,
        "The process (extension)",
        "V1 uniform below N, V(j+1) uniform below Vj: Lemma 1 exactly, with no history",
        "theory:levels.process_law",
        _LEVELS + "test_closed_form_multi_pert_and_process_agree_exactly",
    ),
    Statement(
        3,
        "The process, as run",
        "every chain of events through the kernel, with its probability",
        "mechanisms:AtLevel",
        _PROCESS + "test_joint_law_by_driving_the_kernel_through_every_path",
    ),
    Statement(
        3,
        "Section 3, rho1-rho2",
        "rho2 = e^eps rho1/(1+(e^eps-1) rho1), reached",
        "theory:levels.posterior_bound",
        _LEVELS + "test_no_predicate_grows_beyond_the_bounds",
    ),
    Statement(
        3,
        "Section 3, delta-growth",
        "delta = (e^(eps/2)-1)/(e^(eps/2)+1), reached",
        "theory:levels.growth_bound",
        _LEVELS + "test_growth_bound_is_reached_and_not_below_the_formula",
    ),
    Statement(
        3,
        "Section 6, history (corrected)",
        "an entry at p iff top or Y != y_l; one at the next lower issued level iff y_r != Y",
        "mechanisms:History",
        _HISTORY + "test_ten_thousand_interleavings_never_change_a_version",
    ),
    Statement(
        3,
        "Lemma 2, tightened",
        "1 + ((s-1)/s) ln(p_max/p_min) entries",
        "theory:levels.history_size",
        _HISTORY + "test_size_of_the_history_is_as_lemma_2_says",
    ),
    Statement(
        3,
        "Appendix 2",
        "reconstruction probabilities, together and independent",
        "audit:collusion",
        _COLLUSION + "test_posteriors_equal_the_exact_ones_row_by_row",
    ),
    Statement(
        3,
        "Dense channels (extension)",
        "a chain of levels exists iff each step is stochastic",
        "mechanisms:Ladder",
        _LADDER + "test_collusion_is_useless_on_a_ladder",
    ),
)

STATEMENTS: tuple[Statement, ...] = (*PAPER_1, *PAPER_3)


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
