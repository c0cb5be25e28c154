"""The paper's one- and two-dimensional examples, with their exact evidences by quadrature."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
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
    theta_1: Float[Array, ""], theta_2: Float[Array, ""], *, shift: float | Float[Array, ""]
) -> Float[Array, ""]:
    """The paper's 2-D density with theta + shift in its polynomials."""
    a, b = theta_1 + shift, theta_2 + shift
    return -0.25 * (a**2 + a**4 + b**2 + b**4 + 0.5 * theta_1 * theta_2**2)


def model_1d() -> refti.Model:
    """The 1-D example."""
    return refti.Model(log_density_1d, dim=1)


def model_2d(*, shift: float, declared: bool, bounded: int = 1) -> refti.Model:
    """The 2-D example with theta_1 >= 0, or theta_2, as a declared bound or in the density only."""
    # Arrays are data, and a number would be part of the program, which these models can share.
    numbers, direction = np.array([shift]), np.eye(2)[bounded - 1]

    def density(theta_1: Float[Array, ""], theta_2: Float[Array, ""]) -> Float[Array, ""]:
        return log_density_2d(theta_1, theta_2, shift=jnp.asarray(numbers)[0])

    def within_bound(x: Float[Array, " 2"]) -> Float[Array, ""]:
        return jnp.where(x @ jnp.asarray(direction) >= 0, density(x[0], x[1]), -jnp.inf)

    if declared:
        supports = {"theta_1": refti.real(), "theta_2": refti.real()}
        return refti.Model(density, supports | {f"theta_{bounded}": refti.positive()})
    return refti.Model(within_bound, dim=2, start=0.5 * direction)
