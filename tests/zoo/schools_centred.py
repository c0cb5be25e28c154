"""Eight schools, centred: the effects of coaching in eight schools (Rubin, 1981)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.stats import norm
from numpyro.distributions import HalfNormal, Normal

import refti

J = 8
DATA = {
    "J": J,
    "y": np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
    "sigma": np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]),
}

stan = Path(__file__).with_suffix(".stan")


def log_prior(mu: jax.Array, tau: jax.Array, theta: jax.Array) -> jax.Array:
    hyper = norm.logpdf(mu, 0, 10) + jnp.log(2) + norm.logpdf(tau, 0, 10)
    return hyper + norm.logpdf(theta, mu, tau).sum()


def log_likelihood(mu: jax.Array, tau: jax.Array, theta: jax.Array) -> jax.Array:
    return norm.logpdf(DATA["y"], theta, DATA["sigma"]).sum()


def jax_model() -> refti.Model:
    supports = {"mu": refti.real(), "tau": refti.positive(), "theta": refti.real(shape=(J,))}
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(J: int, y: np.ndarray, sigma: np.ndarray) -> None:
    mu = numpyro.sample("mu", Normal(0, 10))
    tau = numpyro.sample("tau", HalfNormal(10))
    with numpyro.plate("school", J):
        theta = numpyro.sample("theta", Normal(mu, tau))
        numpyro.sample("y", Normal(theta, sigma), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 10.0)
        tau = pm.HalfNormal("tau", 10.0)
        theta = pm.Normal("theta", mu, tau, shape=J)
        pm.Normal("y", theta, DATA["sigma"], observed=DATA["y"])
    return model
