"""The whole way between rungs: means and variances of delta at any lambda, from all draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from refti.draws.draws import Draws
from refti.estimators.mbar import log_z_rungs

Array = NDArray[np.float64]
MOST_DRAWS = 8_000  # of a leg, which a curve on a figure needs
STEPS_BETWEEN = 12  # points of the curve between two rungs
FEWEST_POINTS = 60


@dataclass(frozen=True, eq=False)
class Curve:
    """The mean and the variance of delta along one leg, by weighing all draws as MBAR does."""

    lambdas: Array
    mean: Array
    variance: Array


@lru_cache(maxsize=16)  # the figures of a result ask for the same one
def curve(draws: Draws) -> Curve:
    """The curve of a leg, at its rungs and at points between them."""
    thin = Draws(draws.lambdas, draws.delta[:, :, :: _stride(draws)])
    lambdas = between(draws.lambdas)
    delta = thin.delta.ravel()
    level = float(delta.mean())
    log_z = log_z_rungs(thin) - level * thin.lambdas
    centred = delta - level
    mixture = np.logaddexp.reduce(thin.lambdas[:, None] * centred - log_z[:, None], axis=0)
    mean, variance = np.empty(len(lambdas)), np.empty(len(lambdas))
    for i, lam in enumerate(lambdas):
        logs = lam * centred - mixture
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        mean[i] = weights @ centred
        variance[i] = weights @ (centred - mean[i]) ** 2
    return Curve(lambdas, mean + level, variance)


def between(lambdas: Array) -> Array:
    """The rungs and points between neighbouring ones; near 0 they are as close as rungs are."""
    steps = max(STEPS_BETWEEN, FEWEST_POINTS // (len(lambdas) - 1))
    first = lambdas[1] * np.linspace(0, 1, steps) ** 3
    parts = [np.linspace(a, b, steps, endpoint=False) for a, b in pairwise(lambdas)]
    return np.unique(np.concatenate([first, *parts, [1.0]]))


def _stride(draws: Draws) -> int:
    return max(1, draws.delta.size // MOST_DRAWS)
