"""Low-rank references: a Gaussian of independent coordinates and a few directions besides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import linalg

from refti.references.base import in_64_bits
from refti.references.family import FitInputs
from refti.references.level import match_level
from refti.references.shrinkage import require_covariance
from refti.tuning import tuned


@dataclass(frozen=True)
class LowRankTuning:
    """Numbers of the search for directions that stand out."""

    largest_rank: int = tuned(50, "directions at the most; what a density costs grows with them")
    rounds: int = tuned(6, "of scaling to equal noise at the most")
    settled: float = tuned(0.02, "relative change of the noise below which a round was the last")
    least_noise: float = tuned(1e-4, "of a coordinate's variance that directions always leave")
    decomposed_in_full: int = tuned(
        1000, "draws and dimensions beyond which eigenvectors are found by subspace iteration"
    )
    spare_directions: int = tuned(20, "of the subspace beyond those wanted, for its precision")
    iterations: int = tuned(6, "of the subspace, enough for directions that stand out from noise")


TUNING = LowRankTuning()


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "deviations", "loadings", "projection", "log_determinant", "log_z"],
    meta_fields=[],
)
@dataclass(frozen=True)
class LowRank:
    """exp(log_z) times the normal density of covariance diag(deviations^2) + loadings loadings^T.

    `projection` holds what the inverse lacks of the diagonal's, so that a density costs as much
    as dim x rank numbers: the inverse is diag(deviations^-2) - projection^T projection.
    `log_determinant` is that of the covariance.
    """

    mean: Float[Array, " dim"]
    deviations: Float[Array, " dim"]
    loadings: Float[Array, "dim rank"]
    projection: Float[Array, "rank dim"]
    log_determinant: Float[Array, ""]
    log_z: Float[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        shifted = x - self.mean
        alone, joint = shifted / self.deviations, self.projection @ shifted
        square = jnp.dot(alone, alone) - jnp.dot(joint, joint)
        log_constant = 0.5 * self.log_determinant + 0.5 * len(x) * jnp.log(2 * jnp.pi)
        return self.log_z - log_constant - 0.5 * square

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        dim, rank = self.loadings.shape
        normal = jax.random.normal(key, (dim + rank,), self.mean.dtype)
        return self.mean + self.deviations * normal[:dim] + self.loadings @ normal[dim:]


def fit(inputs: FitInputs) -> LowRank:
    """The low-rank Gaussian of the draws, at the posterior's level."""
    return match_level(fit_low_rank(inputs.draws), inputs)


def low_rank(
    mean: np.ndarray, deviations: np.ndarray, loadings: np.ndarray, log_z: float
) -> LowRank:
    """The Gaussian of a mean, own deviations[dim] and loadings[dim, rank]."""
    scaled = loadings / deviations[:, None]
    triangle = np.linalg.cholesky(np.eye(loadings.shape[1]) + scaled.T @ scaled)
    projection = linalg.solve_triangular(triangle, (scaled / deviations[:, None]).T, lower=True)
    log_determinant = 2 * (np.log(np.diag(triangle)).sum() + np.log(deviations).sum())
    return LowRank(*in_64_bits(mean, deviations, loadings, projection, log_determinant, log_z))


def fit_low_rank(draws: np.ndarray) -> LowRank:
    """The low-rank Gaussian of the draws: directions that stand out from sampling noise.

    Coordinates are scaled to equal noise, in which the eigenvalues of pure noise end at the
    Marchenko-Pastur edge. A larger one, and its direction, is noisy in a known way: the variance
    given to it makes the symmetrised divergence least (Donoho, Gavish and Johnstone 2018).
    The loadings have min(largest rank, dim) columns, zero where fewer stand out, so that every
    fit of a dimension runs one compiled program.
    """
    require_covariance(draws)
    count, dim = draws.shape
    rank = min(TUNING.largest_rank, dim)
    mean, spread = draws.mean(axis=0), draws.std(axis=0)
    standard = (draws - mean) / spread
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
    return low_rank(mean, spread * noise, spread[:, None] * loadings, 0.0)


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
