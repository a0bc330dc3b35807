"""What is proved, where it is computed, and which test holds it to brute force or to the paper's own numbers.

`pramana theorems` prints this table and docs/papers.md is written from it; a test keeps both in step.
"""

from __future__ import annotations

from dataclasses import dataclass

PAPERS = {
    1: "Ikarashi, Kikuchi, Chida, Takahashi: k-anonymous Microdata Release via Post Randomisation Method",
    2: "An Improved Bound for Security in an Identity Disclosure Problem",
    3: "Xiao, Tao, Chen: Optimal Random Perturbation at Multiple Privacy Levels",
    4: "Nergiz, Cetintas, Akova: Generalizations with Probability Distributions for Data Anonymization",
}


@dataclass(frozen=True)
class Statement:
    """A line of a paper, the function that computes it (room:name) and a test (file::name)."""

    paper: int
    name: str
    says: str
    function: str
    test: str


# ------------------------------ paper 1: Pk-anonymity and post-randomisation

_PK = "tests/theory/test_pk.py::"
_INVERSION = "tests/estimate/test_inversion.py::"
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
        "Theorem 2, Corollary 3",
        "for a deterministic method Pk-anonymity is k-anonymity",
        "holder.audit.anonymity:k_of_table",
        "tests/audit/test_anonymity.py::test_theorem_2_by_brute_force",
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
        "mechanisms.table:Product",
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
        "mechanisms.table:RecordRetention",
        _PK + "test_record_coin_brute_force",
    ),
    Statement(
        1,
        "Coins for groups (extension)",
        "one coin for each group of attributes: ratios and AR are products over groups, epsilon and k as before",
        "mechanisms.table:CoinGroups",
        "tests/mechanisms/test_coin_groups.py::test_ratios_are_those_of_the_whole_matrix",
    ),
    Statement(
        1,
        "Ways to spend a promise (extension)",
        "coins, shares of epsilon and coarser values of least mean error in named tables, from public numbers",
        "methods.retention.frontier:frontier",
        "tests/calibration/test_spending.py::test_nothing_on_a_grid_of_ways_is_better",
    ),
    Statement(
        1,
        "Coarser values (extension)",
        "noise (h'-1)/(n c') prod sum 1/m, and (c-c')/(c(c+1)) that c' coarse cells leave open of c finest ones",
        "methods.retention.spending:SpendingQuestion",
        "tests/calibration/test_spending.py::test_coarser_values_err_as_simulated_tables_do",
    ),
    Statement(
        1,
        "Shuffling (extension)",
        "delta = E[(Z_1+...+Z_n)+]/(n*gamma), the privacy blanket averaged over how many records it covers",
        "theory:shuffling.shuffled_epsilon",
        _SHUFFLING + "test_a_coin_per_attribute_is_bounded_over_all_pairs",
    ),
    Statement(
        1,
        "Shuffling, any matrix (extension)",
        "its own blanket, the smallest entry of every column; the worst pair of rows decides",
        "theory:blanket.rows_over_blanket",
        _SHUFFLING + "test_matrices_are_bounded_by_their_own_blanket_by_the_envelope_and_by_clones",
    ),
    Statement(
        1,
        "Shuffling, all pairs at once (extension)",
        "the join of all rows in convex order against itself reversed is larger than every pair's law",
        "theory:blanket.envelope_of_rows",
        "tests/theory/test_positive_part.py::test_the_envelope_is_larger_than_every_pair",
    ),
    Statement(
        1,
        "Several releases (extension)",
        "local epsilons add; profiles of delta over e^epsilon compose by convolving the losses of their chords",
        "theory:composition.composed_epsilon",
        "tests/theory/test_composition.py::test_two_shuffled_releases_tell_no_more_than_their_profiles",
    ),
    Statement(
        1,
        "Shuffling, any law (extension)",
        "clones: weight 1/p, ratios 2p/(p+1) and 2/(p+1) (Feldman et al. 2021, Theorem 3.1)",
        "theory:blanket.blanket_of_ratio",
        _SHUFFLING + "test_matrices_are_bounded_by_their_own_blanket_by_the_envelope_and_by_clones",
    ),
    Statement(
        1,
        "Positive part of a sum (extension)",
        "(1/T) sum_k M(c+ikh)^n/(c+ikh)^2 >= E[(X_1+...+X_n)+] for all c, T > 0, h = 2*pi/T",
        "theory:positive_part.log_positive_part_of_sum",
        "tests/theory/test_positive_part.py::test_the_bound_is_above_the_exact_sum_and_close",
    ),
    Statement(
        1,
        "Calibration to a central epsilon (extension)",
        "the largest retention whose certified central epsilon is at most the wanted one",
        "methods.retention.calibration:calibrate",
        "tests/calibration/test_retention.py::test_a_central_promise_is_kept_by_what_is_certified_and_just_so",
    ),
    Statement(
        1,
        "Section 5, reconstruction",
        "x = (y - (1-rho)*mean over the axis)/rho, axis by axis; any matrix by its inverse",
        "recipient.inversion:invert",
        _INVERSION + "test_every_operation_agrees_with_the_whole_matrix",
    ),
    Statement(
        1,
        "Variance of a cell (extension)",
        "sum_z y_z g_v(z)^2 - x_v, unbiased; of sums of cells with their covariances",
        "recipient.inversion:linear",
        _INVERSION + "test_filtered_cells_agree_with_sums_of_covariances",
    ),
    Statement(
        1,
        "Variance under one coin per record (extension)",
        "n(h-1) over the joint domain: 16.9n instead of 521.9n in the paper's example",
        "theory:pk.variance_factor",
        _INVERSION + "test_the_record_coin_has_the_variance_of_the_sheet",
    ),
    Statement(
        1,
        "Maximum likelihood (extension)",
        "x <- x*A(y/(A^T x)) climbs to the maximum; total*(max D - 1) bounds what is left",
        "recipient.likelihood:fit",
        "tests/estimate/test_likelihood.py::test_the_fit_is_the_maximum_that_a_general_optimiser_finds",
    ),
    Statement(
        1,
        "Channels for values in order (extension)",
        "the least expected error at a stated e^epsilon; the integers keep A[u,y] <= e^epsilon A[v,y]",
        "methods.retention.ordered:ordered_channel",
        "tests/calibration/test_ordered.py::test_no_pair_of_rows_is_further_apart_than_promised",
    ),
    Statement(
        1,
        "Smoothed shares (extension)",
        "likelihood, and Student's law for steps of the logarithms of shares, its width by the evidence",
        "recipient.quantiles:smooth_fit",
        "tests/estimate/test_smoothing.py::test_shares_are_the_optimum_that_another_optimiser_finds",
    ),
    Statement(
        1,
        "Channels of intervals (extension)",
        "columns theta_j s_j of two levels make the risk convex; linear programs bound it from below",
        "methods.retention.ordered_design:interval_design",
        "tests/calibration/test_ordered.py::test_the_bound_is_the_least_risk_of_channels_of_intervals",
    ),
    Statement(
        1,
        "Section 5, Figures 2 to 4",
        "L1 error and epsilon by records, attributes and k on the generated census",
        "experiments.outputs:run_experiment",
        "tests/experiments/test_pk.py::test_the_published_figure_2_has_em_below_the_papers_method_in_every_row",
    ),
)


