"""From a local epsilon to the channel of least expected error, in integers that keep it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from pramana.errors import InputError, RecipeError, UnreachableError
from pramana.mechanisms.channel import Channel, Dense, Retention
from pramana.mechanisms.table import Product
from pramana.methods.recipe import Recipe
from pramana.methods.retention.calibration import Wanted
from pramana.methods.retention.setting import RetentionColumn, RetentionSetting
from pramana.schema.domain import Attribute, Axis, Domain
from pramana.schema.kind import Kind

# Channels in closed form. Each takes e^epsilon and publishes values of the domain; rows are true values.


Floats = NDArray[np.float64]


def kept_or_redrawn(size: int, ratio: float) -> Floats:
    """Retention: optimal for nominal values where epsilon is large (Kairouz, Oh and Viswanath 2014)."""
    step = 1 / (size - 1 + ratio)
    return np.full((size, size), step) + (ratio - 1) * step * np.eye(size)


def square_wave(line: Floats, ratio: float, half: float) -> Floats:
    """Li et al. 2020 (SIGMOD): e^epsilon times as likely within `half` of the true place as elsewhere.

    Places go from -half to 1 + half; published is the value whose equal part of that line the place falls in. So
    the published values are numbers to estimate from, spread wider than the true ones.
    """
    size = len(line)
    edges = np.linspace(-half, 1 + half, size + 1)
    near = np.minimum(edges[1:], line[:, None] + half) - np.maximum(edges[:-1], line[:, None] - half)
    part, low = (1 + 2 * half) / size, 1 / (2 * half * ratio + 1)
    return np.asarray(low * part + low * (ratio - 1) * np.clip(near, 0.0, part))


def two_point(line: Floats, ratio: float) -> Floats:
    """Duchi, Jordan and Wainwright 2018: the lowest or the highest value, with a chance that is straight in x.

    It tells the mean alone: every other value is never published.
    """
    matrix = np.zeros((len(line), len(line)))
    matrix[:, -1] = (1 + (ratio - 1) * line) / (ratio + 1)
    matrix[:, 0] = 1 - matrix[:, -1]
    return matrix


def with_missing(matrix: Floats, ratio: float) -> Floats:
    """The same channel with one more value, in no order with the others, e^epsilon times as likely when true."""
    least = matrix.min(axis=0)
    shared = float(least.sum())
    if shared >= 1:
        raise ValueError("rows that are all alike have no epsilon to give a missing category")
    chance = (1 - shared) / (ratio - shared)
    wider = np.empty((len(matrix) + 1, len(matrix) + 1))
    wider[:-1, :-1], wider[-1, :-1] = (1 - chance) * matrix, (1 - chance) * least
    wider[:-1, -1], wider[-1, -1] = chance, ratio * chance
    return wider


# The error to expect of a smooth column's distribution function, and the channel that lowers it.
#
# Beforehand the logarithms of the shares are taken for a random walk along the line around an expected shape:
# a law much like that of a recipient's estimate (`method="smooth"`). With normal laws for walk and counts the
# error left in the table's own distribution function is known in closed form (usefulness.md). It falls with
# Fisher's information, which is convex in the matrix: good matrices lie at corners of the channels that keep
# the ratio, and linear programs lead towards better ones.


Shape = Literal["even", "falling", "rising"]
Proposal = Callable[[Floats], Floats | None]
_FALLS = (4.0, 8.0)  # ln of how many times rarer the last value is than the first, where shares fall
_DRIFT = 1.0  # variance of the walk from end to end
_MOST_ROUNDS = 30
_PARTS = (1.0, 0.6, 0.35, 0.2, 0.1, 0.05, 0.02)  # of the way to a corner that are tried
_LEAST_GAIN = 1e-3
_FEW_VALUES = 24  # up to here columns of every pattern are tried, beyond only those that are high on an interval


@dataclass(frozen=True, eq=False)
class Walk:
    """Shares that walk around `expected`, `records` of them; `line` are the places of the values from 0 to 1."""

    line: Floats
    expected: Floats
    records: int

    @cached_property
    def gaps(self) -> Floats:
        return np.diff(self.line)

    @cached_property
    def precision(self) -> Floats:
        """Of the steps of the logarithms, for one record."""
        return np.diag(1 / (_DRIFT * self.gaps * self.records))

    @cached_property
    def drawn(self) -> Floats:
        """The covariance of the distribution function of one record: also minus its slope over the steps."""
        reached = np.cumsum(self.expected)[:-1]
        return np.minimum.outer(reached, reached) - np.outer(reached, reached)

    @cached_property
    def moves(self) -> Floats:
        """How a step of the logarithms moves the chance of what a value publishes with chance 1."""
        size = len(self.expected)
        beyond = np.triu(np.ones((size - 1, size)), 1)
        return np.asarray((beyond - (beyond @ self.expected)[:, None]) * self.expected)

    def left(self, matrix: Floats) -> tuple[Floats, Floats]:
        """The covariance of steps that the published counts leave, for one record, and each value's chance."""
        published = self.expected @ matrix
        used = published > 0
        seen = self.moves @ matrix[:, used] / np.sqrt(published[used])
        return np.asarray(np.linalg.inv(self.precision + seen @ seen.T), np.float64), published

    def error(self, matrix: Floats) -> float:
        """Squared, integrated over the line, of the table's own distribution function."""
        known = self.drawn + self.precision
        left, _ = self.left(matrix)
        covariance = np.einsum("ij,jk,ik->i", known, left, known) - np.diag(known)
        return float(covariance @ self.gaps) / self.records

    def slopes(self, matrix: Floats) -> Floats:
        """Of the error, over every entry of the matrix."""
        left, published = self.left(matrix)
        into = left @ (self.drawn + self.precision)
        worth = self.moves.T @ ((into * self.gaps) @ into.T / self.records) @ self.moves
        over = np.divide(1.0, published, out=np.zeros_like(published), where=published > 0)
        towards = worth @ matrix
        return np.asarray(
            np.outer(self.expected, np.einsum("xy,xy->y", matrix, towards) * over**2) - 2 * towards * over
        )


