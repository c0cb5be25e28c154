"""A normal reference of a user's own making: what reference= needs beyond the named families."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "factor", "inverse_factor", "log_height"],
    meta_fields=[],
)
@dataclass(frozen=True)
class NormalReference:
    """exp(log_height - |inverse_factor (x - mean)|² / 2), a `refti.Reference`.

    Attributes:
        mean: its centre.
        factor: the lower Cholesky factor of its covariance.
        inverse_factor: the inverse of that.
        log_height: its log density at the centre.
    """

    mean: Float[Array, " dim"]
    factor: Float[Array, "dim dim"]
    inverse_factor: Float[Array, "dim dim"]
    log_height: Float[Array, ""]

    @classmethod
    def of(cls, mean: Any, covariance: Any, log_height: float) -> NormalReference:
        """The reference of a mean, a covariance matrix and a height."""
        factor = np.linalg.cholesky(np.asarray(covariance, dtype=np.float64))
        # NumPy keeps 64 bits wherever this is called; JAX would round outside of refti's calls.
        given = (mean, factor, np.linalg.inv(factor), log_height)
        numbers: Any = [np.asarray(each, dtype=np.float64) for each in given]
        return cls(*numbers)

    @property
    def log_z(self) -> Float[Array, ""]:
        """log_height + log det(2π covariance) / 2."""
        scales = jnp.abs(jnp.diagonal(self.factor))
        return self.log_height + jnp.sum(jnp.log(scales) + 0.5 * np.log(2 * np.pi))

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The log density at one point."""
        standard = self.inverse_factor @ (x - self.mean)
        return self.log_height - 0.5 * jnp.dot(standard, standard)

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + self.factor @ noise
