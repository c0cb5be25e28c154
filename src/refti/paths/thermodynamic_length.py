"""Length: how far apart two rungs are, as their own draws tell, and where rungs are missing.

The thermodynamic length of a segment of a leg is the integral of the standard deviation of delta
over lambda. Rungs a fixed length apart overlap alike, so it says how many rungs a leg needs, where
they belong, and which of two references will cost less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refti.draws.draws import Draws
from refti.paths.tuning import TUNING

# Where on the way from one rung to the next the spread is looked at, dense near the ends, where a
# density that reaches beyond the other makes it fall by orders of magnitude.
_HALF_WAY = np.geomspace(1e-9, 0.5, 121)
FRACTIONS = np.concatenate([[0.0], _HALF_WAY, 1 - _HALF_WAY[-2::-1], [1.0]])
_PLACES = np.log(FRACTIONS + 1e-12) - np.log(1 - FRACTIONS + 1e-12)


@dataclass(frozen=True, eq=False)
class Segment:
    """The way from one rung to the next: the length gone at each fraction of it."""

    fractions: NDArray[np.float64]
    lengths: NDArray[np.float64]

    @property
    def length(self) -> float:
        """The whole length."""
        return float(self.lengths[-1])

    def divide(self, parts: int) -> NDArray[np.float64]:
        """The fractions that divide it into parts of one length."""
        return np.interp(np.linspace(0, self.length, parts + 1)[1:-1], self.lengths, self.fractions)


def measure_segment(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> Segment:
    """The way between two rungs from `log q_upper - log q_lower` at draws of each.

    The spread of delta on the way is that of draws from either side, reweighted, for as far as
    the weights leave enough of them; in between it is interpolated as a power of the odds.
    """
    from_lower, near_lower = _spread(np.ravel(lower), FRACTIONS)
    from_upper, near_upper = _spread(-np.ravel(upper), (1 - FRACTIONS)[::-1])
    from_upper, near_upper = from_upper[::-1], near_upper[::-1]
    both = near_lower & near_upper
    spread = np.where(near_lower, from_lower, from_upper)
    spread = np.where(both, (1 - FRACTIONS) * from_lower + FRACTIONS * from_upper, spread)
    known = near_lower | near_upper
    tiny = 1e-12 * max(1.0, float(spread.max()))
    spread = np.exp(np.interp(_PLACES, _PLACES[known], np.log(spread[known] + tiny)))
    steps = np.diff(FRACTIONS) * 0.5 * (spread[1:] + spread[:-1])
    return Segment(FRACTIONS, np.append(0.0, np.cumsum(steps)))


def missing_rungs(draws: Draws) -> NDArray[np.float64]:
    """The lambdas at which rungs are missing: between neighbours that hardly overlap."""
    flat = draws.delta.reshape(draws.rungs, -1)
    found: list[NDArray[np.float64]] = []
    for k in np.flatnonzero(draws.overlap() < TUNING.enough_overlap):
        width = draws.lambdas[k + 1] - draws.lambdas[k]
        segment = measure_segment(width * flat[k], width * flat[k + 1])
        parts = int(np.clip(np.ceil(segment.length / TUNING.spacing), 2, TUNING.most_between + 1))
        found.append(draws.lambdas[k] + width * segment.divide(parts))
    inside = np.unique(np.concatenate([np.zeros(0), *found]))
    return inside[(inside > 0) & (inside < 1) & ~np.isin(inside, draws.lambdas)]


def _spread(
    delta: NDArray[np.float64], fractions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The standard deviation of delta under weights exp(fraction * delta), and where it is known.

    Fractions increase; what comes after the first at which the weights leave too few draws is not
    known.
    """
    # Below this a draw has no weight anywhere, and its square would overflow.
    below = np.maximum(delta - delta.max(), -1e100)
    weights = np.exp(fractions[:, None] * below)
    weights /= weights.sum(axis=1, keepdims=True)
    worth = 1 / (weights**2).sum(axis=1) / len(delta)
    second = weights @ below**2 - (weights @ below) ** 2
    known = np.logical_and.accumulate(worth >= TUNING.reliable_share)
    known[0] = True
    return np.sqrt(np.maximum(second, 0.0)), known
