"""Paper 2: the identification bound."""

from __future__ import annotations

from pramana.theory.statements.statement import Statement

_IDENTIFICATION = "tests/theory/test_identification.py::"

PAPER_2 = (
    Statement(
        2,
        "Eq. 3, corrected",
        "inverse-frequency blocks; rows are the true value, invariance is P^T T = T",
        "mechanisms:inverse_frequency",
        "tests/mechanisms/test_invariant.py::test_the_papers_matrix",
    ),
    Statement(
        2,
        "Invariance in integers (extension)",
        "flows in multiples of lcm(T_i, T_j) keep P^T T = T exactly",
        "mechanisms:realised",
        "tests/mechanisms/test_invariant.py::test_blocks_keep_the_frequencies_exactly_at_any_theta",
    ),
    Statement(
        2,
        "Eq. 10",
        "R1(a,t) = (1/a)(1 + Sigma_a/(beta_1 Sigma_{a-1}))^-1, by Poisson-binomial ratios",
        "theory:identification.risks",
        _IDENTIFICATION + "test_every_risk_by_brute_force",
    ),
    Statement(
        2,
        "Theorem 3.1",
        "with beta_1 >= beta_j the largest R1(a,t) is R1(1,t)",
        "theory:identification.largest_risk",
        _IDENTIFICATION + "test_largest_risk_is_a_fraction_where_the_theorem_holds",
    ),
    Statement(
        2,
        "Theorem 3.1, any chances (extension)",
        "R1(a,t) <= [1 + sum T*_i min(1, beta_i/beta_1)]^-1 for every a",
        "theory:identification.bound_over_counts",
        _IDENTIFICATION + "test_largest_risk_and_its_bound_are_never_too_small",
    ),
    Statement(
        2,
        "Eq. 11",
        "R1(1,t) <= psi(T1, theta)",
        "theory:identification.risk_of_one",
        _IDENTIFICATION + "test_risks_of_the_sheet",
    ),
    Statement(
        2,
        "Lemma 3.2",
        "theta* with psi(T1, theta*) = xi, in closed form",
        "theory:identification.theta_for_xi",
        _IDENTIFICATION + "test_theta_and_size_of_the_sheet",
    ),
    Statement(
        2,
        "Table 1, corrected",
        "block size max(2, ceil(T1/(T1-theta*))); the printed floor breaks the bound",
        "theory:identification.block_size",
        _IDENTIFICATION + "test_table_1",
    ),
    Statement(
        2,
        "Block size, exact condition",
        "k1 - 1 >= theta T1/((T1-theta) min T_j)",
        "theory:identification.minimal_block_size",
        _IDENTIFICATION + "test_minimal_size_is_the_exact_condition",
    ),
    Statement(
        2,
        "Pairs (extension)",
        "a partner of at least 1/xi records is enough in a block of two",
        "theory:identification.theta_for_pair",
        _IDENTIFICATION + "test_a_partner_of_one_over_xi_records_is_always_enough",
    ),
    Statement(
        2,
        "Section 4",
        "overall chance of a correct match, alpha_1 E[1/(1+X)]",
        "theory:identification.overall_match",
        _IDENTIFICATION + "test_overall_match_by_brute_force",
    ),
    Statement(
        2,
        "Section 4",
        "expected squared error of each published frequency",
        "theory:identification.squared_errors",
        _IDENTIFICATION + "test_squared_errors_by_brute_force",
    ),
    Statement(
        2,
        "Every count (extension)",
        "1/(1 + sum_i T'_i min_l p_l p_ig/(p_g p_il)) bounds a match for who sees all of S",
        "theory:every_count.bounded_risk",
        "tests/theory/test_every_count.py::test_against_enumeration_of_records",
    ),
    Statement(
        2,
        "Every count, at an outcome (extension)",
        "P(S = T+d) as one polynomial where movers share one law",
        "theory:outcome_search.chances_at",
        "tests/theory/test_outcome_search.py::test_chances_of_every_outcome",
    ),
    Statement(
        2,
        "Choosing blocks",
        "exact risk <= xi with the least expected error; else the best reached",
        "calibration:plan_blocks",
        "tests/calibration/test_blocks.py::test_a_thousand_random_tables_never_exceed_the_claimed_xi",
    ),
    Statement(
        2,
        "Sinkhorn-invariant matrices (extension)",
        "retention scaled to margins (T, T): the same k, frequencies kept",
        "mechanisms:sinkhorn",
        "tests/mechanisms/test_invariant.py::test_sinkhorn_has_the_k_of_retention",
    ),
)
