"""New peaks: which of the ends of climbs are tops that were not known yet."""

from __future__ import annotations

import numpy as np

from refti.factors.either import into_rows, pull_rows
from refti.factors.factor import Factor
from refti.models.model import ValueAndGradient
from refti.search.climb import Climbed, climb
from refti.search.curvatures import Tops, find_tops
from refti.search.known_peaks import KnownPeaks
from refti.search.peaks import are_apart_from, depth_of_peaks
from refti.search.tuning import TUNING


def add_new_peaks(
    evaluate: ValueAndGradient, known: KnownPeaks, climbed: Climbed, long_climbs: int
) -> tuple[KnownPeaks, int]:
    """The known peaks with those that climbers came to, and how many long climbs that took.

    Args:
        evaluate: the density and its gradient.
        known: the peaks so far.
        climbed: where climbers came to.
        long_climbs: most ends from which a climb may go on by itself.
    """
    dim, factor = known.x.shape[1], known.factors[0]
    # Lower than this is a climb that did not arrive.
    high = climbed.values > known.heights.max() - 2 * depth_of_peaks(dim)
    new = np.flatnonzero((climbed.arrived < 0) & high)
    new = new[np.argsort(-climbed.values[new])]
    new = new[_leaders(climbed.x[new], factor, TUNING.tight)][: TUNING.new_a_batch]
    if len(new) == 0:
        return known, 0
    settled, at_top = new[:0], np.zeros(0, dtype=bool)
    if dim <= TUNING.curved_peaks:
        assert not isinstance(factor, Factor)
        settled = new[climbed.ended[new]]
        tops = find_tops(evaluate, climbed.x[settled], factor)
        at_top = tops.residuals < TUNING.same_peak
        for index in np.flatnonzero(at_top):
            known = with_top(evaluate, known, *(part[index] for part in tops[:3]))
    # What did not end at a top goes on by itself: a bent valley, a cusp, or many dimensions.
    rest = np.concatenate([new[~climbed.ended[new]], settled[~at_top]])
    if dim > TUNING.curved_peaks:
        rest = new
    rest = rest[_leaders(climbed.x[rest], factor, TUNING.same_peak)]
    tried = 0
    for index in rest:
        if tried >= long_climbs:
            break
        tried += 1
        steps = TUNING.ascent_steps if dim <= TUNING.curved_peaks else TUNING.climb_iterations
        x, height = climb(evaluate, climbed.x[index], factor=factor, iterations=steps)
        if dim > TUNING.curved_peaks and not _is_level(evaluate, x, factor):
            continue  # still on its way, which may be long: no peak yet
        top = _top_of(evaluate, x, height, factor)
        if (
            dim > TUNING.curved_peaks
            or np.isfinite(top[2]).all()
            or _holds_mass(evaluate, known, x, height)
        ):
            known = with_top(evaluate, known, *top)
    return known, tried


def _holds_mass(
    evaluate: ValueAndGradient, known: KnownPeaks, x: np.ndarray, height: float
) -> bool:
    """Whether the end of a climb without a curvature may hold some of the evidence.

    A climb also ends in a canyon that is too narrow and too bent to be climbed on, as where the
    errors of a time series would explode but for a fine balance of all parameters. Its mass is no
    larger than if it were as wide as the highest peak but for the direction in which it is
    narrowest. A cusp falls as fast only where it holds as little.
    """
    highest = int(np.argmax(known.heights))
    columns = np.asarray(known.factors[highest]).T
    least = known.heights[highest] + TUNING.least_log_share
    for width in TUNING.narrow_widths:
        if height + np.log(width) >= least:
            continue
        ends, _ = evaluate(np.concatenate([x + width * columns, x - width * columns]))
        sides = np.where(np.isfinite(ends), ends, -np.inf).reshape(2, len(columns))
        if (height - sides.max(axis=0)).max() > TUNING.narrow_fall:
            return False
    return True


def _is_level(evaluate: ValueAndGradient, x: np.ndarray, factor: np.ndarray | Factor) -> bool:
    """Whether the density has next to no slope at a point, as it has on a top."""
    _, gradient = evaluate(x[None])
    return bool(np.linalg.norm(pull_rows(factor, gradient)[0]) < TUNING.level * np.sqrt(len(x)))


def _top_of(
    evaluate: ValueAndGradient, x: np.ndarray, height: float, factor: np.ndarray | Factor
) -> tuple[np.ndarray, float, np.ndarray]:
    """The top beside the end of a long climb; the end itself where curvatures do not help."""
    if isinstance(factor, Factor):
        return x, height, np.full((1, 1), np.nan)
    nothing = np.full(factor.shape, np.nan)
    if len(x) > TUNING.curved_peaks:
        return x, height, nothing
    tops: Tops = find_tops(evaluate, x[None], factor)
    if tops.residuals[0] < TUNING.same_peak:
        return tops.x[0], float(tops.heights[0]), tops.factors[0]
    return x, height, nothing


def with_top(
    evaluate: ValueAndGradient, known: KnownPeaks, x: np.ndarray, height: float, factor: np.ndarray
) -> KnownPeaks:
    """The known peaks with one more, unless it is one of them."""
    curved = bool(np.isfinite(factor).all())
    scale = factor if curved else known.factors[0]
    away = np.linalg.norm(into_rows(scale, known.x - x), axis=1)
    if away.min() < TUNING.same_peak:
        return known
    near = known.nearest(x, TUNING.looked_back)
    apart = are_apart_from(evaluate, x, known.x[near])
    belongs_to = None if apart.all() else int(near[np.argmin(apart)])
    return known.with_top(x, float(height), factor, belongs_to)


def _leaders(x: np.ndarray, factor: np.ndarray | Factor, apart: float) -> np.ndarray:
    """The numbers of the points x[n, dim] that are so far, in spreads, from all before them."""
    u = into_rows(factor, x)
    left, leaders = np.arange(len(x)), []
    while len(left):
        leaders.append(left[0])
        left = left[np.linalg.norm(u[left] - u[left[0]], axis=1) > apart]
    return np.array(leaders, dtype=int)
