"""The fit of links: which coordinates follow which, found in draws, and how.

A scale follows a coordinate if the logarithm of its squared residual is correlated with it, and a
mean is bent by it if the residual is correlated with its square. In both cases the reverse is not
so, which tells the direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from refti.coordinates.affine import affine
from refti.coordinates.fit_tails import robust_standard
from refti.coordinates.follower import Fitted, Follower, fit_follower
from refti.coordinates.hubs import find_hubs
from refti.coordinates.links import Links
from refti.coordinates.map import Layer
from refti.coordinates.tuning import TUNING

Followers = dict[int, Follower]


def fit_links(draws: np.ndarray) -> tuple[Layer, ...] | None:
    """The layers that take links out of draws[n, dim], or None where none is to be seen."""
    count, dim = draws.shape
    if dim < 2 or count < TUNING.fewest_draws:
        return None
    location, scale = robust_standard(draws)
    y = (draws - location) / scale
    followers = _find_followers(y)
    if not followers:
        return None
    free = [k for k in range(dim) if k not in followers]
    groups = _groups(y, followers)
    hubs = _find_all_hubs(y, groups, free)
    usual = {k: group.slope for group in groups for k in group.members}
    fitted = {}
    for k, follower in followers.items():
        earlier = hubs[: hubs.index(k)] if k in hubs else hubs
        features = sorted(follower.parents | set(_most_correlated(y, k, free)) | set(earlier))
        full = fit_follower(y, y[:, k], follower, features, usual.get(k))
        natural = partial(_natural_mean, k, location, scale)
        fitted[k] = _about_a_hub(y, k, follower, natural, earlier, full, usual.get(k))
    return _layer(fitted, dim), affine(location, scale)


def _layer(fitted: dict[int, Fitted], dim: int) -> Links:
    """The layer of all followers, its links those from coordinates that anyone follows."""
    names = ("slopes", "bends", "levels", "steepness", "scale_slopes", "scale_hinges")
    whole = {name: np.zeros((dim, dim)) for name in names}
    mean, log_scale = np.zeros(dim), np.zeros(dim)
    for k, one in fitted.items():
        mean[k], log_scale[k] = one.mean, one.log_scale
        for name in names:
            whole[name][k] = getattr(one, name)
    linked = np.any([whole[name] != 0 for name in names], axis=0)
    parents = np.flatnonzero(linked.any(axis=0))
    parts = {name: matrix[:, parents] for name, matrix in whole.items()}
    return Links(parents=parents, mean=mean, log_scale=log_scale, depth=_depth(linked), **parts)


@dataclass(frozen=True)
class _Group:
    """Coordinates whose scale follows one parent alone, and the usual slope of their log scale."""

    parent: int
    members: list[int]
    slope: float


def _groups(y: np.ndarray, followers: Followers) -> list[_Group]:
    groups = []
    for parent in sorted({j for follower in followers.values() for j in follower.scale_by}):
        members = [k for k, follower in followers.items() if follower.scale_by == [parent]]
        if len(members) < TUNING.smallest_group:
            continue
        fits = [fit_follower(y, y[:, k], followers[k], followers[k].bent_by) for k in members]
        slopes = [fit.scale_slopes[parent] for fit in fits]
        groups.append(_Group(parent, members, float(np.median(slopes))))
    return groups


def _find_all_hubs(y: np.ndarray, groups: list[_Group], free: list[int]) -> list[int]:
    """The coordinates that others of their group lie about, in the order in which they stand.

    None where a hub would have to stand before what it follows.
    """
    hubs: list[int] = []
    for group in groups:
        if group.parent in free:
            known = _most_correlated(y, group.members[0], free)
            hubs += find_hubs(y, group.members, group.parent, group.slope, known)
    return hubs


def _natural_mean(
    k: int, location: np.ndarray, scale: np.ndarray, hub: int
) -> tuple[float, float]:
    """Shift and slope with which the standardised coordinate k is the hub itself."""
    return (location[hub] - location[k]) / scale[k], scale[hub] / scale[k]


def _about_a_hub(
    y: np.ndarray,
    k: int,
    follower: Follower,
    natural: Callable[[int], tuple[float, float]],
    hubs: Sequence[int],
    full: Fitted,
    usual: float | None,
) -> Fitted:
    """The fit in which a group lies about its hub exactly, where that says the same.

    A slope that is off by a hundredth leads away from groups that are a thousand times narrower
    than the draws it was fitted to.
    """
    for hub in hubs:
        shift, slope = natural(hub)
        about = fit_follower(y, y[:, k] - shift - slope * y[:, hub], follower, [], usual)
        lost = TUNING.worth_of_draws * len(y) * (about.loss - full.loss)
        if lost < TUNING.least_hinge_gain:
            slopes = about.slopes.copy()
            slopes[hub] = slope
            # What is left of a constant is noise, and so many spreads of a narrow group.
            return replace(about, mean=shift, slopes=slopes)
    return full


def _find_followers(y: np.ndarray) -> Followers:
    """The coordinates that follow others, and which, strongest links first."""
    noise = TUNING.sure / np.sqrt(TUNING.worth_of_draws * len(y))
    threshold = max(TUNING.least_correlation, noise)
    residual = _partial_residuals(y)
    standard = residual / _spread(residual)
    followers: Followers = {}
    for _ in range(TUNING.most_passes):
        logs = np.log(standard**2 + 1e-6)
        added = _add_links(followers, "scale", _correlations(logs, y), threshold)
        if not added:
            # Scales come first: their direction is sure, that of a curved ridge is not always.
            squares = _correlations(_clipped(standard), y**2)
            added = _add_links(followers, "bend", squares, threshold)
        if not added:
            break
        for k in added:
            fitted = fit_follower(y, residual[:, k], followers[k], followers[k].bent_by)
            standard[:, k] = fitted.standardise(y, residual[:, k])
    return followers


def _add_links(
    followers: Followers,
    kind: Literal["scale", "bend"],
    correlations: np.ndarray,
    threshold: float,
) -> list[int]:
    """Adds to each coordinate its strongest new link beyond noise; those that got one."""
    strength = np.abs(correlations)
    np.fill_diagonal(strength, 0.0)
    if kind == "scale":
        # What many follow, one more will follow: groups of a hierarchy differ in their data.
        parents = [j for follower in followers.values() for j in follower.scale_by]
        siblings = np.bincount(parents, minlength=len(strength)) >= TUNING.smallest_group
        strength[:, siblings] /= TUNING.sibling_threshold
    to, of = np.nonzero(strength > threshold)
    added: list[int] = []
    for i in np.argsort(-strength[to, of], kind="stable"):
        k, j = int(to[i]), int(of[i])
        if k in added or not _may_follow(followers, k, j, kind):
            continue
        follower = followers.setdefault(k, Follower())
        (follower.scale_by if kind == "scale" else follower.bent_by).append(j)
        added.append(k)
    return added


def _may_follow(followers: Followers, k: int, j: int, kind: str) -> bool:
    """Whether a link from j to k is new, closes no circle and makes no chain too long."""
    mine = followers.get(k, Follower())
    if j in (mine.scale_by if kind == "scale" else mine.bent_by):
        return False
    if len(mine.parents | {j}) > TUNING.most_parents:
        return False
    above, below = _chain(followers, j, k), _chain_below(followers, k)
    return above is not None and above + 1 + below <= TUNING.deepest


def _chain(followers: Followers, j: int, forbidden: int) -> int | None:
    """The longest chain of links that ends at j, or None if it passes a forbidden coordinate."""
    if j == forbidden:
        return None
    longest = 0
    for parent in followers.get(j, Follower()).parents:
        above = _chain(followers, parent, forbidden)
        if above is None:
            return None
        longest = max(longest, above + 1)
    return longest


def _chain_below(followers: Followers, k: int) -> int:
    children = [child for child, follower in followers.items() if k in follower.parents]
    return max((1 + _chain_below(followers, child) for child in children), default=0)


def _partial_residuals(y: np.ndarray) -> np.ndarray:
    """What is left of every coordinate after a shrunk linear regression on all others."""
    count, dim = y.shape
    raw = y - np.median(y, axis=0)
    centred = _clipped(raw)
    centred -= centred.mean(axis=0)
    covariance = centred.T @ centred / count
    diagonal = np.diag(np.diag(covariance))
    shrunk = (count * covariance + dim * diagonal) / (count + dim)
    precision = np.linalg.inv(shrunk + 1e-9 * diagonal)
    return raw @ precision / np.diag(precision)


def _most_correlated(y: np.ndarray, k: int, free: list[int]) -> list[int]:
    """Those of the free coordinates that coordinate k may depend on in its mean.

    All of them while draws are many for their number; otherwise the most correlated.
    """
    most = max(1, len(y) // 20)
    if len(free) <= most:
        return free
    strength = np.abs(_correlations(_clipped(y[:, [k]]), y[:, free]))[0]
    return [free[i] for i in np.argsort(-strength)[:most]]


def _correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The correlation of every column of a[n, p] with every one of b[n, q], [p, q]."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    sizes = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    return (a.T @ b) / np.maximum(sizes, 1e-300)


def _spread(residual: np.ndarray) -> np.ndarray:
    low, high = np.quantile(residual, [0.25, 0.75], axis=0)
    return np.maximum((high - low) / 1.349, 1e-300)


def _clipped(y: np.ndarray) -> np.ndarray:
    """The draws with those far out pulled in, which would outvote all others."""
    size = 5 * _spread(y)
    return np.clip(y, -size, size)


def _depth(linked: np.ndarray) -> int:
    """The number of links in the longest chain of them."""
    depth, reach = 0, linked.astype(float)
    while reach.any() and depth < len(linked):
        depth, reach = depth + 1, np.sign(reach @ linked)
    return depth
