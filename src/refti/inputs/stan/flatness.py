"""Directions in which a prior does not fall: with one of them it is improper."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from refti.inputs.stan.density import StanDensity
from refti.inputs.stan.tuning import TUNING


def flat_directions(density: StanDensity, dim: int) -> np.ndarray:
    """The directions [n, dim] along which a density was seen not to fall, from any start.

    Looked at are the coordinates, and the directions without any curvature, each far out to both
    sides: where a density falls no faster than 1 / distance, its integral is infinite.
    """
    rng = np.random.default_rng(0)
    starts = np.concatenate([np.zeros((1, dim)), rng.normal(size=(TUNING.flat_starts, dim))])
    with jax.enable_x64(True):
        evaluate = jax.jit(jax.vmap(jax.value_and_grad(density.log_density)))
        lines = np.concatenate([np.eye(dim), _without_curvature(evaluate, starts[-1])])
        both = np.concatenate([lines, -lines])
        # Lines between the coordinates are rounded, which shows far enough out.
        oblique = np.tile(np.count_nonzero(lines, axis=1) > 1, 2)
        falls = np.zeros(len(both), dtype=bool)
        seen = np.zeros(len(both), dtype=bool)
        distances = 10.0 ** np.arange(1, TUNING.flat_decades + 1)
        for start in starts:
            values = np.stack(
                [np.asarray(evaluate(jnp.asarray(start + d * both))[0]) for d in distances], axis=1
            )
            with np.errstate(invalid="ignore"):
                drops = values[:, :-1] - values[:, 1:]
            finite = np.isfinite(values[:, :-1]) & np.isfinite(values[:, 1:])
            finite &= ~(oblique[:, None] & (distances[1:] > TUNING.farthest_oblique))
            falls |= (finite & (drops > TUNING.flat_rate * np.log(10))).any(axis=1)
            seen |= finite.any(axis=1)
    return both[seen & ~falls]


def _without_curvature(evaluate: jax.stages.Wrapped, x: np.ndarray) -> np.ndarray:
    """The directions [n, dim] in which a density is straight about a point."""
    steps = TUNING.flat_step * np.eye(len(x))
    _, gradients = evaluate(jnp.asarray(np.concatenate([x + steps, x - steps])))
    ahead, behind = np.split(np.asarray(gradients), 2)
    hessian = (ahead - behind) / (2 * TUNING.flat_step)
    if not np.isfinite(hessian).all():
        return np.zeros((0, len(x)))
    sizes, directions = np.linalg.eigh(0.5 * (hessian + hessian.T))
    return directions.T[np.abs(sizes) < TUNING.flat_curvature * np.abs(sizes).max(initial=1e-300)]
