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
from refti.coordinates.pooling import NONE, Pooling, PrecisionSum, fit_precision_sum
from refti.coordinates.tuning import TUNING
from refti.references.base import in_64_bits


@dataclass(frozen=True)
class Pooled:
    """The numbers of a follower's second precision and of its mean, as in `Pooling`."""

    offset: float
    steepness: np.ndarray
    lead: float
    lead_slopes: np.ndarray


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
    pooled: Pooled | None = None

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
    off_by = float(np.std(np.log(scale) - for_scale @ logs))
    if off_by > TUNING.off_by:
        law = fit_precision_sum(straight, -2 * np.log(scale))
        if law is not None and 0.5 * law.deviation < TUNING.better_law * off_by:
            return _by_law(law, x, scale, curvature.mean[usable, k], follower)
    middle = 1 + len(parents)
    # Where the scale is small the level is reached; how soon goes with the scale's own slope.
    steepness = 2 * logs[1:middle]
    level = 0.5 * (1 + np.tanh(0.5 * straight * steepness))
    for_mean = np.concatenate(
        [ones, x[:, follower.about], clipped(x[:, follower.bent_by]) ** 2, level], axis=1
    )
    mean = _weighted_regression(for_mean, curvature.mean[usable, k], _weights(scale))
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


def _by_law(
    law: PrecisionSum, x: np.ndarray, scale: np.ndarray, mean: np.ndarray, follower: Follower
) -> Fitted:
    """The follower whose precision is a sum of two at points x[n, dim], each with its own mean."""
    dim, about, bent_by = x.shape[1], follower.about, follower.bent_by
    share = law.shares(x[:, follower.scale_by])[:, None]
    straight = np.hstack([np.ones((len(x), 1)), x[:, about]])
    features = np.hstack([(1 - share) * straight, share * straight, clipped(x[:, bent_by]) ** 2])
    found = _weighted_regression(features, mean, _weights(scale))
    both = 1 + len(about)
    first, second, bends = found[:both], found[both : 2 * both], found[2 * both :]
    none = np.zeros(dim)
    return Fitted(
        mean=float(first[0]),
        slopes=spread_out(first[1:], about, dim),
        bends=spread_out(bends, bent_by, dim),
        levels=none,
        steepness=none,
        log_scale=-0.5 * law.first,
        scale_slopes=none,
        scale_hinges=none,
        pooled=Pooled(
            offset=law.second - law.first,
            steepness=spread_out(law.slopes, follower.scale_by, dim),
            lead=float(second[0] - first[0]),
            lead_slopes=spread_out(second[1:] - first[1:], about, dim),
        ),
    )


def _weights(scale: np.ndarray) -> np.ndarray:
    """What means at points of these scales count: the narrow ones most, none next to nothing."""
    weights = (scale.min() / scale) ** 2
    return np.maximum(weights / weights.mean(), 1e-3)


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
    offset, steepness, lead, lead_slopes = _pooling_of(fitted, dim)
    linked = np.any([whole[name] != 0 for name in names], axis=0)
    linked |= (steepness != 0) | (lead_slopes != 0)
    parents = np.flatnonzero(linked.any(axis=0))
    parts: dict[str, Any] = {name: matrix[:, parents] for name, matrix in whole.items()}
    if any(one.pooled is not None for one in fitted.values()):
        numbers = offset, steepness[:, parents], lead, lead_slopes[:, parents]
        parts["pooling"] = Pooling(*in_64_bits(*numbers))
    parts |= {"parents": parents, "mean": mean, "log_scale": log_scale}
    return Links(depth=_depth(linked), **parts)


def _pooling_of(
    fitted: dict[int, Fitted], dim: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Offset, steepness, lead and its slopes of all coordinates; no pooling for most."""
    offset, lead = np.full(dim, NONE), np.zeros(dim)
    steepness, lead_slopes = np.zeros((dim, dim)), np.zeros((dim, dim))
    for k, one in fitted.items():
        if one.pooled is not None:
            offset[k], lead[k] = one.pooled.offset, one.pooled.lead
            steepness[k], lead_slopes[k] = one.pooled.steepness, one.pooled.lead_slopes
    return offset, steepness, lead, lead_slopes


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
