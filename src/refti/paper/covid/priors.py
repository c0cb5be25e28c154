"""Priors of the renewal model: truncated normals, and the mass that truncation leaves."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.integrate import quad
from scipy.stats import norm


def log_normal(x: Float[Array, "..."], mean: float | Array, scale: float | Array) -> Array:
    """The log density of a normal distribution."""
    return -0.5 * ((x - mean) / scale) ** 2 - jnp.log(scale) - 0.5 * np.log(2 * np.pi)


@dataclass(frozen=True)
class Truncated:
    """A normal distribution kept between bounds but not renormalised, as the paper writes it."""

    mean: float
    scale: float
    low: float = 0.0
    high: float = float("inf")

    def __call__(self, x: Float[Array, ""]) -> Float[Array, ""]:
        """Its log density at a value within the bounds."""
        return log_normal(x, self.mean, self.scale)

    @property
    def mass(self) -> float:
        """Its integral."""
        return self.below(self.high)

    def below(self, x: float) -> float:
        """Its integral from the lower bound to x."""
        # By upper tails, which keep their digits where almost nothing is cut off.
        above = norm.sf(np.array([self.low, x]), self.mean, self.scale)
        return float(above[0] - above[1])


def stationary_share(first: Truncated, second: Truncated) -> float:
    """The probability of ρ₁ + ρ₂ < 1, where AR(2) with positive coefficients is stationary."""

    def slice_at(rho: float) -> float:
        return float(norm.pdf(rho, second.mean, second.scale)) * first.below(1 - rho)

    inside, _ = quad(slice_at, 0, 1, points=[second.mean, 1 - first.mean], epsabs=1e-13)
    return inside / (first.mass * second.mass)
