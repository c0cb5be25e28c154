"""A correlation matrix with an LKJ prior, by its Cholesky factor, and three-dimensional data.

PyMC has one parameter for both the standard deviations and the correlations: the Cholesky factor
of the covariance matrix, `covariance`, row by row in a vector. `from_pymc_values` and
`to_pymc_values` take its values to those of the other languages and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.scipy.stats import expon, multivariate_normal
from numpyro.distributions import Exponential, LKJCholesky, MultivariateNormal
from scipy.special import gammaln

import refti

N, K, ETA = 30, 3, 2.0
_rng = np.random.default_rng(8)
_matrix = np.array([[1.0, 0.6, -0.3], [0.6, 1.0, 0.0], [-0.3, 0.0, 1.0]])
_y = _rng.multivariate_normal(np.zeros(K), _matrix, size=N) * [0.7, 1.0, 1.6]
DATA = {"N": N, "K": K, "y": _y}

stan = Path(__file__).with_suffix(".stan")


def lkj_log_constant(size: int, eta: float) -> float:
    """The logarithm of the constant in the LKJ density of a Cholesky factor."""
    order = np.arange(1, size)
    terms = order * np.log(np.pi) / 2 + gammaln(eta + (size - 1 - order) / 2)
    return float((size - 1) * gammaln(eta + (size - 1) / 2) - terms.sum())


def lkj_logpdf(factor: jax.Array, eta: float) -> jax.Array:
    """The density of the factor's elements below its diagonal, which are the free ones."""
    size = len(factor)
    power = size - 1 - np.arange(1, size) + 2 * eta - 2
    return lkj_log_constant(size, eta) + (power * jnp.log(jnp.diag(factor)[1:])).sum()


def log_prior(sd: jax.Array, factor: jax.Array) -> jax.Array:
    return expon.logpdf(sd).sum() + lkj_logpdf(factor, ETA)


def log_likelihood(sd: jax.Array, factor: jax.Array) -> jax.Array:
    scaled = sd[:, None] * factor
    return multivariate_normal.logpdf(jnp.asarray(_y), jnp.zeros(K), scaled @ scaled.T).sum()


def jax_model() -> refti.Model:
    supports = {"sd": refti.positive(shape=(K,)), "factor": refti.correlation_cholesky(K)}
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def numpyro_model(N: int, K: int, y: np.ndarray) -> None:
    sd = numpyro.sample("sd", Exponential(1).expand([K]).to_event(1))
    factor = numpyro.sample("factor", LKJCholesky(K, ETA))
    numpyro.sample("y", MultivariateNormal(jnp.zeros(K), scale_tril=sd[:, None] * factor), obs=y)


def pymc_model() -> Any:
    import pymc as pm

    with pm.Model() as model:
        sd = pm.Exponential.dist(1.0, shape=K)
        packed = pm.LKJCholeskyCov("covariance", eta=ETA, n=K, sd_dist=sd, compute_corr=False)
        scaled = pm.expand_packed_triangular(K, packed)
        pm.MvNormal("y", np.zeros(K), chol=scaled, observed=DATA["y"])
    return model


def pymc_missing_constant() -> float:
    """What PyMC's own density lacks: version 5 adds the LKJ constant with the wrong sign.

    At the identity matrix the log density is the constant alone.
    """
    import pymc as pm

    wrong = pm.logp(pm.LKJCorr.dist(K, ETA), np.zeros(K * (K - 1) // 2)).eval()
    return lkj_log_constant(K, ETA) - float(wrong)


def from_pymc_values(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The standard deviations are the lengths of the rows, the factor is the rows at length one."""
    packed = np.asarray(values["covariance"])
    scaled = np.zeros((*packed.shape[:-1], K, K))
    scaled[..., *np.tril_indices(K)] = packed
    sd = np.sqrt((scaled**2).sum(axis=-1))
    return {"sd": sd, "factor": scaled / sd[..., None]}


def to_pymc_values(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The rows of the factor, times their standard deviations, one after the other."""
    scaled = np.asarray(values["sd"])[..., None] * np.asarray(values["factor"])
    return {"covariance": scaled[..., *np.tril_indices(K)]}


def pymc_log_jacobian(values: Mapping[str, Any]) -> float:
    """The log determinant of the map from the shared parameters' free elements to PyMC's.

    Row i of the factor, times its standard deviation, gives sd^i / factor[i, i], from i = 0.
    """
    diagonal = np.diag(np.asarray(values["factor"]))
    return float(np.arange(K) @ np.log(values["sd"]) - np.log(diagonal).sum())
