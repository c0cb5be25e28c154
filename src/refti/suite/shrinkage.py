"""The horseshoe: many means of which a few are large, each with a half-Cauchy scale of its own."""

from __future__ import annotations

from math import log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import logsumexp

from refti.models.model import Model
from refti.models.supports import positive, real
from refti.suite.normal import log_normal
from refti.suite.target import Target

TAU_SCALE = 0.5


def horseshoe(means: int, *, centred: bool = False) -> Target:
    """Measured means, normal about 0 with the scale local[i] * tau, both factors half-Cauchy.

    Non-centred unless said otherwise: `mean` is then in units of its scale.
    """
    measured, errors = measurements(means)

    def log_density(
        tau: Float[Array, ""], local: Float[Array, " mean"], mean: Float[Array, " mean"]
    ) -> Float[Array, ""]:
        if centred:
            prior, theta = jnp.sum(log_normal(mean, 0.0, local * tau)), mean
        else:
            prior, theta = jnp.sum(log_normal(mean, 0.0, 1.0)), mean * local * tau
        return (
            log(2 / (pi * TAU_SCALE))
            - jnp.log1p((tau / TAU_SCALE) ** 2)
            + means * log(2 / pi)
            - jnp.sum(jnp.log1p(local**2))
            + prior
            + jnp.sum(log_normal(measured, theta, errors))
        )

    supports = {"tau": positive(), "local": positive(shape=(means,)), "mean": real(shape=(means,))}
    how = "centred" if centred else "non-centred"
    return Target(
        f"horseshoe_{means}_centred" if centred else f"horseshoe_{means}",
        1 + 2 * means,
        lambda: Model(log_density, supports),
        _log_z(measured, errors),
        modes=1,
        about=f"horseshoe of {means} means, {how}",
    )


def measurements(means: int) -> tuple[np.ndarray, np.ndarray]:
    """Measured means and their errors: one in five is large, the others are noise."""
    rng = np.random.default_rng(means)
    errors = np.linspace(0.7, 1.3, means)
    place = np.arange(means)
    large = np.where(place % 5 == 1, 4.0 + 0.25 * place, 0.0)
    return large + errors * rng.normal(size=means), errors


def _log_z(measured: np.ndarray, errors: np.ndarray) -> float:
    """The log evidence by trapezoid sums over the logarithms of the scales.

    Given its scale a mean is normal; given tau the means are independent, each with one integral
    over its own scale. The integrands are analytic in a strip about the real line and fall as
    exp(-|log scale|), so that the sums are good to nine decimals.
    """
    grid = np.linspace(-40.0, 40.0, 321)
    log_step = log(grid[1] - grid[0])
    local = log(2 / pi) - np.logaddexp(0.0, 2 * grid) + grid
    tau = log(2 / (pi * TAU_SCALE)) - np.logaddexp(0.0, 2 * (grid - log(TAU_SCALE))) + grid
    squares = np.exp(2 * np.add.outer(grid, grid))
    for y, s in zip(measured, errors, strict=True):
        variances = s**2 + squares
        normal = -0.5 * (np.log(2 * pi * variances) + y**2 / variances)
        tau = tau + logsumexp(normal + local, axis=1) + log_step
    return float(logsumexp(tau)) + log_step