@dataclass(frozen=True, eq=False)
class SmoothError:
    """The mean over the shapes of the error to expect."""

    walks: tuple[Walk, ...]

    @classmethod
    def of(cls, line: Floats, shape: Shape, records: int) -> SmoothError:
        """Over what a column of this shape may look like beforehand."""
        at = line if shape != "rising" else 1 - line
        laws = [np.exp(-fall * at) for fall in ((0.0,) if shape == "even" else _FALLS)]
        return cls(tuple(Walk(line, law / law.sum(), records) for law in laws))

    def __call__(self, matrix: Floats) -> float:
        return float(np.mean([walk.error(matrix) for walk in self.walks]))

    def slopes(self, matrix: Floats) -> Floats:
        return np.asarray(np.mean([walk.slopes(matrix) for walk in self.walks], axis=0))

    def improved(self, matrix: Floats, patterns: Floats, ratio: float) -> Floats:
        """A matrix of less error: over columns of these patterns, then, of few values, of all the ratio allows."""
        better = self._descended(matrix, lambda slopes: _corner_of_patterns(slopes, patterns))
        if len(matrix) > _FEW_VALUES:
            return better
        return self._descended(better, lambda slopes: _corner(slopes, ratio))

    def _descended(self, matrix: Floats, corner: Proposal) -> Floats:
        error = self(matrix)
        for _ in range(_MOST_ROUNDS):
            proposed = corner(self.slopes(matrix))
            if proposed is None:
                break
            tried = [(1 - part) * matrix + part * proposed for part in _PARTS]
            errors = [self(one) for one in tried]
            least = int(np.argmin(errors))
            if errors[least] > error * (1 - _LEAST_GAIN):
                break
            matrix, error = tried[least], errors[least]
        return matrix


def _corner_of_patterns(slopes: Floats, patterns: Floats) -> Floats | None:
    """The channel of such columns to which the error falls fastest; a pattern goes to the column it suits best."""
    by_column = patterns.T @ slopes
    column = by_column.argmin(axis=1)
    program = scipy.optimize.linprog(
        by_column.min(axis=1), A_eq=patterns, b_eq=np.ones(len(slopes)), method="highs-ds"
    )
    if program.x is None:
        return None
    matrix = np.zeros_like(slopes)
    np.add.at(matrix.T, column, (patterns * np.maximum(program.x, 0.0)).T)
    return matrix


def _corner(slopes: Floats, ratio: float) -> Floats | None:
    """The same over every channel: a column's entries lie between its least one and `ratio` times that."""
    size = len(slopes)
    entries, least = np.eye(size * size), np.kron(np.ones((size, 1)), np.eye(size))
    program = scipy.optimize.linprog(
        np.append(slopes.ravel(), np.zeros(size)),
        A_ub=np.block([[entries, -ratio * least], [-entries, least]]),
        b_ub=np.zeros(2 * size * size),
        A_eq=np.hstack([np.kron(np.eye(size), np.ones((1, size))), np.zeros((size, size))]),
        b_eq=np.ones(size),
        method="highs-ds",
    )
    return None if program.x is None else np.asarray(program.x[: size * size].reshape(size, size), np.float64)


