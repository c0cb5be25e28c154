"""Climbs: uphill from one start to the last digits, or from many at once to tell hills apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import optimize

from refti.factors.either import out_rows, pull_rows
from refti.factors.factor import Factor
from refti.models.model import ValueAndGradient
from refti.search.tuning import TUNING


def climb(
    evaluate: ValueAndGradient,
    start: np.ndarray,
    *,
    factor: np.ndarray | Factor,
    iterations: int,
    tolerance: float = TUNING.climb_tolerance,
) -> tuple[np.ndarray, float]:
    """The point that L-BFGS reaches in the coordinates of a factor, and the log density there."""

    def descent(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluate((start + _out(factor, u))[None])
        if not np.isfinite(value[0]):
            return np.inf, np.zeros_like(u)
        return -value[0], -_pull(factor, gradient[0])

    found = optimize.minimize(
        descent,
        np.zeros_like(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 20, "ftol": tolerance, "gtol": 1e-7},
    )
    return start + _out(factor, found.x), -float(found.fun)


def _out(factor: np.ndarray | Factor, u: np.ndarray) -> np.ndarray:
    return factor.out_rows(u[None])[0] if isinstance(factor, Factor) else factor @ u


def _pull(factor: np.ndarray | Factor, gradient: np.ndarray) -> np.ndarray:
    if isinstance(factor, Factor):
        return factor.pull_rows(gradient[None])[0]
    return factor.T @ gradient


class Climbed(NamedTuple):
    """Where climbers came to."""

    x: np.ndarray  # [n, dim]
    values: np.ndarray  # [n], their log densities there
    gradients: np.ndarray  # [n, dim]
    arrived: np.ndarray  # [n], the number of the peak that each was told to have arrived at, or -1
    ended: np.ndarray  # [n], whether it would not have come any higher


# From x[n, dim], log densities and gradients there, the numbers [n] of the peaks that climbers are
# as good as at, or -1.
Arrived = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def climb_together(
    evaluate: ValueAndGradient,
    starts: np.ndarray,
    *,
    factor: np.ndarray | Factor,
    iterations: int,
    arrived: Arrived | None = None,
) -> Climbed:
    """Where many starts x[n, dim] come to uphill, all climbing at once.

    Each goes along its gradient in the coordinates of a factor, by the step of Barzilai and
    Borwein (1988), and stays where it is, with a shorter step, when it would come out lower. Near
    enough to tell one hill from another, not to a mode's last digits. Who is told to have arrived
    goes no further.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # far out, where steps are refused
        return _climb_together(evaluate, starts, factor, iterations, arrived or _nowhere)


def _climb_together(
    evaluate: ValueAndGradient,
    starts: np.ndarray,
    factor: np.ndarray | Factor,
    iterations: int,
    arrived: Arrived,
) -> Climbed:
    x = starts.copy()
    values, gradients = evaluate(x)
    at = arrived(x, values, gradients)
    steps, idle = np.ones(len(x)), np.zeros(len(x), dtype=int)
    for _ in range(iterations):
        going = np.flatnonzero((idle < TUNING.idle_steps) & (at < 0))
        if len(going) == 0:
            break
        slopes = pull_rows(factor, gradients[going])
        moves = steps[going, None] * slopes
        tried_x = x[going] + out_rows(factor, moves)
        tried, tried_gradients = evaluate(tried_x)
        tried_slopes = pull_rows(factor, tried_gradients)
        better = tried > values[going]
        better &= _on_one_hill(moves, slopes, tried_slopes, tried - values[going])
        longer = _barzilai_borwein(moves, tried_slopes - slopes)
        steps[going] = np.where(better, longer, 0.25 * steps[going])
        gains = better & (tried - values[going] > TUNING.least_gain)
        waits = ~better & (np.linalg.norm(moves, axis=1) > TUNING.shortest_ascent_step)
        idle[going] = np.where(gains | waits, 0, idle[going] + 1)
        here = going[better]
        x[here], values[here] = tried_x[better], tried[better]
        gradients[here] = tried_gradients[better]
        at[here] = arrived(x[here], values[here], gradients[here])
    return Climbed(x, values, gradients, at, (idle >= TUNING.idle_steps) | (at >= 0))


def _on_one_hill(
    moves: np.ndarray, slopes: np.ndarray, tried_slopes: np.ndarray, gains: np.ndarray
) -> np.ndarray:
    """Whether moves[n, dim] gained what the slopes at both their ends say, as a parabola does.

    A long move that lands on another hill comes out higher too, and the hill that the climber
    stood on would never be found.
    """
    before, after = (np.einsum("nd,nd->n", moves, s) for s in (slopes, tried_slopes))
    return np.abs(gains - 0.5 * (before + after)) <= TUNING.unlike_a_parabola * np.abs(before)


def _nowhere(x: np.ndarray, values: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Nobody has arrived."""
    del values, gradients
    return np.full(len(x), -1)


def _barzilai_borwein(moves: np.ndarray, changes: np.ndarray) -> np.ndarray:
    """The step [n] that a quadratic wants whose slopes changed so much over these moves[n, dim]."""
    bend = np.abs(np.einsum("nd,nd->n", moves, changes))
    steps = np.einsum("nd,nd->n", moves, moves) / np.where(bend > 0, bend, np.inf)
    return np.clip(np.where(np.isfinite(steps), steps, 1.0), 1e-12, 1e12)
