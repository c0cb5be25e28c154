"""Laplace's approximation with the sampled covariance: the paper's start, and its rival."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import xarray
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

import refti
from refti.studies import plus_minus

Draws = dict[str, np.ndarray]
"""Values of every parameter, [chain, draw, ...]."""


@dataclass(frozen=True)
class Laplace:
    """The log evidence of a Gaussian about the mean of posterior draws.

    Attributes:
        log_z: log q(mean) + ½ log det(2π covariance).
        error: its standard error by a jackknife over chains. It is large where chains are short
            beside the dimensions: the log determinant adds up the noise of all of them.
    """

    log_z: float
    error: float

    def __str__(self) -> str:
        return plus_minus(self.log_z, self.error)


def laplace(
    model: refti.Model, posterior: xarray.Dataset, *, unconstrained: bool = False
) -> Laplace:
    """Laplace's approximation from posterior draws.

    Args:
        model: the model.
        posterior: its draws, by name and with chains first.
        unconstrained: whether it is made where refti samples, positive parameters by their
            logarithm, instead of in the model's own parameters.
    """
    values = {str(name): draws.values for name, draws in posterior.data_vars.items()}
    chains = np.arange(posterior.sizes["chain"])
    without_one = [np.delete(chains, left_out) for left_out in chains]
    parts = [{name: v[kept] for name, v in values.items()} for kept in (chains, *without_one)]
    estimate = _log_z_unconstrained if unconstrained else _log_z
    with jax.enable_x64(True):
        whole, *others = (float(z) for z in estimate(model, parts))
    spread = (len(chains) - 1) / len(chains) * np.sum((np.array(others) - np.mean(others)) ** 2)
    return Laplace(whole, float(np.sqrt(spread)))


def _log_z(model: refti.Model, parts: list[Draws]) -> np.ndarray:
    """The approximation of each part of the draws, in the model's own parameters."""
    means = [{name: v.mean(axis=(0, 1)) for name, v in part.items()} for part in parts]
    x = np.stack([model.unconstrain(mean) for mean in means])
    stretch = np.asarray(jax.lax.map(lambda x: _log_stretch(model, x), x))
    volumes = [_log_volume(np.hstack([_flat(v) for v in part.values()])) for part in parts]
    return model.log_densities(x) - stretch + np.array(volumes)


def _log_z_unconstrained(model: refti.Model, parts: list[Draws]) -> np.ndarray:
    """The approximation of each part of the draws, in unconstrained coordinates."""
    unconstrain = jax.jit(jax.vmap(jax.vmap(model.unconstrain)))
    draws = [_flat(np.asarray(unconstrain(part))) for part in parts]
    x = np.stack([each.mean(axis=0) for each in draws])
    return model.log_densities(x) + np.array([_log_volume(each) for each in draws])


def _flat(values: np.ndarray) -> np.ndarray:
    """Values [chain, draw, ...] of all chains together, [draw, coordinate]."""
    return values.reshape(values.shape[0] * values.shape[1], -1)


def _log_volume(draws: np.ndarray) -> float:
    """½ log det(2π covariance) of draws [draw, coordinate]."""
    # In units of the spreads, which may be of very different orders.
    scales = draws.std(axis=0)
    log_det = np.linalg.slogdet(np.atleast_2d(np.cov((draws / scales).T)))[1]
    log_det += 2 * np.log(scales).sum()
    return 0.5 * float(log_det + len(scales) * np.log(2 * np.pi))


def _log_stretch(model: refti.Model, x: Float[Array, " dim"]) -> Float[Array, ""]:
    """log |dθ/dx|, by which densities of x and of the parameters θ differ."""
    jacobian = jax.jacfwd(lambda x: ravel_pytree(model.constrain(x))[0])(x)
    return jnp.linalg.slogdet(jacobian)[1]
