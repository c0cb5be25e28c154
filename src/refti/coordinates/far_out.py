"""Far out: on which sides a density falls no faster than some power of the distance does.

Draws of chains that do not reach the tails cannot tell a power law from an exponential. The density
itself can: along a coordinate, a power law falls by the same for every factor of the distance, an
exponential by ever more.
"""

from __future__ import annotations

import numpy as np

from refti.coordinates.curvature import Gradients
from refti.coordinates.tuning import TUNING


def find_heavy_sides(
    evaluate: Gradients, centre: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the density has a heavy tail to the left and to the right, [dim] each.

    Args:
        evaluate: the density.
        centre: a point amidst the draws.
        spread: of every coordinate.
    """
    dim = len(centre)
    return _is_heavy(evaluate, centre, -np.eye(dim) * spread), _is_heavy(
        evaluate, centre, np.eye(dim) * spread
    )


def _is_heavy(evaluate: Gradients, centre: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Whether the density is heavy along each of some steps[line, dim] from a centre."""
    near, less_near, far, farther = (
        evaluate(centre + distance * steps)[0] for distance in TUNING.far_out
    )
    with np.errstate(invalid="ignore"):
        first = (near - less_near) / np.log(TUNING.far_out[1] / TUNING.far_out[0])
        last = (far - farther) / np.log(TUNING.far_out[3] / TUNING.far_out[2])
        return np.isfinite(last) & (first > 0) & (last < TUNING.heavy_growth * first)
