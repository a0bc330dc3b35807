"""One place for what counts as agreement. Keys are fixed, so every test gives the same verdict every time.

A true law must stay above ACCEPT in every one of its (at most a few thousand) comparisons; a law that is wrong by
SHIFT in its retention must fall below REJECT in at least one of them.
"""

ACCEPT = 1e-6
REJECT = 1e-12
SHIFT = 0.02
KEY = bytes(range(32))
ROWS = 200_000
