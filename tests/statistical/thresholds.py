"""One place for what counts as agreement. Keys are fixed, so every test gives the same verdict every time.

A true law must stay above ACCEPT in every one of its (at most a few thousand) comparisons; a law that is wrong by
SHIFT in its retention must fall below REJECT in at least one of them. Where a table is too small for such a gap,
one number separates the right law from wrong ones that a test states.
"""

ACCEPT = 1e-6
REJECT = 1e-12
SHIFT = 0.02
KEY = bytes(range(32))
ROWS = 200_000
BROWSER_DRAWS = 1_000_000  # of a channel, in the browser's own module

# p-values: above it a law is kept, below it refused
SEPARATES_LEVEL_LAWS = 1e-6  # versions of a source of levels, and recipients that collude
SEPARATES_INTRUDERS = 1e-6  # an intruder's rate of success from the one that was claimed
SEPARATES_GENERATED_LAWS = 1e-4  # the columns of generated populations, from laws a little weaker or stronger
SEPARATES_CELL_LAWS = 1e-3  # values drawn from one published cell
UNIFORM_P_VALUES = 1e-4  # the p-values of many true laws must look uniform themselves: not too good to be true

# standard errors that a share or a count may be off
OF_A_SHARE = 4
OF_A_POISSON_COUNT = 5

# the share of 95 per cent intervals that cover the truth, by the number of intervals that were counted
COVERAGE_OF_THOUSANDS = (0.93, 0.97)
COVERAGE_OF_SPARSE_CELLS = (0.93, 0.99)  # exact tests of whole numbers leave more than they must
LEAST_EXACT_COVERAGE = 0.93  # of every single setting, computed and not simulated
COVERAGE_OF_HUNDREDS = (0.92, 0.98)
COVERAGE_OF_FEW = (0.91, 0.99)
COVERAGE_OF_MODELS = (0.9, 0.99)  # coefficients of one model hang together
COVERAGE_OF_SHARED_DRAWS_TAKEN_FOR_MANY = 0.8  # at most, where rows of a person share a draw and are counted apart
LEAST_COVERAGE_OF_FITS = 0.92  # an interval of a fit within bounds may be too long
