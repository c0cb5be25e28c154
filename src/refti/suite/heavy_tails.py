"""Targets whose tails are power laws, or stretched: much of the mass lies far out."""

from __future__ import annotations

from math import lgamma, log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.models.model import Model
from refti.suite.target import Target


def cauchy(dim: int) -> Target:
    """Independent Cauchy coordinates, shifted and scaled: neither means nor variances exist."""
    return _independent(f"cauchy_{dim}", dim, 1.0, "independent Cauchys")


def student(dim: int, degrees: float) -> Target:
    """Independent Student-t coordinates, shifted and scaled."""
    about = f"independent heavy tails, {degrees:g} degrees of freedom"
    return _independent(f"student_{dim}d_{degrees:g}df", dim, degrees, about)


def student_joint(dim: int, degrees: float) -> Target:
    """A correlated multivariate Student-t: all coordinates go far out together."""
    centre = np.linspace(2.0, -1.0, dim)
    factor = np.eye(dim) + np.tril(np.random.default_rng(3).normal(scale=0.3, size=(dim, dim)), -1)
    factor *= np.geomspace(0.3, 3.0, dim)[:, None]
    inverse = np.linalg.inv(factor)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = inverse @ (x - centre)
        return -0.5 * (degrees + dim) * jnp.log1p(jnp.sum(u**2) / degrees)

    return Target(
        f"student_joint_{dim}d_{degrees:g}df",
        dim,
        lambda: Model(log_density, dim=dim),
        _log_integral(dim, degrees) + float(np.log(np.diag(factor)).sum()),
        modes=1,
        about=f"joint heavy tails, {degrees:g} degrees of freedom, correlated",
    )


def stretched(power: float = 0.3) -> Target:
    """exp(-|u|^power) of u = (x - 1) / 2, which integrates to 4 Gamma(1 + 1 / power).

    All moments exist, and yet half of the mass is further out than 39 scales of its spike, and one
    part in a hundred further than 1,490.
    """

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return -jnp.sum(jnp.abs((x - 1) / 2) ** power)

    return Target(
        f"stretched_{power:g}",
        1,
        lambda: Model(log_density, dim=1),
        log(4) + lgamma(1 + 1 / power),
        modes=1,
        about=f"exp(-|x|^{power:g}), a spike with very long tails",
    )


def _independent(name: str, dim: int, degrees: float, about: str) -> Target:
    centre, scale = np.linspace(-2.0, 3.0, dim), np.geomspace(0.5, 3.0, dim)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = (x - centre) / scale
        return -0.5 * (degrees + 1) * jnp.sum(jnp.log1p(u**2 / degrees))

    return Target(
        name,
        dim,
        lambda: Model(log_density, dim=dim),
        dim * _log_integral(1, degrees) + float(np.log(scale).sum()),
        modes=1,
        about=about,
    )


def _log_integral(dim: int, degrees: float) -> float:
    """The log integral of (1 + |u|^2 / degrees)^-((degrees + dim) / 2)."""
    return 0.5 * dim * log(degrees * pi) + lgamma(0.5 * degrees) - lgamma(0.5 * (degrees + dim))
