"""The individual risk of Benedetti and Franconi: who is found in a sample whose weights tell of the population.

Of a class with f records in the sample and estimated F in the population (the sum of its weights), the population
frequency given f is taken as negative binomial with success probability p = f / F; the risk of each of its records
is the mean of 1/F under that law (Benedetti and Franconi 1998; Franconi and Polettini 2004, as sdcMicro and
mu-Argus compute it). With q = 1 - p that mean is (p / f) 2F1(1, 1; f + 1; q), a series of positive terms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def expected_inverse(sizes: Floats, share: Floats) -> Floats:
    """The mean of 1/F where F - f is negative binomial with f successes of probability `share`, below 1."""
    from scipy.special import hyp2f1

    return np.asarray(share / sizes * hyp2f1(1.0, 1.0, sizes + 1.0, 1.0 - share), np.float64)


def individual_risks(sizes: NDArray[np.integer], population: Floats) -> Floats:
    """The risk of each record of a class, by class; 1/f where the weights say that the class is all there is."""
    f = np.asarray(sizes, np.float64)
    share = np.divide(f, population, out=np.ones_like(f), where=population > 0)
    whole = share >= 1.0
    risks = expected_inverse(f, np.where(whole, 0.5, share))
    return np.where(whole, 1.0 / f, risks)
