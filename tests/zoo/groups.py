"""A hierarchy of 200 groups with three observations each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import numpyro
from jax.scipy.stats import expon, norm
from numpyro.distributions import Exponential, Normal

import refti

J = 200
N = 3 * J
_rng = np.random.default_rng(11)
_group = np.repeat(np.arange(1, J + 1), 3)
_y = 1.5 + 0.8 * _rng.normal(size=J)[_group - 1] + 0.6 * _rng.normal(size=N)
DATA = {"N": N, "J": J, "group": _group, "y": _y}

stan = Path(__file__).with_suffix(".stan")


def log_prior(mu: jax.Array, tau: jax.Array, sigma: jax.Array, theta: jax.Array) -> jax.Array:
    hyper = norm.logpdf(mu, 0, 5) + expon.logpdf(tau) + expon.logpdf(sigma)
    return hyper + norm.logpdf(theta, mu, tau).sum()


def log_likelihood(mu: jax.Array, tau: jax.Array, sigma: jax.Array, theta: jax.Array) -> jax.Array:
    return norm.logpdf(_y, theta[_group - 1], sigma).sum()


def jax_model() -> refti.Model:
    supports = {
        "mu": refti.real(),
        "tau": refti.positive(),
        "sigma": refti.positive(),
        "theta": refti.real(shape=(J,)),
    }
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(N: int, J: int, group: np.ndarray, y: np.ndarray) -> None:
    mu = numpyro.sample("mu", Normal(0, 5))
    tau = numpyro.sample("tau", Exponential(1))
    sigma = numpyro.sample("sigma", Exponential(1))
    with numpyro.plate("groups", J):
        theta = numpyro.sample("theta", Normal(mu, tau))
    numpyro.sample("y", Normal(theta[group - 1], sigma), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 5.0)
        tau = pm.Exponential("tau", 1.0)
        sigma = pm.Exponential("sigma", 1.0)
        theta = pm.Normal("theta", mu, tau, shape=J)
        pm.Normal("y", theta[_group - 1], sigma, observed=_y)
    return model
