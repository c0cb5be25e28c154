"""Curvature at draws: what a density itself says of who follows whom, however slow its chains.

Given all others, a coordinate is about normal with the precision -H_kk, about the point that one
step of Newton's method leads to. Both are exact where the density is normal in that coordinate, as
the groups of most hierarchies are, and need no draws that are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from refti.coordinates.tuning import TUNING

Gradients = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Curvature:
    """The density about some draws.

    Attributes:
        x: the draws[point, dim].
        scale: `[point, dim]`, the spread of each coordinate given the others, NaN if it has none.
        mean: `[point, dim]`, its mean given the others.
        slopes: `[point, to, from]`, how that mean changes with each of the others.
    """

    x: np.ndarray
    scale: np.ndarray
    mean: np.ndarray
    slopes: np.ndarray

    def joined(self, other: Curvature | None) -> Curvature:
        """The curvature at these points and at others."""
        if other is None:
            return self
        names = ("x", "scale", "mean", "slopes")
        return Curvature(*(np.concatenate([getattr(c, n) for c in (self, other)]) for n in names))


def measure_curvature(evaluate: Gradients, draws: np.ndarray) -> Curvature | None:
    """The curvature at some of the draws[n, dim]; None where it would cost too much."""
    count, dim = draws.shape
    points = min(TUNING.curvature_points, TUNING.curvature_gradients // (3 * dim))
    if points < TUNING.fewest_curvature_points:
        return None
    x = draws[np.linspace(0, count - 1, points).astype(int)]
    spread = np.maximum(draws.std(axis=0), 1e-300)
    values, gradient = evaluate(x)
    x, gradient = x[np.isfinite(values)], gradient[np.isfinite(values)]
    if len(x) < TUNING.fewest_curvature_points:
        return None
    # First a tiny step for the width of each coordinate given the others, then one to suit it.
    ahead = _gradients_beside(evaluate, x, np.broadcast_to(1e-6 * spread, x.shape))
    bends = (np.einsum("pii->pi", ahead) - gradient) / (1e-6 * spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.minimum(1e-3 / np.sqrt(np.abs(bends)), 0.1 * spread)
    steps = np.where(np.isfinite(steps) & (steps > 0), steps, 1e-4 * spread)
    up, down = (_gradients_beside(evaluate, x, sign * steps) for sign in (1, -1))
    hessian = (up - down) / (2 * steps[:, :, None])  # [point, stepped, slope of]
    hessian = 0.5 * (hessian + np.swapaxes(hessian, 1, 2))
    precision = -np.einsum("pii->pi", hessian)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(precision > 0, 1 / np.sqrt(precision), np.nan)
    slopes = hessian * (scale**2)[:, :, None]
    slopes[:, np.arange(dim), np.arange(dim)] = 0.0
    return Curvature(x, scale, x + gradient * scale**2, slopes)


def _gradients_beside(evaluate: Gradients, x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The gradients[point, stepped, dim] at points one step along each coordinate."""
    points, dim = x.shape
    beside = x[:, None] + steps[:, :, None] * np.eye(dim)
    return evaluate(beside.reshape(-1, dim))[1].reshape(points, dim, dim)
