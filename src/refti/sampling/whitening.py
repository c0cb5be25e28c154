"""Whitening: the affine coordinates in which a rung's density is close to a standard normal."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from refti.sampling.lanes import Whitening


def same_for_all(location: np.ndarray, factor: np.ndarray, rungs: int) -> Whitening:
    """One map for every rung."""
    return _on_device(
        np.broadcast_to(location, (rungs, *location.shape)),
        np.broadcast_to(factor, (rungs, *factor.shape)),
    )


def refit(current: Whitening, x: np.ndarray, *, pooled: bool) -> Whitening:
    """The whitening of recent draws x[rung, chain, draw, dim], shrunk towards the current one.

    In current coordinates the draws' covariance should be the identity; with few draws for the
    dimension their sampled covariance is noise, so the identity counts as `dim` draws more.
    """
    location, factor = np.asarray(current.location), np.asarray(current.factor)
    rungs, chains, draws, dim = x.shape
    u = np.linalg.solve(factor, (x - location[:, None, None]).reshape(rungs, -1, dim).mT).mT
    if pooled:
        u = np.broadcast_to(u.reshape(1, -1, dim), (rungs, u.size // dim, dim))
    count = u.shape[1]
    centre = u.mean(axis=1)
    deviation = u - centre[:, None]
    covariance = deviation.mT @ deviation
    covariance = (covariance + dim * np.eye(dim)) / (count + dim)
    usable = np.isfinite(covariance).all(axis=(1, 2))
    covariance = np.where(usable[:, None, None], covariance, np.eye(dim))
    centre = np.where(usable[:, None], centre, 0.0)
    step = np.linalg.cholesky(covariance)
    return _on_device(location + np.einsum("rij,rj->ri", factor, centre), factor @ step)


def _on_device(location: np.ndarray, factor: np.ndarray) -> Whitening:
    return Whitening(jnp.asarray(location), jnp.asarray(factor))
