"""The 2-D example by quadrature, and the values of its Laplace-type references."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy.integrate import dblquad
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize
from scipy.special import ndtr, roots_legendre

from refti.paper.normal_reference import NormalReference

FAR = 8.0  # where the quartics have left nothing
NODES = 200


@dataclass(frozen=True)
class Case:
    """One reading of the example: theta + shift in its polynomials, and the bounded parameter.

    Attributes:
        shift: +½ as printed, -½ behind the printed numbers.
        bounded: 1 or 2, whichever parameter is at least 0.
    """

    shift: float
    bounded: int

    def log_density(self, theta_1: np.ndarray, theta_2: np.ndarray) -> np.ndarray:
        """log q, at many points, whether or not within the bound."""
        a, b = theta_1 + self.shift, theta_2 + self.shift
        return -0.25 * (a**2 + a**4 + b**2 + b**4 + 0.5 * theta_1 * theta_2**2)

    @property
    def low(self) -> tuple[float, float]:
        """Where integration over each parameter begins."""
        return (0.0, -FAR) if self.bounded == 1 else (-FAR, 0.0)

    def evidence(self) -> float:
        """z by adaptive quadrature."""
        return _evidence(self)

    def mode(self) -> np.ndarray:
        """The mode within the bound."""
        found = minimize(
            lambda theta: -self.log_density(*theta),
            np.full(2, 0.1),
            jac=lambda theta: -self._slope(*theta),
            bounds=[(0 if low == 0 else None, None) for low in self.low],
            method="L-BFGS-B",
            options={"ftol": 1e-16, "gtol": 1e-12},
        )
        return np.asarray(found.x)

    def hessian(self) -> np.ndarray:
        """The second derivatives of log q at the mode."""
        theta_1, theta_2 = self.mode()
        a, b = theta_1 + self.shift, theta_2 + self.shift
        return -0.25 * np.array([[2 + 12 * a**2, theta_2], [theta_2, 2 + 12 * b**2 + theta_1]])

    def _slope(self, theta_1: float, theta_2: float) -> np.ndarray:
        a, b = theta_1 + self.shift, theta_2 + self.shift
        return -0.25 * np.array(
            [2 * a + 4 * a**3 + 0.5 * theta_2**2, 2 * b + 4 * b**3 + theta_1 * theta_2]
        )


@cache
def _evidence(case: Case) -> float:
    low_1, low_2 = case.low
    value, _ = dblquad(
        lambda theta_2, theta_1: np.exp(case.log_density(theta_1, theta_2)),
        low_1,
        FAR,
        low_2,
        FAR,
        epsabs=1e-11,
        epsrel=1e-11,
    )
    return float(value)


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

    def share(self, variance_of: int | None = None) -> float:
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

    def by_spline(self, rungs: int = 11) -> float:
        """z by the spline through exact expectations, from it and its share within the bound."""
        nodes, weights = roots_legendre(NODES)
        (x, at_x), (y, at_y) = (
            (0.5 * (FAR - low) * (nodes + 1) + low, 0.5 * (FAR - low) * weights)
            for low in self.case.low
        )
        grid, volume = np.meshgrid(x, y, indexing="ij"), np.outer(at_x, at_y)
        start = self.log_density(*grid)
        delta = self.case.log_density(*grid) - start
        lambdas = np.linspace(0, 1, rungs)
        masses = [volume * np.exp(start + lam * delta) for lam in lambdas]
        means = [float((mass * delta).sum() / mass.sum()) for mass in masses]
        return float(self.z * self.share() * np.exp(CubicSpline(lambdas, means).integrate(0, 1)))


def laplace(case: Case, *, precision: float = 1.0) -> Expansion:
    """The expansion at the mode, with so many times the Hessian's precision."""
    return Expansion(case, case.mode(), np.linalg.inv(-precision * case.hessian()))


def sampled(case: Case) -> Expansion:
    """The expansion of the exact mean and covariance of q, by quadrature."""
    points = [np.linspace(low, FAR, 801) for low in case.low]
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
