"""The fit of one follower: its mean and its log scale, given what they follow.

A log scale that is linear in what it follows is a convex regression, a mean is a weighted one; each
is fitted given the other, by turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from refti.coordinates.tuning import TUNING


@dataclass
class Follower:
    """What one coordinate follows, while links are found."""

    scale_by: list[int] = field(default_factory=list)
    bent_by: list[int] = field(default_factory=list)

    @property
    def parents(self) -> set[int]:
        """All that it follows."""
        return {*self.scale_by, *self.bent_by}


@dataclass(frozen=True)
class Fitted:
    """The numbers of one follower; every array has an entry for each coordinate.

    Attributes:
        loss: the mean of minus the log density of the draws, without constants.
    """

    mean: float
    slopes: np.ndarray
    bends: np.ndarray
    levels: np.ndarray
    steepness: np.ndarray
    log_scale: float
    scale_slopes: np.ndarray
    scale_hinges: np.ndarray
    loss: float

    def standardise(self, y: np.ndarray, target: np.ndarray) -> np.ndarray:
        """What is left of a target[n] when mean and scale are taken out, given draws y[n, dim]."""
        mean = self.mean + y @ self.slopes + y**2 @ self.bends
        mean = mean + _sigmoid(y * self.steepness) @ self.levels
        log_scale = self.log_scale + y @ self.scale_slopes
        return (target - mean) * np.exp(-log_scale - np.logaddexp(0, y) @ self.scale_hinges)


def fit_follower(
    y: np.ndarray,
    target: np.ndarray,
    follower: Follower,
    features: Sequence[int],
    usual: float | None = None,
) -> Fitted:
    """The follower's numbers.

    Args:
        y: draws[n, dim].
        target: those of the follower, or what is left of them.
        follower: what it follows by its scale, and by squares.
        features: what its mean follows beside.
        usual: the slope of the log scale of others that follow the same, if there are others.
    """
    count, dim = y.shape
    ones, straight = np.ones((count, 1)), y[:, follower.scale_by]
    for_scale = np.concatenate([ones, straight, np.logaddexp(0.0, straight)], axis=1)
    linear = [j for j in features if j not in follower.scale_by]
    plain = [ones, y[:, linear], y[:, follower.bent_by] ** 2]
    scale_part, log_scale = np.zeros(for_scale.shape[1]), np.zeros(count)
    middle = 1 + len(follower.scale_by)
    for turn in range(TUNING.turns):
        # Where the scale is small the level is reached; how soon goes with the scale's own slope.
        steepness = 2 * scale_part[1:middle]
        levels = [_sigmoid(straight * steepness)] if turn > 0 else []
        for_mean = np.concatenate([*plain, *levels], axis=1)
        weights = np.exp(-2 * (log_scale - log_scale.min()))
        mean_part = _weighted_regression(for_mean, target, weights / weights.mean())
        residual = target - for_mean @ mean_part
        scale_part, loss = _fit_straight_or_hinged(for_scale, residual, scale_part, usual)
        log_scale = for_scale @ scale_part
    bends_at = 1 + len(linear)
    levels_at = bends_at + len(follower.bent_by)
    return Fitted(
        mean=float(mean_part[0]),
        slopes=_spread_out(mean_part[1:bends_at], linear, dim),
        bends=_spread_out(mean_part[bends_at:levels_at], follower.bent_by, dim),
        levels=_spread_out(mean_part[levels_at:], follower.scale_by, dim),
        steepness=_spread_out(steepness, follower.scale_by, dim),
        log_scale=float(scale_part[0]),
        scale_slopes=_spread_out(scale_part[1:middle], follower.scale_by, dim),
        scale_hinges=_spread_out(scale_part[middle:], follower.scale_by, dim),
        loss=loss,
    )


def _spread_out(values: np.ndarray, places: Sequence[int], dim: int) -> np.ndarray:
    whole = np.zeros(dim)
    whole[list(places)] = values
    return whole


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(0.5 * x))


def _weighted_regression(
    features: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    weighted = weights[:, None] * features
    gram = weighted.T @ features
    ridge = TUNING.ridge * np.diag(gram).copy() / len(features)
    ridge[0] = 0.0
    return np.linalg.solve(gram + np.diag(ridge + 1e-12 * np.diag(gram)), weighted.T @ target)


def _fit_straight_or_hinged(
    features: np.ndarray, residual: np.ndarray, start: np.ndarray, usual: float | None
) -> tuple[np.ndarray, float]:
    """The log scale without hinges, or with them where that is beyond noise, and its loss.

    Hinges that fit noise lead astray beyond the draws.
    """
    straight = 1 + (features.shape[1] - 1) // 2
    plain = np.zeros(features.shape[1])
    # A slope alone is drawn towards the usual one as by some draws more.
    centre, strength = np.zeros(features.shape[1]), np.full(features.shape[1], TUNING.ridge)
    if usual is not None:
        centre[1:straight], strength[1:] = usual, TUNING.sibling_ridge
    strength[0] = 0.0
    pulls = strength / len(features)
    plain[:straight], loss = _fit_log_scale(
        features[:, :straight], residual, start[:straight], centre[:straight], pulls[:straight]
    )
    hinged, hinged_loss = _fit_log_scale(features, residual, plain, centre, pulls)
    gain = TUNING.worth_of_draws * len(features) * (loss - hinged_loss)
    return (hinged, hinged_loss) if gain > TUNING.least_hinge_gain else (plain, loss)


def _fit_log_scale(
    features: np.ndarray,
    residual: np.ndarray,
    start: np.ndarray,
    centre: np.ndarray,
    pulls: np.ndarray,
) -> tuple[np.ndarray, float]:
    """The constant and slopes l of the least mean of r^2 exp(-2 l) / 2 + l, and that mean.

    By Newton's steps, which shorten until they gain; slopes are pulled towards a centre.
    """
    count = len(features)
    square = residual**2 + 1e-300

    def value(free: np.ndarray) -> float:
        logs = features @ free
        with np.errstate(over="ignore"):
            mean = float(np.mean(0.5 * square * np.exp(-2 * logs) + logs))
        return mean + 0.5 * float(pulls @ (free - centre) ** 2)

    free = start.copy()
    if not free.any():
        free[0] = 0.5 * np.log(square.mean())
    best = value(free)
    for _ in range(TUNING.newton_steps):
        share = square * np.exp(-2 * (features @ free))
        gradient = features.T @ (1 - share) / count + pulls * (free - centre)
        hessian = 2 * (share[:, None] * features).T @ features / count + np.diag(pulls + 1e-9)
        step = np.clip(np.linalg.solve(hessian, gradient), -2.0, 2.0)
        tried, now = _shortened(value, free, step, best)
        if not now < best - 1e-9:
            break
        free, best = tried, now
    return free, best


def _shortened(value, free, step, best):  # type: ignore[no-untyped-def]
    """The first of ever shorter steps that gains, and its value."""
    length, tried, now = 1.0, free, best
    while length > 1e-4:
        tried = free - length * step
        tried[1:] = np.clip(tried[1:], -TUNING.steepest, TUNING.steepest)
        now = value(tried)
        if now < best:
            break
        length *= 0.5
    return tried, now
