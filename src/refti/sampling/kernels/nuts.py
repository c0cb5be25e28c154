"""NUTS: trajectories that find their own length, and stop where they turn back; by BlackJAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key

from refti.sampling.kernels.chains import Chains, LookAt, Moved
from refti.sampling.kernels.gradient_kernel import GradientKernel
from refti.sampling.tuning import TUNING

Position = tuple[Float[Array, " dim"], Float[Array, ""]]
"""Whitened coordinates, and a slot that never moves from 0 and whose gradient is delta.

So delta comes from the density evaluation that a gradient needs anyway.
"""


def move(
    key: Key[Array, ""],
    chain: Chains,
    look_at: LookAt,
    step_size: Float[Array, ""],
    length: Float[Array, ""],
    most_steps: Int[Array, ""],
) -> tuple[Chains, Moved]:
    """The chain after a trajectory that doubles until it turns back."""
    from blackjax.mcmc import hmc, nuts  # half a second, and few runs ask for it

    del length, most_steps  # it finds its own
    state = hmc.HMCState(
        (chain.u, jnp.zeros((), chain.u.dtype)), chain.log_density, (chain.gradient, chain.delta)
    )
    state, info = nuts.build_kernel()(
        key, state, _differentiable(look_at), step_size, _unit_metric(), TUNING.most_doublings
    )
    chain = Chains(state.position[0], state.logdensity, *state.logdensity_grad)
    return chain, Moved(
        info.acceptance_rate, info.is_divergent, info.energy, info.num_integration_steps
    )


def _differentiable(look_at: LookAt) -> Any:
    """The log density of a position, whose gradient is what the density's own evaluation gives."""

    @jax.custom_vjp
    def log_density(position: Position) -> Float[Array, ""]:
        value: Array = look_at(position[0]).log_density
        return value

    def forward(position: Position) -> tuple[Float[Array, ""], Position]:
        there = look_at(position[0])
        return there.log_density, (there.gradient, there.delta)

    def backward(gradient: Position, cotangent: Float[Array, ""]) -> tuple[Position]:
        return (jax.tree.map(lambda part: cotangent * part, gradient),)

    log_density.defvjp(forward, backward)
    return log_density


def _unit_metric() -> Any:
    """BlackJAX's metric for positions (u, slot): the slot has no momentum."""
    from blackjax.mcmc.metrics import Metric

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


NUTS = GradientKernel(
    "nuts", "the no-U-turn sampler: trajectories as long as the density asks for", move
)
