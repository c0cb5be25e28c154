"""Slanting valleys: those that bend along directions which are no coordinate axes.

As with valleys along the axes, what nothing else follows is normal given the rest: along its
direction d the density curves everywhere alike, d H(x) d is constant. Such a direction is looked
for among all, its normal is taken out, and so on with what is left, in one dimension less.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize

from refti.coordinates.affine import affine
from refti.coordinates.curvature import Curvature
from refti.coordinates.map import Layer
from refti.coordinates.parabolas import Parabolas
from refti.coordinates.tuning import TUNING
from refti.references.base import in_64_bits


class _Leaf(NamedTuple):
    """What lies about a parabola of the rest: its mean by those [dim], and its scale."""

    mean: float
    slopes: np.ndarray
    bends: np.ndarray  # [dim, dim]
    scale: float

    def turned(self, turn: np.ndarray) -> _Leaf:
        """The leaf where the first of those that it follows are turned among one another."""
        whole = np.eye(len(self.slopes))
        whole[: len(turn), : len(turn)] = turn
        return _Leaf(self.mean, self.slopes @ whole, whole.T @ self.bends @ whole, self.scale)


def fit_slanting(draws: np.ndarray, curvature: Curvature | None) -> tuple[Layer, ...] | None:
    """The layers that straighten slanting valleys of draws[n, dim], or None where none is seen."""
    dim = draws.shape[1]
    if dim < 2 or dim > TUNING.most_slanting or curvature is None:
        return None
    if len(curvature.x) < dim + TUNING.points_beside:
        return None
    if not np.abs(curvature.hessian).max() < TUNING.steepest:
        return None
    location = np.median(draws, axis=0)
    factor = np.linalg.cholesky(np.cov(draws.T) + 1e-12 * np.diag(draws.var(axis=0)))
    left = _seen(curvature, location, factor)
    turn, leaves = np.eye(dim), list[_Leaf]()
    while left.x.shape[1] > 1:
        found = _find_leaf(left, TUNING.leaf_starts if leaves else TUNING.first_leaf_starts)
        if found is None:
            break
        turned, leaf = found
        free = left.x.shape[1]
        turn[:, :free] = turn[:, :free] @ turned
        left = _without(_seen(left, np.zeros(free), turned), leaf)
        leaves = [*(one.turned(turned) for one in leaves), leaf]
    if not leaves:
        return None
    return _layer(leaves, dim), affine(location, factor @ turn)


def _seen(curvature: Curvature, location: np.ndarray, factor: np.ndarray) -> Curvature:
    """The curvature in coordinates y of x = location + factor @ y."""
    x = np.linalg.solve(factor, (curvature.x - location).T).T
    hessian = factor.T @ curvature.hessian @ factor
    return Curvature(x, curvature.gradient @ factor, hessian)


def _find_leaf(curvature: Curvature, starts: int) -> tuple[np.ndarray, _Leaf] | None:
    """A rotation after which the last coordinate is a leaf, and that leaf, if there is one."""
    mean = curvature.hessian.mean(axis=0)
    changes = curvature.hessian - mean
    sizes, axes = np.linalg.eigh(np.einsum("pij,pjk->ik", changes, changes))
    # Along the others nothing changes at all.
    changing = axes[:, sizes > TUNING.surely_steady**2 * sizes[-1]]
    best, found = np.inf, None
    # The axes of change first, and where these lead nowhere others between them, always the same.
    between = np.random.default_rng(0).normal(size=(starts, changing.shape[1])) @ changing.T
    for start in np.concatenate([changing.T, between])[:starts]:
        if best < TUNING.surely_steady:
            break
        d, off = _steadiest(start, changes, changing)
        curved = -float(d @ mean @ d)
        unsteady = np.abs(np.einsum("i,pij,j->p", d, changes, d)).max()
        if off >= best or not unsteady < TUNING.steady * curved:
            continue
        turned = np.linalg.qr(np.column_stack([d, np.eye(len(d))]))[0]
        turned = np.roll(turned, -1, axis=1)
        leaf = _leaf_of(_seen(curvature, np.zeros(len(d)), turned))
        if leaf is not None:
            best, found = off, (turned, leaf)
    return found


def _steadiest(
    start: np.ndarray, changes: np.ndarray, among: np.ndarray
) -> tuple[np.ndarray, float]:
    """A direction d in the span of some along which the curvature is steady, and how far it is not.

    What counts is d H d beside H d, each as it changes from point to point: along a direction in
    which next to nothing changes the first is little too, but there is nothing to straighten.
    """
    first = among.T @ start
    with np.errstate(over="ignore", invalid="ignore"):
        within = among.T @ changes @ among
        largest = float(np.abs(within).max())
    if not np.isfinite(largest) or min(largest, float(np.linalg.norm(first))) < TUNING.no_direction:
        return start, np.inf
    within = within / largest  # or squares of it may be beyond all numbers
    squares = np.einsum("pij,pjk->ik", within, within) / len(within)

    def size_of(weights: np.ndarray) -> tuple[float, float]:
        """The squares of the sizes of a direction and of the change along it, none of them zero."""
        square = max(float(weights @ weights), TUNING.no_direction**2)
        return square, max(float(weights @ squares @ weights), TUNING.no_direction**2 * square)

    def residuals(weights: np.ndarray) -> np.ndarray:
        square, change = size_of(weights)
        along = np.einsum("i,pij,j->p", weights, within, weights)
        return np.asarray(along / np.sqrt(square * change))

    def derivatives(weights: np.ndarray) -> np.ndarray:
        square, change = size_of(weights)
        by_size = weights / square + squares @ weights / change
        rises = 2 * within @ weights / np.sqrt(square * change)
        return np.asarray(rises - np.outer(residuals(weights), by_size))

    found = optimize.least_squares(
        residuals,
        first,
        derivatives,
        max_nfev=TUNING.leaf_steps,
        ftol=1e-15,
        xtol=1e-15,
        gtol=1e-15,
    )
    d = among @ found.x
    return d / max(np.linalg.norm(d), 1e-300), float(np.abs(residuals(found.x)).max())


def _leaf_of(curvature: Curvature) -> _Leaf | None:
    """The last coordinate as a leaf of all others, or None where nothing bends it."""
    if not np.isfinite(curvature.scale[:, -1]).all():
        return None
    scale = float(np.exp(np.mean(np.log(curvature.scale[:, -1]))))
    x, slopes = curvature.x[:, :-1], curvature.slopes[:, -1, :-1]
    features = np.column_stack([np.ones(len(x)), x])
    fitted = np.linalg.lstsq(features, slopes, rcond=None)[0]
    rest, change = slopes - features @ fitted, slopes - slopes.mean(axis=0)
    free = len(x) / (len(x) - features.shape[1])
    told = free * np.sum(rest**2) < (1 - TUNING.least_explained) * np.sum(change**2)
    bends = 0.25 * (fitted[1:] + fitted[1:].T)
    if not told or np.abs(bends).max() < TUNING.least_bend * scale / 2:
        return None
    straight = slopes.mean(axis=0) - 2 * x.mean(axis=0) @ bends
    mean = curvature.mean[:, -1] - x @ straight - np.einsum("pi,ij,pj->p", x, bends, x)
    return _Leaf(float(np.median(mean)), straight, bends, scale)


def _without(curvature: Curvature, leaf: _Leaf) -> Curvature:
    """The curvature of what is left of the density without its last coordinate, a leaf."""
    x, precision = curvature.x[:, :-1], leaf.scale**-2
    mean = leaf.mean + x @ leaf.slopes + np.einsum("pi,ij,pj->p", x, leaf.bends, x)
    off = (curvature.x[:, -1] - mean)[:, None]
    leads = leaf.slopes + 2 * x @ leaf.bends  # how the mean changes, [point, dim]
    gradient = curvature.gradient[:, :-1] - precision * off * leads
    hessian = curvature.hessian[:, :-1, :-1] + precision * (
        leads[:, :, None] * leads[:, None, :] - off[:, :, None] * 2 * leaf.bends
    )
    return Curvature(x, gradient, hessian)


def _layer(leaves: list[_Leaf], dim: int) -> Parabolas:
    """The layer of all leaves, the first of which is the last coordinate."""
    mean, log_scale = np.zeros(dim), np.zeros(dim)
    slopes, bends = np.zeros((dim, dim)), np.zeros((dim, dim, dim))
    for place, leaf in enumerate(leaves):
        k = dim - 1 - place
        mean[k], log_scale[k] = leaf.mean, np.log(leaf.scale)
        slopes[k, :k], bends[k, :k, :k] = leaf.slopes, leaf.bends
    return Parabolas(*in_64_bits(mean, slopes, bends, log_scale))
