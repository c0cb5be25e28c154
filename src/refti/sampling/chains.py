"""Lanes: the Markov chains of one rung, run side by side in one compiled program.

Every function here takes the leg and lambda as arguments, so every rung of every ladder, a new
reference of the same family, other data or another seed runs the program that is already compiled.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from blackjax.adaptation.step_size import DualAveragingAdaptationState, dual_averaging_adaptation
from blackjax.mcmc import hmc
from jaxtyping import Array, Bool, Float, Int, Key

from refti.models.density import QUICK_COMPILE
from refti.paths.path import Leg
from refti.references.base import Reference
from refti.sampling.kernels.base import KernelName, move, whitened

HostOrDevice = np.ndarray | Array

# In a few dimensions the target acceptance is reached with steps that diverge on thin tails (a
# quartic, or the log of a bounded parameter); this bound costs little and keeps clear of it.
LARGEST_STEP = 0.7


class Whitening(NamedTuple):
    """The affine map x = location + factor @ u that makes a rung's density round."""

    location: Any  # Float[Array, " dim"], on the host or the device
    factor: Any  # Float[Array, "dim dim"]


class Lanes(NamedTuple):
    """What the next iteration needs: positions with their densities, and the step size."""

    state: hmc.HMCState
    steps: DualAveragingAdaptationState


class Trace(NamedTuple):
    """What a stretch of iterations leaves behind, axes chain, draw, dim."""

    x: Float[HostOrDevice, "chain draw dim"]
    log_density: Float[HostOrDevice, "chain draw"]
    delta: Float[HostOrDevice, "chain draw"]
    acceptance: Float[HostOrDevice, "chain draw"]
    divergent: Bool[HostOrDevice, "chain draw"]
    gradients: Int[HostOrDevice, "chain draw"]


@partial(jax.jit, compiler_options=QUICK_COMPILE)
def begin(
    leg: Leg, lam: Float[Array, ""], whitening: Whitening, u: Float[HostOrDevice, "chain dim"]
) -> hmc.HMCState:
    """The states of all lanes at the given positions, which are whitened."""
    density = whitened(leg, lam, *whitening)

    def one(u: Array) -> hmc.HMCState:
        return hmc.init((u, jnp.zeros((), u.dtype)), density)

    return jax.vmap(one)(jnp.asarray(u))


@partial(jax.jit, compiler_options=QUICK_COMPILE)
def fresh_steps(size: Float[Array, ""]) -> DualAveragingAdaptationState:
    """The step-size adaptation at its beginning."""
    start, _, _ = dual_averaging_adaptation(0.8)  # the target plays no part in the beginning
    # Weakly typed numbers would make the first call of `advance` another program than the second.
    return jax.tree.map(
        lambda a: jnp.asarray(a, jnp.result_type(a)).astype(jnp.result_type(a)), start(size)
    )


@partial(jax.jit, static_argnames=("kernel", "iterations"), compiler_options=QUICK_COMPILE)
def advance(
    leg: Leg,
    lam: Float[Array, ""],
    whitening: Whitening,
    lanes: Lanes,
    key: Key[Array, ""],
    length: Float[Array, ""],
    longest: Int[Array, ""],
    target: Float[Array, ""],
    adapting: Bool[Array, ""],
    *,
    kernel: KernelName,
    iterations: int,
) -> tuple[Lanes, Trace]:
    """The lanes after some iterations, and their trace.

    Trajectories have this length, in no more than the longest number of steps; the step size
    moves towards acceptance at the target while adapting.
    """
    density = whitened(leg, lam, *whitening)
    _, update, _ = dual_averaging_adaptation(target)

    def iterate(lanes: Lanes, key: Array) -> tuple[Lanes, Trace]:
        jitter_key, lanes_key = jax.random.split(key)
        # One jitter for all lanes: lanes run in step, so different lengths would only wait.
        jitter = jax.random.uniform(jitter_key, minval=0.5, maxval=1.5)
        keys = jax.random.split(lanes_key, len(lanes.state.logdensity))
        log_size = jnp.where(adapting, lanes.steps.log_step_size, lanes.steps.log_step_size_avg)
        size = jnp.minimum(jnp.exp(log_size), LARGEST_STEP)
        state, info = jax.vmap(
            lambda key, state: move(
                key, state, density, size, jitter * length, longest, kernel=kernel
            )
        )(keys, lanes.state)
        acceptance, inside = jnp.nan_to_num(info.acceptance_rate), jnp.isfinite(info.energy)
        adapted = update(lanes.steps, _acceptance_inside(acceptance, inside))
        steps = jax.tree.map(lambda new, old: jnp.where(adapting, new, old), adapted, lanes.steps)
        u, _ = state.position
        _, delta = state.logdensity_grad
        # Leaving the support is a rejection like any other, not a failure of the integrator.
        divergent = info.is_divergent & inside
        trace = Trace(u, state.logdensity, delta, acceptance, divergent, info.num_integration_steps)
        return Lanes(state, steps), trace

    lanes, trace = jax.lax.scan(iterate, lanes, jax.random.split(key, iterations))
    trace = jax.tree.map(lambda a: jnp.moveaxis(a, 0, 1), trace)
    return lanes, trace._replace(x=whitening.location + trace.x @ whitening.factor.T)


@partial(jax.jit, static_argnames="count", compiler_options=QUICK_COMPILE)
def exact_draws(reference: Reference, key: Key[Array, ""], count: int) -> Float[Array, "draw dim"]:
    """Independent draws of a reference."""
    return jax.vmap(reference.sample)(jax.random.split(key, count))


def _acceptance_inside(
    acceptance: Float[Array, " chain"], inside: Bool[Array, " chain"]
) -> Float[Array, ""]:
    """The acceptance rate among trajectories that stayed inside the support.

    A shorter step does not keep a trajectory from an edge it runs across, so those that left must
    not drive the step size to zero. Where more than half left, the step may well be the reason.
    """
    return jnp.mean(acceptance) / jnp.maximum(jnp.mean(inside), 0.5)
