"""HMC with trajectories of a fixed length that is jittered from one iteration to the next."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from refti.sampling.kernels.chains import Chains, LookAt, Moved
from refti.sampling.kernels.gradient_kernel import GradientKernel
from refti.sampling.tuning import TUNING


def move(
    key: Key[Array, ""],
    chain: Chains,
    look_at: LookAt,
    step_size: Float[Array, ""],
    length: Float[Array, ""],
    most_steps: Int[Array, ""],
) -> tuple[Chains, Moved]:
    """The chain after a trajectory of a length, in steps of at most a size, or fewer of them.

    Leapfrog steps under a standard normal momentum, whose end is accepted or not.
    """
    steps = jnp.clip(jnp.ceil(length / step_size), 1, most_steps).astype(int)
    momentum_key, luck_key = jax.random.split(key)
    momentum = jax.random.normal(momentum_key, chain.u.shape, chain.u.dtype)

    def leapfrog(_: Array, before: tuple[Chains, Array]) -> tuple[Chains, Array]:
        chain, momentum = before
        momentum = momentum + step_size * 0.5 * chain.gradient
        chain = look_at(chain.u + step_size * momentum)
        return chain, momentum + step_size * 0.5 * chain.gradient

    end, last_momentum = jax.lax.fori_loop(0, steps, leapfrog, (chain, momentum))
    energy = _energy(end, last_momentum)
    gain = _energy(chain, momentum) - energy
    gain = jnp.where(jnp.isnan(gain), -jnp.inf, gain)
    acceptance = jnp.clip(jnp.exp(gain), max=1)
    accepted = jax.random.bernoulli(luck_key, acceptance)
    chain = jax.tree.map(lambda new, old: jnp.where(accepted, new, old), end, chain)
    return chain, Moved(acceptance, -gain > TUNING.divergent, energy, steps)


def _energy(chain: Chains, momentum: Float[Array, " dim"]) -> Float[Array, ""]:
    return -chain.log_density + 0.5 * jnp.dot(momentum, momentum)


HMC = GradientKernel(
    "hmc", "Hamiltonian Monte Carlo: trajectories of one length for all chains", move
)
