"""The spread about a mode, drawn in where the density does not reach as far as it says."""

from __future__ import annotations

import numpy as np

from refti.factors.factor import Factor
from refti.models.model import ValueAndGradient
from refti.search.large_mode import LargeMode
from refti.search.mode import Mode
from refti.search.tuning import TUNING


def curb_spread(
    evaluate: ValueAndGradient, mode: Mode | LargeMode, factor: np.ndarray | Factor
) -> np.ndarray | Factor:
    """A lower factor of the spread in which no direction reaches further than the density does.

    Along a ring, or a valley without a bottom, the curvature at the mode is next to nothing and
    says that the density reaches ever so far, when it only bends away. Directions are those of the
    factor's own axes; a Gaussian falls by half a nat within one spread of them. Where no dense
    matrix is made there are no such axes, and chains learn by themselves how far they get.
    """
    if mode.factor() is None or isinstance(factor, Factor):
        return factor
    directions, sizes, _ = np.linalg.svd(factor)
    reach = np.ones(len(sizes))
    for _ in range(TUNING.most_halvings):
        shifts = (directions * sizes * reach).T
        values, _ = evaluate(np.concatenate([mode.x + shifts, mode.x - shifts]))
        values = np.where(np.isfinite(values), values, -np.inf)
        fall = mode.log_density - values.reshape(2, -1).max(axis=0)
        too_far = fall > TUNING.most_fall
        if not too_far.any():
            break
        reach[too_far] *= 0.5
    if reach.min() == 1:
        return factor
    spread = directions * sizes * reach
    return np.linalg.cholesky(spread @ spread.T)
