"""The fit of links: which coordinates follow which, found in draws, and how.

A scale follows a coordinate if the logarithm of its squared residual is correlated with it, and a
mean is bent by it if the residual is correlated with its square. In both cases the reverse is not
so, which tells the direction. Given the links, a log scale that is linear in them is one convex
regression for each coordinate, and a mean one weighted regression.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from refti.coordinates.affine import affine
from refti.coordinates.fit_tails import robust_standard
from refti.coordinates.hubs import find_hubs
from refti.coordinates.links import Links
from refti.coordinates.map import Layer
from refti.coordinates.tuning import TUNING


@dataclass
class _Follower:
    """What one coordinate follows, while links are found."""

    scale_by: list[int] = field(default_factory=list)
    bent_by: list[int] = field(default_factory=list)

    @property
    def parents(self) -> set[int]:
        return {*self.scale_by, *self.bent_by}


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
    hubs = _all_hubs(y, followers, free)
    mean, log_scale = np.zeros(dim), np.zeros(dim)
    slopes, bends, scale_slopes = np.zeros((3, dim, dim))
    for k, follower in followers.items():
        earlier = hubs[: hubs.index(k)] if k in hubs else hubs
        features = sorted(follower.parents | set(_correlated(y, k, free)) | set(earlier))
        fitted = _fit_follower(y, k, features, follower)
        mean[k], slopes[k, features], bends[k, follower.bent_by] = fitted[:3]
        log_scale[k], scale_slopes[k, follower.scale_by] = fitted[3:]
    linked = (slopes != 0) | (bends != 0) | (scale_slopes != 0)
    layer = Links(mean, slopes, bends, log_scale, scale_slopes, _depth(linked))
    return layer, affine(location, scale)


def _all_hubs(y: np.ndarray, followers: dict[int, _Follower], free: list[int]) -> list[int]:
    """The coordinates that others of their group lie about, in the order in which they stand.

    None where a hub would have to stand before what it follows.
    """
    hubs: list[int] = []
    for parent in {j for follower in followers.values() for j in follower.scale_by}:
        group = [k for k, follower in followers.items() if follower.parents == {parent}]
        if parent in followers or not group:
            continue
        fits = [_fit_follower(y, k, [parent], followers[k]) for k in group]
        slope = float(np.median([fit[4][0] for fit in fits]))
        known = _correlated(y, group[0], free)
        hubs += find_hubs(y, group, parent, slope, known)
    return hubs


def _find_followers(y: np.ndarray) -> dict[int, _Follower]:
    """The coordinates that follow others, and which, strongest links first."""
    count, dim = y.shape
    threshold = max(
        TUNING.least_correlation, TUNING.sure / np.sqrt(TUNING.worth_of_draws * count)
    )
    residual = _partial_residuals(y)
    standard = residual / _spread(residual)
    followers: dict[int, _Follower] = {}
    for _ in range(TUNING.most_passes):
        logs = np.log(standard**2 + 1e-6)
        scales, squares = _correlations(logs, y), _correlations(_clipped(standard), y**2)
        added = []
        for k, j, kind in _candidates(scales, squares, threshold):
            if k in added or not _may_follow(followers, k, j, kind):
                continue
            follower = followers.setdefault(k, _Follower())
            (follower.scale_by if kind == "scale" else follower.bent_by).append(j)
            added.append(k)
        if not added:
            break
        for k in added:
            follower = followers[k]
            fitted = _fit_follower(y, k, sorted(follower.parents), follower, residual[:, k])
            standard[:, k] = _standardised(y, residual[:, k], fitted, follower)
    return followers


def _candidates(
    scales: np.ndarray, squares: np.ndarray, threshold: float
) -> list[tuple[int, int, str]]:
    """Links (to, from, kind) whose correlation is beyond noise, the strongest first."""
    found = []
    for kind, correlations in (("scale", scales), ("bend", squares)):
        strength = np.abs(correlations)
        np.fill_diagonal(strength, 0.0)
        to, of = np.nonzero(strength > threshold)
        found += [(strength[k, j], int(k), int(j), kind) for k, j in zip(to, of, strict=True)]
    return [(k, j, kind) for _, k, j, kind in sorted(found, reverse=True)]


def _may_follow(followers: dict[int, _Follower], k: int, j: int, kind: str) -> bool:
    """Whether a link from j to k is new, closes no circle and makes no chain too long."""
    mine = followers.get(k, _Follower())
    if j in (mine.scale_by if kind == "scale" else mine.bent_by):
        return False
    if len(mine.parents | {j}) > TUNING.most_parents:
        return False
    above, below = _chain(followers, j, k), _chain_below(followers, k)
    return above is not None and above + 1 + below <= TUNING.deepest


def _chain(followers: dict[int, _Follower], j: int, forbidden: int) -> int | None:
    """The longest chain of links that ends at j, or None if it passes a forbidden coordinate."""
    if j == forbidden:
        return None
    longest = 0
    for parent in followers.get(j, _Follower()).parents:
        above = _chain(followers, parent, forbidden)
        if above is None:
            return None
        longest = max(longest, above + 1)
    return longest


def _chain_below(followers: dict[int, _Follower], k: int) -> int:
    children = [c for c, follower in followers.items() if k in follower.parents]
    return max((1 + _chain_below(followers, child) for child in children), default=0)


def _fit_follower(
    y: np.ndarray,
    k: int,
    features: list[int],
    follower: _Follower,
    target: np.ndarray | None = None,
) -> tuple[float, np.ndarray, np.ndarray, float, np.ndarray]:
    """Constant, slopes and bends of the mean; constant and slopes of the log scale."""
    target = y[:, k] if target is None else target
    count = len(y)
    ones = np.ones((count, 1))
    for_mean = np.concatenate([ones, y[:, features], y[:, follower.bent_by] ** 2], axis=1)
    for_scale = np.concatenate([ones, y[:, follower.scale_by]], axis=1)
    log_scale = np.zeros(count)
    scale_part = np.zeros(for_scale.shape[1])
    for _ in range(TUNING.turns):
        weights = np.exp(-2 * (log_scale - log_scale.min()))
        weights /= weights.mean()
        mean_part = _weighted_regression(for_mean, target, weights)
        scale_part = _fit_log_scale(for_scale, target - for_mean @ mean_part, scale_part)
        log_scale = for_scale @ scale_part
    bend_at = 1 + len(features)
    return (
        float(mean_part[0]),
        mean_part[1:bend_at],
        mean_part[bend_at:],
        float(scale_part[0]),
        scale_part[1:],
    )


def _weighted_regression(
    features: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    weighted = weights[:, None] * features
    gram = weighted.T @ features
    ridge = TUNING.ridge * np.diag(gram).copy() / len(features)
    ridge[0] = 0.0
    return np.linalg.solve(gram + np.diag(ridge + 1e-12 * np.diag(gram)), weighted.T @ target)


def _fit_log_scale(features: np.ndarray, residual: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The constant and slopes l of the least mean of r^2 exp(-2 l) / 2 + l, by Newton's steps."""
    count, size = features.shape
    square = residual**2 + 1e-300

    def value(free: np.ndarray) -> float:
        logs = features @ free
        with np.errstate(over="ignore"):
            return float(np.mean(0.5 * square * np.exp(-2 * logs) + logs)) + penalty(free)

    def penalty(free: np.ndarray) -> float:
        return 0.5 * TUNING.ridge / count * float(free[1:] @ free[1:])

    free = start.copy()
    if not free.any():
        free[0] = 0.5 * np.log(square.mean())
    best = value(free)
    ridge = np.full(size, TUNING.ridge / count)
    ridge[0] = 0.0
    for _ in range(TUNING.newton_steps):
        share = square * np.exp(-2 * (features @ free))
        gradient = features.T @ (1 - share) / count + ridge * free
        hessian = 2 * (share[:, None] * features).T @ features / count + np.diag(ridge + 1e-9)
        step = np.clip(np.linalg.solve(hessian, gradient), -2.0, 2.0)
        length = 1.0
        while length > 1e-4:
            tried = free - length * step
            tried[1:] = np.clip(tried[1:], -TUNING.steepest, TUNING.steepest)
            now = value(tried)
            if now <= best:
                break
            length *= 0.5
        else:
            break
        gain, best, free = best - now, now, tried
        if gain < 1e-9:
            break
    return free


def _standardised(
    y: np.ndarray,
    target: np.ndarray,
    fitted: tuple[float, np.ndarray, np.ndarray, float, np.ndarray],
    follower: _Follower,
) -> np.ndarray:
    mean, slopes, bends, log_scale, scale_slopes = fitted
    off = target - mean - y[:, sorted(follower.parents)] @ slopes - y[:, follower.bent_by] ** 2 @ bends
    return off * np.exp(-log_scale - y[:, follower.scale_by] @ scale_slopes)


def _partial_residuals(y: np.ndarray) -> np.ndarray:
    """What is left of every coordinate after a shrunk linear regression on all others."""
    count, dim = y.shape
    centred = _clipped(y - np.median(y, axis=0))
    centred -= centred.mean(axis=0)
    covariance = centred.T @ centred / count
    diagonal = np.diag(np.diag(covariance))
    precision = np.linalg.inv((count * covariance + dim * diagonal) / (count + dim) + 1e-9 * diagonal)
    raw = y - np.median(y, axis=0)
    return raw @ precision / np.diag(precision)


def _correlated(y: np.ndarray, k: int, free: list[int]) -> list[int]:
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
    while reach.any():
        depth, reach = depth + 1, reach @ linked
    return depth