# What a channel for values in order is judged by: the error to expect of what recipients estimate through it.


ErrorOf = Literal["mean", "distribution", "table", "smooth"]
WORST_CONDITION = 1e9  # a thousandth of what estimates refuse to invert


@dataclass(frozen=True, eq=False)
class Criterion:
    """Values at `positions` on a line, all alike likely beforehand, and `records` of them.

    "mean": squared error of the mean. "distribution": squared error of the distribution function, integrated
    over the line. "table": squared error of the cells. "smooth": as the distribution, where neighbouring values
    are known to be about equally frequent, and estimated so; `shape` then says what else is known of the shares.
    """

    positions: Floats
    error_of: ErrorOf = "distribution"
    records: int = 100_000
    shape: Shape = "even"

    def __post_init__(self) -> None:
        if (
            len(self.positions) < 2
            or not np.isfinite(self.positions).all()
            or (np.diff(self.positions) <= 0).any()
        ):
            raise InputError(
                "The positions of ordered values must be finite numbers that ascend",
                f"{len(self.positions)} that do not",
            )
        if self.error_of not in get_args(ErrorOf):
            raise InputError(f"error_of must be one of {', '.join(get_args(ErrorOf))}", repr(self.error_of))
        if self.shape not in get_args(Shape):
            raise InputError(f"shape must be one of {', '.join(get_args(Shape))}", repr(self.shape))
        if self.shape != "even" and self.error_of != "smooth":
            raise InputError('A shape must go with error_of = "smooth"', f"error_of = {self.error_of!r}")

    @property
    def size(self) -> int:
        return len(self.positions)

    @cached_property
    def line(self) -> Floats:
        """The positions from 0 to 1."""
        low, high = self.positions[0], self.positions[-1]
        return np.asarray((self.positions - low) / (high - low), np.float64)

    @cached_property
    def weight(self) -> Floats:
        """W: an error d in the shares costs d'Wd."""
        if self.error_of == "mean":
            off = self.line - self.line.mean()
            return np.outer(off, off)
        if self.error_of == "table":
            return np.eye(self.size)
        below = np.tril(np.ones((self.size, self.size)))[:-1]
        return np.asarray((below.T * np.diff(self.line)) @ below)

    @property
    def prior(self) -> Floats:
        """What is known of the shares beforehand: as much as the flat Dirichlet law knows."""
        return np.eye(self.size) * self.size * (self.size + 1)

    def information(self, matrix: Floats) -> Floats:
        """Fisher's, of a record about the shares, where all are alike."""
        published = matrix.mean(axis=0)
        used = published > 0
        return np.asarray((matrix[:, used] / published[used]) @ matrix[:, used].T)

    def risk(self, information: Floats) -> float:
        """tr W (prior + n I)^-1: the error of the best linear estimate. Convex in the information."""
        return float(np.sum(self.weight * np.linalg.inv(self.prior + self.records * information)))

    def expected_error(self, matrix: Floats) -> float:
        """Of the mean, without bias by inversion, as recipients estimate it; else the risk. Less is better."""
        if not np.linalg.cond(matrix) < WORST_CONDITION:
            return math.inf
        if self.error_of == "smooth":
            return self.smooth_error(matrix)
        if self.error_of != "mean":
            return self.risk(self.information(matrix))
        numbers = np.linalg.solve(matrix, self.line)
        return float(np.mean(matrix @ numbers**2 - self.line**2)) / self.records

    @cached_property
    def smooth_error(self) -> SmoothError:
        return SmoothError.of(self.line, self.shape, self.records)


# The best channel among those whose published values each say "in this interval", by convex optimisation.
#
# An optimal channel is made of columns with two levels, L and L e^epsilon (Kairouz, Oh and Viswanath 2014). With
# columns theta_j s_j, s_j the levels of pattern j, rows sum to 1 where sum theta_j s_j = 1, and Fisher's
# information, sum theta_j s_j s_j'/mean(s_j), is linear in theta: the risk is convex, the constraints are linear.
# Patterns are high on an interval of the values. Linear programs propose vertices, a multiplicative rule mixes
# them (simplicial decomposition), and the programs bound what any such channel can reach. A mixture has more
# columns than the domain has values: columns are joined, those first whose joining costs least (a published value
# may always be made coarser), and named so that they lie near their true values.


