"""Lanes: Markov chains over rung x chain, run side by side in one compiled program.

Every function here takes the leg as a pytree, so a new reference of the same family, another
ladder or another seed runs the program that is already compiled.
"""

from __future__ import annotations

from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from blackjax.adaptation.step_size import DualAveragingAdaptationState, dual_averaging_adaptation
from blackjax.mcmc import hmc, nuts
from blackjax.mcmc.metrics import Metric
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, Key

from refti.path import Leg
from refti.references import Reference

Kernel = Literal["hmc", "nuts"]

OUTSIDE = -1e300  # stands for delta = -inf where the end density is zero, and survives 0 * delta
TARGET_ACCEPTANCE = 0.8
MAX_STEPS = 256  # leapfrog steps of one HMC trajectory
LARGEST_STEP = 1.0  # leapfrog is unstable beyond 2 on a standard normal, and worse on thin tails

# Compiling is most of what a user waits for. Measured on the radiata models (2 cores, jaxlib 0.10):
# `advance` compiles in 1.9 s instead of 4.1 s with these, and runs no slower.
QUICK = {"xla_backend_optimization_level": 1, "xla_cpu_use_fusion_emitters": False}


class Whitening(NamedTuple):
    """For each rung the affine map x = location + factor @ u that makes its density round."""

    location: Float[Array, "rung dim"]
    factor: Float[Array, "rung dim dim"]


class Lanes(NamedTuple):
    """What the next iteration needs: whitened positions with their densities, and step sizes.

    The state's position is (u, slot). The slot is a coordinate that never moves from 0 and whose
    gradient is delta, so delta comes from the density evaluation that HMC makes anyway.
    """

    state: hmc.HMCState
    steps: DualAveragingAdaptationState


class Trace(NamedTuple):
    """What a stretch of iterations leaves behind, axes rung, chain, draw, dim."""

    x: Float[Array, "rung chain draw dim"]
    delta: Float[Array, "rung chain draw"]
    acceptance: Float[Array, "rung chain draw"]
    divergent: Bool[Array, "rung chain draw"]
    gradients: Int[Array, "rung chain draw"]


def log_density_at(
    leg: Leg, lam: Float[Array, ""], x: Float[Array, " dim"], slot: Float[Array, ""]
) -> Float[Array, ""]:
    """log q_lam at x; its derivative in `slot` is delta.

    At lambda = 0 the density is the start's own, unrestricted, so that the share of it inside the
    support of the end can be counted.
    """
    start = _never_nan(leg.start.log_density, x)
    end = _never_nan(leg.end.log_density, x)
    inside = end > -jnp.inf
    finite_end = jnp.where(inside, end, 0.0)
    between = jnp.where(inside, (1 - lam) * start + lam * finite_end, -jnp.inf)
    delta = jnp.where(inside & (start > -jnp.inf), finite_end - start, OUTSIDE)
    return jnp.where(lam > 0, between, start) + slot * jax.lax.stop_gradient(delta)


@partial(jax.jit, compiler_options=QUICK)
def begin(
    leg: Leg,
    lambdas: Float[Array, " rung"],
    whitening: Whitening,
    x: Float[Array, "rung chain dim"],
) -> hmc.HMCState:
    """The states of all lanes at the given positions."""

    def one(lam: Array, location: Array, factor: Array, x: Array) -> hmc.HMCState:
        u = jnp.linalg.solve(factor, x - location)
        position = (u, jnp.zeros((), x.dtype))
        return hmc.init(position, _whitened(leg, lam, location, factor))

    chains = jax.vmap(one, in_axes=(None, None, None, 0))
    return jax.vmap(chains)(lambdas, *whitening, x)


