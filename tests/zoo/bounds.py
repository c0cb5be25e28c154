"""Every kind of bound: both sides, below, above; scalars and a vector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.special import log_ndtr
from jax.scipy.stats import beta, gamma, norm
from numpyro.distributions import Beta, Gamma, Normal, TruncatedNormal, Uniform

import refti

N = 30
_rng = np.random.default_rng(9)
_x = np.linspace(-1.0, 1.0, N)
_y = 0.9 + 0.5 * _x + 1.2 * _x**2 + _rng.normal(scale=0.4, size=N)
DATA = {"N": N, "x": _x, "y": _y}

stan = Path(__file__).with_suffix(".stan")


def log_prior(
    share: jax.Array, slope: jax.Array, high: jax.Array, low: jax.Array, noise: jax.Array
) -> jax.Array:
    truncated = norm.logpdf(high, 2, 1) - log_ndtr(2 - 0.5) + norm.logpdf(low) - log_ndtr(1.0)
    uniform = -slope.size * jnp.log(3.0)
    return beta.logpdf(share, 2, 3) + uniform + truncated + gamma.logpdf(noise, 2, scale=0.25)


def log_likelihood(
    share: jax.Array, slope: jax.Array, high: jax.Array, low: jax.Array, noise: jax.Array
) -> jax.Array:
    level = share * high + (1 - share) * low
    return norm.logpdf(_y, level + slope[0] * _x + slope[1] * _x**2, noise).sum()


def jax_model() -> refti.Model:
    supports = {
        "share": refti.interval(0, 1),
        "slope": refti.interval(-1, 2, shape=(2,)),
        "high": refti.lower(0.5),
        "low": refti.upper(1),
        "noise": refti.positive(),
    }
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(N: int, x: np.ndarray, y: np.ndarray) -> None:
    share = numpyro.sample("share", Beta(2, 3))
    slope = numpyro.sample("slope", Uniform(-1, 2).expand([2]).to_event(1))
    high = numpyro.sample("high", TruncatedNormal(2, 1, low=0.5))
    low = numpyro.sample("low", TruncatedNormal(0, 1, high=1))
    noise = numpyro.sample("noise", Gamma(2, 4))
    level = share * high + (1 - share) * low
    numpyro.sample("y", Normal(level + slope[0] * x + slope[1] * x**2, noise), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        share = pm.Beta("share", 2.0, 3.0)
        slope = pm.Uniform("slope", -1.0, 2.0, shape=2)
        high = pm.TruncatedNormal("high", 2.0, 1.0, lower=0.5)
        low = pm.TruncatedNormal("low", 0.0, 1.0, upper=1.0)
        noise = pm.Gamma("noise", alpha=2.0, beta=4.0)
        level = share * high + (1 - share) * low
        pm.Normal("y", level + slope[0] * _x + slope[1] * _x**2, noise, observed=_y)
    return model
