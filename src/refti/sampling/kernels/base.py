"""One chain on one rung: the density along a leg, and the moves of BlackJAX on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from blackjax.mcmc import hmc, nuts
from blackjax.mcmc.metrics import Metric
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key

from refti.models.batching import one_by_one
from refti.models.density import Density
from refti.paths.path import Leg

KernelName = Literal["hmc", "nuts", "elliptical"]
Position = tuple[Float[Array, " dim"], Float[Array, ""]]
"""Whitened coordinates, and a slot that never moves from 0 and whose gradient is delta.

So delta comes from the density evaluation that HMC makes anyway.
"""

OUTSIDE = -1e300  # stands for an infinite delta, where either density is zero; 0 times it is 0
MAX_STEPS = 256  # leapfrog steps of one HMC trajectory
MAX_DOUBLINGS = 8


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
    leg: Leg, lam: Float[Array, ""], location: Float[Array, " dim"], factor: Float[Array, "dim dim"]
) -> Callable[[Position], Float[Array, ""]]:
    """log q_lam as a function of position, x = location + factor @ u."""

    def log_density(position: Position) -> Float[Array, ""]:
        u, slot = position
        return log_density_on(leg, lam, location + factor @ u, slot)

    return log_density


def move(
    key: Key[Array, ""],
    state: hmc.HMCState,
    log_density: Callable[[Position], Float[Array, ""]],
    size: Float[Array, ""],
    length: Float[Array, ""],
    longest: Int[Array, ""],
    *,
    kernel: KernelName,
) -> tuple[hmc.HMCState, Any]:
    """The state after one iteration, and BlackJAX's information on it.

    HMC goes `length` in steps of at most `size`, or as far as the `longest` number of them takes
    it; NUTS finds its own length.
    """
    if kernel == "nuts":
        return nuts.build_kernel()(key, state, log_density, size, _metric(), MAX_DOUBLINGS)
    steps = jnp.clip(jnp.ceil(length / size), 1, longest).astype(int)
    return hmc.build_kernel()(key, state, log_density, size, _metric(), steps)


def _metric() -> Metric:
    """The unit metric of u, in which the slot has no momentum and never moves."""

    def sample_momentum(key: Array, position: Position) -> Position:
        u, slot = position
        return jax.random.normal(key, u.shape, u.dtype), jnp.zeros_like(slot)

    def kinetic_energy(momentum: Position, position: Position | None = None) -> Array:
        return 0.5 * jnp.dot(momentum[0], momentum[0])

    def check_turning(
        momentum_left: Any,
        momentum_right: Any,
        momentum_sum: Any,
        position_left: Any = None,
        position_right: Any = None,
    ) -> Array:
        # BlackJAX hands over pytrees or flat vectors; in both the slot comes last.
        momenta = (momentum_left, momentum_right, momentum_sum)
        left, right, total = (ravel_pytree(momentum)[0][:-1] for momentum in momenta)
        middle = total - (left + right) / 2
        return (jnp.dot(left, middle) <= 0) | (jnp.dot(right, middle) <= 0)

    def scale(position: Any, element: Any, *, inv: bool, trans: bool) -> Any:
        return element

    return Metric(sample_momentum, kinetic_energy, check_turning, scale)


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
