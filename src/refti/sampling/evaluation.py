"""Evaluation of a leg's end density at given points, by the programs that sampling uses too."""

from __future__ import annotations

from functools import cache

import jax.numpy as jnp
import numpy as np

from refti.cost import Meter
from refti.model import ValueAndGradient
from refti.path import Leg
from refti.sampling.lanes import Whitening, begin, end_and_delta
from refti.sampling.whitening import same_for_all


def value_and_gradient(
    leg: Leg, lam: float, rungs: int, chains: int, meter: Meter
) -> ValueAndGradient:
    """A function from points x[n, dim] to log q_lam and its gradient, -inf and 0 outside.

    Points are handed over in the shape of the lanes, so that no other program is compiled.
    """

    lambdas, lanes = jnp.asarray(np.full(rungs, lam)), rungs * chains

    @cache
    def plain(dim: int) -> Whitening:
        return same_for_all(np.zeros(dim), np.eye(dim), rungs)

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count, dim = x.shape
        padded = np.concatenate([x, np.broadcast_to(x[-1], (-count % lanes, dim))])
        values, gradients = [], []
        for batch in padded.reshape(-1, rungs, chains, dim):
            state = meter.call(begin, leg, lambdas, plain(dim), jnp.asarray(batch))
            values.append(np.asarray(state.logdensity).reshape(lanes))
            gradients.append(np.asarray(state.logdensity_grad[0]).reshape(lanes, dim))
        meter.gradients += count
        return np.concatenate(values)[:count], np.concatenate(gradients)[:count]

    return evaluate


def values(leg: Leg, x: np.ndarray, meter: Meter) -> tuple[np.ndarray, np.ndarray]:
    """log q_end, as it comes, and delta at points x[n, dim]; delta is -inf outside the support."""
    meter.densities += len(x)
    end, delta = (np.asarray(a) for a in meter.call(end_and_delta, leg, jnp.asarray(x)))
    return end, np.where(np.isfinite(end), delta, -np.inf)
