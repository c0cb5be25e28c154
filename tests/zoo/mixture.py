"""A mixture of three Gaussians with Dirichlet weights; the priors of the means tell them apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import logsumexp
from jax.scipy.stats import dirichlet, gamma, norm
from numpyro.distributions import Categorical, Dirichlet, Gamma, MixtureSameFamily, Normal

import refti

N, K = 60, 3
_rng = np.random.default_rng(6)
_centre = np.array([-3.0, 0.0, 4.0])
_y = _rng.normal(_rng.choice(_centre, size=N, p=[0.3, 0.5, 0.2]), 0.8)
DATA = {"N": N, "K": K, "centre": _centre, "y": _y}

stan = Path(__file__).with_suffix(".stan")


def log_prior(weight: jax.Array, mu: jax.Array, sigma: jax.Array) -> jax.Array:
    # The density of a Dirichlet distribution is that of all weights but the last.
    weights = dirichlet.logpdf(weight / weight.sum(), jnp.full(K, 2.0))
    return weights + norm.logpdf(mu, _centre, 1).sum() + gamma.logpdf(sigma, 2, scale=0.5)


def log_likelihood(weight: jax.Array, mu: jax.Array, sigma: jax.Array) -> jax.Array:
    each = jnp.log(weight) + norm.logpdf(DATA["y"][:, None], mu, sigma)
    return logsumexp(each, axis=1).sum()


def jax_model() -> refti.Model:
    supports = {
        "weight": refti.simplex(K),
        "mu": refti.real(shape=(K,)),
        "sigma": refti.positive(),
    }
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(N: int, K: int, centre: np.ndarray, y: np.ndarray) -> None:
    weight = numpyro.sample("weight", Dirichlet(jnp.full(K, 2.0)))
    mu = numpyro.sample("mu", Normal(centre, 1).to_event(1))
    sigma = numpyro.sample("sigma", Gamma(2, 2))
    parts = Normal(mu, sigma)
    with numpyro.plate("observation", N):
        numpyro.sample("y", MixtureSameFamily(Categorical(weight), parts), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        weight = pm.Dirichlet("weight", np.full(K, 2.0))
        mu = pm.Normal("mu", _centre, 1.0, shape=K)
        sigma = pm.Gamma("sigma", alpha=2.0, beta=2.0)
        pm.NormalMixture("y", w=weight, mu=mu, sigma=sigma, observed=DATA["y"])
    return model
