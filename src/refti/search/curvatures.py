"""Curvatures of many peaks at once, and the Newton steps that bring climbers to their tops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refti.models.model import ValueAndGradient
from refti.search.tuning import TUNING


class Tops(NamedTuple):
    """Points at or near the tops of peaks, axes peak, dim."""

    x: np.ndarray
    heights: np.ndarray  # [peak]
    factors: np.ndarray  # [peak, dim, dim], NaN where there is no curvature downwards
    residuals: np.ndarray  # [peak], how far off the top is in spreads; inf without curvature


def find_tops(evaluate: ValueAndGradient, x: np.ndarray, factor: np.ndarray) -> Tops:
    """The tops beside the points x[n, dim], by Newton's method, with their spreads.

    Every peak has curvatures of its own, taken by differences in a factor's coordinates and then
    in its own: a peak may be hundreds of times narrower than the one the factor is of.
    """
    x = x.copy()
    values, gradients = evaluate(x)
    factors = np.broadcast_to(factor, (len(x), *factor.shape)).copy()
    residuals = np.full(len(x), np.inf)
    going = np.flatnonzero(np.isfinite(values))
    for _ in range(TUNING.newton_steps):
        factors[going] = factors_at(evaluate, x[going], factors[going])
        going = going[np.isfinite(factors[going]).all(axis=(1, 2))]
        slopes = np.einsum("nij,ni->nj", factors[going], gradients[going])
        lengths = np.linalg.norm(slopes, axis=1)
        residuals[going] = lengths
        far = lengths > TUNING.at_the_top
        going, slopes, lengths = going[far], slopes[far], lengths[far]
        if len(going) == 0:
            break
        # A step of more than a spread leaves what the curvature knows.
        moves = slopes / np.maximum(1.0, lengths)[:, None]
        tried_x = x[going] + np.einsum("nij,nj->ni", factors[going], moves)
        tried, tried_gradients = evaluate(tried_x)
        better = tried >= values[going]
        going = going[better]
        x[going], values[going] = tried_x[better], tried[better]
        gradients[going] = tried_gradients[better]
    return Tops(x, values, factors, residuals)


def log_masses(heights: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The log integrals [peak] about peaks by Laplace's approximation; NaN without curvature."""
    dim = factors.shape[-1]
    with np.errstate(invalid="ignore"):
        log_widths = np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(axis=1)
    return heights + 0.5 * dim * np.log(2 * np.pi) + log_widths


def factors_at(evaluate: ValueAndGradient, x: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The Cholesky factors of minus the inverse Hessians at x[n, dim], NaN where there are none."""
    count, dim = x.shape
    shifts = TUNING.gradient_step * np.swapaxes(factors, 1, 2)  # [n, column, dim]
    points = np.concatenate([x[:, None] + shifts, x[:, None] - shifts], axis=1)
    _, gradients = evaluate(points.reshape(-1, dim))
    slopes = np.einsum("nkd,ndj->nkj", gradients.reshape(count, 2 * dim, dim), factors)
    bends = (slopes[:, :dim] - slopes[:, dim:]) / (2 * TUNING.gradient_step)
    bends = -0.5 * (bends + np.swapaxes(bends, 1, 2))
    found = np.full(factors.shape, np.nan)
    for index in np.flatnonzero(np.isfinite(bends).all(axis=(1, 2))):
        sizes, directions = np.linalg.eigh(bends[index])
        if sizes[0] > 1e-8 * sizes[-1] > 0:
            wide = factors[index] @ (directions / np.sqrt(sizes))
            found[index] = np.linalg.cholesky(wide @ wide.T)
    return found
