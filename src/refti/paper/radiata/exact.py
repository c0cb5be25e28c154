"""Radiata pine in closed form: a normal-gamma prior stays one under any power of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import digamma, gammaln, polygamma

from refti.paper.radiata.model import SPECIMENS

PRIOR_MEAN = np.array([3000.0, 185.0])
PRIOR_PRECISION = np.diag([0.06, 6.0])  # times tau
SHAPE, RATE = 3.0, 2 * 300.0**2


@dataclass(frozen=True, eq=False)
class NormalGamma:
    """tau ~ Gamma(shape, rate); (alpha, beta) given tau ~ Normal(mean, precision tau)."""

    mean: NDArray[np.float64]
    precision: NDArray[np.float64]
    shape: float
    rate: float

    def log_constant(self) -> float:
        """The log of what exp(-tau ...) tau^... must be multiplied with to integrate to one."""
        coefficients = 0.5 * np.linalg.slogdet(self.precision)[1] - math.log(2 * math.pi)
        return float(coefficients + self.shape * math.log(self.rate) - gammaln(self.shape))


@dataclass(frozen=True)
class Conjugate:
    """The regression of strength on one column of the specimens, all of it by formula."""

    column: int

    def at(self, lam: float) -> NormalGamma:
        """The power posterior: prior times likelihood to the power lambda."""
        design, strength = self._design, SPECIMENS[:, 0]
        precision = PRIOR_PRECISION + lam * design.T @ design
        mean = np.linalg.solve(precision, PRIOR_PRECISION @ PRIOR_MEAN + lam * design.T @ strength)
        left, moved = strength - design @ mean, mean - PRIOR_MEAN
        rate = RATE + 0.5 * (lam * left @ left + moved @ PRIOR_PRECISION @ moved)
        return NormalGamma(mean, precision, SHAPE + lam * len(strength) / 2, float(rate))

    def log_z(self, lam: float = 1.0) -> float:
        """The log of the integral of the power posterior; the log evidence at lambda = 1."""
        constants = lam * len(SPECIMENS) / 2 * math.log(2 * math.pi)
        return self.at(0.0).log_constant() - self.at(lam).log_constant() - constants

    def expectation(self, lam: float) -> float:
        """The mean of the log likelihood under the power posterior: the slope of log_z there."""
        design, there = self._design, self.at(lam)
        left = SPECIMENS[:, 0] - design @ there.mean
        squares = there.shape / there.rate * left @ left
        squares += np.trace(np.linalg.solve(there.precision, design.T @ design))
        log_tau = digamma(there.shape) - math.log(there.rate)
        return float(0.5 * len(left) * (log_tau - math.log(2 * math.pi)) - 0.5 * squares)

    def spline_error(self, ladder: NDArray[np.float64]) -> float:
        """What a cubic spline through the exact means at these rungs is off by."""
        means = [self.expectation(float(lam)) for lam in ladder]
        return float(CubicSpline(ladder, means).integrate(0.0, 1.0)) - self.log_z()

    def laplace_error(self, *, log_scale: bool) -> float:
        """What Laplace with exact mean and covariance is off by, on the scale of log tau or tau.

        It holds the shape of the Gamma posterior alone, which depends on nothing but the number of
        specimens: any two such regressions have it in common.
        """
        shape = self.at(1.0).shape
        # With tau in units of its rate; alpha and beta have variance 1 / (shape - 1) in such units.
        spread = -math.log(shape - 1) + 1.5 * math.log(2 * math.pi) - math.log(2 * math.pi)
        if log_scale:
            place, variance = float(digamma(shape)), float(polygamma(1, shape))
            log_density = (shape + 1) * place - math.exp(place)
        else:
            place, variance = math.log(shape), shape
            log_density = shape * place - shape
        return log_density - float(gammaln(shape)) + spread + 0.5 * math.log(variance)

    @property
    def _design(self) -> NDArray[np.float64]:
        covariate = SPECIMENS[:, self.column]
        return np.stack([np.ones_like(covariate), covariate - covariate.mean()], axis=1)


MODELS = {"density": Conjugate(1), "adjusted_density": Conjugate(2)}


def exact_bayes_factor() -> float:
    """The Bayes factor of adjusted density over density."""
    return math.exp(MODELS["adjusted_density"].log_z() - MODELS["density"].log_z())
