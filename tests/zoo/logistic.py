"""Logistic regression with Student t priors on the slopes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.stats import norm, t
from numpyro.distributions import Bernoulli, Normal, StudentT

import refti

N, K = 60, 3
_rng = np.random.default_rng(4)
_x = _rng.normal(size=(N, K))
_y = _rng.binomial(1, 1 / (1 + np.exp(-(0.3 + _x @ [1.2, -0.7, 0.2]))))
DATA = {"N": N, "K": K, "x": _x, "y": _y}

stan = Path(__file__).with_suffix(".stan")


def log_prior(alpha: jax.Array, beta: jax.Array) -> jax.Array:
    return norm.logpdf(alpha, 0, 2) + t.logpdf(beta, 4).sum()


def log_likelihood(alpha: jax.Array, beta: jax.Array) -> jax.Array:
    towards = alpha + jnp.asarray(DATA["x"]) @ beta
    return jax.nn.log_sigmoid(jnp.where(DATA["y"] == 1, towards, -towards)).sum()


def jax_model() -> refti.Model:
    supports = {"alpha": refti.real(), "beta": refti.real(shape=(K,))}
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(N: int, K: int, x: np.ndarray, y: np.ndarray) -> None:
    alpha = numpyro.sample("alpha", Normal(0, 2))
    beta = numpyro.sample("beta", StudentT(4, 0, 1).expand([K]).to_event(1))
    numpyro.sample("y", Bernoulli(logits=alpha + x @ beta), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        alpha = pm.Normal("alpha", 0.0, 2.0)
        beta = pm.StudentT("beta", nu=4.0, mu=0.0, sigma=1.0, shape=K)
        pm.Bernoulli("y", logit_p=alpha + DATA["x"] @ beta, observed=DATA["y"])
    return model
