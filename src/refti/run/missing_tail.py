"""The missing tail: mass that the density has far out and the draws have not.

The share of the mass beyond some distance is the mean, over draws, of the share beyond it on the
line through each, which integrates the density to its very end. Chains that do not get into a tail
have too few draws there, but the lines through them go on. Lines along a coordinate tell of tails
that coordinates have by themselves, and rays from the middle of those that all have together.

How heavy a tail the draws have tells nothing of this: those that got to its end have a heavy one,
and those that were stopped short of it a light one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refti.checks.tuning import TUNING
from refti.coordinates.fit_tails import robust_standard
from refti.draws import autocorrelation
from refti.models.model import Model
from refti.run.lines import Lines, LogDensities, log_densities_of
from refti.sampling.metering import Meter


class MissingTail(NamedTuple):
    """The share of the mass that draws lack in a tail, and its standard error."""

    share: float
    error: float


NONE_MISSING = MissingTail(0.0, 0.0)


class _Stratum(NamedTuple):
    """Some draws on one side of where a tail begins, and the share of all that lie beyond."""

    picks: np.ndarray
    beyond: bool
    share: float


def find_missing_tail(
    model: Model,
    points: np.ndarray,
    meter: Meter,
    *,
    rays: bool = True,
    modes: np.ndarray | None = None,
) -> MissingTail:
    """What draws[chain, draw, dim] lack in their long tails, of the coordinates or of all at once.

    Shares that are lacking in the tails of several coordinates, or about several modes, add up, as
    the evidence that is missing does. Raises OutOfBudgetError if the budget has no room for that.

    Args:
        model: whose density it is.
        points: the draws.
        meter: of the run.
        rays: whether tails are also followed along rays from the middle.
        modes: `[mode, dim]`, if there are several, about each of which it is looked apart: lines
            end half way to another, whose draws are no tail of this one.
    """
    cells = [_whole(model, points)] if modes is None else _cells(model, points, modes)
    ways = (_along_coordinates, _along_rays) if rays and points.shape[2] > 1 else _ONLY_COORDINATES
    found = [_together([way(cell, meter) for cell in cells]) for way in ways]
    looked = [one for one in found if one != NONE_MISSING] or found
    return max(looked, key=lambda one: one.share - TUNING.most_errors_missing * one.error)


class _Cell(NamedTuple):
    """A part of space, its density, and those of the draws[chain, draw, dim] that lie there."""

    density: LogDensities
    points: np.ndarray
    inside: np.ndarray  # [chain, draw]

    @property
    def x(self) -> np.ndarray:
        """The draws [draw, dim] in it."""
        return np.asarray(self.points[self.inside])

    def counted(self, ways: np.ndarray) -> np.ndarray:
        """Numbers [draw] of those within, as [chain, draw] of all: zero for those elsewhere."""
        counted = np.zeros(self.inside.shape)
        counted[self.inside] = ways
        return counted


def _whole(model: Model, points: np.ndarray) -> _Cell:
    """All of space."""
    return _Cell(log_densities_of(model), points, np.ones(points.shape[:2], dtype=bool))


def _cells(model: Model, points: np.ndarray, modes: np.ndarray) -> list[_Cell]:
    """What lies nearest to each mode, where draws enough to tell of a tail do."""
    density, spread = log_densities_of(model), points.reshape(-1, points.shape[2]).std(axis=0)
    spread = np.maximum(spread, 1e-300)

    def nearest(x: np.ndarray) -> np.ndarray:
        away = [np.sum(((x - mode) / spread) ** 2, axis=-1) for mode in modes]
        return np.asarray(np.argmin(away, axis=0))

    def about(mode: int) -> LogDensities:
        def there(x: np.ndarray, meter: Meter) -> np.ndarray:
            return np.where(nearest(x) == mode, density(x, meter), -np.inf)

        return there

    at = nearest(points)
    found = [_Cell(about(mode), points, at == mode) for mode in range(len(modes))]
    return [cell for cell in found if cell.inside.sum() >= TUNING.tail_draws]


def _together(found: list[MissingTail]) -> MissingTail:
    """What is lacking in all cells."""
    return MissingTail(
        float(sum(one.share for one in found)), float(np.hypot.reduce([one.error for one in found]))
    )


def _along_coordinates(cell: _Cell, meter: Meter) -> MissingTail:
    """What draws lack in the tails of single coordinates, all together."""
    x = cell.x
    middle = np.median(x, axis=0)
    distances = np.abs(x - middle)
    long = np.flatnonzero(_is_long(distances))
    if len(long) == 0:
        return NONE_MISSING
    axes = long[np.unique(np.linspace(0, len(long) - 1, TUNING.tail_coordinates).astype(int))]
    begins = np.quantile(distances[:, axes], TUNING.tail_beyond, axis=0)
    beyond = distances[:, axes] > begins
    strata, along = [], []
    for number in range(len(axes)):
        strata += _strata(beyond[:, number], number, len(axes))
        along += [number] * 2
    picks = np.concatenate([stratum.picks for stratum in strata])
    which = np.repeat(along, [len(stratum.picks) for stratum in strata])
    axis, line = axes[which], np.arange(len(picks))
    middles, steps = x[picks], np.zeros((len(picks), x.shape[1]))
    at = middles[line, axis] - middle[axis]
    middles[line, axis], steps[line, axis] = middle[axis], 1.0
    spreads = np.subtract(*np.quantile(x[:, axes], [0.84, 0.16], axis=0)) / 2
    lines = Lines(middles, steps, at, begins[which], spreads[which])
    shares = lines.shares_beyond(cell.density, meter)
    return _lacking(shares, strata, cell.counted(beyond.sum(axis=1)), cell)


def _along_rays(cell: _Cell, meter: Meter) -> MissingTail:
    """What draws lack far from their middle, in every direction."""
    x = cell.x
    middle, scales = robust_standard(x)
    distances = np.linalg.norm((x - middle) / np.maximum(scales, 1e-300), axis=1)
    if not _is_long(distances[:, None])[0]:
        return NONE_MISSING
    begins = np.quantile(distances, TUNING.tail_beyond)
    strata = _strata(distances > begins, 0, 1)
    picks = np.concatenate([stratum.picks for stratum in strata])
    at, ones = distances[picks], np.ones(len(picks))
    steps = (x[picks] - middle) / np.maximum(at, 1e-300)[:, None]
    spread = np.subtract(*np.quantile(distances, [0.84, 0.16])) / 2
    middles = np.repeat(middle[None], len(picks), axis=0)
    lines = Lines(middles, steps, at, begins * ones, spread * ones, x.shape[1] - 1)
    shares = lines.shares_beyond(cell.density, meter)
    return _lacking(shares, strata, cell.counted(distances > begins), cell)


_ONLY_COORDINATES = (_along_coordinates,)


def _is_long(distances: np.ndarray) -> np.ndarray:
    """Whether the furthest of distances[draw, way] are longer than a normal's."""
    halves = np.maximum(np.median(distances, axis=0), 1e-300)
    return np.asarray(distances.max(axis=0) / halves > TUNING.long_tail)


