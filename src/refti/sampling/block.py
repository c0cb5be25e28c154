"""Block: the unit of work. Some iterations of all chains of one rung, a function of its arguments.

Nothing in here knows of ladders, rounds or budgets: a block can run in any thread or process that
has the densities of its leg.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import jax
import numpy as np

from refti.draws.cost import Cost
from refti.paths.path import Leg
from refti.sampling.kernels.base import Iterations, RungDensity, State, Trace
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.kernels.step_size import StepSize
from refti.sampling.metering import Meter
from refti.sampling.tuning import TUNING
from refti.sampling.whitening import Whitening


@dataclass(frozen=True, eq=False)
class Rung:
    """Chains at one lambda of a leg.

    Attributes:
        lam: where on the leg.
        kernel: the name of how they move.
        whitening: the coordinates they move in.
        state: where they stand, as their kernel has it.
        step_size: as warm-up left it; None where the kernel has none.
        target_acceptance: the share of moves to be accepted while adapting.
        moves: iterations for each draw that is kept.
        most_steps: that one trajectory may have.
        leaping: whether draws of the leg's start are tried after every iteration.
        lengthening: times the usual length that trajectories have.
    """

    lam: float
    kernel: str
    whitening: Whitening
    state: State
    step_size: StepSize | None
    target_acceptance: float = TUNING.target_acceptance
    moves: int = 1
    most_steps: int = TUNING.most_steps
    leaping: bool = False
    lengthening: float = 1.0


Points = Literal["all", "kept", "last"]
"""Which points of a block are wanted: of every iteration, of the draws that are kept (one for each
`moves` of the rung), or only where chains ended."""


class Block(NamedTuple):
    """A rung after a block, what its chains drew, and what that took."""

    rung: Rung
    trace: Trace
    usage: Cost


def run_block(
    leg: Leg,
    rung: Rung,
    keys: tuple[jax.Array, ...],
    *,
    iterations: int,
    meter: Meter,
    adapting: bool = False,
    points: Points = "all",
) -> Block:
    """The rung after so many iterations for each of the keys."""
    kernel, density = KERNELS[rung.kernel], RungDensity(leg, rung.lam, rung.whitening)
    wanted = Iterations(
        iterations,
        rung.most_steps,
        rung.target_acceptance,
        adapting,
        rung.leaping,
        rung.lengthening,
    )
    part = meter.of_a_part()
    state, step_size, traces = rung.state, rung.step_size, []
    for key in keys:
        state, step_size, trace = kernel.advance(density, state, step_size, key, wanted, part)
        traces.append(trace)
    joined = Trace(*(np.concatenate(parts, axis=1) for parts in zip(*traces, strict=True)))
    thinned = _thin(joined, rung.moves, points)
    return Block(replace(rung, state=state, step_size=step_size), thinned, part.spent)


def positions(leg: Leg, rung: Rung) -> np.ndarray:
    """Where the chains of a rung stand, x[chain, dim]."""
    density = RungDensity(leg, rung.lam, rung.whitening)
    return KERNELS[rung.kernel].position(density, rung.state)


def _thin(trace: Trace, moves: int, points: Points) -> Trace:
    """The trace with only the points that are wanted; what is averaged stays whole."""
    if points == "all":
        return trace
    every = slice(moves - 1, None, moves)
    return trace._replace(
        x=trace.x[:, every] if points == "kept" else trace.x[:, -1:],
        log_density=trace.log_density[:, every],
        delta=trace.delta[:, every],
    )