@partial(jax.jit, static_argnames=("kernel", "iterations"), compiler_options=QUICK)
def advance(
    leg: Leg,
    lambdas: Float[Array, " rung"],
    whitening: Whitening,
    lanes: Lanes,
    key: Key[Array, ""],
    trajectory: Float[Array, " rung"],
    adapting: Bool[Array, ""],
    *,
    kernel: Kernel,
    iterations: int,
) -> tuple[Lanes, Trace]:
    """The lanes after some iterations, and their trace; step sizes move while adapting."""
    chain_count = lanes.state.logdensity.shape[1]
    _, update, _ = dual_averaging_adaptation(TARGET_ACCEPTANCE)
    move = {"hmc": _hmc_move, "nuts": _nuts_move}[kernel]

    def iterate(lanes: Lanes, key: Array) -> tuple[Lanes, Trace]:
        jitter_key, lanes_key = jax.random.split(key)
        # One jitter for all lanes: lanes run in step, so different lengths would only wait.
        jitter = jax.random.uniform(jitter_key, minval=0.5, maxval=1.5)
        keys = jax.random.split(lanes_key, (len(lambdas), chain_count))
        log_size = jnp.where(adapting, lanes.steps.log_step_size, lanes.steps.log_step_size_avg)
        size = jnp.minimum(jnp.exp(log_size), LARGEST_STEP)

        def one_rung(keys, state, lam, location, factor, size, trajectory):
            density = _whitened(leg, lam, location, factor)
            one_chain = partial(move, density=density, size=size, length=jitter * trajectory)
            return jax.vmap(one_chain)(keys, state)

        state, info = jax.vmap(one_rung)(keys, lanes.state, lambdas, *whitening, size, trajectory)
        acceptance = jnp.nan_to_num(info.acceptance_rate)
        inside = jnp.isfinite(info.energy)
        adapted = jax.vmap(update)(lanes.steps, _acceptance_inside(acceptance, inside))
        steps = jax.tree.map(lambda new, old: jnp.where(adapting, new, old), adapted, lanes.steps)
        u, _ = state.position
        _, delta = state.logdensity_grad
        # Leaving the support is a rejection like any other, not a failure of the integrator.
        divergent = info.is_divergent & inside
        out = Trace(u, delta, acceptance, divergent, info.num_integration_steps)
        return Lanes(state, steps), out

    lanes, trace = jax.lax.scan(iterate, lanes, jax.random.split(key, iterations))
    trace = jax.tree.map(lambda a: jnp.moveaxis(a, 0, 2), trace)
    x = whitening.location[:, None, None] + jnp.einsum("rij,rcnj->rcni", whitening.factor, trace.x)
    return lanes, trace._replace(x=x)


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


@partial(jax.jit, compiler_options=QUICK)
def fresh_steps(sizes: Float[Array, " rung"]) -> DualAveragingAdaptationState:
    """The step-size adaptation of each rung at its beginning."""
    start, _, _ = dual_averaging_adaptation(TARGET_ACCEPTANCE)
    # Weakly typed numbers would make the first call of `advance` another program than the second.
    return jax.tree.map(lambda a: a.astype(a.dtype), jax.vmap(start)(sizes))


def _acceptance_inside(
    acceptance: Float[Array, "rung chain"], inside: Bool[Array, "rung chain"]
) -> Float[Array, " rung"]:
    """The acceptance rate of each rung among trajectories that stayed inside the support.

    A shorter step does not keep a trajectory from an edge it runs across, so those that left must
    not drive the step size to zero. Where more than half left, the step may well be the reason.
    """
    return jnp.mean(acceptance, axis=1) / jnp.maximum(jnp.mean(inside, axis=1), 0.5)


def _whitened(leg: Leg, lam: Array, location: Array, factor: Array):
    def density(position: tuple[Array, Array]) -> Array:
        u, slot = position
        return log_density_at(leg, lam, location + factor @ u, slot)

    return density


def _hmc_move(key, state, *, density, size, length):
    steps = jnp.clip(jnp.ceil(length / size), 1, MAX_STEPS).astype(int)
    return hmc.build_kernel()(key, state, density, size, _metric(), steps)


def _nuts_move(key, state, *, density, size, length):
    del length  # NUTS finds its own
    return nuts.build_kernel()(key, state, density, size, _metric(), 8)


def _metric() -> Metric:
    """The unit metric of u, in which the slot has no momentum and never moves."""

    def sample_momentum(key, position):
        u, slot = position
        return jax.random.normal(key, u.shape, u.dtype), jnp.zeros_like(slot)

    def kinetic_energy(momentum, position=None):
        return 0.5 * jnp.dot(momentum[0], momentum[0])

    def check_turning(left, right, total, position_left=None, position_right=None):
        # BlackJAX hands over pytrees or flat vectors; in both the slot comes last.
        left, right, total = (ravel_pytree(m)[0][:-1] for m in (left, right, total))
        middle = total - (left + right) / 2
        return (jnp.dot(left, middle) <= 0) | (jnp.dot(right, middle) <= 0)

    def scale(position, element, *, inv, trans):
        return element

    return Metric(sample_momentum, kinetic_energy, check_turning, scale)


def _never_nan(log_density, x: Float[Array, " dim"]) -> Float[Array, ""]:
    """The log density with -inf for NaN and infinities, and a gradient of zero there.

    Without it one NaN gradient would poison the whole trajectory; with it the point is rejected.
    """

    @jax.custom_vjp
    def clean(x):
        value = log_density(x)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    def forward(x):
        value, gradient = jax.value_and_grad(log_density)(x)
        usable = jnp.isfinite(value) & jnp.all(jnp.isfinite(gradient))
        value = jnp.where(jnp.isfinite(value), value, -jnp.inf)
        return value, jnp.where(usable, gradient, 0.0)

    clean.defvjp(forward, lambda gradient, cotangent: (cotangent * gradient,))
    return clean(x)
