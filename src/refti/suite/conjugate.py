"""Targets from statistics whose evidence is known by conjugacy, prior and likelihood apart."""

from __future__ import annotations

from math import lgamma, log

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln

from refti.models.model import Model
from refti.models.supports import positive, real
from refti.suite.normal import LOG_2_PI, log_normal
from refti.suite.target import Target

NOISE = 0.7
SHAPE, RATE = 2.5, 1.2  # of the prior of the unknown noise variance
EXPOSURES = np.array([1.0, 4.0, 0.5, 10.0])
COUNTS = np.array([0.0, 7.0, 3.0, 2.0])
SHAPES, RATES = np.array([0.8, 2.0, 1.5, 3.0]), np.array([1.0, 0.7, 2.0, 4.0])


def regression(coefficients: int) -> Target:
    """A linear regression with normal priors and known noise."""
    design, responses = _data(coefficients, 2 * coefficients + 18)
    mean, scale = np.linspace(-0.5, 1.0, coefficients), np.linspace(1.0, 3.0, coefficients)

    def log_prior(b: Float[Array, " coefficient"]) -> Float[Array, ""]:
        return jnp.sum(log_normal(b, mean, scale))

    def log_likelihood(b: Float[Array, " coefficient"]) -> Float[Array, ""]:
        return jnp.sum(log_normal(responses, design @ b, NOISE))

    spread = (design * scale**2) @ design.T + NOISE**2 * np.eye(len(responses))
    off = responses - design @ mean
    log_z = -0.5 * (
        len(off) * LOG_2_PI + np.linalg.slogdet(spread)[1] + off @ np.linalg.solve(spread, off)
    )
    return Target(
        f"regression_{coefficients}",
        coefficients,
        lambda: Model(
            log_prior=log_prior,
            log_likelihood=log_likelihood,
            parameters={"b": real(shape=(coefficients,))},
        ),
        float(log_z),
        modes=1,
        about="linear regression, known noise",
    )


def regression_noise() -> Target:
    """A linear regression whose noise variance is unknown, under its conjugate prior.

    The variance is inverse-gamma and the coefficients are normal with covariance
    variance * diag(scale^2).
    """
    design, responses = _data(4, 25)
    scale = np.array([2.0, 1.0, 0.5, 3.0])

    def log_prior(b: Float[Array, " coefficient"], variance: Float[Array, ""]) -> Float[Array, ""]:
        noise = SHAPE * log(RATE) - lgamma(SHAPE) - (SHAPE + 1) * jnp.log(variance)
        return noise - RATE / variance + jnp.sum(log_normal(b, 0.0, scale * jnp.sqrt(variance)))

    def log_likelihood(
        b: Float[Array, " coefficient"], variance: Float[Array, ""]
    ) -> Float[Array, ""]:
        return jnp.sum(log_normal(responses, design @ b, jnp.sqrt(variance)))

    precision = np.diag(scale**-2) + design.T @ design
    projected = design.T @ responses
    shape = SHAPE + 0.5 * len(responses)
    rest = responses @ responses - projected @ np.linalg.solve(precision, projected)
    log_z = (
        SHAPE * log(RATE)
        - shape * log(RATE + 0.5 * rest)
        + lgamma(shape)
        - lgamma(SHAPE)
        - 0.5 * (len(responses) * LOG_2_PI + np.linalg.slogdet(precision)[1])
        - np.log(scale).sum()
    )
    return Target(
        "regression_noise",
        5,
        lambda: Model(
            log_prior=log_prior,
            log_likelihood=log_likelihood,
            parameters={"b": real(shape=(4,)), "variance": positive()},
        ),
        float(log_z),
        modes=1,
        about="linear regression, unknown noise",
    )


def poisson_gamma() -> Target:
    """Counts of four groups, each with the logarithm of its Gamma-distributed rate."""

    def log_prior(log_rate: Float[Array, " group"]) -> Float[Array, ""]:
        constant = SHAPES * np.log(RATES) - gammaln(SHAPES)
        return jnp.sum(constant + SHAPES * log_rate - RATES * jnp.exp(log_rate))

    def log_likelihood(log_rate: Float[Array, " group"]) -> Float[Array, ""]:
        constant = COUNTS * np.log(EXPOSURES) - gammaln(COUNTS + 1)
        return jnp.sum(constant + COUNTS * log_rate - EXPOSURES * jnp.exp(log_rate))

    log_z = np.sum(
        gammaln(SHAPES + COUNTS)
        - gammaln(SHAPES)
        - gammaln(COUNTS + 1)
        + SHAPES * np.log(RATES)
        + COUNTS * np.log(EXPOSURES)
        - (SHAPES + COUNTS) * np.log(RATES + EXPOSURES)
    )
    return Target(
        "poisson_gamma",
        4,
        lambda: Model(
            log_prior=log_prior,
            log_likelihood=log_likelihood,
            parameters={"log_rate": real(shape=(4,))},
        ),
        float(log_z),
        modes=1,
        about="Poisson counts with log rates",
    )


def _data(coefficients: int, observations: int) -> tuple[np.ndarray, np.ndarray]:
    """An intercept and correlated covariates, and responses that follow them."""
    rng = np.random.default_rng(coefficients)
    design = rng.normal(size=(observations, coefficients)) + rng.normal(size=(observations, 1))
    design[:, 0] = 1.0
    truth = rng.normal(0.3, 1.0, size=coefficients)
    return design, design @ truth + NOISE * rng.normal(size=observations)
