"""Leaps: draws of the reference as proposals, which carry chains between modes and around rings.

A draw x' of the start of a leg is accepted at lambda with probability min(1, exp(lam (delta' -
delta))): what is left of the ratio of Metropolis and Hastings. Where the reference overlaps well
with a rung most leaps are taken, and the chain forgets where it was.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from blackjax.mcmc import hmc
from jaxtyping import Array, Float, Key

from refti.paths.path import Leg
from refti.references.base import Reference
from refti.sampling.density_along_leg import OUTSIDE
from refti.sampling.whitening import Whitening


def leap(
    key: Key[Array, ""],
    state: hmc.HMCState,
    log_density: Callable[..., Float[Array, ""]],
    leg: Leg,
    lam: Float[Array, ""],
    whitening: Whitening,
    inverse_factor: Float[Array, "dim dim"] | None,
) -> hmc.HMCState:
    """The state of a chain after a leap was tried.

    No inverse is needed where the factor has one of its own.
    """
    assert isinstance(leg.start, Reference)
    draw_key, accept_key = jax.random.split(key)
    x = leg.start.sample(draw_key)
    slot = jnp.zeros_like(state.logdensity)
    shifted = x - whitening.location
    u = whitening.factor.into(shifted) if inverse_factor is None else inverse_factor @ shifted
    tried = hmc.init((u, slot), log_density)
    (_, delta), (_, there) = state.logdensity_grad, tried.logdensity_grad
    inside = (delta > OUTSIDE / 2) & (there > OUTSIDE / 2) & jnp.isfinite(tried.logdensity)
    gain = lam * jnp.where(inside, there - delta, 0.0)
    taken = inside & (jnp.log(jax.random.uniform(accept_key)) < gain)
    return jax.tree.map(lambda new, old: jnp.where(taken, new, old), tried, state)
