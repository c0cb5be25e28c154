"""Laplace's approximation with the sampled covariance: the paper's start, and its rival."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import xarray
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

import refti
from refti.studies import plus_minus


@dataclass(frozen=True)
class Laplace:
    """The log evidence of a Gaussian about the mean of posterior draws.

    Attributes:
        log_z: log q(mean) + ½ log det(2π covariance), in the model's own parameters.
        error: its standard error by a jackknife over chains. It is large where chains are short
            beside the dimensions: the log determinant adds up the noise of all of them.
    """

    log_z: float
    error: float

    def __str__(self) -> str:
        return plus_minus(self.log_z, self.error)


def laplace(model: refti.Model, posterior: xarray.Dataset) -> Laplace:
    """Laplace's approximation from posterior draws."""
    chains = {str(name): values.values for name, values in posterior.data_vars.items()}
    count = len(next(iter(chains.values())))
    without_one = [np.delete(np.arange(count), left_out) for left_out in range(count)]
    kept = [np.arange(count), *without_one]
    whole, *others = _log_z(model, [{n: v[k] for n, v in chains.items()} for k in kept])
    spread = (count - 1) / count * np.sum((np.array(others) - np.mean(others)) ** 2)
    return Laplace(whole, float(np.sqrt(spread)))


def _log_z(model: refti.Model, sets: list[dict[str, np.ndarray]]) -> list[float]:
    means = [{n: v.mean(axis=(0, 1)) for n, v in chains.items()} for chains in sets]
    spread = [
        0.5 * np.linalg.slogdet(2 * np.pi * np.cov(_flat(chains), rowvar=False))[1]
        for chains in sets
    ]
    with jax.enable_x64(True):
        x = np.stack([model.unconstrain(mean) for mean in means])
        stretch = np.asarray(jax.lax.map(lambda x: _log_stretch(model, x), x))
    return [float(z) for z in model.log_densities(x) - stretch + np.array(spread)]


def _flat(chains: dict[str, np.ndarray]) -> np.ndarray:
    parts = [values.reshape(values.shape[0] * values.shape[1], -1) for values in chains.values()]
    return np.concatenate(parts, axis=1)


def _log_stretch(model: refti.Model, x: Float[Array, " dim"]) -> Float[Array, ""]:
    """log |dθ/dx|, by which densities of x and of the parameters θ differ."""
    jacobian = jax.jacfwd(lambda x: ravel_pytree(model.constrain(x))[0])(x)
    return jax.numpy.linalg.slogdet(jacobian)[1]
