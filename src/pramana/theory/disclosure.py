"""What the sizes of classes tell of the risk of being found, by the models of the field; each names its source.

How many people are unique in the population, estimated from the sizes of classes in a sample of it.

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
_WIDEST = 25.0  # of the logarithm of the odds of beta
_MOST_STEPS, _NEAR, _INSIDE = 60, 1e-9, 12.0  # of Newton's method for Pitman's formula, in the place's numbers
_NO_ALPHA = 30.0  # of the logarithm of the odds of alpha, with a minus: as good as none
_ROUNDING, _FLAT = 1e-13, 1e-9  # of a likelihood, relative; what bends less has no certain maximum
_FEW = 1 << 20  # sizes up to which classes are counted in a table of all sizes


@dataclass(frozen=True, eq=False)
class SizeCounts:
    """How many classes of each size a sample has."""

    sizes: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if not len(self.sizes) or int(self.sizes.min()) < 1 or len(self.sizes) != len(self.counts):
            raise InputError("The sizes of classes must be one or more, each at least 1 and with its count")

    @classmethod
    def of(cls, sizes: NDArray[np.integer]) -> SizeCounts:
        """Of the sizes of all classes."""
        sizes = np.asarray(sizes, np.int64)
        if len(sizes) and int(sizes.min()) >= 0 and int(sizes.max()) <= _FEW:
            of_each = np.bincount(sizes)
            distinct = np.flatnonzero(of_each)
            return cls(distinct, of_each[distinct])
        distinct, counts = np.unique(sizes, return_counts=True)
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
    chosen, estimate = uniques_by("dankar", classes, population)
    if population == classes.records or not classes.of_size(1):
        return PopulationUniques(population, estimate, estimate, estimate, chosen, estimate)
    pitman = estimate if chosen == "Pitman" else pitman_uniques(classes, population)
    snb = estimate if chosen == "SNB" else snb_uniques(classes, population)
    return PopulationUniques(population, zayatz_uniques(classes, population), pitman, snb, chosen, estimate)


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
    place = _pitman_by_newton(classes)
    if place is None:
        place = _pitman_without_alpha(classes)
    if place is None:
        place = _pitman_by_simplex(classes)
    return None if place is None else _pitman_place(place)


def _pitman_by_newton(classes: SizeCounts) -> Floats | None:
    """Where the likelihood is largest, by some ten damped steps; None where it is not inside or not reached."""
    alone = min(max(classes.of_size(1) / classes.classes, 0.05), 0.95)  # which alpha tends to in large samples
    place = np.array([math.log(alone / (1.0 - alone)), 1.0])
    value, slope, bend = _pitman_slopes(place, classes)
    damping = 0.0
    for _ in range(_MOST_STEPS):
        step = _downhill(slope, bend, damping)
        if not math.isfinite(float(step.sum())) or float(np.abs(place).max()) > _INSIDE:
            return None
        after = _pitman_slopes(place + step, classes)
        if not after[0] <= value + _ROUNDING * abs(value):  # uphill, or no number
            damping = max(4.0 * damping, 1e-2)
            continue
        place, damping = place + step, damping / 8.0 if damping > 1e-6 else 0.0
        value, slope, bend = after
        if float(np.abs(step).max()) < _NEAR and damping == 0.0:
            least = float(np.linalg.eigvalsh(bend)[0])
            return place if least > _FLAT else None
    return None


def _downhill(slope: Floats, bend: Floats, damping: float) -> Floats:
    """Newton's step, no longer than 2 in either direction; curvature downwards is taken as upwards."""
    curves, axes = np.linalg.eigh(bend)
    curves = np.maximum(np.abs(curves), 1e-12)
    step = -axes @ ((axes.T @ slope) / (curves + damping * float(curves.max())))
    return np.asarray(step / max(1.0, float(np.abs(step).max()) / 2.0))


