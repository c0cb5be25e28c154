"""Links: coordinates whose mean or scale follows that of others, as in hierarchies and funnels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "slopes", "bends", "log_scale", "scale_slopes"],
    meta_fields=["depth"],
)
@dataclass(frozen=True)
class Links:
    """y_k = mean_k + slopes_k y + bends_k y^2 + w_k exp(log_scale_k + scale_slopes_k y).

    Links lead from some coordinates to others and never back to where they came from, so y follows
    from w in as many steps as the longest chain of links has.

    Attributes:
        mean: the constants of the means.
        slopes: `[to, from]`, how means follow other coordinates.
        bends: `[to, from]`, how they follow their squares.
        log_scale: the constants of the log scales.
        scale_slopes: `[to, from]`, how log scales follow other coordinates.
        depth: the number of links in the longest chain of them.
    """

    mean: Float[Array, " dim"]
    slopes: Float[Array, "dim dim"]
    bends: Float[Array, "dim dim"]
    log_scale: Float[Array, " dim"]
    scale_slopes: Float[Array, "dim dim"]
    depth: int

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
        mean = self.mean + self.slopes @ y + self.bends @ y**2
        return mean, self.log_scale + self.scale_slopes @ y
