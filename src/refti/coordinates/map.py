"""Map: a smooth way from latent coordinates v to a model's own x, and back, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.models.density import QUICK_COMPILE


class Layer(Protocol):
    """One invertible map of R^dim; a JAX pytree whose leaves are its numbers."""

    def forward(self, v: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
        """Where a point goes, and the log of the absolute Jacobian there."""
        ...

    def inverse(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """The point that goes there."""
        ...


@partial(jax.tree_util.register_dataclass, data_fields=["layers"], meta_fields=["name"])
@dataclass(frozen=True)
class Map:
    """Layers one after the other, the first of them next to the latent coordinates.

    Attributes:
        layers: the layers.
        name: what shape the map is for, in words.
    """

    layers: tuple[Layer, ...]
    name: str

    def forward(self, v: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
        """Where a point goes, and the log of the absolute Jacobian there."""
        total = jnp.zeros((), v.dtype)
        for layer in self.layers:
            v, log_jacobian = layer.forward(v)
            total = total + log_jacobian
        return v, total

    def inverse(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """The latent point of a point."""
        for layer in reversed(self.layers):
            x = layer.inverse(x)
        return x


def to_latent(way: Map, x: np.ndarray) -> np.ndarray:
    """The latent coordinates v[n, dim] of points x[n, dim]."""
    return np.asarray(_inverse(way, jnp.asarray(x)))


def from_latent(way: Map, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points x[n, dim] of latent coordinates v[n, dim], and the log Jacobians [n]."""
    x, log_jacobian = _forward(way, jnp.asarray(v))
    return np.asarray(x), np.asarray(log_jacobian)


@partial(jax.jit, compiler_options=QUICK_COMPILE)
def _inverse(way: Map, x: Float[Array, "n dim"]) -> Float[Array, "n dim"]:
    return jax.vmap(way.inverse)(x)


@partial(jax.jit, compiler_options=QUICK_COMPILE)
def _forward(
    way: Map, v: Float[Array, "n dim"]
) -> tuple[Float[Array, "n dim"], Float[Array, " n"]]:
    return jax.vmap(way.forward)(v)
