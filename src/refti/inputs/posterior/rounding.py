"""Rounding undone: draws that were written with few digits miss the constraints that join them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refti.tuning import tuned


@dataclass(frozen=True)
class RoundingTuning:
    """What counts as rounded."""

    largest_loss: float = tuned(
        1e-5, "relative error of a rounded draw: CmdStan writes 6 or 8 digits, 32 bits have 7"
    )


TUNING = RoundingTuning()


def undo_rounding(values: np.ndarray) -> np.ndarray:
    """Draws [n, *shape] that sum to one, have length one or are symmetric, exactly so again.

    What holds in every draw up to the digits lost is taken to be a constraint: a simplex, a unit
    vector, the Cholesky factor of a correlation matrix, a correlation or covariance matrix.
    Others come back as they are.
    """
    if values.ndim < 2 or values.shape[-1] < 2 or not np.isfinite(values).all():
        return values
    sums = values.sum(axis=-1, keepdims=True)
    if (values >= 0).all() and _are_one(sums):
        return values / sums
    lengths = np.linalg.norm(values, axis=-1, keepdims=True)
    if _are_one(lengths):
        return values / lengths
    if values.ndim > 2 and values.shape[-1] == values.shape[-2]:
        return _symmetrize(values)
    return values


def _symmetrize(values: np.ndarray) -> np.ndarray:
    mirrored = np.swapaxes(values, -1, -2)
    scale = np.abs(values).max(axis=(-1, -2), keepdims=True)
    is_symmetric = bool(np.all(np.abs(values - mirrored) <= TUNING.largest_loss * scale))
    return 0.5 * (values + mirrored) if is_symmetric else values


def _are_one(numbers: np.ndarray) -> bool:
    return bool(np.all(np.abs(numbers - 1) < TUNING.largest_loss))
