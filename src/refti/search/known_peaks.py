"""Known peaks: the tops found so far, and which of them a climber is as good as at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refti.factors.either import into_rows, pull_rows
from refti.factors.factor import Factor
from refti.search.curvatures import log_masses
from refti.search.tuning import TUNING


@dataclass(frozen=True, eq=False)
class OneForAll:
    """The factor of the first peak as that of every one, where each would be a large matrix."""

    factor: Factor

    def __getitem__(self, peak: int) -> Factor:
        return self.factor

    @property
    def log_determinant(self) -> float:
        """Of the factor."""
        return float(self.factor.log_determinant)


@dataclass(frozen=True, eq=False)
class KnownPeaks:
    """Peaks with their heights and spreads, in the order in which they were found.

    Attributes:
        x: `[peak, dim]`.
        heights: `[peak]`, the log densities there.
        factors: `[peak, dim, dim]`, of their covariances by curvature, or that of the first
            peak where curvatures are too dear; only that one where no dense matrix is made.
        is_curved: `[peak]`, whether the factor is a peak's own.
        belongs_to: `[peak]`, the number of the peak from which no dip parts it, its own if it
            stands alone.
    """

    x: np.ndarray
    heights: np.ndarray
    factors: np.ndarray | OneForAll
    is_curved: np.ndarray
    belongs_to: np.ndarray

    def __len__(self) -> int:
        return len(self.x)

    @property
    def log_masses(self) -> np.ndarray:
        """The log integrals [peak] about them by Laplace's approximation; NaN where unknown."""
        if isinstance(self.factors, OneForAll):
            width = 0.5 * self.x.shape[1] * np.log(2 * np.pi) + self.factors.log_determinant
            return np.where(self.is_curved, self.heights + width, np.nan)
        return np.where(self.is_curved, log_masses(self.heights, self.factors), np.nan)

    @property
    def widths(self) -> np.ndarray:
        """How wide each is, as the root mean of its spreads in all directions in the logs."""
        return np.exp(self.log_widths(np.arange(len(self))) / self.x.shape[1])

    def log_widths(self, peaks: np.ndarray) -> np.ndarray:
        """The log determinants of the factors of some of them."""
        if isinstance(self.factors, OneForAll):
            return np.full(len(peaks), self.factors.log_determinant)
        logs: np.ndarray = np.linalg.slogdet(self.factors[peaks])[1]
        return logs

    def with_top(
        self, x: np.ndarray, height: float, factor: np.ndarray, belongs_to: int | None
    ) -> KnownPeaks:
        """The peaks with one more; its factor is NaN if it has no curvature.

        If it is the higher one, what it belongs to belongs to it.
        """
        curved = bool(np.isfinite(factor).all())
        belonging = self.belongs_to
        if belongs_to is not None and height > self.heights[belongs_to]:
            belonging = np.where(belonging == belongs_to, len(self), belonging)
            belongs_to = None
        return KnownPeaks(
            np.concatenate([self.x, x[None]]),
            np.append(self.heights, height),
            self._factors_with(factor, curved),
            np.append(self.is_curved, curved),
            np.append(belonging, len(self) if belongs_to is None else belongs_to),
        )

    def _factors_with(self, factor: np.ndarray, curved: bool) -> np.ndarray | OneForAll:
        if isinstance(self.factors, OneForAll):
            return self.factors
        return np.concatenate([self.factors, (factor if curved else self.factors[0])[None]])

    def with_mass(self, log_share: float = TUNING.least_log_share) -> np.ndarray:
        """The numbers of the peaks that stand alone and hold mass, the heaviest first.

        They hold at least so much of what the heaviest does, in logs. A narrow spike that holds
        nothing is none, and a low but wide one may be. Where the curvature is not known the
        height has to tell.
        """
        masses = self.log_masses
        least = np.nanmax(masses) + log_share
        lowest = self.heights.max() - TUNING.depth - TUNING.depth_by_dimension * self.x.shape[1]
        holds = np.where(self.is_curved, masses > least, self.heights > lowest)
        holds &= self.belongs_to == np.arange(len(self))
        as_the_first = self.heights + masses[0] - self.heights[0]
        order = np.argsort(-np.where(self.is_curved, masses, as_the_first))
        return order[holds[order]]

    def whitened(self, x: np.ndarray, peak: int) -> np.ndarray:
        """The points x[n, dim] as seen from a peak, in its spreads."""
        with np.errstate(over="ignore", invalid="ignore"):
            return into_rows(self.factors[peak], x - self.x[peak])

    def recognise(self, x: np.ndarray, values: np.ndarray, gradients: np.ndarray) -> np.ndarray:
        """The numbers [n] of the peaks that points x[n, dim] lie on the slope of, or -1.

        They do where the density and its gradient are about those of the parabola at that peak,
        and the density is hardly above it: another hill, or a needle on this one, would lift it.
        Of a peak without a curvature of its own only the neighbourhood is recognised.
        """
        at = np.full(len(x), -1)
        best = np.full(len(x), np.inf)
        with np.errstate(invalid="ignore", over="ignore"):
            for peak in range(len(self)):
                u = self.whitened(x, peak)
                distance = np.linalg.norm(u, axis=1)
                fall = self.heights[peak] - values
                parabola = 0.5 * distance**2
                if self.is_curved[peak]:
                    off = np.linalg.norm(pull_rows(self.factors[peak], gradients) + u, axis=1)
                    like = off <= TUNING.like_in_slope * distance + TUNING.same_peak / 2
                    lower = fall - parabola
                    near = lower <= TUNING.like_below * parabola + TUNING.dip / 2
                    near &= lower >= -TUNING.like_above * parabola - TUNING.dip / 2
                    here = like & near
                else:
                    here = (distance < TUNING.same_peak) & (np.abs(fall) < TUNING.dip)
                here &= distance < best
                at[here], best[here] = peak, distance[here]
        return at

    def nearest(self, x: np.ndarray, count: int) -> np.ndarray:
        """The numbers of the peaks that stand alone nearest to a point, each in its own spreads.

        What belongs to another may be a saddle on the way to it, and hides the dip behind.
        """
        alone = np.flatnonzero(self.belongs_to == np.arange(len(self)))
        distances = [np.linalg.norm(self.whitened(x[None], int(peak))) for peak in alone]
        return np.asarray(alone[np.argsort(distances)[:count]])
