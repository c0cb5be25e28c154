"""Links: coordinates whose mean or scale follows that of others, as in hierarchies and funnels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from refti.coordinates.pooling import Pooling


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        *("parents", "mean", "slopes", "bends", "levels", "steepness"),
        *("log_scale", "scale_slopes", "scale_hinges", "pooling"),
    ],
    meta_fields=["depth"],
)
@dataclass(frozen=True)
class Links:
    """y = mean(y) + w exp(log scale(y)), in which either follows some coordinates, the parents p.

    mean(y) = mean + slopes p + bends p^2 + levels sigmoid(steepness p)
    log scale(y) = log_scale + scale_slopes p + scale_hinges softplus(p)

    A log scale may have one slope far below a parent's middle and another far above: the groups of
    a hierarchy are as wide as their scale says while that is small, and as the data say where it
    is large. For the same reason a mean goes from one level to another as the scale grows, and is
    constant far out, where any slope would lead away from groups that are narrow.

    Links never lead back to where they came from, so y follows from w in as many steps as the
    longest chain of links has.

    Attributes:
        parents: the coordinates that others follow.
        mean: the constants of the means.
        slopes: `[to, parent]`.
        bends: `[to, parent]`.
        levels: `[to, parent]`.
        steepness: `[to, parent]`.
        log_scale: the constants of the log scales.
        scale_slopes: `[to, parent]`.
        scale_hinges: `[to, parent]`.
        depth: the number of links in the longest chain of them.
        pooling: what a second precision adds to some, by which they follow several at once.
    """

    parents: Int[Array, " parent"]
    mean: Float[Array, " dim"]
    slopes: Float[Array, "dim parent"]
    bends: Float[Array, "dim parent"]
    levels: Float[Array, "dim parent"]
    steepness: Float[Array, "dim parent"]
    log_scale: Float[Array, " dim"]
    scale_slopes: Float[Array, "dim parent"]
    scale_hinges: Float[Array, "dim parent"]
    depth: int
    pooling: Pooling | None = None

    def forward(self, v: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
        """Where a point goes, and the log of the absolute Jacobian there."""
        # With each step those follow that are one link further away from a coordinate without any.
        y = jnp.zeros_like(v)
        for _ in range(self.depth + 1):
            mean, log_scale = self._moments(y)
            y = mean + v * jnp.exp(log_scale)
        return y, jnp.sum(log_scale)

    def inverse(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """The point that goes there."""
        mean, log_scale = self._moments(x)
        return (x - mean) * jnp.exp(-log_scale)

    def _moments(self, y: Float[Array, " dim"]) -> tuple[Array, Array]:
        p = y[jnp.asarray(self.parents)]
        mean = self.mean + self.slopes @ p + self.bends @ p**2
        mean = mean + jnp.sum(self.levels * jax.nn.sigmoid(self.steepness * p), axis=1)
        log_scale = self.log_scale + self.scale_slopes @ p
        log_scale = log_scale + self.scale_hinges @ jax.nn.softplus(p)
        if self.pooling is None:
            return mean, log_scale
        more, narrower = self.pooling.moments(p)
        return mean + more, log_scale + narrower
