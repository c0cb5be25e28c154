"""Expansions of the 2-D example: the normal densities that its references are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, roots_legendre

from refti.paper.normal_reference import NormalReference
from refti.paper.recipe import integrate_spline
from refti.paper.two_dimensions.exact import EDGE, Case

NODES = 200  # of a Gauss-Legendre rule in each direction


@dataclass(frozen=True, eq=False)
class Expansion:
    """A normal density in the place of q, with q's height at its centre.

    Attributes:
        case: what it stands for.
        centre: its mean.
        covariance: its covariance matrix.
    """

    case: Case
    centre: np.ndarray
    covariance: np.ndarray

    @property
    def z(self) -> float:
        """Its integral over the plane."""
        height = np.exp(self.case.log_density(*self.centre))
        return float(height * 2 * np.pi * np.sqrt(np.linalg.det(self.covariance)))

    def share_within_bound(self, variance_of: int | None = None) -> float:
        """The share of it within the bound, or what it is with another parameter's variance."""
        bounded = self.case.bounded - 1
        other = bounded if variance_of is None else variance_of - 1
        return float(ndtr(self.centre[bounded] / np.sqrt(self.covariance[other, other])))

    def diagonal(self) -> Expansion:
        """The same with the diagonal of its precision, which here is that of the Hessian."""
        precisions = np.diagonal(np.linalg.inv(self.covariance))
        return replace(self, covariance=np.diag(1 / precisions))

    def log_density(self, theta_1: np.ndarray, theta_2: np.ndarray) -> np.ndarray:
        """Its log density at many points."""
        away = np.stack([theta_1 - self.centre[0], theta_2 - self.centre[1]], axis=-1)
        squares = np.sum(away * (away @ np.linalg.inv(self.covariance)), axis=-1)
        return self.case.log_density(*self.centre) - 0.5 * squares

    def reference(self) -> NormalReference:
        """It as a reference."""
        height = float(self.case.log_density(*self.centre))
        return NormalReference.of(self.centre, self.covariance, height)

    def z_by_spline(self, rungs: int = 11) -> float:
        """z by the spline through exact expectations, from it and its share within the bound."""
        nodes, weights = roots_legendre(NODES)
        (x, at_x), (y, at_y) = (
            (0.5 * (EDGE - low) * (nodes + 1) + low, 0.5 * (EDGE - low) * weights)
            for low in self.case.low
        )
        grid, volume = np.meshgrid(x, y, indexing="ij"), np.outer(at_x, at_y)
        start = self.log_density(*grid)
        delta = self.case.log_density(*grid) - start
        lambdas = np.linspace(0, 1, rungs)
        masses = [volume * np.exp(start + lam * delta) for lam in lambdas]
        means = [float((mass * delta).sum() / mass.sum()) for mass in masses]
        return float(
            self.z * self.share_within_bound() * np.exp(integrate_spline(lambdas, np.array(means)))
        )


def expand_at_mode(case: Case, *, precision: float = 1.0) -> Expansion:
    """The expansion at the mode, with so many times the Hessian's precision."""
    return Expansion(case, case.mode(), np.linalg.inv(-precision * case.hessian()))


def expand_at_moments(case: Case) -> Expansion:
    """The expansion of the exact mean and covariance of q, by quadrature."""
    points = [np.linspace(low, EDGE, 801) for low in case.low]
    grid = np.stack(np.meshgrid(*points, indexing="ij"), axis=-1)
    mass = np.exp(case.log_density(grid[..., 0], grid[..., 1]))
    for axis, low in enumerate(case.low):
        # Half the weight at the bound makes a trapezoid rule; q is nothing at the other ends.
        if low == 0:
            mass[(0,) if axis == 0 else (slice(None), 0)] *= 0.5
    mass /= mass.sum()
    mean = np.einsum("ij,ijk->k", mass, grid)
    away = grid - mean
    return Expansion(case, mean, np.einsum("ij,ijk,ijl->kl", mass, away, away))