def _pitman_slopes(place: Floats, classes: SizeCounts) -> tuple[float, Floats, Floats]:
    """Minus the likelihood's logarithm at a place, its slope and its second derivatives there."""
    from scipy.special import gammaln, psi, zeta

    theta, alpha = _pitman_place(place)
    u, n, counts = classes.classes, classes.records, classes.counts
    z = theta / alpha
    # where the sums of 1/(z + i), i < u, of 1/(theta + i), i < n, and of 1/(i - alpha) in each class start and end
    at = np.concatenate(([z + u, z + 1.0, theta + n, theta + 1.0, 1.0 - alpha], classes.sizes - alpha))
    logs, firsts, seconds = gammaln(at), psi(at), zeta(2.0, at)

    def between(values: Floats) -> tuple[float, float, float]:
        inside = float(counts @ (values[5:] - values[4]))
        return float(values[0] - values[1]), float(values[2] - values[3]), inside

    (new, seats, inside), (new1, seats1, inside1), (new2, seats2, inside2) = map(between, (logs, firsts, seconds))
    value = (u - 1) * math.log(alpha) + new - seats + inside
    by_theta = new1 / alpha - seats1
    by_alpha = (u - 1) / alpha - new1 * z / alpha - inside1
    theta_theta = new2 / alpha**2 - seats2
    theta_alpha = -(new1 + new2 * z) / alpha**2
    alpha_alpha = (2.0 * new1 * z + new2 * z**2 - (u - 1)) / alpha**2 + inside2
    # in the place's own numbers: alpha moves by alpha (1 - alpha), and theta with it the other way
    moved, above = alpha * (1.0 - alpha), theta + alpha
    along = by_alpha - by_theta
    first = alpha_alpha - 2.0 * theta_alpha + theta_theta
    slope = np.array([moved * along, above * by_theta])
    mixed = moved * above * (theta_alpha - theta_theta)
    bend = np.array(
        [
            [moved**2 * first + moved * (1.0 - 2.0 * alpha) * along, mixed],
            [mixed, above**2 * theta_theta + above * by_theta],
        ]
    )
    return -value, -slope, -bend


def _pitman_without_alpha(classes: SizeCounts) -> Floats | None:
    """The place at the edge where alpha is 0, Ewens' formula, if the likelihood falls from there inwards."""
    from scipy.optimize import brentq
    from scipy.special import psi

    u, n = classes.classes, classes.records

    def more(log_theta: float) -> float:
        """Classes expected of theta beyond those there are: it rises."""
        theta = math.exp(log_theta)
        return theta * float(psi(theta + n) - psi(theta)) - u

    low, high = -25.0, 25.0
    if not more(low) < 0 < more(high):
        return None
    log_theta = float(brentq(more, low, high, xtol=1e-13))
    inwards = u * (u - 1) / 2.0 * math.exp(-log_theta) - float(classes.counts @ (psi(classes.sizes) - psi(1.0)))
    return np.array([-_NO_ALPHA, log_theta]) if inwards < 0 else None


def _pitman_by_simplex(classes: SizeCounts) -> Floats | None:
    """The same without slopes, for likelihoods too flat or too steep; some forty times slower."""
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
    return np.asarray(best.x, np.float64)


def _pitman_place(place: Floats) -> tuple[float, float]:
    """Two numbers without bounds to alpha in (0, 1) and theta above -alpha."""
    alpha = 1.0 / (1.0 + math.exp(-min(max(float(place[0]), -_NO_ALPHA), _NO_ALPHA)))
    return math.exp(min(max(float(place[1]), -30.0), 40.0)) - alpha, alpha


def _pitman_likelihood(theta: float, alpha: float, classes: SizeCounts) -> float:
    """The logarithm, without the terms that know neither parameter."""
    from scipy.special import gammaln

    u, n = classes.classes, classes.records
    # not as gamma functions of theta / alpha, which cancel to noise where alpha is small
    new = float(np.log(theta + alpha * np.arange(1, u)).sum())
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
    from scipy.optimize import brentq

    fraction = classes.records / population
    number = population_classes(classes, fraction)

    def uniques(place: float) -> float:
        """The logarithm of what is expected over what is there, where pairs to uniques are as they are there."""
        alpha = _alpha_of(place, pairs / singles, fraction)
        beta, rest = _odds(place)
        within = fraction + (1 - fraction) * beta
        once = math.log1p(alpha * (1 - fraction) * rest / within) - alpha * math.log1p(fraction * rest / beta)
        return math.log(number * fraction / singles) + once

    # it rises with beta, so that there is one place where it is none, or none
    low, high = (uniques(end) for end in (-_WIDEST, _WIDEST))
    place = brentq(uniques, -_WIDEST, _WIDEST, xtol=1e-13) if low < 0 < high else math.copysign(_WIDEST, -low)
    alpha, beta = _alpha_of(place, pairs / singles, fraction), _odds(place)[0]
    once, twice = snb_expected(number, alpha, beta, fraction)
    missed = max(abs(once / singles - 1.0), abs(twice / pairs - 1.0))
    return (number, alpha, beta) if missed <= _CLOSE else None


