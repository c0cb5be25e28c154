"""Targets of the long studies whose evidence has a closed form."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import integrate, special

import refti


def skewed(dim: int) -> tuple[refti.Model, float]:
    """Correlated log-gamma variables, shapes 1 to 5, and their exact log evidence.

    y = mix @ x has independent coordinates with log density a y - exp(y), which integrates to
    Gamma(a); the change of variables to x divides by |det mix|.
    """
    rng = np.random.default_rng(20)
    shapes = np.linspace(1.0, 5.0, dim)
    mix = np.eye(dim) + np.tril(rng.normal(scale=0.3, size=(dim, dim)), -1)
    mix *= np.linspace(0.5, 2.0, dim)[:, None]

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        y = mix @ x
        return jnp.sum(shapes * y - jnp.exp(y))

    exact = special.gammaln(shapes).sum() - np.linalg.slogdet(mix)[1]
    return refti.Model(log_density, dim=dim), float(exact)


def quartic(dim: int) -> tuple[refti.Model, float]:
    """Independent smooth quartics, and their exact log evidence by quadrature."""
    weights = np.linspace(0.02, 0.4, dim)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sum(-0.5 * x**2 - weights * x**4)

    exact = sum(
        np.log(integrate.quad(lambda t, w=w: np.exp(-0.5 * t**2 - w * t**4), -12, 12)[0])
        for w in weights
    )
    return refti.Model(log_density, dim=dim), float(exact)
