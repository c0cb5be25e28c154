"""Peaks: the modes of a density as a value, and what tells one peak from another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from refti.factors.factor import Factor, factor_of
from refti.models.model import ValueAndGradient
from refti.search.large_mode import LargeMode
from refti.search.mode import Mode
from refti.search.searched import Searched
from refti.search.tuning import TUNING

# From a mode and a factor of its spread, the points x[n, dim] that draws of the flattened density
# come to. They find what random directions, of which there are too many, miss.
ExploreFlattened = Callable[[np.ndarray, np.ndarray, int], np.ndarray]


@dataclass(frozen=True, eq=False)
class Modes:
    """The highest mode found and all peaks.

    Attributes:
        mode: the highest.
        peaks: `[peak, dim]`, that mode first. Where it has no curvature of its own (a cusp, an
            edge, a spike without a top) starts stand in for peaks: about such a point nothing can
            be learned of the posterior.
        spread: a factor of about the covariance there, for a mode without curvature.
        factors: `[peak, dim, dim]`, of the covariance about every peak by its curvature, where
            that is known.
        log_masses: `[peak]`, the log integrals about them by Laplace's approximation.
        searched: how hard other modes were looked for.
        broad: how many of the peaks, the last ones, are none but the middles of broad parts of
            the density, whose slopes lead up to another.
    """

    mode: Mode | LargeMode
    peaks: np.ndarray
    spread: np.ndarray | None = None
    factors: np.ndarray | None = None
    log_masses: np.ndarray | None = None
    searched: Searched | None = None
    broad: int = 0

    @property
    def are_separate(self) -> bool:
        """Whether there are several, each of which chains may sit on."""
        return self.mode.factor() is not None and len(self.peaks) > 1

    @property
    def count(self) -> int:
        """How many were found."""
        return len(self.peaks) if self.are_separate else 1

    @property
    def factor(self) -> np.ndarray | Factor:
        """The spread about the mode as a factor of a covariance; the identity if it has none."""
        factor = self.mode.factor()
        if factor is not None:
            return factor
        if isinstance(self.mode, LargeMode):
            return factor_of(len(self.mode.x))
        return np.eye(len(self.mode.x)) if self.spread is None else self.spread

    @property
    def dense_factor(self) -> np.ndarray | None:
        """The spread about the mode by its curvature, where it has one and that is a matrix."""
        factor = self.mode.factor()
        return None if isinstance(factor, Factor) else factor

    def after(self, evaluations: int) -> Modes:
        """The modes with the number of evaluations that the search for them took."""
        if self.searched is None:
            return self
        return replace(self, searched=replace(self.searched, evaluations=evaluations))


def pick_near_starts(starts: np.ndarray) -> np.ndarray:
    """Some of the starts x[n, dim] after the first, evenly from good to bad."""
    picks = np.linspace(1, len(starts) - 1, TUNING.near_starts).astype(int)
    return starts[np.unique(picks[(picks > 0) & (picks < len(starts))])]


def keep_inside(evaluate: ValueAndGradient, x: np.ndarray) -> np.ndarray:
    """Those of the points x[n, dim] that lie inside the support."""
    return x[np.isfinite(evaluate(x)[0])]


def depth_of_peaks(dim: int) -> float:
    """Nats below the mode under which lies next to nothing of the mass."""
    return TUNING.depth + TUNING.depth_by_dimension * dim


def distances(x: np.ndarray, centre: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """How far the points x[n, dim] are from a centre, in spreads."""
    with np.errstate(over="ignore"):
        return np.linalg.norm(np.linalg.solve(factor, (x - centre).T), axis=0)


def keep_distinct(hills: np.ndarray, factor: np.ndarray) -> list[np.ndarray]:
    """The hills x[n, dim] without those that are about the same as one before."""
    kept: list[np.ndarray] = []
    for hill in hills:
        if all(
            np.linalg.norm(np.linalg.solve(factor, hill - other)) > TUNING.same_peak
            for other in kept
        ):
            kept.append(hill)
    return kept


def are_apart(
    evaluate: ValueAndGradient, a: np.ndarray, b: np.ndarray, points: int = TUNING.points_between
) -> bool:
    """Whether the density dips between two points, as seen at so many on the way."""
    return bool(are_apart_from(evaluate, a, b[None], points)[0])


def are_apart_from(
    evaluate: ValueAndGradient,
    x: np.ndarray,
    others: np.ndarray,
    points: int = TUNING.points_between,
) -> np.ndarray:
    """Whether [n] the density dips between a point and others[n, dim], at so many on each way."""
    between = np.linspace(0, 1, points + 2)[1:-1, None, None]
    ways = x + between * (others - x)  # [point, n, dim]
    values, _ = evaluate(np.concatenate([x[None], others, ways.reshape(-1, len(x))]))
    ends = np.minimum(values[0], values[1 : len(others) + 1])
    lowest = values[len(others) + 1 :].reshape(points, len(others)).min(axis=0)
    return np.asarray(lowest < ends - TUNING.dip)


def gather_peaks(
    evaluate: ValueAndGradient,
    first: Modes,
    ends: Sequence[tuple[np.ndarray, float]],
    find: Callable[[np.ndarray], Modes],
) -> Modes:
    """The modes after other climbs, each of which ended at a point of some log density.

    Args:
        evaluate: the density.
        first: the mode that was found first.
        ends: where the other climbs ended.
        find: the mode uphill of a point, with starts in place of peaks. It is asked anew where a
            climb ended above the first.
    """
    found = first
    ends = sorted([*ends, (first.mode.x, first.mode.log_density)], key=lambda end: -end[1])
    if ends[0][1] > first.mode.log_density + TUNING.dip:
        found = find(ends[0][0])
        if found.mode.factor() is None:
            return found
    mode, depth = found.mode, depth_of_peaks(len(found.mode.x))
    peaks = [mode.x]
    for x, value in ends:
        if value > mode.log_density - depth and all(are_apart(evaluate, x, p) for p in peaks):
            peaks.append(x)
    return replace(found, peaks=np.stack(peaks))
