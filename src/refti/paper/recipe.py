"""The paper's recipe, as far as its examples share it: chains, draws, a spline through means."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

import refti

CHAINS = 4
DRAWS = 40_000  # a rung: 4 chains of 20,000 iterations, of which half are burn-in


def integrate_spline(lambdas: np.ndarray, expectations: np.ndarray) -> np.ndarray:
    """The cubic spline through expectations [rung, ...], integrated over lambda."""
    return np.asarray(CubicSpline(lambdas, expectations).integrate(0.0, 1.0))


def z_with_error(result: refti.Evidence) -> tuple[float, float]:
    """z and its error, from log z and its."""
    z = float(np.exp(result.log_z))
    return z, z * result.error
