"""The estimating equations of MBAR, and their solution by Newton's method."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refti.draws.draws import Draws
from refti.estimators.tuning import TUNING


@dataclass(frozen=True, eq=False)
class Equations:
    """The estimating equations at one trial value of `log_z`.

    Attributes:
        log_z: `[rung]`.
        surplus: `[rung]`, `log(sum of memberships / count)`, zero at the solution.
        residual: `[rung]`, `sum of memberships - count` over the roots of the count and the total.
        jacobian: `[rung, rung]`, of the equations in log_z, scaled by the roots of the counts.
    """

    log_z: NDArray[np.float64]
    surplus: NDArray[np.float64]
    residual: NDArray[np.float64]
    jacobian: NDArray[np.float64]

    @property
    def distance(self) -> float:
        """How far from a solution, as a share of all draws."""
        return float(np.linalg.norm(self.residual))


def solve(draws: Draws, counts: NDArray[np.float64]) -> tuple[float, Equations]:
    """Returns the level taken out of delta and the solution for delta without it.

    Newton's method from the chain of neighbouring bridges, which is already as near as the draws'
    noise. A step that does not halve the distance gives way to the self-consistent iteration,
    which always goes down the convex objective; near the solution it is the end of precision.
    """
    level = float(draws.delta.mean())
    delta = draws.delta.ravel() - level
    start = np.append(0.0, np.cumsum(draws.bridges())) - level * draws.lambdas
    state = _evaluate(draws.lambdas, delta, counts, start)
    for _ in range(TUNING.newton_steps):
        step = newton_step(state, counts)
        if np.abs(step).max() <= TUNING.step_tolerance:
            break
        trial = _evaluate(draws.lambdas, delta, counts, state.log_z + step)
        if not trial.distance <= 0.5 * state.distance:
            if state.distance <= TUNING.rounding:
                break
            trial = _evaluate(draws.lambdas, delta, counts, state.log_z + state.surplus)
        state = trial
    return level, state


def _evaluate(
    lambdas: NDArray[np.float64],
    delta: NDArray[np.float64],
    counts: NDArray[np.float64],
    log_z: NDArray[np.float64],
) -> Equations:
    weight = np.repeat(counts * len(counts) / delta.size, delta.size // len(counts))
    total, links = np.zeros(len(counts)), np.zeros((len(counts), len(counts)))
    for part, membership in memberships(lambdas, delta, counts, log_z):
        weighted = membership * weight[part]
        total += weighted.sum(axis=1)
        links += weighted @ membership.T
    # As a Laplacian, from the links alone: the diagonal by subtraction would lose weak ones.
    np.fill_diagonal(links, 0.0)
    jacobian = np.diag(links.sum(axis=1)) - links
    roots = np.sqrt(counts)
    return Equations(
        log_z=log_z - log_z[0],
        surplus=np.log(np.maximum(total, np.finfo(np.float64).tiny) / counts),
        residual=(total - counts) / roots / math.sqrt(counts.sum()),
        jacobian=jacobian / np.outer(roots, roots),
    )


def newton_step(state: Equations, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the step to the root of the linearised equations, none where there is no link."""
    shares, vectors = np.linalg.eigh(state.jacobian)
    inverse = np.where(
        shares > TUNING.disconnected, 1 / np.maximum(shares, TUNING.disconnected), 0.0
    )
    scale = np.sqrt(counts.sum() / counts)
    step = scale * (vectors @ (inverse * (vectors.T @ state.residual)))
    return step - step[0]


def memberships(
    lambdas: NDArray[np.float64],
    delta: NDArray[np.float64],
    counts: NDArray[np.float64],
    log_z: NDArray[np.float64],
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yields the probability that a draw belongs to each rung, `[rung, draw]`, in chunks."""
    offset = (np.log(counts) - log_z)[:, None]
    size = max(1, TUNING.chunk_bytes // (8 * len(lambdas)))
    for begin in range(0, delta.size, size):
        part = slice(begin, min(begin + size, delta.size))
        membership = lambdas[:, None] * delta[part] + offset
        membership -= membership.max(axis=0)
        np.exp(membership, out=membership)
        membership /= membership.sum(axis=0)
        yield part, membership
