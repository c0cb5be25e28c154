"""Curvature at draws: what a density itself says of who follows whom, however slow its chains.

Given all others, a coordinate is about normal with the precision -H_kk, about the point that one
step of Newton's method leads to. Both are exact where the density is normal in that coordinate, as
the groups of most hierarchies are, and need no draws that are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from refti.coordinates.tuning import TUNING

Gradients = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class Curvature:
    """The density about some draws.

    Attributes:
        x: the draws[point, dim].
        gradient: of the log density there, `[point, dim]`.
        hessian: `[point, dim, dim]`.
    """

    x: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray

    @cached_property
    def scale(self) -> np.ndarray:
        """The spread [point, dim] of each coordinate given the others, NaN if it has none."""
        precision = -np.einsum("pii->pi", self.hessian)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(precision > 0, 1 / np.sqrt(precision), np.nan)

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean [point, dim] of each coordinate given the others."""
        return self.x + self.gradient * self.scale**2

    @cached_property
    def slopes(self) -> np.ndarray:
        """How that mean changes with each of the others, [point, to, from]."""
        slopes = self.hessian * (self.scale**2)[:, :, None]
        every = np.arange(self.x.shape[1])
        slopes[:, every, every] = 0.0
        return slopes

    def standardised(self, location: np.ndarray, scale: np.ndarray) -> Curvature:
        """The curvature in coordinates (x - location) / scale."""
        hessian = self.hessian * scale * scale[:, None]
        return Curvature((self.x - location) / scale, self.gradient * scale, hessian)

    def joined(self, other: Curvature | None) -> Curvature:
        """The curvature at these points and at others."""
        if other is None:
            return self
        names = ("x", "gradient", "hessian")
        return Curvature(*(np.concatenate([getattr(c, n) for c in (self, other)]) for n in names))


def measure_curvature(evaluate: Gradients, draws: np.ndarray) -> Curvature | None:
    """The curvature at some of the draws[n, dim]; None where it would cost too much."""
    count, dim = draws.shape
    # A quadratic function of all others has as many slopes as there are of them.
    quadratic = 2 * dim if dim <= TUNING.most_slanting else 0
    wanted = max(TUNING.curvature_points, quadratic)
    points = min(wanted, TUNING.curvature_gradients // (3 * dim))
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
    return Curvature(x, gradient, hessian)


def _gradients_beside(evaluate: Gradients, x: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The gradients[point, stepped, dim] at points one step along each coordinate."""
    points, dim = x.shape
    beside = x[:, None] + steps[:, :, None] * np.eye(dim)
    return evaluate(beside.reshape(-1, dim))[1].reshape(points, dim, dim)
