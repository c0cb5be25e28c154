"""The negative binomial likelihood of counts by mean and dispersion: variance f + f²/φ.

Γ(φ + y) / Γ(φ) is a product of y factors. Up to `FEW` of them are multiplied; the rest is the ratio
of two gamma functions of large arguments, for which Stirling's series is exact in double
precision. So every gamma function of a hundred different counts costs one logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln

FEW = 16
# B₂ₖ / (2k (2k-1)), k = 1…6, with the Bernoulli numbers B; at 16 the next term is 1e-18.
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


@dataclass(frozen=True, eq=False)
class Counts:
    """Observed counts, sorted for a fast likelihood.

    Attributes:
        counts: the counts in their order.
        exceeding: how many counts are greater than 0, 1, …, FEW - 1.
        large: the different counts greater than FEW.
        repeats: how often each of these occurs.
        log_factorials: the sum of log y! over all counts.
    """

    counts: np.ndarray
    exceeding: np.ndarray
    large: np.ndarray
    repeats: np.ndarray
    log_factorials: float

    @classmethod
    def of(cls, counts: np.ndarray) -> Counts:
        """The counts of a series."""
        y = counts.astype(float)
        large, repeats = np.unique(y[y > FEW], return_counts=True)
        exceeding = np.sum(y[:, None] > np.arange(FEW), axis=0).astype(float)
        return cls(y, exceeding, large, repeats.astype(float), float(gammaln(y + 1).sum()))

    def log_likelihood(
        self, mean: Float[Array, " day"], dispersion: Float[Array, ""]
    ) -> Float[Array, ""]:
        """Σ log NegativeBinomial(y | mean, dispersion)."""
        odds = mean / dispersion
        # For small odds log(1 + odds) loses relative digits, but none of the sum's.
        days = self.counts * jnp.log(odds) - (self.counts + dispersion) * jnp.log(1 + odds)
        return jnp.sum(days) + self._log_products(dispersion) - self.log_factorials

    def _log_products(self, phi: Float[Array, ""]) -> Float[Array, ""]:
        """Σ log Γ(φ + y) / Γ(φ)."""
        first = jnp.dot(self.exceeding, jnp.log(phi + np.arange(FEW)))
        if not len(self.large):
            return first
        rest = jnp.dot(self.repeats, _log_gamma(phi + self.large))
        return first + rest - self.repeats.sum() * _log_gamma(phi + FEW)


def _log_gamma(z: Float[Array, "..."]) -> Float[Array, "..."]:
    """log Γ(z) for z of at least FEW."""
    inverse = 1 / z
    square, series = inverse * inverse, jnp.zeros_like(z)
    for term in reversed(STIRLING):
        series = term + square * series
    return (z - 0.5) * jnp.log(z) - z + 0.5 * np.log(2 * np.pi) + inverse * series
