"""The missing tail: mass that the density has far out along a coordinate and the draws have not.

The share of the mass beyond some distance is the mean, over draws of the other coordinates, of the
share beyond it on the line along this one, which integrates the density to its very end. Chains
that do not get into a tail have too few draws there, but the lines through them go on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refti.checks.tuning import TUNING
from refti.draws import autocorrelation
from refti.models.model import Model
from refti.sampling.metering import Meter


class MissingTail(NamedTuple):
    """The share of the mass that draws lack in a tail, and its standard error."""

    share: float
    error: float


NONE_MISSING = MissingTail(0.0, 0.0)


def find_missing_tail(model: Model, points: np.ndarray, meter: Meter) -> MissingTail:
    """What draws[chain, draw, dim] lack in the long tails of some coordinates, all together.

    Chains that stop short of a power law's tail leave draws that look as if it ended there, so
    every tail that is longer than a normal's may be followed. Shares that are lacking in the tails
    of several coordinates add up, as the evidence that is missing does. Raises OutOfBudgetError if
    the budget has no room for that.
    """
    x = points.reshape(-1, points.shape[2])
    distances = np.abs(x - np.median(x, axis=0))
    lengths = distances.max(axis=0) / np.maximum(np.median(distances, axis=0), 1e-300)
    long = np.flatnonzero(lengths > TUNING.long_tail)
    picks = np.unique(np.linspace(0, len(long) - 1, TUNING.tail_coordinates).astype(int))
    found = (
        [_missing_along(model, points, int(axis), meter) for axis in long[picks]]
        if len(long)
        else []
    )
    share, error = sum(one.share for one in found), np.hypot.reduce([one.error for one in found])
    return MissingTail(float(share), float(error))


def _missing_along(model: Model, points: np.ndarray, axis: int, meter: Meter) -> MissingTail:
    """What draws[chain, draw, dim] lack in the tails of one coordinate, to both sides."""
    distances = np.abs(points[:, :, axis] - np.median(points[:, :, axis]))
    begins = np.quantile(distances, TUNING.tail_beyond)
    beyond = (distances > begins).astype(float)
    size = max(float(autocorrelation.effective_sample_size(beyond)), 1.0)
    x = points.reshape(-1, points.shape[2])
    lines = x[np.linspace(0, len(x) - 1, TUNING.tail_lines).astype(int)]
    shares = _shares_beyond(model, lines, axis, float(np.median(x[:, axis])), begins, x, meter)
    if len(shares) < 2:
        return NONE_MISSING
    counted = float(beyond.mean())
    error = np.hypot(shares.std(ddof=1) / np.sqrt(len(shares)), np.sqrt(counted / size))
    return MissingTail(float(shares.mean()) - counted, float(error))


def _shares_beyond(
    model: Model,
    lines: np.ndarray,
    axis: int,
    middle: float,
    begins: float,
    x: np.ndarray,
    meter: Meter,
) -> np.ndarray:
    """The share of the mass beyond a distance on the lines through lines[n, dim] along an axis."""
    spread = np.subtract(*np.quantile(x[:, axis], [0.84, 0.16])) / 2
    grain = TUNING.tail_grain * spread
    last = np.arcsinh(TUNING.tail_ends * begins / grain)
    side = grain * np.sinh(np.linspace(0, last, TUNING.tail_points + 1)[1:])
    edges = np.array([begins, -begins])
    offsets = np.concatenate([-side, [0.0], side])
    shares = []
    for line in lines:
        at = np.unique(np.concatenate([middle + offsets, line[axis] + offsets, middle + edges]))
        moved = np.repeat(line[None], len(at), axis=0)
        moved[:, axis] = at
        meter.reserve(len(at))
        shares.append(_share_of_line(at, model.log_densities(moved), middle, begins))
    found = np.array(shares)
    return found[np.isfinite(found)]


def _share_of_line(at: np.ndarray, log_density: np.ndarray, middle: float, begins: float) -> float:
    """The share of the mass beyond a distance from the middle, by the trapezoid rule."""
    log_density = np.where(np.isfinite(log_density), log_density, -np.inf)
    density = np.exp(log_density - log_density.max())
    # A power law is straight in the logs, where the trapezoid rule would take its bend for mass.
    pieces = np.diff(at) * _log_mean(density[1:], density[:-1])
    outside = np.abs(0.5 * (at[1:] + at[:-1]) - middle) > begins
    return float(pieces[outside].sum() / pieces.sum())


def _log_mean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The mean of an exponential between two of its values; half their sum where one is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (a - b) / (np.log(a) - np.log(b))
    return np.where(np.isfinite(mean) & (a != b), mean, 0.5 * (a + b))
