"""Kept points: how many draws of the posterior stay in memory while a leg is sampled.

Estimates need delta of every draw and no points at all. What the posterior, checks and a better
reference are made of are points, of which some thousand tell as much as all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refti.factors.tuning import TUNING as FACTORS
from refti.sampling.tuning import TUNING


def thin(points: Sequence[np.ndarray], drawn: int) -> list[np.ndarray]:
    """The points[chain, draw, dim] of scans of so many draws each, every second left out.

    Again and again while all of them are too many numbers, down to one of a scan; in a few
    dimensions they never are. Evenly spaced, whenever each of the scans was made.
    """
    chains, _, dim = points[0].shape
    wanted = drawn
    while wanted > 1 and len(points) * chains * wanted * dim > TUNING.kept_numbers:
        wanted //= 2
    if dim <= FACTORS.all_dense or wanted == drawn:
        return list(points)
    return [_every_second(one, wanted) for one in points]


def _every_second(points: np.ndarray, wanted: int) -> np.ndarray:
    while points.shape[1] > wanted:
        points = points[:, 1::2]
    return np.ascontiguousarray(points)  # a view would keep all of them
