"""The height of a reference: about the posterior's own, so that delta is about zero.

Any height gives the same estimate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from refti.models.model import ValueAndGradient
from refti.references.family import FitInputs
from refti.tuning import tuned


@dataclass(frozen=True)
class LevelTuning:
    """Numbers of a reference's height."""

    draws: int = tuned(32, "draws whose log density sets the level; any level will do")
    astray: float = tuned(
        1e6,
        "nats by which their mean may lie below their median; further down a few draws took it "
        "along, and it would cost the digits of what is held against it",
    )


TUNING = LevelTuning()
Normalised = TypeVar("Normalised", bound=Any)


def match_level(reference: Normalised, inputs: FitInputs) -> Normalised:
    """The reference with about the posterior's own log z: that of a Gaussian of its variances."""
    draws = inputs.draws
    dim = draws.shape[1]
    heights, _ = inputs.evaluate(draws[:: -(-len(draws) // TUNING.draws)])
    heights = heights[np.isfinite(heights)]
    entropy = 0.5 * dim * (1 + np.log(2 * np.pi)) + np.log(draws.std(axis=0)).sum()
    level = float(_middle(heights) + entropy) if len(heights) else 0.0
    return replace(reference, log_z=np.asarray(level))


def _middle(heights: np.ndarray) -> float:
    """Their mean, or their median where some are so low that the mean tells nothing."""
    mean, median = float(heights.mean()), float(np.median(heights))
    return mean if median - mean < TUNING.astray else median


def height_at(evaluate: ValueAndGradient, x: np.ndarray) -> float:
    """log q at the reference's centre, as in the paper, or 0 where the density is zero there."""
    value, _ = evaluate(x[None])
    return float(value[0]) if np.isfinite(value[0]) else 0.0
