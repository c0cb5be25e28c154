"""Whitening by draws and their scores together: the gradients of the log density at the draws.

Of a normal density with covariance S the scores have the covariance S^-1 and are -S^-1 times the
draws, so the S with cov(draws) = S cov(scores) S is right however few the draws are, as long as
there are as many as dimensions. The covariance of the draws alone is noise in some directions
until there are tens of them for each dimension. Of other densities it is a middle way between the
spread of the draws and the curvature that limits the steps.
"""

from __future__ import annotations

import numpy as np

from refti.factors.either import solve_rows
from refti.sampling.tuning import TUNING
from refti.sampling.whitening import Whitening, whitening


def wants_scores(dim: int) -> bool:
    """Whether the scores are worth their evaluations: where draws are few for the dimension."""
    return TUNING.scores_from <= dim <= TUNING.scores_up_to


def refit_by_scores(
    current: Whitening, x: np.ndarray, scores: np.ndarray, *, on_separate_modes: bool = False
) -> Whitening | None:
    """The whitening of draws x[chain, draw, dim] and the scores there; None if there is none.

    In current coordinates both covariances should be the identity, which counts as some draws
    more: as many as make the map of half of the draws suit the other half best. Where the chains
    are known to sit apart, what spreads within each of them counts. Draws that are too steep are
    left out.
    """
    location, factor = np.asarray(current.location), np.asarray(current.factor)
    dim = x.shape[-1]
    u = solve_rows(factor, (x - location).reshape(-1, dim))
    centre = u.mean(axis=0)
    by_chain = u.reshape(x.shape)
    middle = by_chain.mean(axis=1, keepdims=True) if on_separate_modes else centre
    deviation = (by_chain - middle).reshape(-1, dim)
    with np.errstate(all="ignore"):
        slopes = scores.reshape(-1, dim) @ factor
        usable = _not_too_steep(slopes)
    if not usable.any() or not np.isfinite(deviation).all():
        return None
    deviation, slopes = deviation[usable], slopes[usable] - slopes[usable].mean(axis=0)
    try:
        weight = weight_of_identity(deviation, slopes)
        covariances = [_with_identity(rows, weight) for rows in (deviation, slopes)]
        inner = np.linalg.cholesky(between(*covariances))
    except np.linalg.LinAlgError:  # scores beyond all measure, such as beside an edge
        return None
    return whitening(location + factor @ centre, factor @ inner)


def _not_too_steep(slopes: np.ndarray) -> np.ndarray:
    """Which draws, of slopes[n, dim], are about as steep as most are.

    A single draw beside an edge, where slopes go to infinity, would make all coordinates that
    lead there as narrow as the gap: chains would hardly move along them any more.
    """
    sizes = np.sqrt(np.mean(slopes**2, axis=1))
    sizes = np.where(np.isfinite(sizes), sizes, np.inf)
    limit = TUNING.steepest * np.median(sizes)
    return np.isfinite(sizes) & (sizes <= limit)


def weight_of_identity(u: np.ndarray, slopes: np.ndarray) -> float:
    """How many draws the identity is to count as, beside draws u[n, dim] and the slopes there.

    Of a normal density the slopes are minus the draws wherever the map is right, however few
    they are, and the identity is not needed. Of a skewed one they point elsewhere, and a map by
    few draws stretches what only the draws know and squeezes what only the slopes know. So
    weights are tried on the first half of the draws, and judged by how much the slopes of the
    second half differ from minus the draws in the coordinates found (Fisher's divergence).
    """
    half, dim = len(u) // 2, u.shape[1]
    if half < 2 or half > TUNING.plenty_of_scores * dim:
        return 1.0
    # Along the principal axes of the slopes, where their covariance is diagonal for every weight.
    sizes, axes = np.linalg.eigh(slopes[:half].T @ slopes[:half])
    old, new, slopes_of_new = (rows @ axes for rows in (u[:half], u[half:], slopes[half:]))
    squares = old.T @ old
    found = {float("inf"): _divergence(new, slopes_of_new)}
    for weight in (1.0, *(times * dim for times in TUNING.identity_weights)):
        root = np.sqrt((np.maximum(sizes, 0.0) + weight) / (half + weight))
        covariance = (squares + weight * np.eye(dim)) / (half + weight)
        # The map is root^-1 M root^-1, and M squared is root @ covariance @ root.
        lengths, directions = np.linalg.eigh(root[:, None] * covariance * root)
        scale = np.maximum(lengths, 1e-300) ** 0.25
        inner, slopes_of_inner = (new * root) @ directions, (slopes_of_new / root) @ directions
        found[weight] = _divergence(inner / scale, slopes_of_inner * scale)
    return min(found, key=found.__getitem__)


def _divergence(u: np.ndarray, slopes: np.ndarray) -> float:
    """The median of |slopes + u|^2 over draws in the coordinates of a map.

    A mean would be that of the few draws beside an edge, whose slopes are huge.
    """
    return float(np.median(np.sum((u + slopes) ** 2, axis=1)))


def between(covariance: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """The S with covariance = S precision S: the geometric mean of it and the inverse precision."""
    sizes, directions = np.linalg.eigh(precision)
    root, inverse = (directions * sizes**power @ directions.T for power in (0.5, -0.5))
    sizes, directions = np.linalg.eigh(root @ covariance @ root)
    middle = directions * np.sqrt(np.maximum(sizes, 0.0)) @ directions.T
    found = inverse @ middle @ inverse
    return 0.5 * (found + found.T)


def _with_identity(rows: np.ndarray, weight: float) -> np.ndarray:
    """The mean square of rows[n, dim], the identity counted as so many rows more, or all."""
    share = 1 / (1 + len(rows) / weight)
    return share * np.eye(rows.shape[1]) + (1 - share) * (rows.T @ rows) / len(rows)