_MOST_DESIGN_ROUNDS = 20
_CLOSE = 0.01  # of the risk, that a mixture may be above the bound
_FEW_VALUES_DESIGNED = 12  # up to here every width of an interval is tried
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class Design:
    """The channel, and a risk that no channel of intervals is below, however many values it publishes."""

    matrix: Floats
    bound: float


def interval_design(criterion: Criterion, ratio: float) -> Design:
    levels = interval_patterns(criterion.size, ratio)
    theta, gradient, bound = _mixed(criterion, levels, ratio)
    columns = levels * theta
    joined = _joined(columns[:, theta > _NOTHING], gradient, criterion.size)
    return Design(named_near(joined, criterion.line), bound)


def interval_patterns(size: int, ratio: float) -> Floats:
    """The levels of every interval, one a column; of many values those of few widths, and all from either end."""
    first, last = np.triu_indices(size)
    width = last - first + 1
    few = np.unique(np.round(np.geomspace(1, size, max(2, 4 * _FEW_VALUES_DESIGNED))).astype(int))
    tried = np.isin(width, few) | (first == 0) | (last == size - 1) | (size <= _FEW_VALUES_DESIGNED)
    tried &= width < size
    values = np.arange(size)[:, None]
    return np.where((values >= first[tried]) & (values <= last[tried]), ratio, 1.0)


def _mixed(criterion: Criterion, levels: Floats, ratio: float) -> tuple[Floats, Floats, float]:
    """theta, the gradient K W K of the risk at its information, and the bound."""
    size, records, weight = criterion.size, criterion.records, criterion.weight
    scaled = levels / np.sqrt(levels.mean(axis=0))
    theta = np.where((levels > 1).sum(axis=0) == 1, kept_or_redrawn(size, ratio)[0, 1], 0.0)
    vertices, informations = [theta], [_information(scaled, theta)]
    shares, bound = np.ones(1), 0.0
    for _ in range(_MOST_DESIGN_ROUNDS):
        at = np.linalg.inv(criterion.prior + records * np.tensordot(shares, informations, 1))
        gradient = at @ weight @ at
        slopes = -records * np.einsum("ij,ij->j", scaled, gradient @ scaled)
        program = scipy.optimize.linprog(slopes, A_eq=levels, b_eq=np.ones(size), method="highs-ds")
        if program.x is None or program.fun is None:
            break
        risk = float(np.sum(weight * at))
        above = float(shares @ [slopes @ vertex for vertex in vertices]) - float(program.fun)
        bound = max(bound, risk - above)
        if above < _CLOSE * risk:
            break
        vertices.append(np.maximum(program.x, 0.0))
        informations.append(_information(scaled, vertices[-1]))
        shares = _best_shares(criterion, np.array(informations), np.append(0.8 * shares, 0.2))
        kept = np.flatnonzero(shares > 1e-4)
        shares = shares[kept] / shares[kept].sum()
        vertices, informations = [vertices[i] for i in kept], [informations[i] for i in kept]
    return np.tensordot(shares, vertices, 1), gradient, bound


def _information(scaled: Floats, theta: Floats) -> Floats:
    used = theta > 0
    return np.asarray((scaled[:, used] * theta[used]) @ scaled[:, used].T)


def _best_shares(criterion: Criterion, informations: Floats, shares: Floats) -> Floats:
    """Each share by the square root of its slope: the risk falls in every step (Torsney's rule)."""
    flat = informations.reshape(len(informations), -1)
    for _ in range(80):
        mixed = (shares @ flat).reshape(criterion.size, criterion.size)
        at = np.linalg.inv(criterion.prior + criterion.records * mixed)
        slopes = flat @ (at @ criterion.weight @ at).ravel()
        moved = shares * np.sqrt(slopes / (shares @ slopes))
        moved /= moved.sum()
        if float(np.abs(moved - shares).max()) < 1e-4:
            return moved
        shares = moved
    return shares


