"""Low-rank references: a Gaussian of independent coordinates and a few directions besides."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import linalg

from refti.factors.standing_out import standing_out
from refti.references.base import in_64_bits
from refti.references.family import FitInputs
from refti.references.level import match_level
from refti.references.shrinkage import require_covariance
from refti.tuning import tuned


@dataclass(frozen=True)
class LowRankTuning:
    """Numbers of the search for directions that stand out."""

    largest_rank: int = tuned(50, "directions at the most; what a density costs grows with them")


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

    The loadings have min(largest rank, dim) columns, zero where fewer stand out, so that every
    fit of a dimension runs one compiled program.
    """
    require_covariance(draws)
    dim = draws.shape[1]
    rank = min(TUNING.largest_rank, dim)
    mean, spread = draws.mean(axis=0), draws.std(axis=0)
    standard = (draws - mean) / spread
    noise, loadings = standing_out(standard, rank)
    return low_rank(mean, spread * noise, spread[:, None] * loadings, 0.0)
