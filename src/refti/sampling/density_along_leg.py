"""The density at one lambda of a leg, as JAX sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from refti.factors.either import out
from refti.models.batching import one_by_one
from refti.models.compiled import compiled
from refti.models.density import Density
from refti.paths.path import Leg

Position = tuple[Float[Array, " dim"], Float[Array, ""]]
"""Whitened coordinates, and a slot that never moves from 0 and whose gradient is delta.

So delta comes from the density evaluation that a gradient needs anyway.
"""

OUTSIDE = -1e300  # stands for an infinite delta, where either density is zero; 0 times it is 0


def log_density_on(
    leg: Leg, lam: Float[Array, ""], x: Float[Array, " dim"], slot: Float[Array, ""]
) -> Float[Array, ""]:
    """log q_lam at x; its derivative in `slot` is delta.

    Between the ends the density lives where both of them do. At lambda = 0 and 1 it is that of
    the end itself, unrestricted, so that the share of it inside the other's support can be
    counted.
    """
    start = _never_nan(leg.start, x)
    end = _never_nan(leg.end, x)
    inside = (start > -jnp.inf) & (end > -jnp.inf)
    finite_start, finite_end = jnp.where(inside, start, 0.0), jnp.where(inside, end, 0.0)
    between = jnp.where(inside, (1 - lam) * finite_start + lam * finite_end, -jnp.inf)
    value = jnp.where(lam == 0, start, jnp.where(lam == 1, end, between))
    delta = jnp.where(inside, finite_end - finite_start, OUTSIDE)
    return value + slot * jax.lax.stop_gradient(delta)


def whitened(
    leg: Leg, lam: Float[Array, ""], location: Float[Array, " dim"], factor: Any
) -> Callable[[Position], Float[Array, ""]]:
    """log q_lam as a function of position, x = location + factor @ u.

    Programs ask for its gradient in several places. What is traced for one of them serves all.
    """
    traced = _value_and_gradient.program_within(leg)

    @jax.custom_vjp
    def log_density(position: Position) -> Float[Array, ""]:
        return traced(leg, lam, location, factor, position)[0]

    def forward(position: Position) -> tuple[Float[Array, ""], Position]:
        return traced(leg, lam, location, factor, position)

    def backward(gradient: Position, cotangent: Float[Array, ""]) -> tuple[Position]:
        return (jax.tree.map(lambda part: cotangent * part, gradient),)

    log_density.defvjp(forward, backward)
    return log_density


@compiled(options=None)
def _value_and_gradient(
    leg: Leg, lam: Float[Array, ""], location: Float[Array, " dim"], factor: Any, position: Position
) -> tuple[Float[Array, ""], Position]:
    def log_density(position: Position) -> Float[Array, ""]:
        u, slot = position
        return log_density_on(leg, lam, location + out(factor, u), slot)

    return jax.value_and_grad(log_density)(position)


def _value(density: Density, x: Float[Array, " dim"]) -> Float[Array, ""]:
    return density.log_density(x)


def _never_nan(density: Density, x: Float[Array, " dim"]) -> Float[Array, ""]:
    """The log density with -inf for NaN and infinities, and a gradient of zero there.

    Without it one NaN gradient would poison the whole trajectory; with it the point is rejected.
    """

    @jax.custom_vjp
    def clean(x: Array) -> Array:
        value = one_by_one(_value, density, x)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    def forward(x: Array) -> tuple[Array, Array]:
        value, gradient = one_by_one(jax.value_and_grad(_value, argnums=1), density, x)
        usable = jnp.isfinite(value) & jnp.all(jnp.isfinite(gradient))
        value = jnp.where(jnp.isfinite(value), value, -jnp.inf)
        return value, jnp.where(usable, gradient, 0.0)

    clean.defvjp(forward, lambda gradient, cotangent: (cotangent * gradient,))
    return clean(x)
