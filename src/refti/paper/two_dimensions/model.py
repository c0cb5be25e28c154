"""The paper's 2-D example as a model: two quartics with an interaction, one parameter bounded."""

from __future__ import annotations

from typing import TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import refti

Values = TypeVar("Values", Array, np.ndarray)

# By quadrature. The paper prints the density with theta + 1/2; its numbers belong to theta - 1/2.
EXACT_Z = {"minus": 3.228683333, "plus": 1.291007192}


def log_density(
    theta_1: Values,
    theta_2: Values,
    *,
    shift: Values | float,
) -> Values:
    """The log density with theta + shift in its polynomials, whether or not within the bound."""
    a, b = theta_1 + shift, theta_2 + shift
    return -0.25 * (a**2 + a**4 + b**2 + b**4 + 0.5 * theta_1 * theta_2**2)


def model(*, shift: float, declared: bool, bounded: int = 1) -> refti.Model:
    """The example with theta_1 >= 0, or theta_2, as a declared bound or in the density only."""
    # Arrays are data, and a number would be part of the program, which these models can share.
    numbers, direction = np.array([shift]), np.eye(2)[bounded - 1]

    def density(theta_1: Float[Array, ""], theta_2: Float[Array, ""]) -> Float[Array, ""]:
        return log_density(theta_1, theta_2, shift=jnp.asarray(numbers)[0])

    def within_bound(x: Float[Array, " 2"]) -> Float[Array, ""]:
        return jnp.where(x @ jnp.asarray(direction) >= 0, density(x[0], x[1]), -jnp.inf)

    if declared:
        supports = {"theta_1": refti.real(), "theta_2": refti.real()}
        return refti.Model(density, supports | {f"theta_{bounded}": refti.positive()})
    return refti.Model(within_bound, dim=2, start=0.5 * direction)
