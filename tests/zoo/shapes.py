"""The parameters of tests/stan/shapes.stan in plain JAX: of every shape, some in arrays.

Not among MODELS, for it is written in two of the four languages only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import dirichlet, norm

import refti

from .correlation import lkj_logpdf

SCALE = 2.0
DATA = {"none": 0, "rows": 2, "scale": SCALE, "decays": 0, "left": []}

stan = Path(__file__).parents[1] / "stan" / "shapes.stan"


def log_prior(
    first: jax.Array, second: jax.Array, m: jax.Array, factor: jax.Array, r: jax.Array
) -> Any:
    shares = sum(dirichlet.logpdf(p, jnp.full(3, 2.0)) for p in (first, second))
    return shares + norm.logpdf(m, 0, SCALE).sum() + lkj_logpdf(factor, 1.5)


def log_likelihood(
    first: jax.Array, second: jax.Array, m: jax.Array, factor: jax.Array, r: jax.Array
) -> jax.Array:
    return norm.logpdf(r[0, 1], 0.5, 0.3)


def jax_model() -> refti.Model:
    supports = {
        "first": refti.simplex(3),
        "second": refti.simplex(3),
        "m": refti.real(shape=(2, 3)),
        "factor": refti.correlation_cholesky(3),
        "r": refti.interval(-1, 1, shape=(2, 2)),
    }
    return refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, parameters=supports)


def from_stan_values(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The simplexes of the array `p`, each by itself."""
    rest = {name: value for name, value in values.items() if name != "p"}
    return {"first": values["p"][:, 0], "second": values["p"][:, 1], **rest}


def to_stan_values(values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The two simplexes as the array `p`."""
    rest = {name: value for name, value in values.items() if name not in ("first", "second")}
    return {"p": np.stack([values["first"], values["second"]], axis=1), **rest}
