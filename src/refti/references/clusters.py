"""Clusters of draws: about given centres, or as many as the draws themselves show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from refti.references.gaussian import square_distances
from refti.tuning import tuned


@dataclass(frozen=True)
class ClustersTuning:
    """Numbers of the search for clusters."""

    most: int = tuned(4, "clusters that are looked for")
    draws_a_cluster: int = tuned(20, "or a quarter of the dimension, without which it is none")
    least_size: float = tuned(8, "draws below which a component has died out")
    rounds: int = tuned(40, "of expectation and maximisation at the most")
    settled: float = tuned(0.01, "nats of gain below which a round was the last")
    starts: int = tuned(6, "of k-means, of which the tightest is taken")
    directions: int = tuned(10, "of most spread that k-means looks at; far modes make them")
    sure: float = tuned(0.999, "probability from which a draw belongs to one component")
    share_sure: float = tuned(0.99, "of the draws must be sure for components to be apart")


TUNING = ClustersTuning()


class Clusters(NamedTuple):
    """Normal components, the draws' labels, and whether the components do not overlap."""

    log_weights: np.ndarray
    means: np.ndarray
    factors: np.ndarray
    labels: np.ndarray
    are_apart: bool


def label_by_nearest(draws: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The index of the nearest centre for every draw, coordinates scaled by the clusters' spread.

    The spread within the clusters is found with them, from that of all draws on.
    """
    spread = draws.std(axis=0)
    labels = np.zeros(len(draws), int)
    for _ in range(10):
        before, labels = labels, np.argmin(_squares_to_centres(draws / spread, centres / spread), 1)
        within = np.sqrt(np.mean((draws - _cluster_means(draws, labels)[labels]) ** 2, axis=0))
        spread = np.maximum(within, 1e-3 * spread)
        if np.array_equal(before, labels):
            break
    return labels


def find_clusters(draws: np.ndarray) -> Clusters | None:
    """The clusters of the least Bayesian information criterion, or None for a single one.

    Components share their covariance or have one each, whichever the criterion prefers: in many
    dimensions a covariance of its own costs more than it tells. The search ends with the first
    number of components that is no better than one fewer.
    """
    count, dim = draws.shape
    middle, spread = draws.mean(axis=0), draws.std(axis=0)
    u = (draws - middle) / spread
    labels = np.zeros(count, int)
    best = _expectation_maximisation(u, labels, shared=True)
    if best is None:
        return None
    least = _criterion(best, dim, shared=True)
    only_one = True
    for k in range(2, min(TUNING.most, count // max(TUNING.draws_a_cluster, dim // 4)) + 1):
        labels = k_means(_directions_of_most_spread(u), k)
        found = [(_expectation_maximisation(u, labels, shared=s), s) for s in (True, False)]
        scored = [(_criterion(fit, dim, shared=s), fit) for fit, s in found if fit]
        if not scored or min(score for score, _ in scored) >= least:
            break
        least, best = min(scored, key=lambda pair: pair[0])
        only_one = False
    if only_one:
        return None
    means, factors = middle + spread * best.means, spread[:, None] * best.factors
    sure = np.mean(best.responsibilities.max(axis=1) > TUNING.sure) > TUNING.share_sure
    labels = np.argmax(best.responsibilities, axis=1)
    return Clusters(best.log_weights, means, factors, labels, bool(sure))


def log_normals(draws: np.ndarray, means: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """The log density[n, k] of every draw under every normal component."""
    columns = []
    for mean, factor in zip(means, factors, strict=True):
        log_volume = np.log(np.diag(factor)).sum() + 0.5 * len(mean) * np.log(2 * np.pi)
        columns.append(-0.5 * square_distances(draws - mean, factor) - log_volume)
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class _Fit:
    log_weights: np.ndarray
    means: np.ndarray
    factors: np.ndarray
    responsibilities: np.ndarray
    log_likelihood: float


def _expectation_maximisation(u: np.ndarray, labels: np.ndarray, *, shared: bool) -> _Fit | None:
    """Components by EM from a first labelling, or None if one of them dies out."""
    count, dim = u.shape
    k = labels.max() + 1
    responsibilities = np.eye(k)[labels]
    before = -np.inf
    total = u.T @ u
    for _ in range(TUNING.rounds):
        sizes = responsibilities.sum(axis=0)
        if sizes.min() < TUNING.least_size:
            return None
        means = responsibilities.T @ u / sizes[:, None]
        # The shared covariance counts its diagonal as so many draws more as there are dimensions,
        # and a component's own counts the shared one so.
        pooled = (total - (means.T * sizes) @ means) / count
        pooled = (count * pooled + dim * np.diag(np.diag(pooled))) / (count + dim)
        pooled += 1e-9 * np.eye(dim)
        try:
            factors = [np.linalg.cholesky(pooled)] * k
            if not shared:
                own = [_scatter(u - m, r) for m, r in zip(means, responsibilities.T, strict=True)]
                factors = [
                    np.linalg.cholesky((s + dim * pooled) / (n + dim))
                    for s, n in zip(own, sizes, strict=True)
                ]
        except np.linalg.LinAlgError:
            return None
        log_weights = np.log(sizes / count)
        joint = log_weights + log_normals(u, means, np.stack(factors))
        each = logsumexp(joint, axis=1)
        responsibilities = np.exp(joint - each[:, None])
        now = float(each.sum())
        if now - before < TUNING.settled:
            break
        before = now
    return _Fit(log_weights, means, np.stack(factors), responsibilities, now)


def _criterion(fit: _Fit, dim: int, *, shared: bool) -> float:
    """The Bayesian information criterion of a fit."""
    count, k = fit.responsibilities.shape
    covariances = 1 if shared else k
    numbers = k - 1 + k * dim + covariances * dim * (dim + 1) / 2
    return numbers * np.log(count) - 2 * fit.log_likelihood


def _scatter(centred: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return (centred * weights[:, None]).T @ centred


def _directions_of_most_spread(u: np.ndarray) -> np.ndarray:
    """The draws in their directions of most spread, which modes far apart make."""
    dim, few = u.shape[1], TUNING.directions
    if dim <= few:
        return u
    _, vectors = linalg.eigh(u.T @ u, subset_by_index=[dim - few, dim - 1], driver="evr")
    return u @ vectors


def k_means(u: np.ndarray, k: int) -> np.ndarray:
    """The labels of the tightest of several runs of k-means, each with spread-out starts."""
    rng = np.random.default_rng(k)
    best, least = np.zeros(len(u), int), np.inf
    for _ in range(TUNING.starts):
        centres = u[[rng.integers(len(u))]]
        for _ in range(k - 1):
            far = _squares_to_centres(u, centres).min(axis=1)
            total = far.sum()
            share = far / total if total > 0 else np.full(len(u), 1 / len(u))
            centres = np.concatenate([centres, u[[rng.choice(len(u), p=share)]]])
        for _ in range(20):
            squares = _squares_to_centres(u, centres)
            labels = np.argmin(squares, axis=1)
            if len(np.unique(labels)) < k:
                break
            centres = _cluster_means(u, labels)
        tightness = squares.min(axis=1).sum()
        if len(np.unique(labels)) == k and tightness < least:
            best, least = labels, tightness
    return best


def _squares_to_centres(u: np.ndarray, centres: np.ndarray) -> np.ndarray:
    return np.stack([np.sum((u - centre) ** 2, axis=1) for centre in centres], axis=1)


def _cluster_means(u: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The mean of every cluster; that of an empty one is zero and belongs to nobody."""
    members = np.eye(labels.max() + 1)[labels]
    return members.T @ u / np.maximum(members.sum(axis=0), 1)[:, None]
