"""Bends of single coordinates by sinh-arcsinh maps, fitted to draws of many at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from refti.tuning import tuned


@dataclass(frozen=True)
class BendTuning:
    """Numbers of the fit of bends."""

    heaviest_tail: float = tuned(
        0.4,
        "falls as exp(-c |x|^0.8), heavier than the exponential tails that logarithms of positive "
        "parameters have; heavier ones are for a Student-t",
    )
    lightest_tail: float = tuned(
        1.6,
        "falls as exp(-c |x|^3.2); draws say nothing beyond the outermost of them, and a reference "
        "that falls faster than the posterior gives delta a long upper tail",
    )
    largest_skew: float = tuned(3.0, "far beyond that of any posterior seen")
    prior_of_skew: float = tuned(1.0, "standard deviation of the skew's prior, a wide one")
    prior_of_tail: float = tuned(0.4, "standard deviation of the log tail's prior, a wide one")
    least_gain: float = tuned(
        5.0, "nats that a bend has to gain, which the draws of a Gaussian do once in 150"
    )
    steps: int = tuned(40, "of Newton's method at the most")
    heavy_start: float = tuned(0.5, "the tail that a climb begins with where draws lie far out")
    groups: int = tuned(80, "of draws that a likelihood is summed over, whatever their number")


TUNING = BendTuning()


@dataclass(frozen=True)
class Bend:
    """The map location + scale * sinh((asinh v + skew) / tail) of every coordinate."""

    location: np.ndarray
    scale: np.ndarray
    skew: np.ndarray
    tail: np.ndarray

    @staticmethod
    def straight(dim: int) -> Bend:
        """The identity."""
        return Bend(np.zeros(dim), np.ones(dim), np.zeros(dim), np.ones(dim))

    def straighten(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The v[n, dim] that are bent to x[n, dim], and log dv / dx of each."""
        standard = (x - self.location) / self.scale
        angle = self.tail * np.arcsinh(standard) - self.skew
        # Beyond this sinh and its square are no numbers; no draw that was fitted lies there.
        angle = np.clip(angle, -300, 300)
        slope = np.log(self.tail / self.scale) + _log_cosh(angle) - np.log(np.hypot(1, standard))
        return np.sinh(angle), slope


