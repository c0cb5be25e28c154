"""Targets with tails unlike a Gaussian's: skewed, lighter and heavier."""

from __future__ import annotations

from functools import partial
from math import lgamma, log, pi

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special

from refti.models.model import Model
from refti.suite.target import Target

SHAPES = np.array([0.7, 2.0, 5.0])
DEGREES = 3.0


def log_gamma(height: float = 0.0) -> Target:
    """Logarithms of three Gamma variables, times exp(height).

    Each coordinate has an exponential tail on one side, a doubly exponential one on the other.
    """

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sum(SHAPES * x - jnp.exp(x)) + height

    name = "log_gamma" if height == 0 else f"log_gamma_{_words(height)}"
    about = "skewed" if height == 0 else f"skewed, log density shifted by {height:+g}"
    log_z = sum(lgamma(a) for a in SHAPES) + height
    return Target(name, 3, lambda: Model(log_density, dim=3), log_z, modes=1, about=about)


def skewed(dim: int) -> Target:
    """Correlated logarithms of Gamma variables of shapes 1 to 5.

    y = mix @ x has independent coordinates with log density a y - exp(y), which integrates to
    Gamma(a); the change of variables to x divides by |det mix|.
    """
    rng = np.random.default_rng(20)
    shapes = np.linspace(1.0, 5.0, dim)
    # The spread falls with the dimension, so that the correlations stay of one size.
    spread = 0.3 * np.sqrt(20 / dim)
    mix = np.eye(dim) + np.tril(rng.normal(scale=spread, size=(dim, dim)), -1)
    mix *= np.linspace(0.5, 2.0, dim)[:, None]

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        y = mix @ x
        return jnp.sum(shapes * y - jnp.exp(y))

    log_z = special.gammaln(shapes).sum() - np.log(np.diag(mix)).sum()
    about = "skewed and correlated"
    return Target(f"skewed_{dim}", dim, lambda: Model(log_density, dim=dim), float(log_z), 1, about)


def skewed_chain(dim: int) -> Target:
    """A series with skewed steps: logarithms of Gamma variables of shapes 1 to 5.

    y[t] = scale[t] (x[t] - 0.6 x[t-1] + 0.2 x[t-2]) are independent with log density a y - exp(y);
    the change of variables to x divides by the product of the scales. Unlike `skewed`, whose
    coordinates are all mixed with each other, it costs as much as it has coordinates.
    """
    shapes, scales = np.linspace(1.0, 5.0, dim), np.linspace(0.5, 2.0, dim)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        before = jnp.concatenate([jnp.zeros(2), x])
        y = scales * (x - 0.6 * before[1:-1] + 0.2 * before[:-2])
        return jnp.sum(shapes * y - jnp.exp(y))

    log_z = special.gammaln(shapes).sum() - np.log(scales).sum()
    about = "a series with skewed steps"
    model = partial(Model, log_density, dim=dim)
    return Target(f"skewed_chain_{dim}", dim, model, float(log_z), 1, about)


def quartic(dim: int) -> Target:
    """Independent coordinates with log density -x**2 / 2 - w x**4, w from 0.02 to 0.4.

    One integrates to K(1/4, s) exp(s) / sqrt(8 w) with s = 1 / (32 w), K the modified Bessel
    function of the second kind.
    """
    weights = np.linspace(0.02, 0.4, dim)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.sum(-0.5 * x**2 - weights * x**4)

    integrals = special.kve(0.25, 1 / (32 * weights)) / np.sqrt(8 * weights)
    return Target(
        f"quartic_{dim}",
        dim,
        lambda: Model(log_density, dim=dim),
        float(np.log(integrals).sum()),
        modes=1,
        about="tails lighter than a Gaussian's",
    )


def student_independent() -> Target:
    """Five independent Student-t coordinates of 3 degrees of freedom, shifted and scaled."""
    centre, scale = np.linspace(-2.0, 3.0, 5), np.geomspace(0.3, 4.0, 5)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = (x - centre) / scale
        return -0.5 * (DEGREES + 1) * jnp.sum(jnp.log1p(u**2 / DEGREES))

    log_z = 5 * _log_student_integral(1) + np.log(scale).sum()
    return Target(
        "student_independent",
        5,
        lambda: Model(log_density, dim=5),
        float(log_z),
        modes=1,
        about="independent heavy tails, 3 degrees of freedom",
    )


def student_multivariate() -> Target:
    """A correlated multivariate Student-t of 3 degrees of freedom in ten dimensions."""
    dim = 10
    centre = np.linspace(2.0, -1.0, dim)
    factor = np.eye(dim) + np.tril(np.random.default_rng(3).normal(scale=0.4, size=(dim, dim)), -1)
    factor *= np.geomspace(0.2, 5.0, dim)[:, None]
    inverse = np.linalg.inv(factor)

    def log_density(x: Float[Array, " dim"]) -> Float[Array, ""]:
        u = inverse @ (x - centre)
        return -0.5 * (DEGREES + dim) * jnp.log1p(jnp.sum(u**2) / DEGREES)

    log_z = _log_student_integral(dim) + np.log(np.diag(factor)).sum()
    return Target(
        "student_multivariate",
        dim,
        lambda: Model(log_density, dim=dim),
        float(log_z),
        modes=1,
        about="joint heavy tails, 3 degrees of freedom, correlated",
    )


def _log_student_integral(dim: int) -> float:
    """The log integral of (1 + |u|**2 / DEGREES) ** -((DEGREES + dim) / 2)."""
    return 0.5 * dim * log(DEGREES * pi) + lgamma(0.5 * DEGREES) - lgamma(0.5 * (DEGREES + dim))


def _words(height: float) -> str:
    """plus_1000000 or minus_1000000."""
    return f"{'plus' if height > 0 else 'minus'}_{abs(height):.0f}"
