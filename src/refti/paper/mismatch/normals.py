"""Normal densities that do not match their reference, all of it known exactly.

The reference is a standard normal. At a mismatch m the density is a normal about m with standard
deviation 1 / (1 + m/2), so delta is a parabola and every density of the path is normal too.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp
from scipy.stats import norm

import refti
from refti.paper.recipe import integrate_spline

LADDER = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
DRAWS_A_RUNG = 100  # a rung, in every replicate
WITHIN_RANGE = 0.99  # the share of a density that its range holds


@dataclass(frozen=True)
class MismatchedPair:
    """A standard normal reference and a density at a mismatch from it, both of height 1."""

    mismatch: float

    @property
    def scale(self) -> float:
        """The standard deviation of the density."""
        return 1 / (1 + 0.5 * self.mismatch)

    @property
    def log_z(self) -> float:
        """The log integral of the density."""
        return float(np.log(self.scale) + 0.5 * np.log(2 * np.pi))

    def delta(self, x: np.ndarray) -> np.ndarray:
        """log q / q_ref."""
        return 0.5 * x**2 - 0.5 * ((x - self.mismatch) / self.scale) ** 2

    def mean_and_scale(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the standard deviation of the path's densities."""
        precision = 1 - lam + lam / self.scale**2
        return lam * self.mismatch / self.scale**2 / precision, precision**-0.5

    def delta_moments(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the variance of delta at each lambda."""
        mean, scale = self.mean_and_scale(np.asarray(lam))
        bend = 0.5 * (1 - self.scale**-2)
        slope = self.mismatch / self.scale**2 + 2 * bend * mean
        return self.delta(mean) + bend * scale**2, slope**2 * scale**2 + 2 * (bend * scale**2) ** 2

    def mean_within_range(self) -> float:
        """The mean of delta over what the range of the reference holds."""
        edge = norm.ppf(0.5 + 0.5 * WITHIN_RANGE)
        missing = 2 * edge * norm.pdf(edge) / WITHIN_RANGE  # of E[x²] = 1
        full, _ = self.delta_moments(np.array(0.0))
        return float(full - 0.5 * (1 - self.scale**-2) * missing)

    def spline_error(self) -> float:
        """What the spline through the exact expectations is off in log z."""
        means, _ = self.delta_moments(LADDER)
        return float(integrate_spline(LADDER, means) - np.log(self.scale))

    def spline_spread(self) -> float:
        """The standard deviation of the spline's integral with so many draws a rung."""
        weights = integrate_spline(LADDER, np.eye(len(LADDER)))
        _, variances = self.delta_moments(LADDER)
        return float(np.sqrt(weights**2 @ variances / DRAWS_A_RUNG))

    def model(self) -> refti.Model:
        """The density as a model."""
        numbers = np.array([self.mismatch, self.scale])

        def log_density(x: Float[Array, " 1"]) -> Float[Array, ""]:
            mean, scale = jnp.asarray(numbers)
            return -0.5 * ((x[0] - mean) / scale) ** 2

        return refti.Model(log_density, dim=1)


@dataclass(frozen=True, eq=False)
class Replicates:
    """What many replicates came to at one mismatch, less what is exact: each [replicate].

    Attributes:
        reference_mean: the mean of delta over draws of the reference.
        mean_within_range: the same over draws that its range holds.
        spline: log z by TI.
        one_sided: log z by weighing draws of the reference alone.
    """

    reference_mean: np.ndarray
    mean_within_range: np.ndarray
    spline: np.ndarray
    one_sided: np.ndarray


def replicate(pair: MismatchedPair, count: int, seed: int) -> Replicates:
    """Replicates with exact and independent draws at every rung."""
    random = np.random.default_rng([seed, round(1000 * pair.mismatch)])
    mean, scale = (each[:, None, None] for each in pair.mean_and_scale(LADDER))
    delta = pair.delta(mean + scale * random.normal(size=(len(LADDER), count, DRAWS_A_RUNG)))
    tail = 0.5 * (1 - WITHIN_RANGE)
    within = pair.delta(norm.ppf(random.uniform(tail, 1 - tail, size=(count, DRAWS_A_RUNG))))
    exact, _ = pair.delta_moments(np.array(0.0))
    means, ratio = delta.mean(axis=2), np.log(pair.scale)
    return Replicates(
        means[0] - exact,
        within.mean(axis=1) - exact,
        integrate_spline(LADDER, means) - ratio,
        logsumexp(delta[0], axis=1) - np.log(DRAWS_A_RUNG) - ratio,
    )
