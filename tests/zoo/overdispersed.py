"""Counts that vary more than Poisson ones: each has an effect of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.stats import expon, norm, poisson
from numpyro.distributions import Exponential, Normal, Poisson

import refti

N = 25
_rng = np.random.default_rng(5)
_x = np.linspace(-1.0, 1.0, N)
_y = _rng.poisson(np.exp(1.2 + 0.6 * _x + 0.5 * _rng.normal(size=N)))
DATA = {"N": N, "x": _x, "y": _y}

stan = Path(__file__).with_suffix(".stan")


def log_prior(alpha: jax.Array, beta: jax.Array, spread: jax.Array, effect: jax.Array) -> jax.Array:
    slopes = norm.logpdf(alpha, 1, 1) + norm.logpdf(beta)
    return slopes + expon.logpdf(spread, scale=0.5) + norm.logpdf(effect).sum()


def log_likelihood(
    alpha: jax.Array, beta: jax.Array, spread: jax.Array, effect: jax.Array
) -> jax.Array:
    rate = jnp.exp(alpha + beta * DATA["x"] + spread * effect)
    return poisson.logpmf(DATA["y"], rate).sum()


def jax_model() -> refti.Model:
    supports = {
        "alpha": refti.real(),
        "beta": refti.real(),
        "spread": refti.positive(),
        "effect": refti.real(shape=(N,)),
    }
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(N: int, x: np.ndarray, y: np.ndarray) -> None:
    alpha = numpyro.sample("alpha", Normal(1, 1))
    beta = numpyro.sample("beta", Normal(0, 1))
    spread = numpyro.sample("spread", Exponential(2))
    with numpyro.plate("count", N):
        effect = numpyro.sample("effect", Normal(0, 1))
        numpyro.sample("y", Poisson(jnp.exp(alpha + beta * x + spread * effect)), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        alpha = pm.Normal("alpha", 1.0, 1.0)
        beta = pm.Normal("beta", 0.0, 1.0)
        spread = pm.Exponential("spread", 2.0)
        effect = pm.Normal("effect", 0.0, 1.0, shape=N)
        rate = pm.math.exp(alpha + beta * DATA["x"] + spread * effect)
        pm.Poisson("y", rate, observed=DATA["y"])
    return model
