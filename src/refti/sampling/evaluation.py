"""Evaluation of a leg's densities at given points, by the programs that sampling uses too."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from refti.models.batching import log_densities
from refti.models.density import Density, OutOfTimeError, ValueOnlyDensity
from refti.models.model import ValueAndGradient
from refti.paths.path import Leg
from refti.references.base import Reference
from refti.sampling.kernels.gradient_kernel import evaluate_chains, on_leg
from refti.sampling.metering import Meter, OutOfBudgetError
from refti.sampling.tuning import TUNING
from refti.sampling.whitening import identity


def value_and_gradient(leg: Leg, lam: float, chains: int, meter: Meter) -> ValueAndGradient:
    """A function from points x[n, dim] to log q_lam and its gradient, -inf and 0 outside.

    Points are handed over in the shape of the chains, so that no other program is compiled. The
    gradient of a leg that has none is NaN.
    """
    at = on_leg(lam)

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count, dim = x.shape
        padded = np.concatenate([x, np.broadcast_to(x[-1], (-count % chains, dim))])
        values, gradients = [], []
        for batch in padded.reshape(-1, chains, dim):
            # An array of numpy's is handed over much faster than it is made one of JAX's.
            found = meter.call(evaluate_chains, leg, at, identity(dim), batch)
            values.append(np.asarray(found.log_density))
            gradients.append(np.asarray(found.gradient))
        meter.count(gradients=count)
        return np.concatenate(values)[:count], np.concatenate(gradients)[:count]

    def without_gradient(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return values_on_rung(leg, lam, x, meter), np.full(x.shape, np.nan)

    return evaluate if leg.has_gradient else without_gradient


def values_on_rung(leg: Leg, lam: float, x: np.ndarray, meter: Meter) -> np.ndarray:
    """log q_lam at points x[n, dim] by values alone, -inf outside.

    At lambda = 0 and 1 only that end is looked at; in between, the end only where the start is
    not zero.
    """
    if lam in (0, 1):
        value = remembered(leg.end if lam == 1 else leg.start, x, meter)
        return np.where(np.isfinite(value), value, -np.inf)
    start = remembered(leg.start, x, meter)
    inside = np.isfinite(start)
    end = np.full(len(x), -np.inf)
    end[inside] = remembered(leg.end, x[inside], meter)
    inside &= np.isfinite(end)
    value = np.full(len(x), -np.inf)
    value[inside] = (1 - lam) * start[inside] + lam * end[inside]
    return value


def values(leg: Leg, x: np.ndarray, meter: Meter) -> tuple[np.ndarray, np.ndarray]:
    """log q_end, as it comes, and delta at points x[n, dim]; delta is -inf outside the support.

    The densities are two programs, so that the end's serves whatever the start is.
    """
    if not leg.has_gradient:
        return remembered_values(leg, x, meter)
    meter.count(densities=len(x))
    end, start = (
        np.asarray(meter.call(log_densities, density, jnp.asarray(x)))
        for density in (leg.end, leg.start)
    )
    return end, _delta(end, start)


def remembered_values(leg: Leg, x: np.ndarray, meter: Meter) -> tuple[np.ndarray, np.ndarray]:
    """The same at any number of points, those that are known already for nothing."""
    end, start = (remembered(density, x, meter) for density in (leg.end, leg.start))
    return end, _delta(end, start)


def remembered(density: Density, x: np.ndarray, meter: Meter) -> np.ndarray:
    """The log densities at points x[n, dim], as they come, each evaluated once.

    A reference costs nothing that counts.
    """
    if isinstance(density, Reference):
        return _by_jax(density, x, meter)
    known, found = meter.cache.look_up(density, x)
    new = x[~known]
    if len(new):
        meter.reserve(len(new))
        known_before, values = meter.cache.look_up_before(density, new)
        values[~known_before] = _evaluate(density, new[~known_before], meter)
        found[~known] = values
        meter.cache.keep(density, new, values)
    return found


def _evaluate(density: Density, x: np.ndarray, meter: Meter) -> np.ndarray:
    """The log densities; those of a function that may be slow, or hang, within the budget."""
    if not isinstance(density, ValueOnlyDensity):
        return _by_jax(density, x, meter)
    if len(x) == 0:
        return np.zeros(0)
    try:
        return density.log_densities(x, meter.deadline)
    except OutOfTimeError:
        raise OutOfBudgetError from None


def _delta(end: np.ndarray, start: np.ndarray) -> np.ndarray:
    inside = np.isfinite(end) & np.isfinite(start)
    return np.where(inside, np.where(inside, end, 0.0) - np.where(inside, start, 0.0), -np.inf)


def _by_jax(density: Density, x: np.ndarray, meter: Meter) -> np.ndarray:
    """The log densities at any number of points, by programs for a few numbers of them."""
    if len(x) == 0:
        return np.zeros(0)
    width = next((w for w in TUNING.batch_widths if len(x) <= w), TUNING.batch_widths[-1])
    padded = np.concatenate([x, np.broadcast_to(x[-1:], (-len(x) % width, x.shape[1]))])
    parts = [
        np.asarray(meter.call(log_densities, density, jnp.asarray(rows)))
        for rows in np.split(padded, len(padded) // width)
    ]
    return np.concatenate(parts)[: len(x)]
