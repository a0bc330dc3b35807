"""Paper 3: levels."""

from __future__ import annotations

from pramana.theory.statements.statement import Statement

_LEVELS = "tests/theory/test_levels_theory.py::"
_PROCESS = "tests/mechanisms/test_level_process.py::"
_HISTORY = "tests/mechanisms/test_level_history.py::"
_LADDER = "tests/mechanisms/test_level_ladder.py::"
_COLLUSION = "tests/audit/test_collusion.py::"

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
        "mechanisms:ChannelLadder",
        _LADDER + "test_collusion_is_useless_on_a_ladder",
    ),
)
