"""A kernel that refti does not have: what a new one takes, in one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from refti.sampling.density_along_leg import OUTSIDE
from refti.sampling.evaluation import remembered_values, values_on_rung
from refti.sampling.kernels.base import Iterations, RungDensity, Trace
from refti.sampling.kernels.step_size import StepSize
from refti.sampling.metering import Meter


class State(NamedTuple):
    """Where the chains stand, x[chain, dim], and log q_lam there."""

    x: np.ndarray
    log_density: np.ndarray


@dataclass(frozen=True)
class RandomWalk:
    """Metropolis with normal steps of a fixed size in whitened coordinates."""

    name: str = "random_walk"
    summary: str = "Metropolis with normal steps"
    needs_gradient: bool = False
    has_step_size: bool = False
    state_kind: type = State
    wrong_by: float = 1.0  # the power of the acceptance ratio, for a test that must fail

    def start(self, density: RungDensity, x: np.ndarray, meter: Meter) -> State:
        """The state of chains at x[chain, dim]."""
        return State(np.array(x), values_on_rung(density.leg, density.lam, x, meter))

    def advance(
        self,
        density: RungDensity,
        state: State,
        step_size: StepSize | None,
        key: Any,
        iterations: Iterations,
        meter: Meter,
    ) -> tuple[State, StepSize | None, Trace]:
        """The state after some iterations of every chain, and their trace."""
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        factor = np.asarray(density.whitening.factor)
        x, value = state.x.copy(), state.log_density.copy()
        states, taken = [], []
        for _ in range(iterations.count):
            tried = x + 2.4 / np.sqrt(x.shape[1]) * rng.normal(size=x.shape) @ factor.T
            there = values_on_rung(density.leg, density.lam, tried, meter)
            accept = np.log(rng.uniform(size=len(x))) < self.wrong_by * (there - value)
            x, value = np.where(accept[:, None], tried, x), np.where(accept, there, value)
            states.append(State(x, value))
            taken.append(accept)
        points, values = (np.stack(part, axis=1) for part in zip(*states, strict=True))
        _, delta = remembered_values(density.leg, points.reshape(-1, x.shape[1]), meter)
        trace = Trace(
            x=points,
            log_density=values,
            delta=np.where(np.isfinite(delta), delta, OUTSIDE).reshape(values.shape),
            acceptance=np.stack(taken, axis=1).astype(float),
            divergent=np.zeros(values.shape, dtype=bool),
            gradients=np.ones(values.shape, dtype=int),
        )
        return State(x, value), step_size, trace

    def position(self, density: RungDensity, state: State) -> np.ndarray:
        """Where the chains stand, x[chain, dim]."""
        return state.x
