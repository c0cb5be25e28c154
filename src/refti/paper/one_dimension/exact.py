"""The 1-D example by quadrature: its evidence, its variance, and the path from any reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.special import roots_legendre

import refti

CENTRE = 4.0
NODES = 400  # of a Gauss-Legendre rule on either side of the cusp
REACH = 2.6  # of sqrt|theta - 4|: ten standard deviations and more


def log_density(theta: np.ndarray) -> np.ndarray:
    """log q at many points."""
    distance = np.abs(np.asarray(theta) - CENTRE)
    return -0.5 * np.sqrt(distance) - 0.5 * distance**4


def evidence() -> float:
    """z by adaptive quadrature."""
    return _half_moment(0) * 2


def variance() -> float:
    """The variance of the normalised density, about its mean of 4."""
    return _half_moment(2) / _half_moment(0)


def _half_moment(order: int) -> float:
    # With t = sqrt|theta - 4| the cusp is gone.
    def integrand(t: float) -> float:
        return float(2 * t ** (2 * order + 1) * np.exp(-0.5 * t - 0.5 * t**8))

    return float(quad(integrand, 0, np.inf, epsabs=1e-13, epsrel=1e-13)[0])


@dataclass(frozen=True)
class NormalCurve:
    """A normal reference: its mean, its variance and its log density at the mean."""

    mean: float
    variance: float
    log_height: float

    @property
    def z(self) -> float:
        """Its integral."""
        return float(np.exp(self.log_height) * np.sqrt(2 * np.pi * self.variance))

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """log q_ref at many points."""
        return self.log_height - 0.5 * (np.asarray(theta) - self.mean) ** 2 / self.variance


def laplace_reference(mean: float, variance: float) -> NormalCurve:
    """The paper's reference of a mean and a variance: as high as q is at the mean."""
    return NormalCurve(mean, variance, float(log_density(np.array(mean))))


def read_reference(result: refti.Evidence) -> NormalCurve:
    """The reference of a run, read off its draws: log q less delta is a parabola in theta."""
    theta = result.posterior["x"].values.ravel()
    heights = log_density(theta) - result.draws[-1].delta[-1].ravel()
    bend, slope, level = np.polynomial.Polynomial.fit(theta, heights, 2).convert().coef[::-1]
    mean = -slope / (2 * bend)
    return NormalCurve(float(mean), float(-0.5 / bend), float(level - bend * mean**2))


def expectations(reference: NormalCurve, lambdas: np.ndarray) -> np.ndarray:
    """E_lambda[delta] by quadrature, at each lambda."""
    t, weights = roots_legendre(NODES)
    t, weights = 0.5 * REACH * (t + 1), 0.5 * REACH * weights
    theta = np.concatenate([CENTRE - t**2, CENTRE + t**2])
    volume = np.tile(2 * t * weights, 2)
    start = reference.log_density(theta)
    delta = log_density(theta) - start
    mass = volume * np.exp(start + np.asarray(lambdas)[:, None] * delta)
    return np.asarray((mass @ delta) / mass.sum(axis=1))
