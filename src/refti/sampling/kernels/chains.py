"""Chains: where those of a rung stand that follow gradients, and what a move tells of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Chains(NamedTuple):
    """Where the chains of a rung stand, in whitened coordinates u[chain, dim]; or one, u[dim]."""

    u: Any
    log_density: Any  # [chain]
    gradient: Any  # [chain, dim]
    delta: Any  # [chain]


class Moved(NamedTuple):
    """What a move of one chain tells.

    Attributes:
        acceptance: the probability with which it was accepted.
        divergent: whether the energy rose beyond all bounds on the way.
        energy: where it led to, infinite outside of the support.
        steps: of the integrator.
    """

    acceptance: Any
    divergent: Any
    energy: Any
    steps: Any


LookAt = Callable[[Any], Chains]
"""A chain at u[dim]."""

Move = Callable[..., tuple[Chains, Moved]]
"""One iteration of one chain: (key, chain, look_at, step size, length, most steps)."""
