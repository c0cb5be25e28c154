"""Tails: how heavy the tail of importance weights is, which their sampled variance cannot tell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refti.checks.tuning import TUNING


def pareto_shape(log_weights: NDArray[np.float64]) -> float:
    """Returns the shape k of the generalised Pareto distribution of the largest weights.

    Moments of order 1 / k and above are infinite: from 0.5 the variance, from 1 the mean. The
    tail is the largest fifth, or three times the root of the number where that is fewer (Vehtari
    et al. 2024); its shape is estimated as by Zhang and Stephens (2009), and drawn towards 0.5 as
    by ten weights more. Weights of which the largest is not even ten times their mean have no
    tail to speak of, 0; too few of them for a tail give inf.
    """
    ordered = np.sort(np.ravel(log_weights))
    if -np.log(np.mean(np.exp(ordered - ordered[-1]))) < np.log(TUNING.heaviest_weight):
        return 0.0
    count = int(min(0.2 * len(ordered), 3 * np.sqrt(len(ordered))))
    if count < TUNING.fewest_in_tail:
        return np.inf
    tail = np.exp(ordered[-count:] - ordered[-1])
    excess = tail - np.exp(ordered[-count - 1] - ordered[-1])
    shape = _zhang_stephens(np.maximum(excess, 1e-300))
    prior = TUNING.tail_prior_weights
    return float((count * shape + prior * TUNING.tail_prior_shape) / (count + prior))


def _zhang_stephens(excess: NDArray[np.float64]) -> float:
    """Returns the shape by the posterior mean over a grid of the profile likelihood."""
    count = len(excess)
    grid = 30 + int(np.sqrt(count))
    quartile = excess[int(count / 4 + 0.5) - 1]
    position = np.arange(1, grid + 1) - 0.5
    theta = 1 / excess[-1] + (1 - np.sqrt(grid / position)) / (3 * quartile)
    shape = np.log1p(-theta[:, None] * excess).mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        profile = count * (np.log(-theta / shape) - shape - 1)
    profile = np.where(np.isfinite(profile), profile, -np.inf)
    weight = np.exp(profile - profile.max())
    best = float((theta * weight).sum() / weight.sum())
    return float(np.log1p(-best * excess).mean())