def _strata(beyond: np.ndarray, way: int, ways: int) -> list[_Stratum]:
    """Draws within and beyond, evenly spaced, where lines are laid along so many ways.

    Others for each way: along all of them through one draw far out they would not be independent.
    """
    strata = []
    for side, (fewest, most) in ((False, TUNING.tail_lines), (True, TUNING.tail_lines_beyond)):
        there = np.flatnonzero(beyond == side)
        count = min(max(fewest, most // ways), len(there))
        at = (np.arange(count) + (way + 0.5) / ways) / max(count, 1)
        strata.append(_Stratum(there[(at * len(there)).astype(int)], side, float(beyond.mean())))
    return strata


def _lacking(
    shares: np.ndarray, strata: list[_Stratum], counted: np.ndarray, cell: _Cell
) -> MissingTail:
    """What draws lack beyond, by the shares [line] of lines through those of all strata.

    Lines through draws within carry some of their mass beyond, and those through draws beyond some
    of theirs within. Where the draws are right the two are the same. They differ by what is
    lacking, and the more the tail is one of all coordinates at once, the less it matters how many
    draws happen to lie beyond. Of `counted` [chain, draw] ways a draw lies beyond.
    """
    split = np.split(shares, np.cumsum([len(stratum.picks) for stratum in strata])[:-1])
    usable = [part[np.isfinite(part)] for part in split]
    within, beyond = (
        [(u, s) for u, s in zip(usable, strata, strict=True) if s.beyond == side]
        for side in (False, True)
    )
    all_within, all_beyond = (np.concatenate([u for u, _ in side]) for side in (within, beyond))
    asked = sum(len(s.picks) for _, s in within)
    if len(all_within) <= asked / 2 or len(all_beyond) == 0:
        return NONE_MISSING
    # A tail of all coordinates at once has a few lines that lie beyond as a whole: these are its
    # draws there, and how many were picked is chance.
    most = np.quantile(all_within, TUNING.tail_agreed)
    within = [(np.minimum(u, most), s) for u, s in within]
    all_within = np.minimum(all_within, most)
    spread_within, spread_beyond = _spread(within), _spread(beyond)
    share = variance = 0.0
    for (inner, stratum), (outer, _) in zip(within, beyond, strict=True):
        p = stratum.share
        inner, outer = (inner if len(inner) else all_within), (outer if len(outer) else all_beyond)
        share += (1 - p) * inner.mean() - p * (1 - outer.mean())
        variance += ((1 - p) * spread_within) ** 2 / len(inner)
        variance += (p * spread_beyond) ** 2 / len(outer)
    part = float(cell.inside.mean())
    size = max(float(autocorrelation.effective_sample_size(counted)), 1.0)
    by_count = 1 + all_within.mean() - all_beyond.mean()
    variance = part**2 * variance + by_count**2 * counted.var() / size
    return MissingTail(float(part * share), float(np.sqrt(variance)))


def _spread(side: list[tuple[np.ndarray, _Stratum]]) -> float:
    """The standard deviation of the shares of lines along one way; of all if there is one each."""
    several = [(shares - shares.mean(), len(shares) - 1) for shares, _ in side if len(shares) > 1]
    if not several:
        return float(np.std(np.concatenate([shares for shares, _ in side])))
    squares = sum(float(np.sum(deviations**2)) for deviations, _ in several)
    return float(np.sqrt(squares / sum(count for _, count in several)))
