"""Paper 1: Pk-anonymity and post-randomisation."""

from __future__ import annotations

from pramana.theory.statements.statement import Statement

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
        "audit:k_of_table",
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
        "calibration:calibrate",
        "tests/calibration/test_retention.py::test_a_central_promise_is_kept_by_what_is_certified_and_just_so",
    ),
    Statement(
        1,
        "Section 5, reconstruction",
        "x = (y - (1-rho)*mean over the axis)/rho, axis by axis; any matrix by its inverse",
        "estimate:invert",
        _INVERSION + "test_every_operation_agrees_with_the_whole_matrix",
    ),
    Statement(
        1,
        "Variance of a cell (extension)",
        "sum_z y_z g_v(z)^2 - x_v, unbiased; of sums of cells with their covariances",
        "estimate:linear",
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
        "estimate:fit",
        "tests/estimate/test_likelihood.py::test_the_fit_is_the_maximum_that_a_general_optimiser_finds",
    ),
    Statement(
        1,
        "Channels for values in order (extension)",
        "the least expected error at a stated e^epsilon; the integers keep A[u,y] <= e^epsilon A[v,y]",
        "calibration:ordered_channel",
        "tests/calibration/test_ordered.py::test_no_pair_of_rows_is_further_apart_than_promised",
    ),
    Statement(
        1,
        "Channels of intervals (extension)",
        "columns theta_j s_j of two levels make the risk convex; linear programs bound it from below",
        "calibration:interval_design",
        "tests/calibration/test_ordered.py::test_the_bound_is_the_least_risk_of_channels_of_intervals",
    ),
    Statement(
        1,
        "Section 5, Figures 2 to 4",
        "L1 error and epsilon by records, attributes and k on the generated census",
        "experiments:run_experiment",
        "tests/experiments/test_pk.py::test_the_published_figure_2_has_em_below_the_papers_method_in_every_row",
    ),
)
