"""The Gaussian: what the Laplace, covariance and variational families are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy import linalg

from refti.models.model import Model
from refti.references.base import in_64_bits
from refti.tuning import tuned


@dataclass(frozen=True)
class GaussianTuning:
    """Numbers of the Gaussian that stands in for a reference before one is fitted."""

    largest_matrix: int = tuned(
        500, "dimensions beyond which it has no matrix for a factor: from there on none is certain"
    )


TUNING = GaussianTuning()


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "factor", "inverse_factor", "log_height"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Gaussian:
    """exp(log_height - |inverse_factor (x - mean)|^2 / 2), the paper's Laplace-type reference.

    `factor` is the lower Cholesky factor of the covariance, or the vector of standard deviations
    where the covariance is diagonal; `inverse_factor` is its inverse.
    """

    mean: Float[Array, " dim"]
    factor: Float[Array, "dim dim"] | Float[Array, " dim"]
    inverse_factor: Float[Array, "dim dim"] | Float[Array, " dim"]
    log_height: Float[Array, ""]

    @property
    def log_z(self) -> Float[Array, ""]:
        """log_height + log det(2 pi covariance) / 2."""
        diagonal = jnp.diagonal(self.factor) if self.factor.ndim == 2 else self.factor
        return (
            self.log_height
            + 0.5 * len(diagonal) * jnp.log(2 * jnp.pi)
            + jnp.sum(jnp.log(jnp.abs(diagonal)))
        )

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        whitened = _apply(self.inverse_factor, x - self.mean)
        return self.log_height - 0.5 * jnp.dot(whitened, whitened)

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        return self.mean + _apply(
            self.factor, jax.random.normal(key, self.mean.shape, self.mean.dtype)
        )


def gaussian(mean: np.ndarray, factor: np.ndarray, log_height: float) -> Gaussian:
    """The Gaussian of a mean and a lower Cholesky factor, or a vector of standard deviations."""
    inverse = invert_lower(factor) if factor.ndim == 2 else 1.0 / factor
    return Gaussian(*in_64_bits(mean, factor, inverse, log_height))


def standard_gaussian(model: Model) -> Gaussian:
    """The standard normal density in a model's dimension, its factor a matrix where that is small.

    In 20,000 dimensions a matrix of 3 GB would be decomposed and then multiplied with at every
    step of the pilot, all for a density that is not looked at.
    """
    if model.dim > TUNING.largest_matrix:
        return standard_diagonal(model)
    return gaussian(np.zeros(model.dim), np.eye(model.dim), 0.0)


def standard_diagonal(model: Model) -> Gaussian:
    """The standard normal density as a Gaussian of independent coordinates."""
    return gaussian(np.zeros(model.dim), np.ones(model.dim), 0.0)


def invert_lower(factor: np.ndarray) -> np.ndarray:
    """The inverse of a lower triangular matrix."""
    return np.tril(np.linalg.solve(factor, np.eye(len(factor))))


def square_distances(centred: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """The squared lengths of centred draws[n, dim] in units of a lower Cholesky factor."""
    white = linalg.solve_triangular(factor, centred.T, lower=True, check_finite=False)
    return np.sum(white**2, axis=0)


def _apply(factor: Array, vector: Float[Array, " dim"]) -> Float[Array, " dim"]:
    return factor @ vector if factor.ndim == 2 else factor * vector
