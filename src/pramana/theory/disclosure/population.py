"""How many people are unique in the population, estimated from the sizes of classes in a sample of it.

Three models and a rule that chooses among them, as ARX has them:

- Zayatz (1991): classes of the population are taken to be as large, in proportion, as those of the sample.
- Pitman's sampling formula (Hoshino 2001): fitted by maximum likelihood. Uniques are the exact expectation
  under it; ARX uses its limit for large populations.
- Slide negative binomial (Chen and Keller-McNulty 1998): a class has 1 + X people, X negative binomial with
  alpha and beta. The number of classes is Shlosser's estimate in the form of Haas and Stokes (1998); alpha and
  beta are those that give the sample's uniques and pairs in expectation.
- Dankar, El Emam, Neisa and Roffey (2012): Pitman up to a sampling fraction of one tenth, above that the smaller
  of Zayatz and slide negative binomial.

The formulas were derived again and are tested against sums over all cases. The second moment equation and one
factor of Shlosser's estimate are not as in ARX's source, where a division stands as a product and a bracket is
missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError

Floats = NDArray[np.float64]
SMALL_SAMPLE = 0.1  # the sampling fraction up to which Dankar et al. use Pitman
_CLOSE = 1e-6  # relative; a fit that misses the sample's counts by more is none


@dataclass(frozen=True, eq=False)
class SizeCounts:
    """How many classes of each size a sample has."""

    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not len(self.sizes) or int(self.sizes.min()) < 1 or len(self.sizes) != len(self.counts):
            raise InputError("The sizes of classes must be at least 1, with a count for each", "others")

    @classmethod
    def of(cls, sizes: NDArray[np.integer]) -> SizeCounts:
        """Of the sizes of all classes."""
        distinct, counts = np.unique(np.asarray(sizes, np.int64), return_counts=True)
        return cls(distinct, counts.astype(np.int64))

    @property
    def records(self) -> int:
        return int((self.sizes * self.counts).sum())

    @property
    def classes(self) -> int:
        return int(self.counts.sum())

    def of_size(self, size: int) -> int:
        return int(self.counts[self.sizes == size].sum())


@dataclass(frozen=True)
class PopulationUniques:
    """Estimates of the number of people who are unique in the population; None where a model cannot be fitted."""

    population: int
    zayatz: float
    pitman: float | None
    snb: float | None
    chosen: str
    estimate: float

    @property
    def share(self) -> float:
        return self.estimate / self.population


def population_uniques(classes: SizeCounts, population: int) -> PopulationUniques:
    """All three estimates, and the one that Dankar et al. choose."""
    records = classes.records
    if population < records:
        raise InputError(f"The population must be at least the {records} records", str(population))
    if population == records:
        alone = float(classes.of_size(1))
        return PopulationUniques(population, alone, alone, alone, "census", alone)
    if not classes.of_size(1):
        return PopulationUniques(population, 0.0, 0.0, 0.0, "none in the sample", 0.0)
    zayatz = zayatz_uniques(classes, population)
    pitman, snb = pitman_uniques(classes, population), snb_uniques(classes, population)
    chosen, estimate = "Zayatz", zayatz
    if records / population <= SMALL_SAMPLE:
        if pitman is not None:
            chosen, estimate = "Pitman", pitman
    elif snb is not None and snb < zayatz:
        chosen, estimate = "SNB", snb
    return PopulationUniques(population, zayatz, pitman, snb, chosen, estimate)


def uniques_by(model: str, classes: SizeCounts, population: int) -> tuple[str, float]:
    """The name and the estimate of one model, `dankar` being the rule of Dankar et al., and nothing else fitted.

    By Zayatz's where a model cannot be fitted, and exactly where everyone is in the sample.
    """
    records, alone = classes.records, float(classes.of_size(1))
    if population < records:
        raise InputError(f"The population must be at least the {records} records", str(population))
    if population == records:
        return "census", alone
    if not alone:
        return "none in the sample", 0.0
    small = records / population <= SMALL_SAMPLE
    if model == "pitman" or (model == "dankar" and small):
        fitted = pitman_uniques(classes, population)
        if fitted is not None:
            return "Pitman", fitted
    zayatz = zayatz_uniques(classes, population)
    if model == "snb" or (model == "dankar" and not small):
        fitted = snb_uniques(classes, population)
        if fitted is not None and (model == "snb" or fitted < zayatz):
            return "SNB", fitted
    return "Zayatz", zayatz


# ---------------------------------------------------------------- Zayatz


def zayatz_uniques(classes: SizeCounts, population: int) -> float:
    """Bayes' rule on whether a unique of the sample came from a class of one."""
    records = classes.records
    once = _chance_of_one(classes.sizes, population, records)
    alone = classes.of_size(1) * records / population
    conditional = alone / float((classes.counts * once).sum())
    return min(classes.of_size(1) * conditional * population / records, float(population))


def _chance_of_one(sizes: NDArray[np.int64], population: int, records: int) -> Floats:
    """That a class of each size has exactly one record in the sample: hypergeometric."""
    from scipy.special import gammaln

    def log_choose(n: Floats, k: float) -> Floats:
        return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), np.float64)

    others = (population - sizes).astype(np.float64)
    possible = others >= records - 1
    logs = log_choose(np.where(possible, others, records), records - 1)
    whole = log_choose(np.array([float(population)]), records)
    return np.where(possible, sizes * np.exp(logs - whole), 0.0)


