"""Targets that diverge at a bound: most of the mass lies where p or 1 - p is nearly 0.

Written as a user would write them, with log(p) and log1p(-p) of the parameter itself.
"""

from __future__ import annotations

from math import lgamma, log

import jax.numpy as jnp
from jaxtyping import Array, Float
from scipy.special import betaln

from refti.models.model import Model
from refti.models.supports import interval, positive, simplex
from refti.suite.target import Target


def beta_edges(size: int, first: float = 0.05, second: float = 0.05) -> Target:
    """Independent Beta densities without their constants."""

    def log_density(p: Float[Array, " size"]) -> Float[Array, ""]:
        return jnp.sum((first - 1) * jnp.log(p) + (second - 1) * jnp.log1p(-p))

    many = "" if size == 1 else f"_times_{size}"
    return Target(
        f"beta_{first:g}_{second:g}{many}",
        size,
        lambda: Model(log_density, {"p": interval(0, 1, shape=(size,))}),
        size * float(betaln(first, second)),
        modes=1,
        about=f"Beta({first:g}, {second:g}), infinite density at both bounds",
    )


def dirichlet_edges(size: int = 4, concentration: float = 0.05) -> Target:
    """A Dirichlet density of small, equal concentrations without its constant."""

    def log_density(p: Float[Array, " size"]) -> Float[Array, ""]:
        return jnp.sum((concentration - 1) * jnp.log(p))

    return Target(
        f"dirichlet_{concentration:g}_times_{size}",
        size - 1,
        lambda: Model(log_density, {"p": simplex(size)}),
        size * lgamma(concentration) - lgamma(size * concentration),
        modes=1,
        about=f"simplex of {size} shares, nearly all of it at its corners",
    )


def gamma_edge(shape: float = 0.1, rate: float = 2.0) -> Target:
    """A Gamma density without its constant, infinitely high at 0."""

    def log_density(value: Float[Array, ""]) -> Float[Array, ""]:
        return (shape - 1) * jnp.log(value) - rate * value

    return Target(
        f"gamma_{shape:g}",
        1,
        lambda: Model(log_density, {"value": positive()}),
        lgamma(shape) - shape * log(rate),
        modes=1,
        about=f"Gamma of shape {shape:g}, infinite density at 0",
    )
