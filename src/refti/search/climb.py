"""Climbs: uphill from one start to the last digits, or from many at once to tell hills apart."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from refti.models.model import ValueAndGradient
from refti.search.tuning import TUNING


def climb(
    evaluate: ValueAndGradient,
    start: np.ndarray,
    *,
    factor: np.ndarray,
    iterations: int,
    tolerance: float = TUNING.climb_tolerance,
) -> tuple[np.ndarray, float]:
    """The point that L-BFGS reaches in the coordinates of a factor, and the log density there."""

    def descent(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluate((start + factor @ u)[None])
        if not np.isfinite(value[0]):
            return np.inf, np.zeros_like(u)
        return -value[0], -(factor.T @ gradient[0])

    found = optimize.minimize(
        descent,
        np.zeros_like(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 20, "ftol": tolerance, "gtol": 1e-7},
    )
    return start + factor @ found.x, -float(found.fun)


def climb_together(
    evaluate: ValueAndGradient, starts: np.ndarray, *, factor: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Points x[n, dim] uphill of many starts, all climbing at once, and their log densities.

    Each goes along its gradient in the coordinates of a factor, by the step of Barzilai and
    Borwein (1988), and stays where it is, with a shorter step, when it would come out lower. Near
    enough to tell one hill from another, not to a mode's last digits.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # far out, where steps are refused
        return _climb_together(evaluate, starts, factor, iterations)


def _climb_together(
    evaluate: ValueAndGradient, starts: np.ndarray, factor: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    x = starts.copy()
    values, gradients = evaluate(x)
    slopes = gradients @ factor
    steps, idle = np.ones(len(x)), np.zeros(len(x), dtype=int)
    for _ in range(iterations):
        going = np.flatnonzero(idle < TUNING.idle_steps)
        if len(going) == 0:
            break
        moves = steps[going, None] * slopes[going]
        tried_x = x[going] + moves @ factor.T
        tried, tried_gradients = evaluate(tried_x)
        tried_slopes = tried_gradients @ factor
        better = tried > values[going]
        longer = _barzilai_borwein(moves, tried_slopes - slopes[going])
        steps[going] = np.where(better, longer, 0.25 * steps[going])
        gains = better & (tried - values[going] > TUNING.least_gain)
        waits = ~better & (steps[going] > TUNING.shortest_ascent_step)
        idle[going] = np.where(gains | waits, 0, idle[going] + 1)
        here = going[better]
        x[here], slopes[here], values[here] = tried_x[better], tried_slopes[better], tried[better]
    return x, values


def _barzilai_borwein(moves: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """The step [n] that a quadratic wants whose slopes changed so much over these moves[n, dim]."""
    bend = np.abs(np.einsum("nd,nd->n", moves, changes))
    steps = np.einsum("nd,nd->n", moves, moves) / np.where(bend > 0, bend, np.inf)
    return np.clip(np.where(np.isfinite(steps), steps, 1.0), 1e-12, 1e12)
