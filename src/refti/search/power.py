"""Power: how narrow a mode may be for wanderers to find it, in numbers that one can picture."""

from __future__ import annotations

import numpy as np
from scipy import special

from refti.search.searched import share_found
from refti.search.tuning import TUNING
from refti.search.wanderers import flattenings_of


def narrowest_found(wanderers: int, dim: int) -> float | None:
    """The least width at which so many wanderers find a mode with 95 %; None if they find none.

    The mode is a round normal some spreads away from the one they set out about, with as much
    mass; its width is relative to that one's. A narrow mode is uphill of a ball: in ten dimensions
    one half as wide is uphill of a ten-thousandth of the flattened density, though it holds half of
    the mass.
    """
    wanted = share_found(wanderers)
    low, high = TUNING.pictured_widths
    if share_uphill(high, dim) < wanted:
        return None
    for _ in range(TUNING.picture_halvings):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if share_uphill(middle, dim) < wanted else (low, middle)
    return high


def share_uphill(width: float, dim: int) -> float:
    """The share of points of the flattened density that lie uphill of such a mode.

    Of points x about a standard normal those with |x - a|^2 / s^2 + 2 dim log s < |x|^2 do, which
    is a ball about a / (1 - s^2). Points widened along one parameter alone are taken to miss it.
    """
    squared, away = width**2, TUNING.pictured_distance
    centre = away / (1 - squared)
    radius = centre**2 - (away**2 + 2 * dim * squared * np.log(width)) / (1 - squared)
    if radius <= 0:
        return 0.0
    flattenings = flattenings_of(np.array(TUNING.reaches), dim)
    inside = special.chndtr(radius / flattenings, dim, centre**2 / flattenings)
    return float((1 - TUNING.along_one_parameter) * np.dot(TUNING.reach_shares, inside))


def wanderers_for(width: float, dim: int, found_with: float) -> float:
    """How many wanderers find a mode of such a width with that probability; may be infinite."""
    share = share_uphill(width, dim)
    if share <= 0:
        return np.inf
    with np.errstate(over="ignore"):  # so many that they are no number
        return float(np.log1p(-found_with) / np.log1p(-share))
