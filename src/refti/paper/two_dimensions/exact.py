"""The 2-D example in each of its readings: evidence by quadrature, mode and curvature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.integrate import dblquad
from scipy.optimize import minimize

from refti.paper.two_dimensions.model import log_density

EDGE = 8.0  # where the quartics have left nothing


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
        return np.asarray(log_density(theta_1, theta_2, shift=self.shift))

    @property
    def low(self) -> tuple[float, float]:
        """Where integration over each parameter begins."""
        return (0.0, -EDGE) if self.bounded == 1 else (-EDGE, 0.0)

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
        EDGE,
        low_2,
        EDGE,
        epsabs=1e-11,
        epsrel=1e-11,
    )
    return float(value)