def _joined(columns: Floats, gradient: Floats, most: int) -> Floats:
    """At most so many columns. Joining i and j costs q_i q_j/(q_i+q_j) d'Gd, d between their shapes (Ward)."""
    published = columns.mean(axis=0)
    values, vectors = np.linalg.eigh(gradient)
    shapes = ((vectors * np.sqrt(np.maximum(values, 0.0))).T @ (columns / published)).T
    columns = columns.copy()
    alive = np.ones(len(published), bool)

    def costs(i: int) -> Floats:
        off = shapes - shapes[i]
        cost = published * published[i] / (published + published[i]) * np.einsum("ij,ij->i", off, off)
        return np.where(alive & (np.arange(len(alive)) != i), cost, np.inf)

    table = np.array([costs(i) for i in range(len(alive))])
    while alive.sum() > most:
        i, j = divmod(int(np.argmin(table)), len(alive))
        both = published[i] + published[j]
        shapes[i] = (published[i] * shapes[i] + published[j] * shapes[j]) / both
        columns[:, i] += columns[:, j]
        published[i], alive[j] = both, False
        table[j], table[:, j] = np.inf, np.inf
        table[i] = table[:, i] = costs(i)
    return columns[:, alive]


def named_near(columns: Floats, line: Floats) -> Floats:
    """Each column under the value that makes published values lie nearest to the true ones, all in all."""
    far = columns.T @ np.abs(line[:, None] - line[None, :])
    column, value = scipy.optimize.linear_sum_assignment(far)
    matrix = np.zeros((len(line), len(line)))
    matrix[:, value] = columns[:, column]
    return matrix


MOST_VALUES = 256
_MOST_DESIGNED = 100  # beyond, only the closed forms: the linear programs would take minutes
_MOST_IMPROVED = 60  # beyond, a smooth column gets a square wave, for the same reason
_STARTS_WITH = 0.03  # of retention: a column that nothing uses would never be used
_HALVES = 48  # widths of the square wave that are tried
_ADDED = (0.0, 0.01, 0.05)  # shares of retention that are mixed in, so that a channel can be inverted
_HAIR = 1e-7  # epsilon is calculated with so much less, for what rounding adds
_MOST_RATIO = 1e9  # there retention errs hardly ever


@dataclass(frozen=True, eq=False)
class OrderedValues:
    """An attribute's values on a line, what is to be estimated best, and whether a missing category comes last."""

    criterion: Criterion
    missing: bool = False

    def __post_init__(self) -> None:
        if self.criterion.size > MOST_VALUES:
            raise InputError(
                f'channel = "ordered" must have at most {MOST_VALUES} values',
                str(self.criterion.size),
                "Put the values into bins.",
            )

    @property
    def size(self) -> int:
        return self.criterion.size + self.missing


def ordered_channel(values: OrderedValues, ratio: Fraction, design: bool = True) -> Channel:
    """Of the square waves, the two-point channel, the optimised one and retention, the one with the least error.

    None has two chances for a published value that differ by more than `ratio`: decided on the integers.
    """
    kept = _retention(values.size, ratio)
    if values.criterion.size < 3 or not 1 < ratio < _MOST_RATIO:
        return kept
    best: Floats | None = None
    least = values.criterion.expected_error(kept_or_redrawn(values.criterion.size, float(ratio)))
    for matrix in _candidates(values.criterion, 1 + (float(ratio) - 1) * (1 - _HAIR), design):
        error = values.criterion.expected_error(matrix)
        if error < least:
            best, least = matrix, error
    if best is None:
        return kept
    return in_integers(with_missing(best, float(ratio) * (1 - _HAIR)) if values.missing else best, ratio)


def _candidates(criterion: Criterion, ratio: float, design: bool) -> Iterator[Floats]:
    waves = [square_wave(criterion.line, ratio, half) for half in np.geomspace(0.2 / criterion.size, 1.0, _HALVES)]
    kept = kept_or_redrawn(criterion.size, ratio)
    optimised = []
    if design and criterion.error_of == "smooth" and criterion.size <= _MOST_IMPROVED:
        near = min(waves, key=criterion.smooth_error)
        start = (1 - _STARTS_WITH) * near + _STARTS_WITH * kept
        better = criterion.smooth_error.improved(start, interval_patterns(criterion.size, ratio), ratio)
        optimised = [named_near(better, criterion.line)]
    elif design and criterion.error_of != "smooth" and criterion.size <= _MOST_DESIGNED:
        optimised = [interval_design(criterion, ratio).matrix]
    for matrix in [*waves, *optimised, two_point(criterion.line, ratio)]:
        for added in _ADDED:
            yield (1 - added) * matrix + added * kept


def _retention(size: int, ratio: Fraction) -> Retention:
    """Corollary 2 solved for rho, in integers."""
    return Retention.at((ratio - 1) / (ratio - 1 + size), size)


