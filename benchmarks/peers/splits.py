"""Splits: prior and likelihood of the problems apart, as nested samplers and SMC want them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import gamma as jax_gamma
from jax.scipy.stats import norm as jax_norm
from scipy import stats

from benchmarks.peers import known
from refti.paper.radiata import model as radiata
from refti.suite import Box


@dataclass(frozen=True)
class Split:
    """A prior and a likelihood of one vector x of parameters, as they are and not transformed.

    Attributes:
        from_cube: the points x of points u[..., dim] of the unit cube, in NumPy.
        log_prior: of one point, in JAX, normalised; minus infinity outside of its support.
        log_likelihood: of one point, in JAX.
    """

    from_cube: Callable[[np.ndarray], np.ndarray]
    log_prior: Callable[[Any], Any]
    log_likelihood: Callable[[Any], Any]


def of_box(box: Box) -> Split:
    """A uniform prior."""
    low, high = np.array(box.bounds).T

    def log_prior(x: Any) -> Any:
        return jnp.where(jnp.all((x > low) & (x < high)), -box.log_volume, -jnp.inf)

    return Split(box.from_cube, log_prior, box.log_likelihood)


def of_radiata() -> Split:
    """The radiata pine: intercept, slope and precision."""
    y, x = radiata.SPECIMENS[:, 0], radiata.SPECIMENS[:, 1]
    centred, rate = x - x.mean(), 2 * 300.0**2

    def from_cube(u: np.ndarray) -> np.ndarray:
        tau = stats.gamma.ppf(u[..., 2], 3.0, scale=1 / rate)
        alpha = stats.norm.ppf(u[..., 0], 3000.0, (0.06 * tau) ** -0.5)
        beta = stats.norm.ppf(u[..., 1], 185.0, (6.0 * tau) ** -0.5)
        return np.stack([alpha, beta, tau], axis=-1)

    def log_prior(p: Any) -> Any:
        alpha, beta, tau = p
        inside = jnp.where(tau > 0, tau, 1.0)
        value = jax_gamma.logpdf(inside, 3.0, scale=1 / rate)
        value += jax_norm.logpdf(alpha, 3000.0, (0.06 * inside) ** -0.5)
        value += jax_norm.logpdf(beta, 185.0, (6.0 * inside) ** -0.5)
        return jnp.where(tau > 0, value, -jnp.inf)

    def log_likelihood(p: Any) -> Any:
        alpha, beta, tau = p
        inside = jnp.where(tau > 0, tau, 1.0)
        return jax_norm.logpdf(y, alpha + beta * centred, inside**-0.5).sum()

    return Split(from_cube, log_prior, log_likelihood)


def of_schools() -> Split:
    """The eight schools, not centred: mu, tau and z."""

    def from_cube(u: np.ndarray) -> np.ndarray:
        z = stats.norm.ppf(u[..., 2:])
        return np.concatenate([_hyper_from_cube(u), z], axis=-1)

    def log_prior(p: Any) -> Any:
        return _log_hyper(p) + jax_norm.logpdf(p[2:]).sum()

    def log_likelihood(p: Any) -> Any:
        return jax_norm.logpdf(known.SCHOOLS, p[0] + p[1] * p[2:], known.SCHOOL_ERRORS).sum()

    return Split(from_cube, log_prior, log_likelihood)


def of_schools_centred() -> Split:
    """The eight schools, centred: mu, tau and theta."""

    def from_cube(u: np.ndarray) -> np.ndarray:
        hyper = _hyper_from_cube(u)
        theta = hyper[..., :1] + hyper[..., 1:2] * stats.norm.ppf(u[..., 2:])
        return np.concatenate([hyper, theta], axis=-1)

    def log_prior(p: Any) -> Any:
        tau = jnp.where(p[1] > 0, p[1], 1.0)
        return _log_hyper(p) + jax_norm.logpdf(p[2:], p[0], tau).sum()

    def log_likelihood(p: Any) -> Any:
        return jax_norm.logpdf(known.SCHOOLS, p[2:], known.SCHOOL_ERRORS).sum()

    return Split(from_cube, log_prior, log_likelihood)


def of_logistic(dim: int) -> Split:
    """A logistic regression."""
    data = known.logistic_data(dim)

    def from_cube(u: np.ndarray) -> np.ndarray:
        alpha = stats.norm.ppf(u[..., :1], 0, 2)
        return np.concatenate([alpha, stats.t.ppf(u[..., 1:], 4)], axis=-1)

    return Split(
        from_cube,
        lambda p: known.log_prior_of_logistic(p[0], p[1:]),
        lambda p: known.log_likelihood_of_logistic(data, p[0], p[1:]),
    )


def _hyper_from_cube(u: np.ndarray) -> np.ndarray:
    mu = stats.norm.ppf(u[..., 0], 0, known.SCALE)
    tau = stats.halfnorm.ppf(u[..., 1], scale=known.SCALE)
    return np.stack([mu, tau], axis=-1)


def _log_hyper(p: Any) -> Any:
    value = jax_norm.logpdf(p[0], 0, known.SCALE) + jax_norm.logpdf(p[1], 0, known.SCALE)
    return jnp.where(p[1] > 0, value + np.log(2), -jnp.inf)
