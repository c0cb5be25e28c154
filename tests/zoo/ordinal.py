"""Ordinal regression: answers on a scale of four, between ordered cut-points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.stats import norm
from numpyro.distributions import Normal, OrderedLogistic, TransformedDistribution
from numpyro.distributions.transforms import OrderedTransform

import refti

N, K = 60, 4
_rng = np.random.default_rng(7)
_x = _rng.normal(size=N)
_y = 1 + np.searchsorted([-1.0, 0.3, 1.2], 0.9 * _x + _rng.logistic(size=N))
DATA = {"N": N, "K": K, "x": _x, "y": _y}

stan = Path(__file__).with_suffix(".stan")


def log_prior(beta: jax.Array, cut: jax.Array) -> jax.Array:
    # The gaps are lognormal: their logarithms are normal, and 1 / gap is the Jacobian.
    gap = jnp.diff(cut)
    gaps = norm.logpdf(jnp.log(gap), 0, 0.5).sum() - jnp.log(gap).sum()
    return norm.logpdf(beta) + norm.logpdf(cut[0], -1, 1) + gaps


def log_likelihood(beta: jax.Array, cut: jax.Array) -> jax.Array:
    edges = jnp.concatenate([jnp.array([-jnp.inf]), cut, jnp.array([jnp.inf])])
    at_most = jax.nn.sigmoid(edges - beta * DATA["x"][:, None])
    return jnp.log(jnp.diff(at_most)[jnp.arange(N), DATA["y"] - 1]).sum()


def jax_model() -> refti.Model:
    supports = {"beta": refti.real(), "cut": refti.ordered(K - 1)}
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(N: int, K: int, x: np.ndarray, y: np.ndarray) -> None:
    beta = numpyro.sample("beta", Normal(0, 1))
    first_and_log_gaps = Normal(jnp.array([-1.0, 0.0, 0.0]), jnp.array([1.0, 0.5, 0.5]))
    cuts = TransformedDistribution(first_and_log_gaps.to_event(1), OrderedTransform())
    cut = numpyro.sample("cut", cuts)
    numpyro.sample("y", OrderedLogistic(beta * x, cut), obs=y - 1)


def pymc_model() -> Any:
    import pymc as pm
    import pytensor.tensor as pt

    def log_prior_of_cuts(cut: Any, location: Any, scale: Any) -> Any:
        first = pm.logp(pm.Normal.dist(location[0], scale[0]), cut[0])
        return first + pm.logp(pm.LogNormal.dist(location[1:], scale[1:]), pt.diff(cut)).sum()

    with pm.Model() as model:
        beta = pm.Normal("beta", 0.0, 1.0)
        cut = pm.CustomDist(
            "cut",
            np.array([-1.0, 0.0, 0.0]),
            np.array([1.0, 0.5, 0.5]),
            logp=log_prior_of_cuts,
            signature="(k),(k)->(k)",
            transform=pm.distributions.transforms.ordered,
            initval=np.array([-1.0, 0.0, 1.0]),
        )
        pm.OrderedLogistic("y", beta * DATA["x"], cut, compute_p=False, observed=DATA["y"] - 1)
    return model
