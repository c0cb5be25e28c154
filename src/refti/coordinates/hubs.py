"""Hubs: coordinates that many others lie about, such as the mean of a hierarchy's groups.

Where a scale is small the groups lie close to their mean, and the closer the smaller it is. Given
the groups, so does the mean: draws alone cannot tell who follows whom. But two groups are further
from each other than either is from the mean, so what explains most of the others stands first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refti.coordinates.tuning import TUNING


def find_hubs(
    y: np.ndarray, group: Sequence[int], parent: int, slope: float, known: Sequence[int]
) -> list[int]:
    """Those of a group of coordinates that the others lie about, the first of them first.

    Args:
        y: draws[n, dim], standardised.
        group: coordinates whose scale follows the same parent.
        parent: that coordinate.
        slope: of their log scale.
        known: coordinates that the means follow anyway.
    """
    if len(group) < TUNING.smallest_group:
        return []
    weights = _weights(-2 * slope * y[:, parent])
    rest = _without(y[:, list(group)], y[:, list(known)], weights)
    hubs: list[int] = []
    for _ in range(TUNING.most_hubs):
        sizes = np.sqrt(weights @ rest**2)
        usable = sizes > 1e-9 * max(float(sizes.max()), 1e-300)
        correlations = (rest * weights[:, None]).T @ rest / np.maximum(np.outer(sizes, sizes), 1e-300)
        np.fill_diagonal(correlations, 0.0)
        gains = -0.5 * np.log1p(-np.minimum(correlations**2, 1 - 1e-9))
        scores = np.where(usable, gains[:, usable].mean(axis=1), -np.inf)
        best = int(np.argmax(scores))
        if scores[best] < TUNING.least_hub_gain:
            break
        hubs.append(group[best])
        rest = _without(rest, rest[:, [best]], weights)
    return hubs


def _weights(exponent: np.ndarray) -> np.ndarray:
    """Weights exp(exponent), flattened until they leave enough draws, that sum to one."""
    power = 1.0
    while True:
        weights = np.exp(power * (exponent - exponent.max()))
        weights /= weights.sum()
        if 1 / (weights**2).sum() >= TUNING.hub_draws * len(weights) or power < 0.01:
            return weights
        power *= 0.8


def _without(y: np.ndarray, known: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What a weighted regression on other columns leaves of y[n, k]."""
    features = np.concatenate([np.ones((len(y), 1)), known], axis=1)
    weighted = features * weights[:, None]
    gram = weighted.T @ features
    return y - features @ np.linalg.lstsq(gram, weighted.T @ y, rcond=1e-10)[0]