# ------------------------------ paper 2: the identification bound

_IDENTIFICATION = "tests/theory/test_identification.py::"

PAPER_2 = (
    Statement(
        2,
        "Eq. 3, corrected",
        "inverse-frequency blocks; rows are the true value, invariance is P^T T = T",
        "mechanisms.invariant:inverse_frequency",
        "tests/mechanisms/test_invariant.py::test_the_papers_matrix",
    ),
    Statement(
        2,
        "Invariance in integers (extension)",
        "flows in multiples of lcm(T_i, T_j) keep P^T T = T exactly",
        "mechanisms.invariant:realised",
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
        "theory:every_count.chances_at",
        "tests/theory/test_outcome_search.py::test_chances_of_every_outcome",
    ),
    Statement(
        2,
        "Choosing blocks",
        "exact risk <= xi with the least expected error; else the best reached",
        "methods.invariant.blocks:plan_blocks",
        "tests/calibration/test_blocks.py::test_a_thousand_random_tables_never_exceed_the_claimed_xi",
    ),
    Statement(
        2,
        "Sinkhorn-invariant matrices (extension)",
        "retention scaled to margins (T, T): the same k, frequencies kept",
        "mechanisms.invariant:sinkhorn",
        "tests/mechanisms/test_invariant.py::test_sinkhorn_has_the_k_of_retention",
    ),
)


