"""Ridge growth: Gaussians added where a ridge goes on beyond those that are known.

A step leads from each Gaussian along each of its axes, and from there uphill, but only across that
axis: so it comes back to the ridge, further on. Where the density there is far above the mixture,
and holds some mass by its curvature, a Gaussian is added, from which the next step leads on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, logsumexp

from refti.models.model import ValueAndGradient
from refti.references.broad_mixture import Parts
from refti.references.clusters import log_normals
from refti.search.curvatures import log_masses
from refti.search.tuning import TUNING as SEARCH
from refti.tuning import tuned


@dataclass(frozen=True)
class RidgeGrowthTuning:
    """Numbers of the steps along a ridge."""

    reach: float = tuned(2.5, "deviations of a Gaussian that a step from it goes along an axis")
    climb: int = tuned(15, "steps of the climb across, from there back to the ridge …")
    least_gain: float = tuned(0.01, "nats … which ends where one brings less")
    unexplained: float = tuned(
        np.log(5.0), "nats by which the density is above the mixture where a Gaussian is added"
    )
    least_share: float = tuned(5e-5, "of the mass that it holds; an end that holds less is left")
    most_parts: int = tuned(180, "Gaussians in all")
    steps: int = tuned(40, "from one to the next, at the most")


TUNING = RidgeGrowthTuning()


def grow(parts: Parts, level: float, evaluate: ValueAndGradient, scales: np.ndarray) -> Parts:
    """The Gaussians with those further on along the ridge.

    Args:
        parts: what is known.
        level: the log integral of the density, as it is known.
        evaluate: the density and its gradient.
        scales: `[dim]`, of the coordinates, by which one Gaussian is as long as another.
    """
    front = np.arange(len(parts.means))
    for _ in range(TUNING.steps):
        if len(front) == 0 or len(parts.means) >= TUNING.most_parts:
            break
        known = len(parts.means)
        ahead = _step_on(parts, front, evaluate)
        above = ahead.heights - level - _log_mixture(parts, ahead.x)
        is_new = np.asarray(above > TUNING.unexplained)
        if not is_new.any():
            break
        ahead = ahead.where(is_new)
        parts = _with_new(parts, _widths(ahead, evaluate, scales), level)
        front = np.arange(known, len(parts.means))
    return parts


class _Ahead(NamedTuple):
    """Points that steps came to, each with the axes of the Gaussian that it left as columns."""

    x: np.ndarray  # [n, dim]
    heights: np.ndarray  # [n]
    axes: np.ndarray  # [n, dim, dim]

    def where(self, chosen: np.ndarray) -> _Ahead:
        """Those that are chosen."""
        return _Ahead(*(field[chosen] for field in self))


def _step_on(parts: Parts, front: np.ndarray, evaluate: ValueAndGradient) -> _Ahead:
    """Where steps lead both ways along every axis of some of the Gaussians, and uphill across."""
    dim = parts.means.shape[1]
    turned, lengths, _ = np.linalg.svd(parts.factors[front])
    axes = np.repeat(turned * lengths[:, None], 2 * dim, axis=0)
    along = np.tile(np.concatenate([np.eye(dim), -np.eye(dim)]), (len(front), 1))
    out = TUNING.reach * np.einsum("nij,nj->ni", axes, along)
    return _climb_across(
        np.repeat(parts.means[front], 2 * dim, axis=0) + out, axes, along, evaluate
    )


def _climb_across(
    x: np.ndarray, axes: np.ndarray, along: np.ndarray, evaluate: ValueAndGradient
) -> _Ahead:
    """Where points x[n, dim] climb to, but not along a direction of their axes, all at once.

    By the steps of Barzilai and Borwein, the first of them no longer than a deviation.
    """
    values, slopes = _look(x, axes, along, evaluate)
    steps = 1 / np.maximum(np.linalg.norm(slopes, axis=1), 3.0)
    going = np.flatnonzero(np.isfinite(values))
    for _ in range(TUNING.climb):
        if len(going) == 0:
            break
        moves = steps[going, None] * slopes[going]
        tried = x[going] + np.einsum("nij,nj->ni", axes[going], moves)
        there, rises = _look(tried, axes[going], along[going], evaluate)
        better = there > values[going]
        change = np.abs(np.sum(moves * (rises - slopes[going]), axis=1))
        longer = np.sum(moves**2, axis=1) / np.maximum(change, 1e-300)
        steps[going] = np.where(better, np.clip(longer, 1e-9, 1e3), 0.25 * steps[going])
        ended = better & (there - values[going] < TUNING.least_gain)
        here = going[better]
        x[here], values[here], slopes[here] = tried[better], there[better], rises[better]
        going = going[~ended]
    return _Ahead(x, values, axes)


def _look(
    x: np.ndarray, axes: np.ndarray, along: np.ndarray, evaluate: ValueAndGradient
) -> tuple[np.ndarray, np.ndarray]:
    """The density at x[n, dim], and its slopes by the axes across a direction of theirs."""
    values, gradients = evaluate(x)
    slopes = np.nan_to_num(np.einsum("nij,ni->nj", axes, gradients), posinf=0.0, neginf=0.0)
    return values, slopes - np.sum(slopes * along, axis=1)[:, None] * along


class _New(NamedTuple):
    """Gaussians that may be added: x[n, dim], heights[n] of the density, factors[n, dim, dim]."""

    x: np.ndarray
    heights: np.ndarray
    factors: np.ndarray


def _widths(ahead: _Ahead, evaluate: ValueAndGradient, scales: np.ndarray) -> _New:
    """The Gaussians by the curvature at points, none of them longer than the one it came from.

    Along the ridge the curvature tells nothing, or even that the density rises.
    """
    count, dim = ahead.x.shape
    shifts = SEARCH.gradient_step * np.swapaxes(ahead.axes, 1, 2)  # [n, axis, dim]
    around = np.concatenate([ahead.x[:, None] + shifts, ahead.x[:, None] - shifts], axis=1)
    _, gradients = evaluate(around.reshape(-1, dim))
    gradients = gradients.reshape(count, 2, dim, dim)
    slopes = (gradients[:, 0] - gradients[:, 1]) / (2 * SEARCH.gradient_step)
    usable = np.asarray(np.isfinite(slopes).all(axis=(1, 2)))
    # slopes[n, axis] are H axis, so with the axes' inverse they are H, here by scaled coordinates.
    ahead, slopes = ahead.where(usable), slopes[usable]
    precision = -np.linalg.solve(np.swapaxes(ahead.axes, 1, 2), slopes)
    precision *= scales[:, None] * scales
    precision = 0.5 * (precision + np.swapaxes(precision, 1, 2))
    longest = np.linalg.norm(ahead.axes / scales[:, None], axis=(1, 2), ord=2)
    sizes, directions = np.linalg.eigh(precision)
    sizes = np.maximum(sizes, 1 / longest[:, None] ** 2)
    wide = scales[:, None] * directions / np.sqrt(sizes)[:, None]
    return _New(ahead.x, ahead.heights, np.linalg.cholesky(wide @ np.swapaxes(wide, 1, 2)))


def _with_new(parts: Parts, new: _New, level: float) -> Parts:
    """The parts with those new ones that hold some mass and that no other explains by then."""
    shares = log_masses(new.heights, new.factors) - level
    for index in np.argsort(-new.heights):
        if len(parts.means) >= TUNING.most_parts or not shares[index] > np.log(TUNING.least_share):
            continue
        above = new.heights[index] - level - _log_mixture(parts, new.x[[index]])[0]
        if above > TUNING.unexplained:
            parts = Parts(
                np.append(log_softmax(parts.log_weights), shares[index]),
                np.concatenate([parts.means, new.x[[index]]]),
                np.concatenate([parts.factors, new.factors[[index]]]),
            )
    return parts


def _log_mixture(parts: Parts, x: np.ndarray) -> np.ndarray:
    """The log of the mixture at x[n, dim], its weights as shares of the mass."""
    if len(x) == 0:
        return np.zeros(0)
    return np.asarray(
        logsumexp(log_normals(x, parts.means, parts.factors) + parts.log_weights, axis=1)
    )
