"""The paper's one- and two-dimensional examples, with their exact evidences by quadrature."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

import refti

EXACT_Z_1D = 1.523344311

# The paper prints the density with theta + 1/2; its printed numbers belong to theta - 1/2.
EXACT_Z_2D = {"minus": 3.228683333, "plus": 1.291007192}


def log_density_1d(x: Float[Array, " 1"]) -> Float[Array, ""]:
    """-sqrt|theta - 4| / 2 - (theta - 4)^4 / 2: a cusp on a quartic."""
    theta = x[0] - 4.0
    return -0.5 * jnp.sqrt(jnp.abs(theta)) - 0.5 * theta**4


def smooth_part_1d(x: Float[Array, " 1"]) -> Float[Array, ""]:
    """The 1-D density without its cusp, a quartic that is its own expansion of order 4."""
    return -0.5 * (x[0] - 4.0) ** 4


def log_density_2d(
    theta_1: Float[Array, ""], theta_2: Float[Array, ""], *, shift: float
) -> Float[Array, ""]:
    """The paper's 2-D density with theta + shift in its polynomials."""
    a, b = theta_1 + shift, theta_2 + shift
    return -0.25 * (a**2 + a**4 + b**2 + b**4 + 0.5 * theta_1 * theta_2**2)


def model_1d() -> refti.Model:
    """The 1-D example."""
    return refti.Model(log_density_1d, dim=1)


def model_2d(*, shift: float, declared: bool) -> refti.Model:
    """The 2-D example on theta_1 >= 0, with the bound declared or only in the density."""
    if declared:
        return refti.Model(
            lambda theta_1, theta_2: log_density_2d(theta_1, theta_2, shift=shift),
            {"theta_1": refti.positive(), "theta_2": refti.real()},
        )

    def log_density(x: Float[Array, " 2"]) -> Float[Array, ""]:
        return jnp.where(x[0] >= 0, log_density_2d(x[0], x[1], shift=shift), -jnp.inf)

    return refti.Model(log_density, dim=2, start=[0.5, 0.0])
