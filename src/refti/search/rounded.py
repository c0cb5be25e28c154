"""Tops without a curvature, cusps and flat ones, rounded off so that other modes can be found.

Laplace's density has no second derivative at its top, and exp(-x⁴) has one of zero. Averaged over a
spread to both sides they bend like any other top.
"""

from __future__ import annotations

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.finite_differences import find_spread, half_nat_reach
from refti.search.mode import Mode
from refti.search.tuning import TUNING

# Boole's rule for the mean over an interval, with the rest of the weight in the middle.
ENDS, HALF_WAY = 7 / 90, 32 / 90


def cost_of_rounding(dim: int) -> int:
    """Evaluations of a density for one of it rounded off."""
    return 4 * dim + 1 if dim <= TUNING.curved_peaks else TUNING.rounded_points


def round_off(
    evaluate: ValueAndGradient, top: np.ndarray, height: float
) -> ValueAndGradient | None:
    """The log density averaged over a spread to both sides along each axis of the spread.

    None where the point is no top: a spike that goes on rising, an edge, the middle of a saddle.
    """
    many = len(top) > TUNING.curved_peaks
    if many:
        spread = np.diag(half_nat_reach(evaluate, top, height, np.eye(len(top))))
    else:
        spread = find_spread(evaluate, top, height)
    if not _is_top(evaluate, top, height, spread):
        return None
    return _over_points(evaluate, spread) if many else _over_axes(evaluate, spread)


def _over_axes(evaluate: ValueAndGradient, spread: np.ndarray) -> ValueAndGradient:
    """The mean over every axis by itself, all of them added up."""
    shifts, inverse = TUNING.rounded_over * spread.T, np.linalg.inv(spread)

    def averaged(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count, dim = x.shape
        steps = [x[:, None] + part * shifts for part in (1.0, -1.0, 0.5, -0.5)]
        values, _ = evaluate(np.concatenate([x, *(step.reshape(-1, dim) for step in steps)]))
        here = values[:count]
        up, down, half_up, half_down = values[count:].reshape(4, count, dim)
        with np.errstate(invalid="ignore"):
            ends, half_way = up + down - 2 * here[:, None], half_up + half_down - 2 * here[:, None]
            mean = here + (ENDS * ends + HALF_WAY * half_way).sum(axis=1)
            slopes = (up - down) / (2 * TUNING.rounded_over)
        inside = np.isfinite(mean)
        return np.where(inside, mean, -np.inf), np.where(inside[:, None], slopes, 0.0) @ inverse

    return averaged


def _over_points(evaluate: ValueAndGradient, spread: np.ndarray) -> ValueAndGradient:
    """The mean over a few points all around, which cost the same in any number of dimensions.

    Along every axis they are evenly spaced over a spread to both sides, in an order of its own.
    A flat top becomes round so; a cusp becomes many small ones, and is none the rounder.
    """
    count, rng = TUNING.rounded_points, np.random.default_rng(TUNING.rounded_seed)
    evenly = TUNING.rounded_over * ((2 * np.arange(count) + 1) / count - 1)
    shifts = rng.permuted(np.tile(evenly, (len(spread), 1)), axis=1).T @ spread.T

    def averaged(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shape = (len(x), count, x.shape[1])
        values, gradients = evaluate((x[:, None] + shifts).reshape(-1, x.shape[1]))
        mean = values.reshape(shape[:2]).mean(axis=1)
        inside = np.isfinite(mean)
        slopes = gradients.reshape(shape).mean(axis=1)
        return np.where(inside, mean, -np.inf), np.where(inside[:, None], slopes, 0.0)

    return averaged


def with_rounded_top(evaluate: ValueAndGradient, mode: Mode, spread: np.ndarray) -> Mode:
    """The mode as if it were round and as wide as a spread; as it is, where it is no top."""
    if not _is_top(evaluate, mode.x, mode.log_density, spread):
        return mode
    factor = np.linalg.cholesky(spread @ spread.T)
    bends = -np.linalg.inv(spread @ spread.T)
    return Mode(mode.x, mode.log_density, bends, 0.0, factor)


def _is_top(evaluate: ValueAndGradient, x: np.ndarray, height: float, spread: np.ndarray) -> bool:
    """Whether the density falls to both sides along every column, without coming to an end."""
    shifts = TUNING.rounded_over * spread.T
    values, _ = evaluate(np.concatenate([x + shifts, x - shifts]))
    falls = height - values
    return bool(np.isfinite(falls).all() and falls.min() > TUNING.least_fall_of_a_top)
