"""Followers: which coordinates have a scale or a mean that follows others, and which others.

A scale follows a coordinate if the curvature tells so at draws that differ in it. A mean is bent by
a coordinate if what is left of it is correlated with that one's square; the reverse is not so,
which tells the direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from refti.coordinates.curvature import Curvature
from refti.coordinates.pooling import fit_precision_sum
from refti.coordinates.tuning import TUNING


@dataclass
class Follower:
    """What one coordinate follows.

    Attributes:
        scale_by: by its log scale.
        bent_by: by its mean, in squares.
        about: by its mean, in proportion.
    """

    scale_by: list[int] = field(default_factory=list)
    bent_by: list[int] = field(default_factory=list)
    about: list[int] = field(default_factory=list)

    @property
    def parents(self) -> set[int]:
        """All that it follows."""
        return {*self.scale_by, *self.bent_by, *self.about}


Followers = dict[int, Follower]


def find_followers(y: np.ndarray, curvature: Curvature | None, worth: float) -> Followers:
    """The followers among the coordinates of draws y[n, dim], worth so many independent ones.

    Draws and curvature are standardised.
    """
    followers: Followers = {}
    if curvature is not None:
        by_law: Followers = {}
        for k in range(y.shape[1]):
            parents, is_law = _scale_parents(k, curvature)
            if parents:
                (by_law if is_law else followers)[k] = Follower(scale_by=parents)
        if by_law:
            by_law |= _siblings(by_law, curvature)
        # What a law tells is sure: its links come before any that would close a circle with them.
        followers = by_law | {k: follower for k, follower in followers.items() if k not in by_law}
        _release_hubs(followers, curvature)
        followers = _without_circles(followers)
        for k, follower in followers.items():
            follower.about = _about(k, followers, curvature)
    _add_bends(followers, y, worth)
    return followers


def _siblings(by_law: Followers, curvature: Curvature) -> Followers:
    """Those that follow, by such a law, a coordinate that others follow by one.

    A group that its data hold firmly has hardly been seen to give way, as it does far out.
    """
    parents = [j for follower in by_law.values() for j in follower.scale_by]
    shared = sorted({j for j in parents if parents.count(j) > 1})
    found: Followers = {}
    for k in sorted(set(range(curvature.x.shape[1])) - by_law.keys() - set(parents)):
        usable = np.isfinite(curvature.scale[:, k])
        if usable.mean() < TUNING.usable_points:
            continue
        x, logs = curvature.x[usable], np.log(curvature.scale[usable, k])
        if logs.std() > TUNING.least_of_sibling:
            its = _parents_by_law(k, x, logs, _bases(x), shared)
            if set(parents) & set(its):
                found[k] = Follower(scale_by=its)
    return found


def _scale_parents(k: int, curvature: Curvature) -> tuple[list[int], bool]:
    """The coordinates that explain the log scale of k, the most telling first; whether by a law.

    Its own value may be what explains it: that is skew, and no link.
    """
    usable = np.isfinite(curvature.scale[:, k])
    if usable.mean() < TUNING.usable_points:
        return [], False
    x, logs = curvature.x[usable], np.log(curvature.scale[usable, k])
    bases = _bases(x)
    parents: list[int] = []
    for _ in range(TUNING.most_parents):
        features = [np.ones(len(x))] + [f for j in parents for f in (x[:, j], _softplus(x[:, j]))]
        left = logs - _regress(np.stack(features, axis=1), logs)
        if left.std() < TUNING.least_change:
            return parents, False
        shares = _explained(left, bases)
        best = int(np.argmax(shares))
        if best == k or best in parents or shares[best] < TUNING.least_explained:
            break
        parents.append(best)
    by_law = _parents_by_law(k, x, logs, bases)
    return by_law or parents, bool(by_law)


def _parents_by_law(
    k: int, x: np.ndarray, logs: np.ndarray, bases: np.ndarray, likely: Sequence[int] = ()
) -> list[int]:
    """The coordinates of points x[n, dim] by which the precision of coordinate k is a sum of two.

    They are sought all at once: a group whose scale is a product goes with one factor only where
    the others are small, so that none of them alone need tell much. None if the law is not met.
    """
    shares = _explained(logs - logs.mean(), bases)
    shares[list(likely)] = np.inf
    most = min(TUNING.tried_for_law, len(x) // 2)
    tried = [int(j) for j in np.argsort(-shares) if j != k][:most]
    most_left = min(TUNING.off_by, TUNING.law * logs.std())
    slopes = _slopes_of_law(x[:, tried], logs, most_left)
    if slopes is None:
        return []
    order = np.argsort(-np.abs(slopes))[: TUNING.most_parents]
    for count in range(1, len(order) + 1):
        parents = [tried[i] for i in order[:count]]
        if _slopes_of_law(x[:, parents], logs, most_left) is not None:
            return parents
    return []


def _slopes_of_law(x: np.ndarray, logs: np.ndarray, most_left: float) -> np.ndarray | None:
    """How log scales [n] go with each parent x[n, parent] by a law, or None if they follow none.

    Either the precision is a sum of two, or only one of the two is seen, and the log scale goes in
    proportion.
    """
    found = fit_precision_sum(x, -2 * logs)
    if found is not None:
        return found.slopes if 0.5 * found.deviation < most_left else None
    straight = np.hstack([np.ones((len(x), 1)), x])
    slopes = np.linalg.lstsq(straight, logs, rcond=1e-8)[0]
    return slopes[1:] if np.std(logs - straight @ slopes) < most_left else None


def _release_hubs(followers: Followers, curvature: Curvature) -> None:
    """Lets go of coordinates that followers lie about, such as the mean of a hierarchy's groups.

    Given its groups, a mean is as narrow as they are. But it stands before them: each of them goes
    with it one to one, and it hardly goes with any one of them. Where groups lie in larger ones,
    there are several such means, each with its own.
    """
    slopes = np.nanmedian(np.abs(curvature.slopes), axis=0)
    for j in list(followers):
        others = [
            k
            for k in followers
            if k != j and set(followers[k].scale_by) & set(followers[j].scale_by)
        ]
        if len(others) < TUNING.smallest_group:
            continue
        leads = slopes[others, j] > TUNING.hub_slope
        less = slopes[j, others] < TUNING.hub_asymmetry * slopes[others, j]
        if np.sum(leads & less) >= max(TUNING.smallest_group, TUNING.hub_share * np.sum(leads)):
            del followers[j]


def _without_circles(wanted: Followers) -> Followers:
    """The followers without links that lead back to where they came from, or make long chains."""
    followers: Followers = {}
    for k, follower in wanted.items():
        for j in follower.scale_by:
            if _may_follow(followers, k, j):
                followers.setdefault(k, Follower()).scale_by.append(j)
    return followers


def _about(k: int, followers: Followers, curvature: Curvature) -> list[int]:
    """The free coordinates that the mean of k goes with, the most telling first."""
    slopes = np.nanmedian(np.abs(curvature.slopes[:, k]), axis=0)
    free = [j for j in range(len(slopes)) if j not in followers and slopes[j] > TUNING.least_slope]
    free = [j for j in free if j not in followers[k].scale_by]
    return sorted(free, key=lambda j: -slopes[j])[: TUNING.most_about]


def _add_bends(followers: Followers, y: np.ndarray, worth: float) -> None:
    """Adds to each coordinate the squares that what is left of it is correlated with.

    Not those of what its scale follows: where that is small, a square would lead away from it.
    """
    noise = TUNING.sure / np.sqrt(worth)
    residual = clipped(_partial_residuals(y))
    strength = np.abs(_correlations(residual, clipped(y) ** 2))
    np.fill_diagonal(strength, 0.0)
    to, of = np.nonzero(strength > max(TUNING.least_correlation, noise))
    for i in np.argsort(-strength[to, of], kind="stable")[
        : TUNING.bends_a_dimension * len(strength)
    ]:
        k, j = int(to[i]), int(of[i])
        known = followers.get(k, Follower())
        if j in known.scale_by:
            continue
        if len(known.parents | {j}) <= TUNING.most_parents and _may_follow(followers, k, j):
            followers.setdefault(k, Follower()).bent_by.append(j)


def _may_follow(followers: Followers, k: int, j: int) -> bool:
    """Whether a link from j to k closes no circle and makes no chain too long."""
    above, below = _chain(followers, j, k), _chain_below(followers, k)
    return above is not None and above + 1 + below <= TUNING.deepest


def _chain(followers: Followers, j: int, forbidden: int) -> int | None:
    """The longest chain of links that ends at j, or None if it passes a forbidden coordinate."""
    if j == forbidden:
        return None
    longest = 0
    for parent in followers.get(j, Follower()).parents:
        above = _chain(followers, parent, forbidden) if longest <= TUNING.deepest else None
        if above is None:
            return None
        longest = max(longest, above + 1)
    return longest


def _chain_below(followers: Followers, k: int, depth: int = 0) -> int:
    if depth > TUNING.deepest:
        return 0
    children = [child for child, follower in followers.items() if k in follower.parents]
    return max((1 + _chain_below(followers, child, depth + 1) for child in children), default=0)


def _bases(x: np.ndarray) -> np.ndarray:
    """For every coordinate of points x[n, dim], what it and its softplus span, [dim, n, 3]."""
    features = np.stack([np.ones_like(x), x, _softplus(x)], axis=2)
    return np.linalg.qr(np.moveaxis(features, 1, 0))[0]


def _explained(left: np.ndarray, bases: np.ndarray) -> np.ndarray:
    """The share [dim] of a variation [n] that each coordinate and its softplus explain."""
    total = float(((left - left.mean()) ** 2).sum())
    fitted = ((np.einsum("dni,n->di", bases, left)) ** 2).sum(axis=1)
    rest = np.maximum((left**2).sum() - fitted, 0.0)
    free = len(left) / max(len(left) - 3, 1)  # three numbers explain that much of anything
    return 1 - free * rest / max(total, 1e-300)


def _regress(features: np.ndarray, target: np.ndarray) -> np.ndarray:
    return features @ np.linalg.lstsq(features, target, rcond=1e-8)[0]


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, x)


def _partial_residuals(y: np.ndarray) -> np.ndarray:
    """What is left of every coordinate after a shrunk linear regression on all others."""
    count, dim = y.shape
    raw = y - np.median(y, axis=0)
    centred = clipped(raw)
    centred -= centred.mean(axis=0)
    covariance = centred.T @ centred / count
    diagonal = np.diag(np.diag(covariance))
    shrunk = (count * covariance + dim * diagonal) / (count + dim)
    precision = np.linalg.inv(shrunk + 1e-9 * diagonal)
    return raw @ precision / np.diag(precision)


def _correlations(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The correlation of every column of a[n, p] with every one of b[n, q], [p, q]."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    sizes = np.outer(np.linalg.norm(a, axis=0), np.linalg.norm(b, axis=0))
    return (a.T @ b) / np.maximum(sizes, 1e-300)


def clipped(y: np.ndarray) -> np.ndarray:
    """The draws with those far out pulled in, which would outvote all others."""
    low, high = np.quantile(y, [0.25, 0.75], axis=0)
    size = 5 * np.maximum((high - low) / 1.349, 1e-300)
    return np.clip(y, -size, size)
