"""Finite differences: gradient and mode of a density that is known by its values alone."""

from __future__ import annotations

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.climb import climb
from refti.search.mode import Mode
from refti.search.tuning import TUNING


def by_differences(evaluate: ValueAndGradient, factor: np.ndarray, step: float) -> ValueAndGradient:
    """The density with its gradient by forward differences along the columns of a factor.

    Where the next point lies outside the support the difference is taken backwards.
    """
    inverse = np.linalg.inv(factor)

    def with_gradient(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count, dim = x.shape
        ahead = x[:, None] + step * factor.T
        values, _ = evaluate(np.concatenate([x, ahead.reshape(-1, dim)]))
        here, there = values[:count], values[count:].reshape(count, dim)
        inside = np.isfinite(here)
        slopes = np.where(inside, (there.T - np.where(inside, here, 0.0)) / step, 0.0).T
        lost = inside[:, None] & ~np.isfinite(there)
        if lost.any():
            points, axes = np.nonzero(lost)
            behind, _ = evaluate(x[points] - step * factor.T[axes])
            back = np.where(np.isfinite(behind), (here[points] - behind) / step, 0.0)
            slopes[points, axes] = back
        return here, slopes @ inverse

    return with_gradient


def find_mode_by_values(evaluate: ValueAndGradient, start: np.ndarray) -> tuple[Mode, np.ndarray]:
    """The mode uphill of a start, and a factor of about the spread there, whatever it is like.

    The climb is L-BFGS by forward differences, then again in coordinates whitened by how far the
    density reaches. Curvatures are second differences at about a tenth of a spread: noise in the
    last digits, as of a solver, does them no harm.
    """
    plain = np.eye(len(start))
    origin, value = climb(
        by_differences(evaluate, plain, TUNING.first_value_step),
        start,
        factor=plain,
        iterations=TUNING.first_value_iterations,
        tolerance=TUNING.value_tolerance,
    )
    spread = np.diag(half_nat_reach(evaluate, origin, value, plain))
    spread = spread @ _whitening_factor(_curvature(evaluate, origin, value, spread, 1.0))
    origin, value = climb(
        by_differences(evaluate, spread, TUNING.value_step),
        origin,
        factor=spread,
        iterations=TUNING.value_iterations,
        tolerance=TUNING.value_tolerance,
    )
    spread = spread * half_nat_reach(evaluate, origin, value, spread)
    curvature = _curvature(evaluate, origin, value, spread, TUNING.bend_step)
    fine = _second_derivatives(evaluate, origin, value, spread, TUNING.fine_bend_step)
    size = np.abs(curvature).max()
    unlike = np.abs(fine - np.diag(curvature)).max() / size if size > 0 else np.inf
    inverse = np.linalg.inv(spread)
    with np.errstate(all="ignore"):  # next to a density that is zero all around
        matrix = inverse.T @ curvature @ inverse
    return Mode(origin, value, matrix, float(unlike)), spread


def find_spread(evaluate: ValueAndGradient, x: np.ndarray, value: float) -> np.ndarray:
    """A factor of about the spread about a top, by how far the density reaches from it.

    Its columns are as long as the density takes to fall by half a nat. They are turned from the
    parameters' own axes only where these go together.
    """
    spread = np.diag(half_nat_reach(evaluate, x, value, np.eye(len(x))))
    curvature = _curvature(evaluate, x, value, spread, 1.0)
    if not np.isfinite(curvature).all():
        return spread
    along = np.diag(curvature)
    if np.abs(curvature - np.diag(along)).max() <= TUNING.aslant * np.abs(along).max():
        return spread
    spread = spread @ _whitening_factor(curvature)
    return spread * half_nat_reach(evaluate, x, value, spread)


def half_nat_reach(
    evaluate: ValueAndGradient, x: np.ndarray, value: float, factor: np.ndarray
) -> np.ndarray:
    """How far along each column of a factor the density falls by half a nat, at most on one side.

    Steps double or halve until they enclose that, and the rest is a parabola's guess.
    """
    dim = len(x)
    reach, below, above = np.ones(dim), np.zeros(dim), np.full(dim, np.inf)
    searching = np.ones(dim, dtype=bool)
    for _ in range(TUNING.most_doublings):
        shifts = (reach * factor)[:, searching].T
        values, _ = evaluate(np.concatenate([x + shifts, x - shifts]))
        fall = value - np.where(np.isfinite(values), values, -np.inf).reshape(2, -1).max(axis=0)
        near = fall < TUNING.drop / 4
        far = fall > 4 * TUNING.drop
        axes = np.flatnonzero(searching)
        below[axes[near]], above[axes[far]] = reach[axes[near]], reach[axes[far]]
        fine = ~near & ~far
        reach[axes[fine]] *= np.sqrt(TUNING.drop / fall[fine])
        searching[axes[fine]] = False
        todo = axes[~fine]
        bounded = (below[todo] > 0) & np.isfinite(above[todo])
        middle = np.sqrt(below[todo] * np.where(bounded, above[todo], 1.0))
        reach[todo] = np.where(
            bounded, middle, np.where(near[~fine], reach[todo] * 4, reach[todo] / 4)
        )
        searching[todo[bounded & (above[todo] < 1.01 * below[todo])]] = False
        if not searching.any():
            break
    return reach


def _curvature(
    evaluate: ValueAndGradient, x: np.ndarray, value: float, factor: np.ndarray, step: float
) -> np.ndarray:
    """The Hessian in the coordinates of a factor, by second differences to both sides."""
    dim = len(x)
    hessian = np.diag(_second_derivatives(evaluate, x, value, factor, step))
    rows, columns = np.triu_indices(dim, 1)
    if len(rows) == 0:
        return hessian
    shifts = step * (factor.T[rows] + factor.T[columns])
    values, _ = evaluate(np.concatenate([x + shifts, x - shifts]))
    up, down = np.split(values, 2)
    bends = np.diag(hessian)
    with np.errstate(invalid="ignore"):  # beyond an edge, where there is no curvature
        both = (up - 2 * value + down) / step**2
        mixed = 0.5 * (both - bends[rows] - bends[columns])
    hessian[rows, columns] = hessian[columns, rows] = mixed
    return hessian


def _second_derivatives(
    evaluate: ValueAndGradient, x: np.ndarray, value: float, factor: np.ndarray, step: float
) -> np.ndarray:
    """The second derivatives along the columns of a factor."""
    shifts = step * factor.T
    values, _ = evaluate(np.concatenate([x + shifts, x - shifts]))
    up, down = np.split(values, 2)
    with np.errstate(invalid="ignore"):
        return (up - 2 * value + down) / step**2


def _whitening_factor(hessian: np.ndarray) -> np.ndarray:
    """A factor that makes the curvature's size about one, where it is usable."""
    if not np.all(np.isfinite(hessian)):
        return np.eye(len(hessian))
    sizes, directions = np.linalg.eigh(-hessian)
    return directions / np.sqrt(np.clip(sizes, 1e-2, 1e6))
