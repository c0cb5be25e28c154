"""The modes of a density with a gradient, searched for from near and far."""

from __future__ import annotations

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.climb import climb, climb_together
from refti.search.mode import Mode, find_mode
from refti.search.peaks import (
    ExploreFlattened,
    Modes,
    depth_of_peaks,
    distances,
    gather_peaks,
    keep_distinct,
    keep_inside,
    pick_near_starts,
)
from refti.search.tuning import TUNING


def find_modes(
    evaluate: ValueAndGradient,
    starts: np.ndarray,
    rng: np.random.Generator,
    explore_flattened: ExploreFlattened,
) -> Modes:
    """The peaks uphill of several starts, of points far out, and of the flattened density's draws.

    Args:
        evaluate: the density and its gradient.
        starts: `[start, dim]`, inside the support, best first.
        rng: draws the directions of the points far out.
        explore_flattened: gives points that draws of the flattened density come to.
    """

    def find(start: np.ndarray) -> Modes:
        return Modes(find_mode(evaluate, start), peaks=starts)

    first = find(starts[0])
    mode, factor = first.mode, first.mode.factor()
    if factor is None:
        return first
    near, far = pick_near_starts(starts), _far_starts(mode, factor, rng)
    others = np.concatenate([near, far, explore_flattened(mode.x, factor)])
    others = keep_inside(evaluate, others)
    hills, heights = climb_together(evaluate, others, factor=factor, iterations=TUNING.ascent_steps)
    is_new = distances(hills, mode.x, factor) > TUNING.same_peak
    # Lower than this is a search that did not arrive.
    is_high = heights > mode.log_density - 2 * depth_of_peaks(len(mode.x))
    ends = [
        climb(evaluate, hill, factor=factor, iterations=TUNING.ascent_steps)
        for hill in keep_distinct(hills[is_new & is_high], factor)
    ]
    return gather_peaks(evaluate, first, ends, find)


def _far_starts(mode: Mode, factor: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Points x[n, dim] at several distances from the mode, in opposite pairs."""
    points = []
    for distance, pairs in TUNING.far_starts:
        directions = rng.normal(size=(pairs, len(mode.x)))
        directions *= distance / np.linalg.norm(directions, axis=1, keepdims=True)
        points += [mode.x + sign * factor @ d for d in directions for sign in (1, -1)]
    return np.stack(points)
