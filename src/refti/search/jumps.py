"""Jumps: whether a density changes by steps that its gradient does not tell of."""

from __future__ import annotations

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.tuning import TUNING


def has_jumps(evaluate: ValueAndGradient, draws: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether the density jumps on short ways from some of the draws[n, dim].

    On a way without jumps the gradient, added up along it, is the difference between its ends.
    """
    count, dim = draws.shape
    starts = draws[np.linspace(0, count - 1, TUNING.jump_ways).astype(int)]
    ways = TUNING.jump_reach * draws.std(axis=0) * rng.normal(size=starts.shape)
    fractions = np.linspace(0, 1, TUNING.jump_points)
    points = starts[:, None] + fractions[:, None] * ways[:, None]
    values, gradients = evaluate(points.reshape(-1, dim))
    values = values.reshape(points.shape[:2])
    slopes = np.einsum("wpd,wd->wp", gradients.reshape(points.shape), ways)
    width = fractions[1] - fractions[0]
    sides = width * slopes[:, 1:], width * slopes[:, :-1]
    with np.errstate(invalid="ignore"):
        gains = np.diff(values, axis=1)
        off = np.abs(gains - 0.5 * (sides[0] + sides[1]))
        # Where the slope itself changes much from point to point, the sum of it proves nothing.
        doubt = np.abs(sides[0] - sides[1])
        jumped = (off > TUNING.least_jump + doubt).any(axis=1)
    return bool(jumped.mean() > TUNING.ways_with_jumps)