def _odds(place: float) -> tuple[float, float]:
    """beta from the logarithm of its odds, and 1 - beta without cancellation."""
    return 1.0 / (1.0 + math.exp(-place)), 1.0 / (1.0 + math.exp(place))


def _alpha_of(place: float, ratio: float, fraction: float) -> float:
    """The one alpha at which expected pairs are so many times the expected uniques: the root of a quadratic."""
    beta, rest = _odds(place)
    q, within = (1 - fraction) * rest, fraction + (1 - fraction) * beta
    square = q * rest * fraction
    linear = rest * fraction * (2 - q) - 2 * ratio * within * q
    constant = 2 * ratio * within**2  # with a minus: the roots have different signs
    root = math.sqrt(linear**2 + 4 * square * constant)
    return 2 * constant / (linear + root) if linear > 0 else (root - linear) / (2 * square)


def snb_expected(number: float, alpha: float, beta: float, fraction: float) -> tuple[float, float]:
    """How many classes have one and two records in a sample in which everyone is with chance `fraction`."""
    q = (1 - fraction) * (1 - beta)
    none = (beta / (1 - q)) ** alpha
    once = number * fraction * none * (alpha * q / (1 - q) + 1)
    twice = number * fraction**2 / 2 * alpha * (1 - beta) * none / (1 - q) ** 2 * (2 - (1 - alpha) * q)
    return once, twice


# ---------------------------------------------------------------- individual risk
# The individual risk of Benedetti and Franconi: who is found in a sample whose weights tell of the population.
#
# Of a class with f records in the sample and estimated F in the population (the sum of its weights), the
# population frequency given f is taken as negative binomial with success probability p = f / F; the risk of each
# of its records is the mean of 1/F under that law (Benedetti and Franconi 1998; Franconi and Polettini 2004, as
# sdcMicro and mu-Argus compute it). With q = 1 - p that mean is (p / f) 2F1(1, 1; f + 1; q), a series of positive
# terms.


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


# ---------------------------------------------------------------- special uniques
# Scores of special uniques: records that few columns already make unique.
#
# A minimal sample unique (MSU) is a set of columns on which a record is unique and on no subset of which it is.
# Its weight grows the fewer columns it has; a record's SUDA score is the sum over its MSUs (Elliot, Manning,
# Mayes, Gurd and Bane 2005; Manning, Haglin and Keane 2008). The data intrusion simulation (DIS; Skinner and
# Elliot 2002) estimates from uniques and pairs how often a unique match is the right one; spread over the records
# by their scores it is their DIS-SUDA score, as sdcMicro computes it from the scores of the International
# Household Survey Network.


def elliot_weights(columns: int, largest: int) -> tuple[float, ...]:
    """The weight of an MSU of 1, 2, ... columns: the product of (columns - i), i from its size to the largest."""
    last = min(largest, columns - 1)
    return tuple(float(math.prod(columns - i for i in range(size, last + 1))) for size in range(1, largest + 1))


def ihsn_weights(columns: int, largest: int) -> tuple[float, ...]:
    """The same as the International Household Survey Network has them: shares of all sets of columns above it."""
    return tuple(
        (2.0 ** (columns - size) - 1) / math.comb(columns, size) for size in range(1, min(largest, columns) + 1)
    )


def intrusion_simulation(uniques: int, paired: int, fraction: float) -> float:
    """DIS: the chance that a unique match is right; `paired` records are in classes of two.

    `fraction` is the share of the population that the sample is.
    """
    alone = uniques * fraction
    return 0.0 if not uniques else alone / (alone + paired * (1.0 - fraction))


def dis_scores(scores: Floats, columns: int, uniques: int, dis: float) -> Floats:
    """The DIS spread over records by their scores; 0 where a record has no MSU."""
    special = scores > 0
    if not special.any() or dis <= 0.0:
        return np.zeros_like(scores)
    power = np.where(special, scores, 1.0) ** (1.0 + (8.0 - columns) / 20.0)
    adjusted = float((1.0 / power[special]).sum())
    spread = 1.0 / (1.0 + (uniques / dis - uniques) / (power * adjusted))
    return np.where(special, spread, 0.0)
