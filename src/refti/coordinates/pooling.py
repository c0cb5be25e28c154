"""Pooling: coordinates that two terms of a density hold, one of them with a strength of its own.

A group of a hierarchy is held by its data with one precision and by its prior with another, which
grows without bound as the prior's scale falls. Given the others its precision is the sum of the
two, and its mean lies between theirs, by their shares of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Float

from refti.coordinates.tuning import TUNING


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["offset", "steepness", "lead", "lead_slopes"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Pooling:
    """What a second precision, exp(t) times the first, does to the coordinates y; p are parents.

    t = offset + steepness p
    mean(y) grows by sigmoid(t) (lead + lead_slopes p), log scale(y) by -softplus(t) / 2

    Attributes:
        offset: far below zero where there is no second precision.
        steepness: `[to, parent]`.
        lead: of the second mean over the first.
        lead_slopes: `[to, parent]`.
    """

    offset: Float[Array, " dim"]
    steepness: Float[Array, "dim parent"]
    lead: Float[Array, " dim"]
    lead_slopes: Float[Array, "dim parent"]

    def moments(self, p: Float[Array, " parent"]) -> tuple[Array, Array]:
        """What is added to the means and to the log scales."""
        t = self.offset + self.steepness @ p
        return jax.nn.sigmoid(t) * (self.lead + self.lead_slopes @ p), -0.5 * jax.nn.softplus(t)


NONE = -1e3  # the offset of a coordinate without a second precision


@dataclass(frozen=True, eq=False)
class PrecisionSum:
    """A precision that is constant, exp(first), and one that is not, exp(second + slopes x).

    Attributes:
        first: the log of the constant one.
        second: that of the other where the parents are zero.
        slopes: how it goes with each parent.
        deviation: of the logs of what was fitted, by which they miss.
    """

    first: float
    second: float
    slopes: np.ndarray
    deviation: float

    def log_precision(self, x: np.ndarray) -> np.ndarray:
        """The log of the sum at parents x[n, parent]."""
        return np.logaddexp(self.first, self.second + x @ self.slopes)

    def shares(self, x: np.ndarray) -> np.ndarray:
        """The second's share of the precision at parents x[n, parent]."""
        return _sigmoid(self.second - self.first + x @ self.slopes)


def fit_precision_sum(x: np.ndarray, log_precision: np.ndarray) -> PrecisionSum | None:
    """The sum that log precisions [n] at parents x[n, parent] are, as nearly as can be.

    None if only one of the two is to be seen.
    """
    if not np.isfinite(log_precision).all():
        return None
    features = np.hstack([np.ones((len(x), 1)), x])
    best: tuple[float, np.ndarray] | None = None
    for below in TUNING.first_precision_below:
        # What is above the constant one is the other's; where next to nothing is, it tells little.
        first = log_precision.min() - below
        share = -np.expm1(first - log_precision)
        excess = log_precision + np.log(share)
        straight = np.linalg.lstsq(share[:, None] * features, share * excess, rcond=1e-6)[0]
        free, loss = _least_squares(np.array([first, *straight]), x, log_precision)
        if best is None or loss < best[0]:
            best = loss, free
    assert best is not None
    loss, free = best
    found = PrecisionSum(float(free[0]), float(free[1]), free[2:], float(np.sqrt(loss / len(x))))
    shares = found.shares(x)
    seen = min(shares.max(), 1 - shares.min())
    return found if np.isfinite(loss) and seen > TUNING.least_share else None


def _least_squares(
    free: np.ndarray, x: np.ndarray, log_precision: np.ndarray
) -> tuple[np.ndarray, float]:
    """The numbers (first, second, slopes) of least squares, and these, by Levenberg's method."""
    damping, (left, slopes) = 1e-2, _left(free, x, log_precision)
    loss = float(left @ left)
    for _ in range(TUNING.precision_steps):
        gram = slopes.T @ slopes
        damped = gram + damping * np.diag(np.diag(gram) + 1e-12)
        try:
            tried = free + np.linalg.solve(damped, slopes.T @ left)
        except np.linalg.LinAlgError:  # one of the two has been lost
            break
        there, slopes_there = _left(tried, x, log_precision)
        loss_there = float(there @ there)
        if loss_there < loss:
            done = loss - loss_there < 1e-6 * loss
            free, left, slopes, loss = tried, there, slopes_there, loss_there
            damping *= 0.2
            if done:
                break
        else:
            damping *= 5.0
    return free, loss


def _left(
    free: np.ndarray, x: np.ndarray, log_precision: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What the sum leaves of log precisions, and the derivatives of the sum."""
    log_second = free[1] + x @ free[2:]
    share = _sigmoid(log_second - free[0])[:, None]
    left = log_precision - np.logaddexp(free[0], log_second)
    return left, np.hstack([1 - share, share, share * x])


def _sigmoid(t: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * t))
