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

import numpy as np

LEAST_ANGLE = 1e-9  # at which a bracket has shrunk to the present point


class Standing(NamedTuple):
    """Where the chains of a rung stand, x[chain, dim], and log q_lam there."""

    x: np.ndarray
    log_density: np.ndarray


@dataclass(frozen=True, eq=False)
class Strolls:
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


def strolled(
    log_density: Callable[[np.ndarray], np.ndarray],
    start: Standing,
    base: Base,
    moves: int,
    rng: np.random.Generator,
) -> Strolls:
    """So many moves of every chain, begun where they stand.

    Every evaluation is of a point that a chain must know of. All chains are under way at all
    times, each on a move of its own, until it has made them all.
    """
    walk = _Walk(log_density, start, base, moves, rng)
    lanes = np.arange(len(start.x))
    walk.set_out(lanes)
    while len(lanes):
        arrived = walk.step(lanes)
        walk.set_out(arrived[walk.done[arrived] < moves])
        lanes = np.flatnonzero(walk.done < moves)
    return walk.kept


class _Walk:
    """Chains under way; every array has a row for each chain."""

    def __init__(
        self,
        log_density: Callable[[np.ndarray], np.ndarray],
        start: Standing,
        base: Base,
        moves: int,
        rng: np.random.Generator,
    ):
        chains, self.dim = start.x.shape
        self.log_density, self.base, self.rng = log_density, base, rng
        self.kept = Strolls(
            np.empty((chains, moves, self.dim)),
            np.empty((chains, moves)),
            np.zeros((chains, moves), dtype=int),
        )
        self.x, self.value = start.x.copy(), start.log_density.copy()
        self.u = base.whitened(self.x)
        self.excess = self.value - base.log_density(self.u)
        self.done = np.zeros(chains, dtype=int)
        self.other = np.empty_like(self.u)
        self.level, self.angle, self.low, self.high = np.empty((4, chains))

    def set_out(self, lanes: np.ndarray) -> None:
        """Begins a move of these chains: the other point, the level and the first angle."""
        rng, count = self.rng, len(lanes)
        leaps = self._leaps(lanes)
        # A leap is to a draw of the base itself; an ellipse goes through one of that Gaussian of
        # the mixture to which the present point belongs.
        squares = np.einsum("nd,nd->n", self.u[lanes], self.u[lanes])
        scales = np.where(
            leaps,
            self.base.scales(np.zeros(count), 0, rng),
            self.base.scales(squares, self.dim, rng),
        )
        self.other[lanes] = scales[:, None] * rng.normal(size=(count, self.dim))
        self.level[lanes] = self.excess[lanes] + np.log(rng.uniform(size=count))
        angle = np.where(leaps, np.pi / 2, rng.uniform(0, 2 * np.pi, size=count))
        self.angle[lanes], self.low[lanes], self.high[lanes] = angle, angle - 2 * np.pi, angle

    def step(self, lanes: np.ndarray) -> np.ndarray:
        """Evaluates one point for each of these chains; those whose move has ended."""
        angle = self.angle[lanes]
        u = np.cos(angle)[:, None] * self.u[lanes] + np.sin(angle)[:, None] * self.other[lanes]
        leaps = self._leaps(lanes)
        u[leaps] = self.other[lanes[leaps]]
        x = self.base.at(u)
        value = self.log_density(x)
        excess = value - self.base.log_density(u)
        self.kept.evaluations[lanes, self.done[lanes]] += 1
        moved = excess > self.level[lanes]
        to = lanes[moved]
        self.u[to], self.x[to] = u[moved], x[moved]
        self.value[to], self.excess[to] = value[moved], excess[moved]
        ended = moved | leaps | (np.abs(angle) < LEAST_ANGLE)
        self._shrink(lanes[~ended])
        arrived = lanes[ended]
        self.kept.x[arrived, self.done[arrived]] = self.x[arrived]
        self.kept.log_density[arrived, self.done[arrived]] = self.value[arrived]
        self.done[arrived] += 1
        return arrived

    def _leaps(self, lanes: np.ndarray) -> np.ndarray:
        return self.done[lanes] % 2 == 1

    def _shrink(self, lanes: np.ndarray) -> None:
        """Draws the bracket in to the angle that was too low, and another angle within it."""
        angle = self.angle[lanes]
        self.low[lanes] = np.where(angle < 0, angle, self.low[lanes])
        self.high[lanes] = np.where(angle < 0, self.high[lanes], angle)
        self.angle[lanes] = self.rng.uniform(self.low[lanes], self.high[lanes])
