"""Normal densities that drift away from their reference, all of it known exactly.

The reference is a standard normal. At a mismatch m the density is a normal about m with standard
deviation 1 / (1 + m/2), so delta is a parabola and every density of the path is normal too.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.interpolate import CubicSpline
from scipy.special import logsumexp
from scipy.stats import norm

import refti

LADDER = np.array([0.0, 0.2, 0.5, 0.8, 1.0])
DRAWS = 100  # a rung, in every replicate
INSIDE = 0.99  # the share of a density that its range holds


@dataclass(frozen=True)
class Pair:
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

    def rung(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the standard deviation of the path's densities."""
        precision = 1 - lam + lam / self.scale**2
        return lam * self.mismatch / self.scale**2 / precision, precision**-0.5

    def moments(self, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean and the variance of delta at each lambda."""
        mean, scale = self.rung(np.asarray(lam))
        bend = 0.5 * (1 - self.scale**-2)
        slope = self.mismatch / self.scale**2 + 2 * bend * mean
        return self.delta(mean) + bend * scale**2, slope**2 * scale**2 + 2 * (bend * scale**2) ** 2

    def mean_inside(self) -> float:
        """The mean of delta over what the range of the reference holds."""
        edge = norm.ppf(0.5 + 0.5 * INSIDE)
        missing = 2 * edge * norm.pdf(edge) / INSIDE  # of E[x²] = 1
        full, _ = self.moments(np.array(0.0))
        return float(full - 0.5 * (1 - self.scale**-2) * missing)

    def spline_error(self) -> float:
        """What the spline through the exact expectations is off in log z."""
        means, _ = self.moments(LADDER)
        return float(CubicSpline(LADDER, means).integrate(0, 1) - np.log(self.scale))

    def spline_spread(self) -> float:
        """The standard deviation of the spline's integral with so many draws a rung."""
        weights = CubicSpline(LADDER, np.eye(len(LADDER))).integrate(0, 1)
        _, variances = self.moments(LADDER)
        return float(np.sqrt(weights**2 @ variances / DRAWS))

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
        inside_mean: the same over draws that its range holds.
        spline: log z by TI.
        one_sided: log z by weighing draws of the reference alone.
    """

    reference_mean: np.ndarray
    inside_mean: np.ndarray
    spline: np.ndarray
    one_sided: np.ndarray


def replicate(pair: Pair, count: int, seed: int) -> Replicates:
    """Replicates with exact and independent draws at every rung."""
    random = np.random.default_rng([seed, round(1000 * pair.mismatch)])
    mean, scale = (each[:, None, None] for each in pair.rung(LADDER))
    delta = pair.delta(mean + scale * random.normal(size=(len(LADDER), count, DRAWS)))
    tail = 0.5 * (1 - INSIDE)
    inside = pair.delta(norm.ppf(random.uniform(tail, 1 - tail, size=(count, DRAWS))))
    exact, _ = pair.moments(np.array(0.0))
    means, ratio = delta.mean(axis=2), np.log(pair.scale)
    return Replicates(
        means[0] - exact,
        inside.mean(axis=1) - exact,
        CubicSpline(LADDER, means).integrate(0, 1) - ratio,
        logsumexp(delta[0], axis=1) - np.log(DRAWS) - ratio,
    )
