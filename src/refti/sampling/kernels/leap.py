"""Leaps: draws of the reference as proposals, which carry chains between modes and around rings.

A draw x' of the start of a leg is accepted at lambda with probability min(1, exp(lam (delta' -
delta))): what is left of the ratio of Metropolis and Hastings. Where the reference overlaps well
with a rung most leaps are taken, and the chain forgets where it was.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from refti.models.compiled import compiled
from refti.references.base import Reference
from refti.sampling.density_along_leg import OUTSIDE
from refti.sampling.kernels.base import HostOrDevice
from refti.sampling.kernels.chains import Chains
from refti.sampling.whitening import Whitening


class Leaps(NamedTuple):
    """The leaps that chains are to try, axes iteration, chain.

    Attributes:
        tried: where each would lead.
        luck: uniform numbers by which each is taken or not.
    """

    tried: Chains
    luck: Float[HostOrDevice, "iteration chain"]


def keys_of_iteration(key: Key[Array, ""]) -> Key[Array, "3"]:
    """The randomness of an iteration: of its jitter, of its moves and of its leaps.

    By one split: a key folded in later may be one of those that a split gives.
    """
    return jax.random.split(key, 3)


@compiled(static_argnames=("count", "chains"))
def draw_leaps(
    start: Reference,
    whitening: Whitening,
    key: Key[Array, ""],
    inverse_factor: Float[HostOrDevice, "dim dim"] | None,
    *,
    count: int,
    chains: int,
) -> tuple[Float[Array, "iteration chain dim"], Float[Array, "iteration chain"]]:
    """Draws of a leg's start in whitened coordinates, with the luck that decides on each.

    They do not depend on where chains stand, so they are made before these move, by a small program
    of their own. No inverse is needed where the factor has one of its own.
    """
    inverse = None if inverse_factor is None else jnp.asarray(inverse_factor)

    def draw(key: Array) -> tuple[Array, Array]:
        draw_key, luck_key = jax.random.split(key)
        shifted = start.sample(draw_key) - whitening.location
        u = whitening.factor.into(shifted) if inverse is None else inverse @ shifted
        return u, jax.random.uniform(luck_key)

    def of_iteration(key: Array) -> tuple[Array, Array]:
        return jax.vmap(draw)(jax.random.split(keys_of_iteration(key)[2], chains))

    drawn: tuple[Array, Array] = jax.lax.map(of_iteration, jax.random.split(key, count))
    return drawn


def no_leaps(count: int, chains: int, dim: int) -> Leaps:
    """Leaps that are not tried, in the form of those that are: one program serves both."""
    each, points = np.zeros((count, chains)), np.zeros((count, chains, dim))
    return Leaps(Chains(points, each, points, each), each)


def take_leaps(leaps: Leaps, lam: Float[Array, ""], chains: Chains) -> Chains:
    """All chains after the leaps of one iteration were tried."""

    def take(leap: Leaps, chain: Chains) -> Chains:
        there = leap.tried
        inside = (chain.delta > OUTSIDE / 2) & (there.delta > OUTSIDE / 2)
        inside &= jnp.isfinite(there.log_density)
        gain = lam * jnp.where(inside, there.delta - chain.delta, 0.0)
        taken = inside & (jnp.log(leap.luck) < gain)
        return jax.tree.map(lambda new, old: jnp.where(taken, new, old), there, chain)

    after: Chains = jax.vmap(take)(leaps, chains)
    return after
