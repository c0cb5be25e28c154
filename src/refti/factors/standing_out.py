"""Directions that stand out from the sampling noise of draws, and what they leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from refti.tuning import tuned


@dataclass(frozen=True)
class StandingOutTuning:
    """Numbers of the search for directions that stand out."""

    rounds: int = tuned(6, "of scaling to equal noise at the most")
    settled: float = tuned(0.02, "relative change of the noise below which a round was the last")
    least_noise: float = tuned(1e-4, "of a coordinate's variance that directions always leave")
    decomposed_in_full: int = tuned(
        1000, "draws and dimensions beyond which eigenvectors are found by subspace iteration"
    )
    spare_directions: int = tuned(20, "of the subspace beyond those wanted, for its precision")
    iterations: int = tuned(6, "of the subspace, enough for directions that stand out from noise")


TUNING = StandingOutTuning()


class Directions(NamedTuple):
    """Of standardised draws: covariance = diag(noise^2) + loadings loadings^T."""

    noise: np.ndarray  # [dim]
    loadings: np.ndarray  # [dim, rank], zero where fewer stand out


def standing_out(standard: np.ndarray, rank: int) -> Directions:
    """The directions that stand out from the noise of standardised draws[n, dim].

    Coordinates are scaled to equal noise, in which the eigenvalues of pure noise end at the
    Marchenko-Pastur edge. A larger one, and its direction, is noisy in a known way: the variance
    given to it makes the symmetrised divergence least (Donoho, Gavish and Johnstone 2018).
    """
    count, dim = standard.shape
    noise = np.ones(dim)
    for _ in range(TUNING.rounds):
        values, vectors = _leading_directions(standard / noise, rank)
        # All of a coordinate's variance counts as noise at first, so the edge is too high rather
        # than too low, and comes down as directions are found.
        variances = _variances(values, dim, count)
        out = variances > 1
        loadings = noise[:, None] * vectors * np.sqrt(variances - 1)
        # What the directions leave of each coordinate; they also took a share of the noise.
        taken = min(out.sum() / count, 0.5)
        explained = np.sum((noise[:, None] * vectors[:, out]) ** 2 * values[out], axis=1)
        left = np.sqrt(np.clip((1 - explained) / (1 - taken), TUNING.least_noise, 1.0))
        settled = np.abs(left / noise - 1).max() < TUNING.settled
        noise = left
        if settled:
            break
    return Directions(noise, loadings)


def _variances(values: np.ndarray, dim: int, count: int) -> np.ndarray:
    """What to give the leading directions in units of the noise: one if they do not stand out.

    `values` are their sampled eigenvalues, of so many draws.
    """
    ratio = dim / count
    edge = (1 + np.sqrt(ratio)) ** 2
    # Noise reaches beyond the edge by chance (Tracy-Widom), and by the scales' own noise.
    wobble = (1 + np.sqrt(ratio)) * (count**-0.5 + dim**-0.5) ** (1 / 3) / np.sqrt(count)
    out = values > edge + 3 * wobble + 0.02
    middle = np.where(out, values + 1 - ratio, 2.0)
    spikes = 0.5 * (middle + np.sqrt(np.maximum(middle**2 - 4 * np.where(out, values, 1.0), 0)))
    strength = np.where(out, np.maximum(spikes - 1, 1e-12), 1.0)
    aligned = np.clip((1 - ratio / strength**2) / (1 + ratio / strength), 0, 1)
    aside = 1 - aligned
    best = np.sqrt(spikes * (spikes * aligned + aside) / (aligned + spikes * aside))
    return np.where(out, np.maximum(best, 1.0), 1.0)


def _leading_directions(u: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of the draws' covariance, and their directions[dim, rank]."""
    count, dim = u.shape
    if min(count, dim) > TUNING.decomposed_in_full:
        # Subspace iteration: few products with the draws instead of a full decomposition.
        span = np.random.default_rng(0).normal(size=(dim, rank + TUNING.spare_directions))
        for _ in range(TUNING.iterations):
            span = np.linalg.qr(u.T @ (u @ span))[0]
        _, roots, rows = np.linalg.svd(u @ span, full_matrices=False)
        return roots[:rank] ** 2 / count, span @ rows[:rank].T
    if dim <= count:
        squares, vectors = np.linalg.eigh(u.T @ u)
        return squares[::-1][:rank] / count, vectors[:, ::-1][:, :rank]
    squares, left = np.linalg.eigh(u @ u.T)
    squares, left = squares[::-1][:rank], left[:, ::-1][:, :rank]
    vectors = u.T @ left / np.sqrt(np.maximum(squares, 1e-12 * squares[0]))
    missing = rank - len(squares)
    return np.pad(squares, (0, missing)) / count, np.pad(vectors, ((0, 0), (0, missing)))
