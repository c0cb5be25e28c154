"""Integrals by quadrature and by importance sampling, which use neither refti nor Stan."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import logsumexp, roots_hermite

Exact = tuple[float, float]
"""A log evidence and about its error."""


def over_scale(log_density: Callable[[float], float]) -> Exact:
    """The integral over a positive number, by quadrature over its logarithm."""

    def at(u: float) -> float:
        return log_density(float(np.exp(u))) + u

    top = max((at(u), u) for u in np.linspace(-8, 8, 161))
    value, _ = quad(
        lambda u: np.exp(at(u) - top[0]), top[1] - 12, top[1] + 12, limit=500, points=[top[1]]
    )
    return float(top[0] + np.log(value)), 1e-6


def importance(
    log_density: Callable[[np.ndarray], float], start: np.ndarray, count: int = 20_000
) -> Exact:
    """Importance sampling from a Student-t about the mode, fitted twice to its own draws."""
    found = minimize(
        lambda x: -log_density(x),
        start,
        method="Nelder-Mead",
        options={"maxiter": 4_000, "maxfev": 4_000, "adaptive": True, "xatol": 1e-4, "fatol": 1e-4},
    )
    centre = found.x
    covariance = np.linalg.inv(curvature(log_density, centre))
    for round_, draws in enumerate((count // 4, count // 4, count)):
        proposal = stats.multivariate_t(centre, covariance, df=6, seed=round_)
        points = np.atleast_2d(proposal.rvs(draws))
        log_weights = np.array([log_density(x) for x in points]) - proposal.logpdf(points)
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        centre = weights @ points
        covariance = np.atleast_2d(np.cov(points.T, aweights=weights)) * 1.1
    log_z = logsumexp(log_weights) - np.log(len(log_weights))
    return float(log_z), float(np.sqrt(np.sum(weights**2) - 1 / len(weights)))


def curvature(log_density: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """The negative Hessian by differences, kept positive."""
    steps = np.eye(len(x)) * 1e-3
    hessian = np.array(
        [
            [
                (
                    log_density(x + a + b)
                    - log_density(x + a - b)
                    - log_density(x - a + b)
                    + log_density(x - a - b)
                )
                / 4e-6
                for b in steps
            ]
            for a in steps
        ]
    )
    sizes, directions = np.linalg.eigh(-0.5 * (hessian + hessian.T))
    return directions @ np.diag(np.maximum(sizes, 0.1)) @ directions.T


def normal_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the mean over a standard normal."""
    nodes, weights = roots_hermite(count)
    return np.sqrt(2) * nodes, weights / np.sqrt(np.pi)