# ---------------------------------------------------------------- Pitman


def pitman_uniques(classes: SizeCounts, population: int) -> float | None:
    """The expected number of classes of one among `population` people under the fitted formula."""
    fit = pitman_fit(classes)
    if fit is None:
        return None
    from scipy.special import gammaln

    theta, alpha = fit
    logs = gammaln(theta + 1) - gammaln(theta + alpha)
    logs += gammaln(theta + alpha + population - 1) - gammaln(theta + population)
    uniques = population * math.exp(logs)
    return float(uniques) if math.isfinite(uniques) else None


def pitman_fit(classes: SizeCounts) -> tuple[float, float] | None:
    """theta and alpha of largest likelihood, 0 < alpha < 1, theta above -alpha; None where it has no maximum."""
    if classes.classes in (1, classes.records):  # one class, or nothing but uniques: it grows without end
        return None
    from scipy.optimize import minimize

    def negative(place: Floats) -> float:
        theta, alpha = _pitman_place(place)
        return -_pitman_likelihood(theta, alpha, classes)

    best = None
    for start in ((-1.0, 1.0), (1.0, 3.0), (-3.0, 5.0)):
        found = minimize(
            negative,
            np.array(start),
            method="Nelder-Mead",
            options={"xatol": 1e-8, "fatol": 1e-9, "maxiter": 2000},
        )
        if found.success and (best is None or found.fun < best.fun - 1e-9):
            best = found
    if best is None or not math.isfinite(best.fun):
        return None
    return _pitman_place(best.x)


def _pitman_place(place: Floats) -> tuple[float, float]:
    """Two numbers without bounds to alpha in (0, 1) and theta above -alpha."""
    alpha = 1.0 / (1.0 + math.exp(-min(max(float(place[0]), -30.0), 30.0)))
    return math.exp(min(max(float(place[1]), -30.0), 40.0)) - alpha, alpha


def _pitman_likelihood(theta: float, alpha: float, classes: SizeCounts) -> float:
    """The logarithm, without the terms that know neither parameter."""
    from scipy.special import gammaln

    u, n = classes.classes, classes.records
    new = (u - 1) * math.log(alpha) + gammaln(theta / alpha + u) - gammaln(theta / alpha + 1)
    inside = float((classes.counts * (gammaln(classes.sizes - alpha) - gammaln(1 - alpha))).sum())
    return float(new + inside - (gammaln(theta + n) - gammaln(theta + 1)))


# ---------------------------------------------------------------- slide negative binomial


def snb_uniques(classes: SizeCounts, population: int) -> float | None:
    """The number of classes times the chance that one has a single person."""
    fit = snb_fit(classes, population)
    if fit is None:
        return None
    number, alpha, beta = fit
    return float(min(number * beta**alpha, population))


def population_classes(classes: SizeCounts, fraction: float) -> float:
    """Shlosser's estimate of the number of classes in the population, as Haas and Stokes have it."""
    i, s = classes.sizes.astype(np.float64), classes.counts.astype(np.float64)
    left = (1 - fraction) ** i
    first = float((i * fraction**2 * (1 - fraction**2) ** (i - 1) * s).sum())
    second = float((left * ((1 + fraction) ** np.minimum(i, 700.0 / math.log1p(fraction)) - 1) * s).sum())
    third = float((left * s).sum()) / float((i * fraction * (1 - fraction) ** (i - 1) * s).sum())
    return classes.classes + classes.of_size(1) * first / second * third**2


def snb_fit(classes: SizeCounts, population: int) -> tuple[float, float, float] | None:
    """The number of classes, alpha and beta; None where none give the sample's uniques and pairs."""
    singles, pairs = float(classes.of_size(1)), float(classes.of_size(2))
    if not singles or not pairs:
        return None
    from scipy.optimize import least_squares

    fraction = classes.records / population
    number = population_classes(classes, fraction)

    def misses(place: Floats) -> Floats:
        alpha, beta = math.exp(place[0]), 1.0 / (1.0 + math.exp(-place[1]))
        once, twice = snb_expected(number, alpha, beta, fraction)
        return np.array([once / singles - 1.0, twice / pairs - 1.0])

    best = None
    for start in ((0.0, 0.0), (-2.0, -3.0), (2.0, 2.0), (-4.0, -6.0)):
        found = least_squares(
            misses, np.array(start), bounds=([-15.0, -25.0], [15.0, 25.0]), xtol=1e-14, ftol=1e-14
        )
        if best is None or found.cost < best.cost:
            best = found
    if best is None or float(np.abs(best.fun).max()) > _CLOSE:
        return None
    return number, math.exp(best.x[0]), 1.0 / (1.0 + math.exp(-best.x[1]))


def snb_expected(number: float, alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """How many classes have one and two records in a sample in which everyone is with chance `fraction`."""
    q = (1 - fraction) * (1 - beta)
    none = (beta / (1 - q)) ** alpha
    once = number * fraction * none * (alpha * q / (1 - q) + 1)
    twice = number * fraction**2 / 2 * alpha * (1 - beta) * none / (1 - q) ** 2 * (2 - (1 - alpha) * q)
    return once, twice