# ------------------------------ paper 3: levels

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
        "mechanisms.history:RecordedLevels",
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
        "mechanisms.levels:AtLevel",
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
        "mechanisms.history:History",
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
        "holder.audit.collusion:collusion",
        _COLLUSION + "test_posteriors_equal_the_exact_ones_row_by_row",
    ),
    Statement(
        3,
        "Dense channels (extension)",
        "a chain of levels exists iff each step is stochastic",
        "mechanisms.ladder:ChannelLadder",
        _LADDER + "test_collusion_is_useless_on_a_ladder",
    ),
)


# ------------------------------ paper 4: distributions in cells, k-anonymity and delta-presence

_CELLS = "tests/generalize/test_cells.py::"
_LATTICE = "tests/generalize/test_lattice.py::"
_PRESENCE = "tests/theory/test_presence.py::"
_PRESENT = "tests/generalize/test_presence_classes.py::"

PAPER_4 = (
    Statement(
        4,
        "Definition 1",
        "k-anonymity: every combination of quasi-identifiers appears at least k times",
        "counting:anonymity.k_anonymity",
        "tests/generalize/test_anonymity.py::test_measures_are_those_of_plain_counting",
    ),
    Statement(
        4,
        "Incognito, optimal full-domain generalisation",
        "failing spreads to specialisations, holding to generalisations; the cheapest node that holds",
        "methods.generalize.lattice:search",
        _LATTICE + "test_the_optimum_is_the_exhaustive_one",
    ),
    Statement(
        4,
        "Definition 6, Table V",
        "a cell is a distribution over the leaves; labels, intervals and sets are uniform ones",
        "methods.cells:pdf_cells",
        _CELLS + "test_the_cells_of_tables_two_and_five",
    ),
    Statement(
        4,
        "Definition 7",
        "reconstruction: each cell is replaced by a value drawn from its distribution",
        "methods.cells:reconstructed",
        _CELLS + "test_reconstruction_follows_the_cells_law_and_no_other",
    ),
    Statement(
        4,
        "Theorem 1, Eq. 1",
        "KL cost = -sum of c ln f, the logarithm of the matching probability but for a constant",
        "methods.cells:kl_cost",
        _CELLS + "test_matching_probability_is_that_of_the_paper",
    ),
    Statement(
        4,
        "Theorem 2, Eq. 2",
        "f = count / class size maximises the matching probability",
        "methods.cells:log_matching_probability",
        _CELLS + "test_kl_cost_falls_along_the_segment_and_is_least_at_the_optimum",
    ),
    Statement(
        4,
        "Theorem 3, corrected; Eq. 3",
        "the cost falls along the segment from uniform to optimal (not: coordinate by coordinate)",
        "methods.cells:cells_between",
        _CELLS + "test_kl_cost_falls_along_the_segment_and_is_least_at_the_optimum",
    ),
    Statement(
        4,
        "Section IV.C",
        "rules hold in a reconstruction with .68 and .68 (sets), .95 and .26 (distributions)",
        "methods.cells:set_cells",
        _CELLS + "test_rules_hold_with_the_probabilities_of_section_four",
    ),
    Statement(
        4,
        "Section VI, distance of rule sets",
        "sum of |confidence - confidence|, a missing rule counting as the minimum confidence",
        "recipient.rules:rule_distance",
        "tests/estimate/test_rules.py::test_distance_by_hand",
    ),
    Statement(
        4,
        "Least KL cost (ours)",
        "cut after cut, the one that lowers the KL cost most, in any order of the rows",
        "methods.generalize.partition:partition",
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
        "methods.presence.search:spalm",
        _PRESENT + "test_spalm_takes_the_cheapest_of_all_nodes_that_hold",
    ),
    Statement(
        4,
        "SPALM on distributions (ours)",
        "the cheapest node whose own distributions have exact presence; only uniform presence prunes",
        "methods.presence.search:spalm",
        "tests/generalize/test_presence_search.py::test_the_node_found_is_the_best_of_the_whole_lattice",
    ),
    Statement(
        4,
        "Algorithms 1 to 3 (corrected)",
        "WPALM, PPALM: each class moves by itself to its last step that holds; closed checks",
        "methods.presence.search:presented",
        _PRESENT + "test_each_class_stops_by_itself_and_at_its_last_step_that_holds",
    ),
    Statement(
        4,
        "Section VII, reversibility",
        "the worlds that lead to the published cells, enumerated; the paper's example leaves one",
        "holder.audit.presence:reversal",
        "tests/audit/test_reversal.py::test_the_papers_release_is_broken_from_the_files_alone",
    ),
)

STATEMENTS: tuple[Statement, ...] = (*PAPER_1, *PAPER_2, *PAPER_3, *PAPER_4, *PAPER_4_PRESENCE)


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
