"""Elliptical slice sampling: the chains of a rung by values alone, with nothing to tune.

A move goes round an ellipse through the present point and a draw of a base density, and ends at
the first point on it that is high enough (Murray, Adams and MacKay 2010). The base is a
multivariate Student t of the rung's whitening (Nishihara, Murray and Adams 2014): a Gaussian
would leave chains stuck in tails that are heavier than its own.
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

    def scales(self, u: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws of the scale that each point has as a member of a mixture of Gaussians, [n]."""
        squares = np.einsum("nd,nd->n", u, u)
        shape = 0.5 * (self.freedom + u.shape[1])
        return np.sqrt(0.5 * (self.freedom + squares) / rng.gamma(shape, size=len(u)))


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
    chains, dim = start.x.shape
    x, top = start.x.copy(), start.log_density.copy()
    u = base.whitened(x)
    excess = top - base.log_density(u)
    done = np.zeros(chains, dtype=int)
    kept = Strolls(
        np.empty((chains, moves, dim)),
        np.empty((chains, moves)),
        np.zeros((chains, moves), dtype=int),
    )
    other, level = np.empty_like(u), np.empty(chains)
    angle, low, high = np.empty(chains), np.empty(chains), np.empty(chains)

    def set_out(lanes: np.ndarray) -> None:
        scale = base.scales(u[lanes], rng)
        other[lanes] = scale[:, None] * rng.normal(size=(len(lanes), dim))
        level[lanes] = excess[lanes] + np.log(rng.uniform(size=len(lanes)))
        angle[lanes] = rng.uniform(0, 2 * np.pi, size=len(lanes))
        low[lanes], high[lanes] = angle[lanes] - 2 * np.pi, angle[lanes]

    lanes = np.arange(chains)
    set_out(lanes)
    while len(lanes):
        tried = np.cos(angle[lanes, None]) * u[lanes] + np.sin(angle[lanes, None]) * other[lanes]
        points = base.at(tried)
        value = log_density(points)
        kept.evaluations[lanes, done[lanes]] += 1
        gain = value - base.log_density(tried)
        stuck = np.abs(angle[lanes]) < LEAST_ANGLE
        there = (gain > level[lanes]) | stuck
        arrived, moved = lanes[there], (there & ~stuck)
        u[lanes[moved]], x[lanes[moved]] = tried[moved], points[moved]
        top[lanes[moved]], excess[lanes[moved]] = value[moved], gain[moved]
        kept.x[arrived, done[arrived]] = x[arrived]
        kept.log_density[arrived, done[arrived]] = top[arrived]
        done[arrived] += 1
        short = lanes[~there]
        low[short] = np.where(angle[short] < 0, angle[short], low[short])
        high[short] = np.where(angle[short] < 0, high[short], angle[short])
        angle[short] = rng.uniform(low[short], high[short])
        set_out(arrived[done[arrived] < moves])
        lanes = np.flatnonzero(done < moves)
    return kept
