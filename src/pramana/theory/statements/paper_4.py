"""Paper 4: distributions in cells, k-anonymity and delta-presence."""

from __future__ import annotations

from pramana.theory.statements.statement import Statement

_CELLS = "tests/generalize/test_cells.py::"
_LATTICE = "tests/generalize/test_lattice.py::"
_PRESENCE = "tests/theory/test_presence.py::"
_PRESENT = "tests/generalize/test_presence_classes.py::"

PAPER_4 = (
    Statement(
        4,
        "Definition 1",
        "k-anonymity: every combination of quasi-identifiers appears at least k times",
        "generalize:k_anonymity",
        "tests/generalize/test_anonymity.py::test_measures_are_those_of_plain_counting",
    ),
    Statement(
        4,
        "Incognito, optimal full-domain generalisation",
        "failing spreads to specialisations, holding to generalisations; the cheapest node that holds",
        "generalize:search",
        _LATTICE + "test_the_optimum_is_the_exhaustive_one",
    ),
    Statement(
        4,
        "Definition 6, Table V",
        "a cell is a distribution over the leaves; labels, intervals and sets are uniform ones",
        "generalize:pdf_cells",
        _CELLS + "test_the_cells_of_tables_two_and_five",
    ),
    Statement(
        4,
        "Definition 7",
        "reconstruction: each cell is replaced by a value drawn from its distribution",
        "generalize:reconstructed",
        _CELLS + "test_reconstruction_follows_the_cells_law_and_no_other",
    ),
    Statement(
        4,
        "Theorem 1, Eq. 1",
        "KL cost = -sum of c ln f, the logarithm of the matching probability but for a constant",
        "generalize:kl_cost",
        _CELLS + "test_matching_probability_is_that_of_the_paper",
    ),
    Statement(
        4,
        "Theorem 2, Eq. 2",
        "f = count / class size maximises the matching probability",
        "generalize:log_matching_probability",
        _CELLS + "test_kl_cost_falls_along_the_segment_and_is_least_at_the_optimum",
    ),
    Statement(
        4,
        "Theorem 3, corrected; Eq. 3",
        "the cost falls along the segment from uniform to optimal (not: coordinate by coordinate)",
        "generalize:cells_between",
        _CELLS + "test_kl_cost_falls_along_the_segment_and_is_least_at_the_optimum",
    ),
    Statement(
        4,
        "Section IV.C",
        "rules hold in a reconstruction with .68 and .68 (sets), .95 and .26 (distributions)",
        "generalize:set_cells",
        _CELLS + "test_rules_hold_with_the_probabilities_of_section_four",
    ),
    Statement(
        4,
        "Section VI, distance of rule sets",
        "sum of |confidence - confidence|, a missing rule counting as the minimum confidence",
        "estimate:rule_distance",
        "tests/estimate/test_rules.py::test_distance_by_hand",
    ),
    Statement(
        4,
        "Least KL cost (ours)",
        "cut after cut, the one that lowers the KL cost most, in any order of the rows",
        "generalize:partition",
        "tests/generalize/test_partition.py::test_the_kl_partition_costs_less_than_mondrian",
    ),
)

PAPER_4_PRESENCE = (
    Statement(
        4,
        "Eq. 4",
        "ex_k = w_k e_(n-1)(without k)/e_n, by tilted Poisson-binomial laws instead of enumeration",
        "theory:presence.existence",
        _PRESENCE + "test_exact_equals_enumeration",
    ),
    Statement(
        4,
        "Theorem 4",
        "the least and the most likely have the least and the greatest existence probability",
        "theory:presence.extremes",
        _PRESENCE + "test_exact_equals_enumeration",
    ),
    Statement(
        4,
        "Theorem 5, Eq. 5",
        "n w_min/(n w_min + (N-n) w_max) from below, the same swapped from above",
        "theory:presence.bounds",
        _PRESENCE + "test_bounds_of_the_sheet",
    ),
    Statement(
        4,
        "Bounds from the mode (ours)",
        "Darroch: tilted until n-1 or n others are expected, the odds bound the existence probability",
        "theory:presence.mode_bounds",
        _PRESENCE + "test_bounds_hold_those_from_the_mode_within_theorem_5s_room",
    ),
    Statement(
        4,
        "R* (ours)",
        "the bounds hold exactly for w_max/w_min <= min{dmax(N-n)/((1-dmax)n), (1-dmin)n/(dmin(N-n))}",
        "theory:presence.ratio_bound",
        _PRESENCE + "test_ratio_bound_is_where_the_bounds_leave_the_range",
    ),
    Statement(
        4,
        "Best distributions under R* (ours)",
        "f = clip(c/n, L, R_a L) with sum ln R_a = ln R* and the same mass cut off in every attribute",
        "theory:presence.best_product",
        _PRESENCE + "test_best_product_is_not_beaten",
    ),
    Statement(
        4,
        "Best distributions for the rows people have (ours)",
        "least -sum c ln f with w_max <= R w_min over the people of a class: convex in ln f",
        "theory:presence_rows.best_for_rows",
        _PRESENCE + "test_best_for_rows_is_what_a_general_solver_finds",
    ),
    Statement(
        4,
        "Definition 3, SPALM",
        "the cheapest full-domain generalisation whose classes have shares within [dmin, dmax]",
        "generalize:spalm",
        _PRESENT + "test_spalm_takes_the_cheapest_of_all_nodes_that_hold",
    ),
    Statement(
        4,
        "SPALM on distributions (ours)",
        "the cheapest node whose own distributions have exact presence; only uniform presence prunes",
        "generalize:spalm",
        "tests/generalize/test_presence_search.py::test_the_node_found_is_the_best_of_the_whole_lattice",
    ),
    Statement(
        4,
        "Algorithms 1 to 3 (corrected)",
        "WPALM, PPALM: each class moves by itself to its last step that holds; closed checks",
        "generalize:presented",
        _PRESENT + "test_each_class_stops_by_itself_and_at_its_last_step_that_holds",
    ),
    Statement(
        4,
        "Section VII, reversibility",
        "the worlds that lead to the published cells, enumerated; the paper's example leaves one",
        "audit:reversal",
        "tests/audit/test_reversal.py::test_the_papers_release_is_broken_from_the_files_alone",
    ),
)
