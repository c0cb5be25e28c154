"""Linear regression with unknown noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.stats import expon, norm
from numpyro.distributions import Exponential, Normal

import refti

N, K = 40, 3
_rng = np.random.default_rng(1)
_x = _rng.normal(size=(N, K))
_y = 1.0 + _x @ [0.8, -0.5, 0.0] + _rng.normal(scale=0.7, size=N)
DATA = {"N": N, "K": K, "x": _x, "y": _y}

stan = Path(__file__).with_suffix(".stan")


def log_prior(alpha: jax.Array, beta: jax.Array, sigma: jax.Array) -> jax.Array:
    return norm.logpdf(alpha, 0, 5) + norm.logpdf(beta, 0, 2).sum() + expon.logpdf(sigma)


def log_likelihood(alpha: jax.Array, beta: jax.Array, sigma: jax.Array) -> jax.Array:
    return norm.logpdf(DATA["y"], alpha + jnp.asarray(DATA["x"]) @ beta, sigma).sum()


def jax_model() -> refti.Model:
    supports = {"alpha": refti.real(), "beta": refti.real(shape=(K,)), "sigma": refti.positive()}
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(N: int, K: int, x: np.ndarray, y: np.ndarray) -> None:
    alpha = numpyro.sample("alpha", Normal(0, 5))
    beta = numpyro.sample("beta", Normal(0, 2).expand([K]).to_event(1))
    sigma = numpyro.sample("sigma", Exponential(1))
    numpyro.sample("y", Normal(alpha + x @ beta, sigma), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0.0, 5.0)
        beta = pm.Normal("beta", 0.0, 2.0, shape=K)
        sigma = pm.Exponential("sigma", 1.0)
        pm.Normal("y", alpha + DATA["x"] @ beta, sigma, observed=DATA["y"])
    return model
