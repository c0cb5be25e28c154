"""The density at one lambda of a leg, as JAX sees it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from refti.factors.either import out
from refti.models.batching import one_by_one
from refti.models.compiled import compiled
from refti.models.density import Density
from refti.paths.path import Leg


class OnLeg(NamedTuple):
    """What one evaluation gives: log q_lam, its gradient, and delta."""

    log_density: Float[Array, ""]
    gradient: Float[Array, " dim"]
    delta: Float[Array, ""]


OUTSIDE = -1e300  # stands for an infinite delta, where either density is zero; 0 times it is 0


def log_density_on(
    leg: Leg, lam: Float[Array, ""], x: Float[Array, " dim"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """log q_lam and delta at x.

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
    return value, delta


def whitened(
    leg: Leg, lam: Float[Array, ""], location: Float[Array, " dim"], factor: Any
) -> Callable[[Float[Array, " dim"]], OnLeg]:
    """What an evaluation at whitened coordinates u gives, x = location + factor @ u.

    Programs evaluate in several places. What is traced for one of them serves all.
    """
    return partial(_evaluate.program_within(leg), leg, lam, location, factor)


@compiled(options=None)
def _evaluate(
    leg: Leg, lam: Float[Array, ""], location: Float[Array, " dim"], factor: Any, u: Array
) -> OnLeg:
    def log_density(u: Array) -> tuple[Array, Array]:
        return log_density_on(leg, lam, location + out(factor, u))

    (value, delta), gradient = jax.value_and_grad(log_density, has_aux=True)(u)
    return OnLeg(value, gradient, delta)


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
