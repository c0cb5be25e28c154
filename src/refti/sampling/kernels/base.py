"""Kernel: how the chains of a rung move. A new one is one file and one row of the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from refti.paths.path import Leg
from refti.sampling.kernels.step_size import StepSize
from refti.sampling.metering import Meter
from refti.sampling.whitening import Whitening

HostOrDevice = np.ndarray | Array
State = Any
"""Where the chains of a rung stand: a NamedTuple of arrays, each with a row for every chain."""


class Trace(NamedTuple):
    """What some iterations leave behind, axes chain, draw, dim."""

    x: Float[HostOrDevice, "chain draw dim"]
    log_density: Float[HostOrDevice, "chain draw"]
    delta: Float[HostOrDevice, "chain draw"]
    acceptance: Float[HostOrDevice, "chain draw"]
    divergent: Bool[HostOrDevice, "chain draw"]
    gradients: Int[HostOrDevice, "chain draw"]


@dataclass(frozen=True, eq=False)
class RungDensity:
    """What the chains of a rung move on: log q_lam of a leg, in the coordinates of a whitening."""

    leg: Leg
    lam: float
    whitening: Whitening


@dataclass(frozen=True)
class Iterations:
    """How many iterations are made at once, and how.

    Attributes:
        count: of all chains.
        most_steps: that one trajectory may have.
        target_acceptance: the share of moves that is to be accepted while adapting.
        adapting: whether the step size moves towards that.
        leaping: whether draws of the leg's start are tried as well, by kernels that can.
        lengthening: times the usual length that trajectories have, of kernels that have them.
    """

    count: int
    most_steps: int
    target_acceptance: float
    adapting: bool
    leaping: bool = False
    lengthening: float = 1.0


class Kernel(Protocol):
    """A way for chains to move that leaves their density as it is.

    Attributes:
        name: what it is asked for by.
        summary: what it is, in one line of documentation.
        needs_gradient: whether both densities of a leg must have gradients.
        has_step_size: whether warm-up adapts a step size for it.
        state_kind: the NamedTuple of arrays that tells where its chains stand.
    """

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def needs_gradient(self) -> bool: ...

    @property
    def has_step_size(self) -> bool: ...

    @property
    def state_kind(self) -> type: ...

    def start(self, density: RungDensity, x: np.ndarray, meter: Meter) -> State:
        """The state of chains at x[chain, dim]."""
        ...

    def advance(
        self,
        density: RungDensity,
        state: State,
        step_size: StepSize | None,
        key: jax.Array,
        iterations: Iterations,
        meter: Meter,
    ) -> tuple[State, StepSize | None, Trace]:
        """The state and the step size after some iterations of every chain, and their trace."""
        ...

    def position(self, density: RungDensity, state: State) -> np.ndarray:
        """Where the chains stand, x[chain, dim]."""
        ...
