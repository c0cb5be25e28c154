"""The modes of a density that is known by its values alone, found by few of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.climb import climb, climb_together
from refti.search.finite_differences import by_differences, find_mode_by_values
from refti.search.mode import Mode
from refti.search.peaks import (
    ExploreFlattened,
    Modes,
    are_apart,
    distances,
    gather_peaks,
    keep_distinct,
    keep_inside,
    pick_near_starts,
)
from refti.search.rounded import with_rounded_top
from refti.search.searched import Searched
from refti.search.tuning import TUNING


def find_modes_by_values(
    evaluate: ValueAndGradient, starts: np.ndarray, explore_flattened: ExploreFlattened
) -> Modes:
    """The peaks uphill of some starts and of the flattened density's draws.

    A gradient costs an evaluation for every dimension, so all climb a few steps at first, and
    go on only if they neither near the mode nor see it without a dip in between.

    Args:
        evaluate: the density; the gradients it gives are not looked at.
        starts: `[start, dim]`, inside the support, best first.
        explore_flattened: gives points that draws of the flattened density come to.
    """

    def find(start: np.ndarray) -> Modes:
        mode, spread = find_mode_by_values(evaluate, start)
        return Modes(mode, starts, spread)

    def rounded(found: Modes) -> Modes:
        assert isinstance(found.mode, Mode)
        assert found.spread is not None
        if found.mode.factor() is not None:
            return found
        return replace(found, mode=with_rounded_top(evaluate, found.mode, found.spread))

    first = find(starts[0])
    had_no_curvature = first.mode.factor() is None
    first = rounded(first)
    mode = first.mode
    assert isinstance(mode, Mode)
    factor = mode.factor()
    if factor is None:
        return replace(first, searched=Searched(0, 0, 0, 0, by_values=True))
    # Off a flat top the density falls so steeply that chains take long to get anywhere.
    times = TUNING.longer_off_flat_tops if had_no_curvature else 1
    flattened = explore_flattened(mode.x, factor, times)
    # Points of one flattening are where those of the one before went on to.
    independent = len(flattened) // TUNING.flattenings_by_values
    searched = Searched(len(flattened), 0, independent, 0, by_values=True)
    others = np.concatenate([pick_near_starts(starts), flattened])
    others = _climbers_elsewhere(evaluate, keep_inside(evaluate, others), mode, factor)
    climbers = keep_distinct(others, TUNING.few_climbers_apart * factor)[: TUNING.most_climbs]
    uphill = by_differences(evaluate, factor, TUNING.value_step)
    ends = [
        climb(
            uphill,
            hill,
            factor=factor,
            iterations=TUNING.ascent_steps,
            tolerance=TUNING.value_tolerance,
        )
        for hill in climbers
    ]
    found = gather_peaks(evaluate, first, ends, lambda start: rounded(find(start)))
    if had_no_curvature and not found.are_separate:
        found = find(found.mode.x)
    return replace(found, searched=searched)


def _climbers_elsewhere(
    evaluate: ValueAndGradient, x: np.ndarray, mode: Mode, factor: np.ndarray
) -> np.ndarray:
    """Where the points x[n, dim] come to in a few steps, the highest first, without the mode's."""
    uphill = by_differences(evaluate, factor, TUNING.coarse_value_step)
    heights = np.zeros(len(x))
    for _ in range(TUNING.ascents):
        if len(x) == 0:
            break
        x, heights, *_ = climb_together(
            uphill, x, factor=factor, iterations=TUNING.few_ascent_steps
        )
        away = distances(x, mode.x, factor) > TUNING.same_peak
        away[away] = [
            are_apart(evaluate, one, mode.x, TUNING.few_points_between) for one in x[away]
        ]
        x, heights = x[away], heights[away]
    return x[np.argsort(-heights)]
