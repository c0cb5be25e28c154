"""Valleys that bend: coordinates that lie about a parabola of others, peeled off one by one.

A coordinate that no other follows is normal given all the rest, and the curvature tells the mean
and the scale exactly, wherever the draws are. With its normal taken out of the density, what it
followed may be next: so valleys that bend, and bend again, come out in the order in which they
hang on each other, which the correlations of draws do not tell.
"""

from __future__ import annotations

import numpy as np

from refti.coordinates.affine import affine
from refti.coordinates.curvature import Curvature
from refti.coordinates.fit_links import Fitted, layer_of
from refti.coordinates.fit_tails import robust_standard
from refti.coordinates.map import Layer
from refti.coordinates.tuning import TUNING


def fit_valleys(draws: np.ndarray, curvature: Curvature | None) -> tuple[Layer, ...] | None:
    """The layers that straighten the valleys of draws[n, dim], or None where none is to be seen."""
    dim = draws.shape[1]
    if dim < 2 or dim > TUNING.most_in_valleys or curvature is None:
        return None
    location, scale = robust_standard(draws)
    left = curvature.standardised(location, scale)
    still, fitted = list(range(dim)), dict[int, Fitted]()
    while len(still) > 1:
        found = _find_end(left, still)
        if found is None:
            break
        k, follower = found
        fitted[k] = follower
        left = _without(left, k, follower)
        still.remove(k)
    return (layer_of(fitted, dim), affine(location, scale)) if fitted else None


def _find_end(curvature: Curvature, still: list[int]) -> tuple[int, Fitted] | None:
    """Of the coordinates that are left, the bent one whose scale is steadiest."""
    scales = curvature.scale[:, still]
    with np.errstate(invalid="ignore"):
        unsteady = np.std(np.log(scales), axis=0)  # NaN where it has no scale at some point
    for place in np.argsort(unsteady, kind="stable"):
        if not unsteady[place] < TUNING.steady:
            return None
        follower = _bent(curvature, still[place], still)
        if follower is not None:
            return still[place], follower
    return None


def _bent(curvature: Curvature, k: int, still: list[int]) -> Fitted | None:
    """Coordinate k as a follower of others, or None where none of them bends it.

    A mean that has the square of another in it has a slope in proportion to that one.
    """
    x = curvature.x
    others = [j for j in still if j != k]
    scale = float(np.exp(np.mean(np.log(curvature.scale[:, k]))))
    slopes = curvature.slopes[:, k]
    middle = x.mean(axis=0)
    off, rise = x - middle, slopes - slopes.mean(axis=0)
    growth = (off * rise).sum(axis=0) / np.maximum((off**2).sum(axis=0), 1e-300)
    rest = ((rise - growth * off) ** 2).sum(axis=0)
    told = rest < (1 - TUNING.least_explained) * (rise**2).sum(axis=0)
    # Draws are standardised, so this is how far a parabola leads off over a spread or two.
    is_bend = told & (np.abs(growth) > TUNING.least_bend * scale)
    is_bend &= np.isin(np.arange(x.shape[1]), others)
    if not is_bend.any():
        return None
    bends = np.where(is_bend, 0.5 * growth, 0.0)
    straight = np.where(is_bend, slopes.mean(axis=0) - growth * middle, slopes.mean(axis=0))
    related = is_bend | (np.abs(straight) > TUNING.least_slope * scale)
    straight = np.where(related & np.isin(np.arange(x.shape[1]), others), straight, 0.0)
    constant = np.median(curvature.mean[:, k] - x @ straight - x**2 @ bends)
    return Fitted.bent(float(constant), straight, bends, float(np.log(scale)))


def _without(curvature: Curvature, k: int, follower: Fitted) -> Curvature:
    """The curvature of what is left of the density, the normal of coordinate k taken out."""
    x, precision = curvature.x, np.exp(-2 * follower.log_scale)
    mean = follower.mean + x @ follower.slopes + x**2 @ follower.bends
    off = x[:, k] - mean
    leads = follower.slopes + 2 * x * follower.bends  # how the mean changes, [point, dim]
    leads[:, k] = -1.0
    gradient = curvature.gradient - precision * off[:, None] * leads
    hessian = curvature.hessian + precision * leads[:, :, None] * leads[:, None, :]
    every = np.arange(x.shape[1])
    hessian[:, every, every] -= precision * off[:, None] * 2 * follower.bends
    return Curvature(x, gradient, hessian)
