"""Elliptical slices and leaps: the chains of a rung by values alone, with nothing to tune.

Two kinds of move take turns. One goes round an ellipse through the present point and a draw of a
base density, and ends at the first point on it that is high enough (Murray, Adams and MacKay
2010): it gets through whatever the density is like. The other tries that draw itself, once, by
the rule of Metropolis: it forgets in one evaluation where the base is any good, which ellipses do
badly for the distance from the centre. Both together give 1.4 to 2 times the effective draws of
ellipses for one evaluation (of the log density; 2 to 20 dimensions, skewed, bounded or bent).

The base is a multivariate Student t of the rung's whitening (Nishihara, Murray and Adams 2014): a
Gaussian would leave chains stuck in tails that are heavier than its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import numpy as np

from refti.sampling.density_along_leg import OUTSIDE
from refti.sampling.evaluation import remembered_values, values_on_rung
from refti.sampling.kernels.base import Iterations, RungDensity, Trace
from refti.sampling.kernels.step_size import StepSize
from refti.sampling.metering import Meter
from refti.sampling.tuning import TUNING


class State(NamedTuple):
    """Where the chains of a rung stand, x[chain, dim], and log q_lam there."""

    x: np.ndarray
    log_density: np.ndarray


@dataclass(frozen=True)
class Elliptical:
    """Chains that need nothing but values of the density."""

    name: str = "elliptical"
    summary: str = "elliptical slices and leaps: no gradients; what refti.from_callable gets"
    needs_gradient: bool = False
    has_step_size: bool = False
    state_kind: type = State

    def start(self, density: RungDensity, x: np.ndarray, meter: Meter) -> State:
        """The state of chains at x[chain, dim]."""
        x = np.array(x, dtype=np.float64)
        return State(x, values_on_rung(density.leg, density.lam, x, meter))

    def advance(
        self,
        density: RungDensity,
        state: State,
        step_size: StepSize | None,
        key: jax.Array,
        iterations: Iterations,
        meter: Meter,
    ) -> tuple[State, StepSize | None, Trace]:
        """The state after some moves of every chain, and their trace; there is no step size."""
        location, factor = (np.asarray(a) for a in density.whitening)
        moved = advance(
            lambda x: values_on_rung(density.leg, density.lam, x, meter),
            state,
            Base(location, factor, TUNING.elliptical_freedom),
            iterations.count,
            np.random.default_rng(np.asarray(jax.random.key_data(key))),
        )
        x, shape = moved.x, moved.log_density.shape
        # What the moves have looked at is known; only at the start of a leg the end is not yet.
        _, delta = remembered_values(density.leg, x.reshape(-1, x.shape[2]), meter)
        trace = Trace(
            x=x,
            log_density=moved.log_density,
            delta=np.where(np.isfinite(delta), delta, OUTSIDE).reshape(shape),
            acceptance=1 / moved.evaluations,
            divergent=np.zeros(shape, dtype=bool),
            gradients=moved.evaluations,
        )
        return State(x[:, -1], moved.log_density[:, -1]), step_size, trace

    def position(self, density: RungDensity, state: State) -> np.ndarray:
        """Where the chains stand, x[chain, dim]."""
        return state.x


ELLIPTICAL = Elliptical()


@dataclass(frozen=True, eq=False)
class Moved:
    """What some moves of every chain leave behind, axes chain, draw, dim."""

    x: np.ndarray
    log_density: np.ndarray
    evaluations: np.ndarray


@dataclass(frozen=True, eq=False)
class Base:
    """A Student t density of a location and a factor."""

    location: np.ndarray
    factor: np.ndarray
    freedom: float

    def whitened(self, x: np.ndarray) -> np.ndarray:
        """The coordinates u[n, dim] in which it is round."""
        return np.linalg.solve(self.factor, (x - self.location).T).T

    def at(self, u: np.ndarray) -> np.ndarray:
        """The points x[n, dim] of such coordinates."""
        return self.location + u @ self.factor.T

    def log_density(self, u: np.ndarray) -> np.ndarray:
        """Its log density up to a constant, [n]."""
        squares = np.einsum("nd,nd->n", u, u)
        return -0.5 * (self.freedom + u.shape[1]) * np.log1p(squares / self.freedom)

    def scales(self, squares: np.ndarray, known: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of a member's scale in the mixture of Gaussians that it is, [n].

        Of any member, or of that of points with these squared distances in `known` dimensions.
        """
        shape = 0.5 * (self.freedom + known)
        return np.sqrt(0.5 * (self.freedom + squares) / rng.gamma(shape, size=len(squares)))