def condense(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points[m, dim] and weights[m] that stand for the draws x[n, dim] of each coordinate.

    The sorted draws are averaged in groups about as wide as each other, so those in the tails
    stay as they are; a likelihood over them costs the same for any number of draws.
    """
    ordered = np.sort(x, axis=0)
    edges = np.rint(len(x) * ndtr(np.linspace(-4, 4, TUNING.groups + 1))).astype(int)
    starts = np.unique(np.concatenate([[0], edges]))
    starts = starts[starts < len(x)]
    weights = np.diff(np.append(starts, len(x))).astype(float)
    return np.add.reduceat(ordered, starts, axis=0) / weights[:, None], weights


def fit_bends(draws: np.ndarray) -> Bend:
    """The bend of the greatest posterior density for each coordinate of draws[n, dim].

    A coordinate whose bend does not gain enough over a Gaussian of its mean and variance keeps
    that.
    """
    points, weights = condense(draws)
    middle = np.average(points, axis=0, weights=weights)
    spread = np.sqrt(np.average((points - middle) ** 2, axis=0, weights=weights))
    standard = (points - middle) / spread
    gaussian = np.zeros((points.shape[1], 4))
    unbent = _values(standard, weights, gaussian)
    # A few draws far out make the variance; their tail is found from where most draws are.
    heavy = _from_quartiles(standard, weights)
    is_heavy = _values(standard, weights, heavy) > unbent
    free = _climb(standard, weights, np.where(is_heavy[:, None], heavy, gaussian))
    gain = _values(standard, weights, free) - unbent
    free = np.where((gain > TUNING.least_gain)[:, None], free, gaussian)
    shift, log_scale, skew, log_tail = free.T
    return Bend(middle + spread * shift, spread * np.exp(log_scale), skew, np.exp(log_tail))


def _from_quartiles(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """A heavy-tailed start at the median and with the quartiles of sorted points."""
    share = np.cumsum(weights) / weights.sum()
    low, middle, high = points[np.searchsorted(share, [0.25, 0.5, 0.75])]
    scale = np.clip((high - low) / 1.35 * TUNING.heavy_start, 1e-4, 1.0)
    start = [
        middle,
        np.log(scale),
        np.zeros_like(middle),
        np.full_like(middle, np.log(TUNING.heavy_start)),
    ]
    return np.stack(start, axis=1)


def _climb(points: np.ndarray, weights: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The maxima over free[dim, 4] = shift, log scale, skew, log tail, within bounds.

    Newton's steps, damped as far as each coordinate needs, all coordinates at a time. Of the
    curvature only the part is kept that is never of the wrong sign.
    """
    low = np.array([-5.0, -12.0, -TUNING.largest_skew, np.log(TUNING.heaviest_tail)])
    high = np.array([5.0, 3.0, TUNING.largest_skew, np.log(TUNING.lightest_tail)])
    damping = np.full(len(free), 0.01)
    value, gradient, curvature = _expansion(points, weights, free)
    for _ in range(TUNING.steps):
        diagonal = np.einsum("dii->di", curvature)
        # What presses against a bound stays there, and the others step without it.
        moves = ~(((free <= low) & (gradient < 0)) | ((free >= high) & (gradient > 0)))
        both = moves[:, :, None] & moves[:, None, :]
        added = np.where(moves, damping[:, None] * diagonal, 1.0)
        damped = np.where(both, curvature, 0.0) + added[:, :, None] * np.eye(4)
        step = np.linalg.solve(damped, np.where(moves, gradient, 0.0)[..., None])[..., 0]
        step = np.clip(step, -0.5, 0.5)
        trial = np.clip(free + step, low, high)
        found = _expansion(points, weights, trial)
        better = found[0] > value
        gained = np.where(better, found[0] - value, 0.0)
        free = np.where(better[:, None], trial, free)
        value = np.where(better, found[0], value)
        gradient = np.where(better[:, None], found[1], gradient)
        curvature = np.where(better[:, None, None], found[2], curvature)
        # A coordinate that is done stays where it is, however far it is damped.
        damping = np.clip(np.where(better, 0.3 * damping, 5 * damping), 1e-6, 1e6)
        if np.all((gained < 0.01) & (better | (damping > 10))):
            break
    return free


def _values(points: np.ndarray, weights: np.ndarray, free: np.ndarray) -> np.ndarray:
    return _expansion(points, weights, free)[0]


def _expansion(
    points: np.ndarray, weights: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log posterior[dim], its gradient[dim, 4] and minus its curvature through the angle."""
    shift, log_scale, skew, log_tail = free.T
    scale, tail = np.exp(log_scale), np.exp(log_tail)
    standard = (points - shift) / scale
    root = np.hypot(1, standard)
    turn = np.arcsinh(standard)
    angle = np.clip(tail * turn - skew, -30, 30)
    v = np.sinh(angle)
    values = -0.5 * v**2 + _log_cosh(angle) - np.log(root) + log_tail - log_scale
    by_angle = np.tanh(angle) - v * np.cosh(angle)
    by_standard = by_angle * tail / root - standard / root**2
    scores = [
        -by_standard / scale,
        -by_standard * standard - 1,
        -by_angle,
        by_angle * tail * turn + 1,
    ]
    by_free = np.stack(
        [-tail / (scale * root), -tail * standard / root, np.full_like(root, -1.0), tail * turn]
    )
    precision = np.array([0.0, 0.0, TUNING.prior_of_skew**-2, TUNING.prior_of_tail**-2])
    value = weights @ values - 0.5 * free**2 @ precision
    gradient = np.stack([weights @ score for score in scores], axis=1) - precision * free
    bend = weights[:, None] * (np.cosh(2 * angle) - np.cosh(angle) ** -2)
    curvature = np.einsum("ind,jnd->dij", by_free * bend, by_free, optimize=True)
    return value, gradient, curvature + np.diag(precision + 1e-9)


def _log_cosh(angle: np.ndarray) -> np.ndarray:
    size = np.abs(angle)
    return size + np.log1p(np.exp(-2 * size)) - np.log(2)
