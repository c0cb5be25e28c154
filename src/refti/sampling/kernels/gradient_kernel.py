"""Kernels that follow gradients: the chains of a rung side by side in one compiled program.

Every program takes the leg and lambda as arguments, so every rung of every ladder, a new reference
of the same family, other data or another seed runs what is already compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from refti.factors.either import into_rows, on_host, out_all, out_rows
from refti.factors.factor import Factor
from refti.models.compiled import compiled
from refti.paths.path import Leg
from refti.references.base import Reference
from refti.sampling.density_along_leg import whitened
from refti.sampling.kernels.base import HostOrDevice, Iterations, RungDensity, Trace
from refti.sampling.kernels.chains import Chains, LookAt, Move
from refti.sampling.kernels.leap import (
    Leaps,
    draw_leaps,
    keys_of_iteration,
    no_leaps,
    take_leaps,
)
from refti.sampling.kernels.step_size import StepSize, adapt
from refti.sampling.metering import Meter
from refti.sampling.tuning import TUNING
from refti.sampling.whitening import Whitening


@dataclass(frozen=True)
class GradientKernel:
    """A kernel whose moves follow the gradient with an adapted step size."""

    name: str
    summary: str
    move: Move
    needs_gradient: bool = True
    has_step_size: bool = True
    state_kind: type = Chains

    def start(self, density: RungDensity, x: np.ndarray, meter: Meter) -> Chains:
        """The state of chains at x[chain, dim]."""
        meter.count(gradients=len(x))
        location, factor = np.asarray(density.whitening.location), on_host(density.whitening.factor)
        u = np.ascontiguousarray(into_rows(factor, x - location))
        return meter.call(evaluate_chains, density.leg, on_leg(density.lam), density.whitening, u)

    def advance(
        self,
        density: RungDensity,
        state: Chains,
        step_size: StepSize | None,
        key: jax.Array,
        iterations: Iterations,
        meter: Meter,
    ) -> tuple[Chains, StepSize | None, Trace]:
        """The state and the step size after some iterations of every chain, and their trace."""
        state, step_size, trace = meter.call(
            _advance,
            density.leg,
            on_leg(density.lam),
            density.whitening,
            state,
            step_size,
            key,
            jnp.asarray(iterations.lengthening * TUNING.trajectory_length),
            jnp.asarray(iterations.most_steps),
            jnp.asarray(iterations.target_acceptance),
            jnp.asarray(iterations.adapting),
            jnp.asarray(iterations.leaping and isinstance(density.leg.start, Reference)),
            _leaps(density, state, key, iterations, meter),
            move=self.move,
            count=iterations.count,
        )
        trace = Trace(*(np.asarray(a) for a in trace))
        meter.count(gradients=int(trace.gradients.sum()))
        return state, step_size, trace

    def position(self, density: RungDensity, state: Chains) -> np.ndarray:
        """Where the chains stand, x[chain, dim]."""
        location, factor = np.asarray(density.whitening.location), on_host(density.whitening.factor)
        return location + out_rows(factor, np.asarray(state.u))


def on_leg(lam: float) -> Float[Array, ""]:
    """Lambda as programs get it.

    A number of Python's is weakly typed to JAX and one of NumPy's is not: two programs for one.
    """
    return jnp.asarray(np.float64(lam))


@compiled()
def evaluate_chains(
    leg: Leg, lam: Float[Array, ""], whitening: Whitening, u: Float[HostOrDevice, "chain dim"]
) -> Chains:
    """The state of chains at the given positions, which are whitened."""
    chains: Chains = jax.vmap(_look_on(leg, lam, whitening))(jnp.asarray(u))
    return chains


def _look_on(leg: Leg, lam: Float[Array, ""], whitening: Whitening) -> LookAt:
    density = whitened(leg, lam, *whitening)
    return lambda u: Chains(u, *density(u))


@compiled(static_argnames=("move", "count"))
def _advance(
    leg: Leg,
    lam: Float[Array, ""],
    whitening: Whitening,
    chains: Chains,
    steps: StepSize,
    key: Key[Array, ""],
    length: Float[Array, ""],
    most_steps: Int[Array, ""],
    target_acceptance: Float[Array, ""],
    adapting: Bool[Array, ""],
    leaping: Bool[Array, ""],
    leaps: Leaps | None,
    *,
    move: Move,
    count: int,
) -> tuple[Chains, StepSize, Trace]:
    """The chains after some iterations, their step size, and their trace.

    Trajectories have this length, in no more than the largest number of steps; the step size
    moves towards acceptance at the target while adapting. A leap is tried after each where they
    are asked for.
    """
    look_at = _look_on(leg, lam, whitening)

    def iterate(carried: Any, given: tuple[Array, Leaps | None]) -> Any:
        (chains, steps), (key, its_leaps) = carried, given
        jitter_key, chains_key, _ = keys_of_iteration(key)
        # One jitter for all chains: they run in step, so different lengths would only wait.
        jitter = jax.random.uniform(jitter_key, minval=0.5, maxval=1.5)
        keys = jax.random.split(chains_key, len(chains.log_density))
        log_size = jnp.where(adapting, steps.log_step_size, steps.log_step_size_avg)
        size = jnp.minimum(jnp.exp(log_size), TUNING.largest_step)
        chains, moved = jax.vmap(
            lambda key, chain: move(key, chain, look_at, size, jitter * length, most_steps)
        )(keys, chains)
        acceptance, inside = jnp.nan_to_num(moved.acceptance), jnp.isfinite(moved.energy)
        adapted = adapt(steps, target_acceptance, _acceptance_inside(acceptance, inside))
        steps = jax.tree.map(lambda new, old: jnp.where(adapting, new, old), adapted, steps)
        if its_leaps is not None:
            leap = partial(take_leaps, its_leaps, lam)
            chains = jax.lax.cond(leaping, leap, lambda chains: chains, chains)
        # Leaving the support is a rejection like any other, not a failure of the integrator.
        divergent = moved.divergent & inside
        evaluations = moved.steps + leaping
        at = chains.u, chains.log_density, chains.delta
        return (chains, steps), Trace(*at, acceptance, divergent, evaluations)

    (chains, steps), trace = jax.lax.scan(
        iterate, (chains, steps), (jax.random.split(key, count), leaps)
    )
    trace = jax.tree.map(lambda a: jnp.moveaxis(a, 0, 1), trace)
    trace = trace._replace(x=whitening.location + out_all(whitening.factor, trace.x))
    return chains, steps, trace


def _leaps(
    density: RungDensity, state: Chains, key: jax.Array, iterations: Iterations, meter: Meter
) -> Leaps | None:
    """The leaps of some iterations; None where the leg's start cannot be drawn."""
    leg, whitening = density.leg, density.whitening
    if not isinstance(leg.start, Reference):
        return None
    count, (chains, dim) = iterations.count, state.u.shape
    if not iterations.leaping:
        return no_leaps(count, chains, dim)
    factor, lam = on_host(whitening.factor), on_leg(density.lam)
    inverse = None if isinstance(factor, Factor) else np.linalg.inv(factor)
    u, luck = meter.call(draw_leaps, leg.start, whitening, key, inverse, count=count, chains=chains)
    there = [
        map(np.asarray, meter.call(evaluate_chains, leg, lam, whitening, its_u))
        for its_u in np.asarray(u)
    ]
    tried = Chains(*(np.stack(parts) for parts in zip(*there, strict=True)))
    return Leaps(tried, luck)


def _acceptance_inside(
    acceptance: Float[Array, " chain"], inside: Bool[Array, " chain"]
) -> Float[Array, ""]:
    """The acceptance rate among trajectories that stayed inside the support.

    A shorter step does not keep a trajectory from an edge it runs across, so those that left must
    not drive the step size to zero. Where more than half left, the step may well be the reason.
    """
    return jnp.mean(acceptance) / jnp.maximum(jnp.mean(inside), 0.5)
