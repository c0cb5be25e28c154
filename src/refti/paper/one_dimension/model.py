"""The paper's 1-D example as a model: a cusp on a quartic."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

import refti

EXACT_Z = 1.523344311  # by quadrature


def log_density(x: Float[Array, " 1"]) -> Float[Array, ""]:
    """-sqrt|theta - 4| / 2 - (theta - 4)^4 / 2."""
    theta = x[0] - 4.0
    return -0.5 * jnp.sqrt(jnp.abs(theta)) - 0.5 * theta**4


def log_density_without_cusp(x: Float[Array, " 1"]) -> Float[Array, ""]:
    """The quartic alone, which is its own expansion of order 4."""
    return -0.5 * (x[0] - 4.0) ** 4


def model() -> refti.Model:
    """The example."""
    return refti.Model(log_density, dim=1)
