"""Eight schools, non-centred: the same model, and the same evidence, in other coordinates."""

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

from .schools_centred import DATA, J

stan = Path(__file__).with_suffix(".stan")


def log_prior(mu: jax.Array, tau: jax.Array, z: jax.Array) -> jax.Array:
    hyper = norm.logpdf(mu, 0, 10) + jnp.log(2) + norm.logpdf(tau, 0, 10)
    return hyper + norm.logpdf(z).sum()


def log_likelihood(mu: jax.Array, tau: jax.Array, z: jax.Array) -> jax.Array:
    return norm.logpdf(DATA["y"], mu + tau * z, DATA["sigma"]).sum()


def jax_model() -> refti.Model:
    supports = {"mu": refti.real(), "tau": refti.positive(), "z": refti.real(shape=(J,))}
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(J: int, y: np.ndarray, sigma: np.ndarray) -> None:
    mu = numpyro.sample("mu", Normal(0, 10))
    tau = numpyro.sample("tau", HalfNormal(10))
    with numpyro.plate("school", J):
        z = numpyro.sample("z", Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("y", Normal(theta, sigma), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        mu = pm.Normal("mu", 0.0, 10.0)
        tau = pm.HalfNormal("tau", 10.0)
        z = pm.Normal("z", 0.0, 1.0, shape=J)
        theta = pm.Deterministic("theta", mu + tau * z)
        pm.Normal("y", theta, DATA["sigma"], observed=DATA["y"])
    return model
