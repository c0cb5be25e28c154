"""The affine layer: a location and a scale, or a factor, that make draws standard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.references.base import in_64_bits


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["location", "factor", "inverse_factor", "log_determinant"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Affine:
    """x = location + factor @ v, or factor * v where the factor is a vector."""

    location: Float[Array, " dim"]
    factor: Float[Array, "dim dim"] | Float[Array, " dim"]
    inverse_factor: Float[Array, "dim dim"] | Float[Array, " dim"]
    log_determinant: Float[Array, ""]

    def forward(self, v: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
        """Where a point goes, and the log of the absolute Jacobian there."""
        return self.location + _apply(self.factor, v), jnp.asarray(self.log_determinant)

    def inverse(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """The point that goes there."""
        return _apply(self.inverse_factor, x - self.location)


def affine(location: np.ndarray, factor: np.ndarray) -> Affine:
    """The layer of a location and an invertible factor, or a vector of scales."""
    if factor.ndim == 1:
        inverse, determinant = 1 / factor, np.log(np.abs(factor)).sum()
    else:
        inverse, determinant = np.linalg.inv(factor), np.linalg.slogdet(factor)[1]
    return Affine(*in_64_bits(location, factor, inverse, determinant))


def _apply(factor: Array, vector: Float[Array, " dim"]) -> Float[Array, " dim"]:
    return factor @ vector if jnp.ndim(factor) == 2 else factor * vector
