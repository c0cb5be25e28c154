"""Rounding: draws so near a bound that their values have lost the distance, and what of it.

A density that knows only the value is cut off there: it is the same for all that is rounded to one
number, and falls only by the Jacobian, by one nat for each unit of the coordinate. A density that
knows the distance otherwise, by a coordinate or a logarithm, goes on as it came. If draws are there
at all it came nearly level, so the two are easily told apart, in whatever language it is written.
"""

from __future__ import annotations

import numpy as np

from refti.checks.check import Check
from refti.checks.of_run import check_rounding
from refti.checks.tuning import TUNING
from refti.models.model import Model
from refti.sampling.metering import Meter


def check_bounds(model: Model, points: np.ndarray, meter: Meter) -> Check:
    """The check that rounding has not cut off the density, by posterior draws of any shape."""
    x = points.reshape(-1, model.dim)
    x = x[:: -(-len(x) // TUNING.rounded_draws)]
    return check_rounding(rounded_shares(model, x, meter))


def rounded_shares(model: Model, x: np.ndarray, meter: Meter) -> dict[str, float]:
    """The share of draws x[n, dim] at which each parameter was rounded and the density cut off."""
    back, owners = model.space.round_trip(x), np.array(model.space.owners)
    with np.errstate(invalid="ignore"):
        rounded = ~(np.abs(back - x) <= TUNING.round_trip)
    shares = {}
    for name in dict.fromkeys(model.space.owners):
        mine = rounded & (owners == name)
        share = float(mine.any(axis=1).mean())
        if share > TUNING.most_rounded:
            share *= _share_cut_off(model, x, mine, meter)
        shares[name] = share
    return shares


def _share_cut_off(model: Model, x: np.ndarray, rounded: np.ndarray, meter: Meter) -> float:
    """The share of rounded draws beyond which the density falls as one that is cut off does."""
    draws = np.flatnonzero(rounded.any(axis=1))
    draws = draws[:: -(-len(draws) // TUNING.rounded_trials)]
    furthest = np.argmax(np.where(rounded[draws], np.abs(x[draws]), -1.0), axis=1)
    rows = np.arange(len(draws))
    outward = []
    for distance in TUNING.beyond_rounding:
        moved = x[draws].copy()
        moved[rows, furthest] += distance * np.sign(moved[rows, furthest])
        outward.append(moved)
    meter.count(densities=2 * len(draws))
    near, far = np.split(model.log_densities(np.concatenate(outward)), 2)
    width = TUNING.beyond_rounding[1] - TUNING.beyond_rounding[0]
    with np.errstate(invalid="ignore"):
        goes_on = near - far < TUNING.cut_off_fall * width
    return float(np.mean(~goes_on))
