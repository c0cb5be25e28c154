"""Ladders: the values of lambda at which a path is sampled, from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refti.errors import LadderError


def uniform(rungs: int) -> np.ndarray:
    """Equally spaced rungs, the paper's choice."""
    return power(rungs, 1.0)


def power(rungs: int, exponent: float = 3.0) -> np.ndarray:
    """Rungs at (k / (rungs - 1))^exponent: dense near 0 for an exponent above 1."""
    if not isinstance(rungs, int) or rungs < 2:
        raise LadderError(f"A ladder needs at least 2 rungs, 0 and 1; got {rungs!r}.")
    if not (np.isfinite(exponent) and exponent > 0):
        raise LadderError(f"A ladder's exponent must be positive and finite; got {exponent!r}.")
    return checked(np.linspace(0.0, 1.0, rungs) ** exponent)


def checked(lambdas: Sequence[float] | np.ndarray) -> np.ndarray:
    """The ladder as an array, after it has been seen to run from 0 to 1."""
    advice = "Use refti.uniform(11) or another increasing sequence from 0 to 1."
    rule = "Ladder must start at 0, end at 1 and increase strictly"
    try:
        ladder = np.array(lambdas, dtype=np.float64)
    except (TypeError, ValueError):
        raise LadderError(f"{rule}; got {lambdas!r}. {advice}") from None
    if ladder.ndim != 1 or len(ladder) < 2:
        raise LadderError(f"{rule}; got an array of shape {ladder.shape}. {advice}")
    if not np.all(np.isfinite(ladder)):
        raise LadderError(f"{rule}; got a value that is not finite. {advice}")
    if ladder[0] != 0:
        raise LadderError(f"{rule}; got first value {ladder[0]:g}. {advice}")
    if ladder[-1] != 1:
        raise LadderError(f"{rule}; got last value {ladder[-1]:g}. {advice}")
    if np.any(np.diff(ladder) <= 0):
        at = int(np.argmax(np.diff(ladder) <= 0))
        raise LadderError(f"{rule}; got {ladder[at]:g} followed by {ladder[at + 1]:g}. {advice}")
    return ladder