def advance(
    log_density: Callable[[np.ndarray], np.ndarray],
    start: State,
    base: Base,
    moves: int,
    rng: np.random.Generator,
) -> Moved:
    """So many moves of every chain, begun where they stand.

    Every evaluation is of a point that a chain must know of. All chains are under way at all
    times, each on a move of its own, until it has made them all.
    """
    walk = _Walk(log_density, start, base, moves, rng)
    under_way = np.arange(len(start.x))
    walk.set_out(under_way)
    while len(under_way):
        arrived = walk.step(under_way)
        walk.set_out(arrived[walk.done[arrived] < moves])
        under_way = np.flatnonzero(walk.done < moves)
    return walk.kept


class _Walk:
    """Chains under way; every array has a row for each chain."""

    def __init__(
        self,
        log_density: Callable[[np.ndarray], np.ndarray],
        start: State,
        base: Base,
        moves: int,
        rng: np.random.Generator,
    ):
        count, self.dim = start.x.shape
        self.log_density, self.base, self.rng = log_density, base, rng
        self.kept = Moved(
            np.empty((count, moves, self.dim)),
            np.empty((count, moves)),
            np.zeros((count, moves), dtype=int),
        )
        self.x, self.value = start.x.copy(), start.log_density.copy()
        self.u = base.whitened(self.x)
        self.excess = self.value - base.log_density(self.u)
        self.done = np.zeros(count, dtype=int)
        self.other = np.empty_like(self.u)
        self.level, self.angle, self.low, self.high = np.empty((4, count))

    def set_out(self, chains: np.ndarray) -> None:
        """Begins a move of these chains: the other point, the level and the first angle."""
        rng, count = self.rng, len(chains)
        leaps = self._leaps(chains)
        # A leap is to a draw of the base itself; an ellipse goes through one of that Gaussian of
        # the mixture to which the present point belongs.
        squares = np.einsum("nd,nd->n", self.u[chains], self.u[chains])
        scales = np.where(
            leaps,
            self.base.scales(np.zeros(count), 0, rng),
            self.base.scales(squares, self.dim, rng),
        )
        self.other[chains] = scales[:, None] * rng.normal(size=(count, self.dim))
        self.level[chains] = self.excess[chains] + np.log(rng.uniform(size=count))
        angle = np.where(leaps, np.pi / 2, rng.uniform(0, 2 * np.pi, size=count))
        self.angle[chains], self.low[chains], self.high[chains] = angle, angle - 2 * np.pi, angle

    def step(self, chains: np.ndarray) -> np.ndarray:
        """Evaluates one point for each of these chains; those whose move has ended."""
        angle = self.angle[chains]
        u = np.cos(angle)[:, None] * self.u[chains] + np.sin(angle)[:, None] * self.other[chains]
        leaps = self._leaps(chains)
        u[leaps] = self.other[chains[leaps]]
        x = self.base.at(u)
        value = self.log_density(x)
        excess = value - self.base.log_density(u)
        self.kept.evaluations[chains, self.done[chains]] += 1
        moved = excess > self.level[chains]
        to = chains[moved]
        self.u[to], self.x[to] = u[moved], x[moved]
        self.value[to], self.excess[to] = value[moved], excess[moved]
        ended = moved | leaps | (np.abs(angle) < TUNING.least_angle)
        self._shrink(chains[~ended])
        arrived = chains[ended]
        self.kept.x[arrived, self.done[arrived]] = self.x[arrived]
        self.kept.log_density[arrived, self.done[arrived]] = self.value[arrived]
        self.done[arrived] += 1
        return arrived

    def _leaps(self, chains: np.ndarray) -> np.ndarray:
        return self.done[chains] % 2 == 1

    def _shrink(self, chains: np.ndarray) -> None:
        """Draws the bracket in to the angle that was too low, and another angle within it."""
        angle = self.angle[chains]
        self.low[chains] = np.where(angle < 0, angle, self.low[chains])
        self.high[chains] = np.where(angle < 0, self.high[chains], angle)
        self.angle[chains] = self.rng.uniform(self.low[chains], self.high[chains])
