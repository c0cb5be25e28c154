"""The peaks of a density found blind: by its values alone, and by few of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.finite_differences import STEP, TOLERANCE, by_differences, find_mode_by_values
from refti.search.mode import ascend, climb
from refti.search.modes import CLIMB_STEPS, DIP, SAME, Landscape, apart, distinct

NEAR_STARTS = 4
FEW_STEPS = 3  # of an ascent, after which those that come to the mode are let go
ASCENTS = 3
GLANCES = 6  # points at which the way to the mode is looked at for a dip
MOST_CLIMBS = 8  # to other peaks, from the highest points first
COARSE_STEP = 1e-2  # of differences, in spreads, on the way up


def survey_by_values(
    evaluate: ValueAndGradient,
    starts: np.ndarray,
    wander: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Landscape:
    """The peaks uphill of some starts and of where wanderers on the flattened density come to.

    A gradient costs an evaluation for every dimension, so all climb a few steps at first, and
    go on only if they neither near the mode nor see it without a dip in between.
    """
    mode, spread = find_mode_by_values(evaluate, starts[0])
    factor = mode.factor()
    if factor is None:
        return Landscape(mode, starts, spread)
    picks = np.linspace(1, len(starts) - 1, NEAR_STARTS).astype(int)
    near = starts[np.unique(picks[picks > 0])]
    others = np.concatenate([near, wander(mode.x, factor)])
    others = others[np.isfinite(evaluate(others)[0])]
    uphill = by_differences(evaluate, factor, COARSE_STEP)
    depth = 10 + 2 * len(mode.x)
    heights = np.zeros(len(others))
    for _ in range(ASCENTS):
        if len(others) == 0:
            break
        others, heights = ascend(uphill, others, factor=factor, iterations=FEW_STEPS)
        with np.errstate(over="ignore"):
            distances = np.linalg.norm(np.linalg.solve(factor, (others - mode.x).T), axis=0)
        away = distances > SAME
        away[away] = [apart(evaluate, x, mode.x, GLANCES) for x in others[away]]
        others, heights = others[away], heights[away]
    found = others[np.argsort(-heights)]
    climbers = distinct(found, 4 * factor)[:MOST_CLIMBS]
    steepest = by_differences(evaluate, factor, STEP)
    ends = [
        climb(steepest, hill, factor=factor, iterations=CLIMB_STEPS, tolerance=TOLERANCE)
        for hill in climbers
    ]
    ends = sorted([*ends, (mode.x, mode.log_density)], key=lambda end: -end[1])
    if ends[0][1] > mode.log_density + DIP:
        mode, spread = find_mode_by_values(evaluate, ends[0][0])
        if mode.factor() is None:
            return Landscape(mode, starts, spread)
    peaks = [mode.x]
    for x, value in ends:
        if value > mode.log_density - depth and all(apart(evaluate, x, peak) for peak in peaks):
            peaks.append(x)
    return Landscape(mode, np.stack(peaks), spread)
