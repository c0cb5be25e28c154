"""Evaluation of a leg's densities at given points, by the programs that sampling uses too."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from refti.cost import Meter
from refti.density import log_densities
from refti.model import ValueAndGradient
from refti.path import Leg
from refti.sampling.lanes import begin
from refti.sampling.whitening import plain


def value_and_gradient(leg: Leg, lam: float, chains: int, meter: Meter) -> ValueAndGradient:
    """A function from points x[n, dim] to log q_lam and its gradient, -inf and 0 outside.

    Points are handed over in the shape of the lanes, so that no other program is compiled.
    """

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count, dim = x.shape
        padded = np.concatenate([x, np.broadcast_to(x[-1], (-count % chains, dim))])
        values, gradients = [], []
        for batch in padded.reshape(-1, chains, dim):
            state = meter.call(begin, leg, jnp.asarray(lam), plain(dim), jnp.asarray(batch))
            values.append(np.asarray(state.logdensity))
            gradients.append(np.asarray(state.logdensity_grad[0]))
        meter.count(gradients=count)
        return np.concatenate(values)[:count], np.concatenate(gradients)[:count]

    return evaluate


def values(leg: Leg, x: np.ndarray, meter: Meter) -> tuple[np.ndarray, np.ndarray]:
    """log q_end, as it comes, and delta at points x[n, dim]; delta is -inf outside the support.

    The densities are two programs, so that the end's serves whatever the start is.
    """
    meter.count(densities=len(x))
    end, start = (
        np.asarray(meter.call(log_densities, density, jnp.asarray(x)))
        for density in (leg.end, leg.start)
    )
    inside = np.isfinite(end) & np.isfinite(start)
    return end, np.where(inside, np.where(inside, end, 0.0) - np.where(inside, start, 0.0), -np.inf)
