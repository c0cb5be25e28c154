"""Gaussian targets: correlated, of very different scales, of many dimensions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.models.model import Model
from refti.suite.normal import LOG_2_PI
from refti.suite.target import Target

GAUSSIAN_MEAN = np.array([3.0, -1.0, 0.5])
GAUSSIAN_FACTOR = np.array([[0.5, 0.0, 0.0], [1.2, 2.0, 0.0], [-0.3, 0.4, 0.1]])
GAUSSIAN_HEIGHT = 7.3


def gaussian() -> Target:
    """A shifted, correlated, scaled Gaussian of height exp(7.3) in three dimensions."""
    return _target(
        "gaussian",
        GAUSSIAN_MEAN,
        GAUSSIAN_FACTOR,
        GAUSSIAN_HEIGHT,
        "shifted, correlated, scaled Gaussian",
    )


def gaussian_scales() -> Target:
    """A correlated Gaussian in ten dimensions whose scales run from 1e-5 to 1e5."""
    scales = np.logspace(-5, 5, 10)
    factor = np.tril(np.random.default_rng(1).normal(scale=0.3, size=(10, 10)), -1) + np.eye(10)
    mean = scales * np.linspace(-1.5, 2.0, 10)
    about = "correlated Gaussian with scales from 1e-5 to 1e5"
    return _target("gaussian_scales", mean, scales[:, None] * factor, -4.1, about)


def ar1(dim: int, correlation: float = 0.9) -> Target:
    """A Gaussian whose neighbouring coordinates are correlated, as in an AR(1) series.

    With u = (x - mean) / scale: u[0] is standard normal and u[t] is normal about
    correlation * u[t - 1] with variance 1 - correlation**2.
    """
    mean, scale = np.linspace(-1.0, 2.0, dim), np.linspace(0.5, 2.0, dim)
    innovation = 1 - correlation**2

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = (x - mean) / scale
        steps = u[1:] - correlation * u[:-1]
        return -0.5 * (u[0] ** 2 + jnp.sum(steps**2) / innovation)

    log_z = 0.5 * (dim * LOG_2_PI + (dim - 1) * np.log(innovation)) + np.log(scale).sum()
    about = f"Gaussian, neighbours correlated by {correlation:g}"
    return Target(
        f"ar1_{dim}", dim, lambda: Model(log_density, dim=dim), float(log_z), modes=1, about=about
    )


def wide_normal(scale: float) -> Target:
    """A normal in one dimension whose deviation is astronomical, as units can make it."""

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return 2.3 - 0.5 * jnp.sum((x / scale - 0.4) ** 2)

    exponent = f"1e{np.log10(scale):.0f}"
    return Target(
        f"normal_{exponent}",
        1,
        lambda: Model(log_density, dim=1),
        2.3 + 0.5 * LOG_2_PI + float(np.log(scale)),
        modes=1,
        about=f"a normal of deviation {exponent}",
    )


def _target(name: str, mean: np.ndarray, factor: np.ndarray, height: float, about: str) -> Target:
    """The Gaussian of covariance factor @ factor.T and of height exp(height)."""
    dim = len(mean)
    inverse = np.linalg.inv(factor)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return height - 0.5 * jnp.sum((inverse @ (x - mean)) ** 2)

    log_z = height + 0.5 * dim * LOG_2_PI + np.log(np.abs(np.diag(factor))).sum()
    return Target(
        name, dim, lambda: Model(log_density, dim=dim), float(log_z), modes=1, about=about
    )
