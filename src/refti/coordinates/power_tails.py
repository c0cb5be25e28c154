"""Power tails: a map that turns a normal's tails into those of a Student-t, and back.

w = v sqrt((exp(h v^2) - 1) / (h v^2)), whose inverse is v^2 = log(1 + h w^2) / h. For small v it
changes nothing; far out a standard normal v makes w a Student-t of 1 / h degrees of freedom, but
for a factor that grows like the root of a logarithm. The sinh-arcsinh map would make a power law of
a power law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@partial(jax.tree_util.register_dataclass, data_fields=["left", "right"], meta_fields=[])
@dataclass(frozen=True)
class PowerTails:
    """The map of every coordinate, with a heaviness h of its own to either side; 0 is none."""

    left: Float[Array, " dim"]
    right: Float[Array, " dim"]

    def forward(self, v: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
        """Where a point goes, and the log of the absolute Jacobian there."""
        exponent = jnp.where(v < 0, self.left, self.right) * v**2
        stretch = log_stretch(exponent)
        return v * jnp.exp(0.5 * stretch), jnp.sum(exponent - 0.5 * stretch)

    def inverse(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """The point that goes there."""
        return x * jnp.exp(0.5 * log_shrink(jnp.where(x < 0, self.left, self.right), jnp.abs(x)))


@partial(jax.tree_util.register_dataclass, data_fields=["heaviness"], meta_fields=[])
@dataclass(frozen=True)
class RadialTail:
    """The map of the distance from the origin alone: a normal becomes a multivariate Student-t."""

    heaviness: Float[Array, ""]

    def forward(self, v: Float[Array, " dim"]) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
        """Where a point goes, and the log of the absolute Jacobian there."""
        exponent = self.heaviness * jnp.dot(v, v)
        stretch = log_stretch(exponent)
        # Every direction across is stretched alike, the one outwards by the derivative.
        return v * jnp.exp(0.5 * stretch), exponent + 0.5 * (len(v) - 2) * stretch

    def inverse(self, x: Float[Array, " dim"]) -> Float[Array, " dim"]:
        """The point that goes there."""
        size = jnp.max(jnp.abs(x))
        size = jnp.where(size > 0, size, 1.0)
        distance = size * jnp.sqrt(jnp.sum((x / size) ** 2))  # squares of far points overflow
        return x * jnp.exp(0.5 * log_shrink(self.heaviness, distance))


def log_stretch(exponent: Array) -> Array:
    """log((exp(t) - 1) / t) for t >= 0, without overflow, and smooth at 0."""
    small = exponent < 1e-3
    t = jnp.where(small, 1.0, exponent)
    return jnp.where(small, exponent / 2 + exponent**2 / 24, t + jnp.log(-jnp.expm1(-t) / t))


def log_shrink(heaviness: Array, distance: Array) -> Array:
    """log(log(1 + h d^2) / (h d^2)) for h, d >= 0, without overflow, and smooth at 0."""
    h = jnp.where(heaviness > 0, heaviness, 1.0)
    d = jnp.where(distance > 0, distance, 1.0)
    log_square = jnp.log(h) + 2 * jnp.log(d)
    t = h * jnp.where(log_square < 0, d, 1.0) ** 2
    small = (heaviness * jnp.minimum(distance, 1e3) ** 2 < 1e-4) | (heaviness == 0)
    series = heaviness * jnp.where(small, distance, 0.0) ** 2
    near = jnp.where(small, -series / 2 + 5 * series**2 / 24, 0.0)
    logs = jnp.where(log_square < 0, jnp.log1p(t), jnp.logaddexp(0.0, log_square))
    return jnp.where(small, near, jnp.log(logs) - log_square)


def shrink(heaviness: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The v of w = x in NumPy, and log dv / dw, for fits; heaviness of 1e-12 is none."""
    h = np.maximum(heaviness, 1e-12)
    with np.errstate(divide="ignore"):
        logs = np.logaddexp(0.0, np.log(h) + 2 * np.log(np.abs(x)))
    v = np.sign(x) * np.sqrt(logs / h)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(np.abs(x) > 1e-150, np.log(np.abs(x)) - np.log(np.abs(v)) - logs, 0.0)
    return v, slope
