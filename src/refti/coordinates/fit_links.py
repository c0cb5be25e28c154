"""The fit of links: given who follows whom, how means and log scales do.

Scales and means of followers come from the curvature at draws, one regression each; bends of means
come from the draws themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from refti.coordinates.affine import affine
from refti.coordinates.curvature import Curvature
from refti.coordinates.fit_tails import robust_standard
from refti.coordinates.followers import Follower, clipped, find_followers
from refti.coordinates.links import Links
from refti.coordinates.map import Layer
from refti.coordinates.tuning import TUNING


@dataclass(frozen=True)
class Fitted:
    """The numbers of one follower; every array has an entry for each coordinate."""

    mean: float
    slopes: np.ndarray
    bends: np.ndarray
    levels: np.ndarray
    steepness: np.ndarray
    log_scale: float
    scale_slopes: np.ndarray
    scale_hinges: np.ndarray

    @classmethod
    def bent(cls, mean: float, slopes: np.ndarray, bends: np.ndarray, log_scale: float) -> Fitted:
        """A follower by its mean alone, in proportion and in squares."""
        none = np.zeros(len(slopes))
        return cls(mean, slopes, bends, none, none, log_scale, none, none)


def fit_links(
    draws: np.ndarray, curvature: Curvature | None, worth: float
) -> tuple[Layer, ...] | None:
    """The layers that take links out of draws[n, dim], or None where none is to be seen.

    The draws are worth so many independent ones, which decides whether a bend is told from noise.
    """
    count, dim = draws.shape
    if dim < 2 or count < TUNING.fewest_draws:
        return None
    location, scale = robust_standard(draws)
    y = (draws - location) / scale
    seen = None if curvature is None else curvature.standardised(location, scale)
    followers = find_followers(y, seen, worth)
    if not followers:
        return None
    fitted = {}
    for k, follower in followers.items():
        if follower.scale_by and seen is not None:
            fitted[k] = _by_curvature(k, follower, seen)
        else:
            fitted[k] = _by_draws(y, k, follower)
    return layer_of(fitted, dim), affine(location, scale)


def _by_curvature(k: int, follower: Follower, curvature: Curvature) -> Fitted:
    """The follower whose scale and mean given all others are known at some points."""
    usable = np.isfinite(curvature.scale[:, k])
    x, scale = curvature.x[usable], curvature.scale[usable, k]
    dim, parents = x.shape[1], follower.scale_by
    ones, straight = np.ones((len(x), 1)), x[:, parents]
    for_scale = np.concatenate([ones, straight, np.logaddexp(0, straight)], axis=1)
    logs = _weighted_regression(for_scale, np.log(scale), np.ones(len(x)))
    middle = 1 + len(parents)
    # Where the scale is small the level is reached; how soon goes with the scale's own slope.
    steepness = 2 * logs[1:middle]
    level = 0.5 * (1 + np.tanh(0.5 * straight * steepness))
    for_mean = np.concatenate(
        [ones, x[:, follower.about], clipped(x[:, follower.bent_by]) ** 2, level], axis=1
    )
    weights = (scale.min() / scale) ** 2
    weights = np.maximum(weights / weights.mean(), 1e-3)
    mean = _weighted_regression(for_mean, curvature.mean[usable, k], weights)
    bends_at = 1 + len(follower.about)
    levels_at = bends_at + len(follower.bent_by)
    return Fitted(
        mean=float(mean[0]),
        slopes=spread_out(mean[1:bends_at], follower.about, dim),
        bends=spread_out(mean[bends_at:levels_at], follower.bent_by, dim),
        levels=spread_out(mean[levels_at:], parents, dim),
        steepness=spread_out(steepness, parents, dim),
        log_scale=float(logs[0]),
        scale_slopes=spread_out(logs[1:middle], parents, dim),
        scale_hinges=spread_out(logs[middle:], parents, dim),
    )


def _by_draws(y: np.ndarray, k: int, follower: Follower) -> Fitted:
    """The follower whose mean is bent by others, as its draws tell."""
    dim, parents = y.shape[1], follower.bent_by
    features = np.concatenate([np.ones((len(y), 1)), y[:, parents], y[:, parents] ** 2], axis=1)
    mean = _weighted_regression(features, y[:, k], np.ones(len(y)))
    residual = clipped((y[:, k] - features @ mean)[:, None])[:, 0]
    middle = 1 + len(parents)
    return Fitted.bent(
        float(mean[0]),
        spread_out(mean[1:middle], parents, dim),
        spread_out(mean[middle:], parents, dim),
        float(np.log(residual.std())),
    )


def layer_of(fitted: dict[int, Fitted], dim: int) -> Links:
    """The layer of all followers, its parents those coordinates that anyone follows."""
    names = ("slopes", "bends", "levels", "steepness", "scale_slopes", "scale_hinges")
    whole = {name: np.zeros((dim, dim)) for name in names}
    mean, log_scale = np.zeros(dim), np.zeros(dim)
    for k, one in fitted.items():
        mean[k], log_scale[k] = one.mean, one.log_scale
        for name in names:
            whole[name][k] = getattr(one, name)
    linked = np.any([whole[name] != 0 for name in names], axis=0)
    parents = np.flatnonzero(linked.any(axis=0))
    parts: dict[str, Any] = {name: matrix[:, parents] for name, matrix in whole.items()}
    parts |= {"parents": parents, "mean": mean, "log_scale": log_scale}
    return Links(depth=_depth(linked), **parts)


def _depth(linked: np.ndarray) -> int:
    """The number of links in the longest chain of them."""
    depth, reach = 0, linked.astype(float)
    while reach.any() and depth < len(linked):
        depth, reach = depth + 1, np.sign(reach @ linked)
    return depth


def spread_out(values: np.ndarray, places: Sequence[int], dim: int) -> np.ndarray:
    whole = np.zeros(dim)
    whole[list(places)] = values
    return whole


def _weighted_regression(
    features: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """The coefficients of the least weighted squares, those beside the constant shrunk a little."""
    weighted = weights[:, None] * features
    gram = weighted.T @ features
    ridge = TUNING.ridge * np.diag(gram)
    ridge[0] = 0.0
    return np.linalg.solve(gram + np.diag(ridge + 1e-12 * np.diag(gram)), weighted.T @ target)
