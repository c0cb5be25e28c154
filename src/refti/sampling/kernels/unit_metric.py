"""The unit metric of whitened coordinates, in which the slot of a position never moves."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from blackjax.mcmc.metrics import Metric
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

from refti.sampling.density_along_leg import Position


def unit_metric() -> Metric:
    """BlackJAX's metric for positions (u, slot): the slot has no momentum."""

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
