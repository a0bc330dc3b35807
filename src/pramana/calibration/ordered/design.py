"""The best channel among those whose published values each say "in this interval", by convex optimisation.

An optimal channel is made of columns with two levels, L and L e^epsilon (Kairouz, Oh and Viswanath 2014). With
columns theta_j s_j, s_j the levels of pattern j, rows sum to 1 where sum theta_j s_j = 1, and Fisher's
information, sum theta_j s_j s_j'/mean(s_j), is linear in theta: the risk is convex, the constraints are linear.
Patterns are high on an interval of the values. Linear programs propose vertices, a multiplicative rule mixes them
(simplicial decomposition), and the programs bound what any such channel can reach. A mixture has more columns
than the domain has values: columns are joined, those first whose joining costs least (a published value may
always be made coarser), and named so that they lie near their true values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pramana.calibration.ordered.criterion import Criterion
from pramana.calibration.ordered.families import Floats, kept_or_redrawn

_MOST_ROUNDS = 20
_CLOSE = 0.01  # of the risk, that a mixture may be above the bound
_FEW_VALUES = 12  # up to here every width of an interval is tried
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
    few = np.unique(np.round(np.geomspace(1, size, max(2, 4 * _FEW_VALUES))).astype(int))
    tried = np.isin(width, few) | (first == 0) | (last == size - 1) | (size <= _FEW_VALUES)
    tried &= width < size
    values = np.arange(size)[:, None]
    return np.where((values >= first[tried]) & (values <= last[tried]), ratio, 1.0)


def _mixed(criterion: Criterion, levels: Floats, ratio: float) -> tuple[Floats, Floats, float]:
    """theta, the gradient K W K of the risk at its information, and the bound."""
    from scipy import optimize

    size, records, weight = criterion.size, criterion.records, criterion.weight
    scaled = levels / np.sqrt(levels.mean(axis=0))
    theta = np.where((levels > 1).sum(axis=0) == 1, kept_or_redrawn(size, ratio)[0, 1], 0.0)
    vertices, informations = [theta], [_information(scaled, theta)]
    shares, bound = np.ones(1), 0.0
    for _ in range(_MOST_ROUNDS):
        at = np.linalg.inv(criterion.prior + records * np.tensordot(shares, informations, 1))
        gradient = at @ weight @ at
        slopes = -records * np.einsum("ij,ij->j", scaled, gradient @ scaled)
        program = optimize.linprog(slopes, A_eq=levels, b_eq=np.ones(size), method="highs-ds")
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
    from scipy import optimize

    far = columns.T @ np.abs(line[:, None] - line[None, :])
    column, value = optimize.linear_sum_assignment(far)
    matrix = np.zeros((len(line), len(line)))
    matrix[:, value] = columns[:, column]
    return matrix
