"""Whitening: the affine coordinates in which a rung's density is close to a standard normal."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from refti.factors.either import on_device, plain_factor, solve_rows
from refti.factors.factor import Factor, learn, learn_from_nothing
from refti.factors.tuning import TUNING as FACTORS


class Whitening(NamedTuple):
    """The affine map x = location + factor @ u that makes a rung's density round."""

    location: Any  # Float[Array, " dim"], on the host or the device
    factor: Any  # Float[Array, "dim dim"], or a Factor where no dense matrix is made


def whitening(location: np.ndarray, factor: np.ndarray | Factor) -> Whitening:
    """The map of a location and a factor."""
    return Whitening(jnp.asarray(location), on_device(factor))


@lru_cache(maxsize=4)
def identity(dim: int) -> Whitening:
    """The map that changes nothing."""
    return whitening(np.zeros(dim), plain_factor(dim))


def whitening_of(x: np.ndarray, base: np.ndarray | Factor | None = None) -> Whitening:
    """The whitening of draws x[draw, dim], its covariance shrunk towards the diagonal.

    In thousands of dimensions, where draws tell too little, it is that of a base where there is
    one, with the widths of the draws.
    """
    location = x.mean(axis=0)
    deviation = x - location
    count, dim = x.shape
    if isinstance(base, Factor):
        return whitening(location, learn(base, deviation))
    if dim > FACTORS.densest:
        return whitening(location, learn_from_nothing(deviation))
    covariance = deviation.T @ deviation / count
    diagonal = np.diag(np.diag(covariance)) + 1e-300 * np.eye(dim)
    shrunk = (count * covariance + dim * diagonal) / (count + dim)
    return whitening(location, np.linalg.cholesky(shrunk))


def refit(current: Whitening, x: np.ndarray, *, on_separate_modes: bool) -> Whitening:
    """The whitening of recent draws x[chain, draw, dim], shrunk towards the current one.

    In current coordinates the draws' covariance should be the identity; with few draws for the
    dimension their sampled covariance is noise, so the identity counts as `dim` draws more.
    Where the chains are known to sit apart, on modes of their own, what spreads within each of
    them counts, not what lies between them.
    """
    if isinstance(current.factor, Factor):
        return _refit_factor(current, x, on_separate_modes)
    location, factor = np.asarray(current.location), np.asarray(current.factor)
    dim = x.shape[-1]
    u = solve_rows(factor, (x - location).reshape(-1, dim))
    centre = u.mean(axis=0)
    by_chain = u.reshape(x.shape)
    middle = by_chain.mean(axis=1, keepdims=True) if on_separate_modes else centre
    deviation = (by_chain - middle).reshape(-1, dim)
    covariance = (deviation.T @ deviation + dim * np.eye(dim)) / (len(deviation) + dim)
    if not np.isfinite(covariance).all():
        return current
    return whitening(location + factor @ centre, factor @ np.linalg.cholesky(covariance))


def _refit_factor(current: Whitening, x: np.ndarray, on_separate_modes: bool) -> Whitening:
    """The same for a factor of linear memory, of which only widths and a few directions change."""
    by_chain = x.mean(axis=1, keepdims=True)
    middle = by_chain if on_separate_modes else by_chain.mean(axis=0, keepdims=True)
    location = x.mean(axis=(0, 1))
    if not np.isfinite(location).all():
        return current
    return whitening(location, learn(current.factor, (x - middle).reshape(-1, x.shape[2])))