def in_integers(matrix: Floats, ratio: Fraction) -> Dense:
    """Rounded out of 2^62 and checked; where the ratio is missed by a hair, blended with what tells nothing."""
    rows = np.maximum(matrix, 0.0)
    rows[:, rows.min(axis=0) < 1e-12] = 0.0  # never published, or hardly ever
    rows /= rows.sum(axis=1, keepdims=True)
    blend = 0.0
    for _ in range(40):
        tried = (1 - blend) * rows + blend * rows.mean(axis=0)
        exact = [[Fraction(entry) for entry in row] for row in tried.tolist()]
        channel = Dense.of([[entry / sum(row) for entry in row] for row in exact])
        reached = channel.likelihood_ratio
        if reached is not None and reached <= ratio:
            return channel
        blend = max(_HAIR, 2 * blend)
    raise UnreachableError("An ordered channel must reach its epsilon", "one that no blend reaches")


def with_ordered(law: Product, ordered: Mapping[str, OrderedValues], wanted: Wanted | None = None) -> Product:
    """The law with these attributes through ordered channels of the epsilon that their retention has.

    Their AR is at least 1/ratio^2, which is retention's: k is kept with epsilon. A central promise depends on
    the whole matrix; where it is missed the ordered attributes get less. Without `wanted` nothing is checked.
    """
    if not ordered:
        return law
    ratios = {name: law.channels[name].likelihood_ratio for name in ordered}
    for turn in range(30):
        part = Fraction(9, 10) ** turn
        channels = dict(law.channels)
        for name, values in ordered.items():
            ratio = ratios[name]
            if ratio is not None and ratio > 1:
                channels[name] = ordered_channel(values, 1 + (ratio - 1) * part, design=turn == 0)
        changed = Product(channels)
        if wanted is None or wanted.is_kept_by(changed):
            return changed
    raise UnreachableError(
        "The promise must be kept by ordered channels", "none that does", 'Leave out channel = "ordered".'
    )


# Columns with `channel = "ordered"`: where their values lie, and what is refused.


_PLANNED = 100_000  # records, where nobody says how many there will be
_FEWEST, _MOST = 1_000, 10_000_000


def ordered_columns(
    recipe: Recipe[RetentionSetting, RetentionColumn], attributes: tuple[Attribute, ...], records: int
) -> Mapping[str, OrderedValues]:
    """By column. The law follows from recipe, domains and number of records alone, never from a row."""
    named = {name: c for name, c in recipe.attributes.items() if c.channel == "ordered"}
    release = recipe.release
    if release.coin != "attribute":
        raise RecipeError('channel = "ordered" must go with coin = "attribute"', f"coin = {release.coin!r}")
    if release.retention is not None or any(c.retention is not None for c in recipe.attributes.values()):
        raise RecipeError('channel = "ordered" must go with k, epsilon or central', "a stated retention")
    by_name = {a.name: a for a in attributes if not a.raw}
    counted = min(max(records or _PLANNED, _FEWEST), _MOST)
    ordered = {}
    for name, column in named.items():
        if name not in by_name:
            raise RecipeError(f'The column {name!r} must be randomised to have channel = "ordered"', "a raw one")
        domain = by_name[name].coded
        if not domain.kind.has_order:
            raise RecipeError(
                f'The column {name!r} must have values in order for channel = "ordered"',
                f"the kind {domain.kind.value}",
                'State kind = "ordered" if its domain is in order. For names retention is the best there is here.',
            )
        if len(domain.labels) > 1:
            wanted = column.error_of or "distribution"
            criterion = Criterion(_positions(domain), wanted, counted, column.shape or "even")
            ordered[name] = OrderedValues(criterion, domain.missing)
    return ordered


def _positions(domain: Domain) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Numbers and days where they are; the middle of a bin, one without an end as wide as the next; else ranks."""
    ranks = np.arange(len(domain.labels), dtype=np.float64)
    axis = Axis.of_domain("", domain)
    if domain.kind not in (Kind.NUMBER, Kind.DATE) or axis.lower is None or axis.upper is None:
        return ranks
    low, high = np.array(axis.lower[: len(ranks)]), np.array(axis.upper[: len(ranks)])
    if np.isinf(low[0]):
        low[0] = high[0] - (high[1] - low[1] if np.isfinite(high[1]) else 1.0)
    if np.isinf(high[-1]):
        high[-1] = low[-1] + (high[-2] - low[-2] if np.isfinite(low[-2]) else 1.0)
    middles = (low + high) / 2
    return middles if np.isfinite(middles).all() and (np.diff(middles) > 0).all() else ranks
