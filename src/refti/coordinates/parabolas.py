"""Parabolas: coordinates that lie about quadratic functions of those before them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "slopes", "bends", "log_scale"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Parabolas:
    """y_k = mean_k + slopes_k y + y bends_k y + v_k exp(log_scale_k), by the y before it.

    Attributes:
        mean: the constants.
        slopes: `[to, from]`, zero from itself and from those after it.
        bends: `[to, from, from]`, likewise.
        log_scale: of what is left.
    """

    mean: Float[Array, " dim"]
    slopes: Float[Array, "dim dim"]
    bends: Float[Array, "dim dim dim"]
    log_scale: Float[Array, " dim"]

    def forward(self, v: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
        """Where a point goes, and the log of the absolute Jacobian there."""

        def follow(y: Array, k: Array) -> tuple[Array, None]:
            mean = self.mean[k] + self.slopes[k] @ y + y @ self.bends[k] @ y
            return y.at[k].set(mean + v[k] * jnp.exp(self.log_scale[k])), None

        y, _ = jax.lax.scan(follow, jnp.zeros_like(v), jnp.arange(len(v)))
        return y, jnp.sum(self.log_scale)

    def inverse(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """The point that goes there."""
        mean = self.mean + self.slopes @ x + jnp.einsum("kij,i,j->k", self.bends, x, x)
        return (x - mean) * jnp.exp(-self.log_scale)
