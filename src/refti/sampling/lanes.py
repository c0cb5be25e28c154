"""Lanes: Markov chains over rung x chain, run side by side in one compiled program.

Every function here takes the leg as a pytree, so a new reference of the same family, other data,
another ladder or another seed runs the program that is already compiled.
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

from refti.path import Leg
from refti.references import Reference
from refti.sampling.kernel import KernelName, move, whitened

HostOrDevice = np.ndarray | Array

# In a few dimensions the target acceptance is reached with steps that diverge on thin tails (a
# quartic, or the log of a bounded parameter); this bound costs little and keeps clear of it.
LARGEST_STEP = 0.7

# Compiling is most of what a user waits for. Measured on the radiata models (2 cores, jaxlib 0.10):
# `advance` compiles in 1.9 s instead of 4.1 s with these, and runs no slower.
QUICK = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}


class Whitening(NamedTuple):
    """For each rung the affine map x = location + factor @ u that makes its density round."""

    location: Any  # Float[Array, "rung dim"], on the host or the device
    factor: Any  # Float[Array, "rung dim dim"]


class Lanes(NamedTuple):
    """What the next iteration needs: positions with their densities, and step sizes a rung."""

    state: hmc.HMCState
    steps: DualAveragingAdaptationState


class Trace(NamedTuple):
    """What a stretch of iterations leaves behind, axes rung, chain, draw, dim."""

    x: Float[HostOrDevice, "rung chain draw dim"]
    delta: Float[HostOrDevice, "rung chain draw"]
    acceptance: Float[HostOrDevice, "rung chain draw"]
    divergent: Bool[HostOrDevice, "rung chain draw"]
    gradients: Int[HostOrDevice, "rung chain draw"]


@partial(jax.jit, compiler_options=QUICK)
def begin(
    leg: Leg,
    lambdas: Float[Array, " rung"],
    whitening: Whitening,
    x: Float[Array, "rung chain dim"],
) -> hmc.HMCState:
    """The states of all lanes at the given positions."""

    def one(lam: Array, location: Array, factor: Array, x: Array) -> hmc.HMCState:
        position = (jnp.linalg.solve(factor, x - location), jnp.zeros((), x.dtype))
        return hmc.init(position, whitened(leg, lam, location, factor))

    chains = jax.vmap(one, in_axes=(None, None, None, 0))
    return jax.vmap(chains)(lambdas, whitening.location, whitening.factor, x)


@partial(jax.jit, compiler_options=QUICK)
def fresh_steps(sizes: Float[Array, " rung"]) -> DualAveragingAdaptationState:
    """The step-size adaptation of each rung at its beginning."""
    start, _, _ = dual_averaging_adaptation(0.8)  # the target plays no part in the beginning
    # Weakly typed numbers would make the first call of `advance` another program than the second.
    return jax.tree.map(lambda a: a.astype(a.dtype), jax.vmap(start)(sizes))


@partial(jax.jit, static_argnames=("kernel", "iterations"), compiler_options=QUICK)
def advance(
    leg: Leg,
    lambdas: Float[Array, " rung"],
    whitening: Whitening,
    lanes: Lanes,
    key: Key[Array, ""],
    lengths: Float[Array, " rung"],
    targets: Float[Array, " rung"],
    adapting: Bool[Array, ""],
    *,
    kernel: KernelName,
    iterations: int,
) -> tuple[Lanes, Trace]:
    """The lanes after some iterations, and their trace.

    Trajectories have `lengths`; step sizes move towards acceptance at `targets` while adapting.
    """
    chain_count = lanes.state.logdensity.shape[1]

    def one_rung(
        keys: Array,
        state: hmc.HMCState,
        lam: Array,
        location: Array,
        factor: Array,
        size: Array,
        length: Array,
    ) -> tuple[hmc.HMCState, hmc.HMCInfo]:
        density = whitened(leg, lam, location, factor)
        return jax.vmap(lambda key, state: move(key, state, density, size, length, kernel=kernel))(
            keys, state
        )

    def adapt(
        steps: DualAveragingAdaptationState, acceptance: Array, target: Array
    ) -> DualAveragingAdaptationState:
        _, update, _ = dual_averaging_adaptation(target)
        return update(steps, acceptance)

    def iterate(lanes: Lanes, key: Array) -> tuple[Lanes, Trace]:
        jitter_key, lanes_key = jax.random.split(key)
        # One jitter for all lanes: lanes run in step, so different lengths would only wait.
        jitter = jax.random.uniform(jitter_key, minval=0.5, maxval=1.5)
        keys = jax.random.split(lanes_key, (len(lambdas), chain_count))
        log_size = jnp.where(adapting, lanes.steps.log_step_size, lanes.steps.log_step_size_avg)
        size = jnp.minimum(jnp.exp(log_size), LARGEST_STEP)
        state, info = jax.vmap(one_rung)(
            keys,
            lanes.state,
            lambdas,
            whitening.location,
            whitening.factor,
            size,
            jitter * lengths,
        )
        acceptance, inside = jnp.nan_to_num(info.acceptance_rate), jnp.isfinite(info.energy)
        adapted = jax.vmap(adapt)(lanes.steps, _acceptance_inside(acceptance, inside), targets)
        steps = jax.tree.map(lambda new, old: jnp.where(adapting, new, old), adapted, lanes.steps)
        u, _ = state.position
        _, delta = state.logdensity_grad
        # Leaving the support is a rejection like any other, not a failure of the integrator.
        divergent = info.is_divergent & inside
        trace = Trace(u, delta, acceptance, divergent, info.num_integration_steps)
        return Lanes(state, steps), trace

    lanes, trace = jax.lax.scan(iterate, lanes, jax.random.split(key, iterations))
    trace = jax.tree.map(lambda a: jnp.moveaxis(a, 0, 2), trace)
    turned = jnp.einsum("rij,rcnj->rcni", whitening.factor, trace.x)
    return lanes, trace._replace(x=whitening.location[:, None, None] + turned)


@partial(jax.jit, compiler_options=QUICK)
def end_and_delta(
    leg: Leg, x: Float[Array, "draw dim"]
) -> tuple[Float[Array, " draw"], Float[Array, " draw"]]:
    """log q_end, as it comes, and delta at many points; no gradients."""

    def one(x: Array) -> tuple[Array, Array]:
        end = leg.end.log_density(x)
        return end, end - leg.start.log_density(x)

    return jax.lax.map(one, x, batch_size=256)


@partial(jax.jit, static_argnames="count", compiler_options=QUICK)
def exact_draws(reference: Reference, key: Key[Array, ""], count: int) -> Float[Array, "draw dim"]:
    """Independent draws of a reference."""
    return jax.vmap(reference.sample)(jax.random.split(key, count))


def _acceptance_inside(
    acceptance: Float[Array, "rung chain"], inside: Bool[Array, "rung chain"]
) -> Float[Array, " rung"]:
    """The acceptance rate of each rung among trajectories that stayed inside the support.

    A shorter step does not keep a trajectory from an edge it runs across, so those that left must
    not drive the step size to zero. Where more than half left, the step may well be the reason.
    """
    return jnp.mean(acceptance, axis=1) / jnp.maximum(jnp.mean(inside, axis=1), 0.5)
