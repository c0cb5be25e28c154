"""MBAR: the evidence at every rung from all draws at once, without quadrature.

Shirts and Chodera (2008), with each rung weighing as many draws as it is effectively worth. The
density of the start cancels, so rung k weighs a draw by `exp(lam_k * delta - log z_k)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from refti.draws.draws import Draws
from refti.errors import SettingsError
from refti.estimators.estimate import Estimate, monte_carlo_error

NEWTON_STEPS = 30
STEP_TOLERANCE = 1e-10
ROUNDING = 1e-8
# Below this share the links between two parts of the ladder are rounding, not draws.
DISCONNECTED = 1e-12
CHUNK_BYTES = 2**20


def mbar(draws: Draws, *, weights: ArrayLike | None = None) -> Estimate:
    """Returns the MBAR estimate of the log ratio.

    The error is the sandwich: the deviation of `log z` at the last rung, linear in the membership
    probabilities of every draw, with the autocorrelation of that combination. Where rungs barely
    overlap, the few draws that carry the link seem to agree only because the others were never
    made. The inverse of the information, which does not need to have seen them, is then far
    larger, and is taken once its variance is twice that of the sandwich. (It is not taken always:
    it knows the autocorrelation of delta only, not that of the memberships.) A ladder in two
    parts has infinite error.

    Args:
        draws: The draws of one leg.
        weights: `[rung]`, the number of independent draws that each rung counts as; by default
            the effective sample size of delta, at most the number of draws.
    """
    counts = _counts(draws, weights)
    level, solution = _solve(draws, counts)
    last = solution.log_z[-1] - solution.log_z[0]
    return Estimate(float(level + last), _error(draws, counts, level, solution))


def bridge(draws: Draws, *, weights: ArrayLike | None = None) -> Estimate:
    """Returns the bridge-sampling estimate of the log ratio: MBAR of the first and last rung only.

    Args:
        draws: The draws of one leg; rungs between the first and the last are not used.
        weights: `[2]`, as for `mbar`.
    """
    return mbar(Draws(draws.lambdas[[0, -1]], draws.delta[[0, -1]]), weights=weights)


def log_z_rungs(draws: Draws, *, weights: ArrayLike | None = None) -> NDArray[np.float64]:
    """Returns `log z - log z_start` at every rung, by MBAR; the arguments are those of `mbar`."""
    level, solution = _solve(draws, _counts(draws, weights))
    return solution.log_z - solution.log_z[0] + level * draws.lambdas


@dataclass(frozen=True, eq=False)
class _State:
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


def _counts(draws: Draws, weights: ArrayLike | None) -> NDArray[np.float64]:
    if weights is None:
        return np.clip(draws.effective_sample_size(), 1.0, draws.chains * draws.draws)
    counts = np.asarray(weights, dtype=np.float64)
    if counts.shape != (draws.rungs,) or not (np.isfinite(counts) & (counts > 0)).all():
        raise SettingsError(
            f"Weights must be {draws.rungs} positive numbers, one a rung; got {weights!r}."
        )
    return counts


def _solve(draws: Draws, counts: NDArray[np.float64]) -> tuple[float, _State]:
    """Returns the level taken out of delta and the solution for delta without it.

    Newton's method from the chain of neighbouring bridges, which is already as near as the draws'
    noise. A step that does not halve the distance gives way to the self-consistent iteration,
    which always goes down the convex objective; near the solution it is the end of precision.
    """
    level = float(draws.delta.mean())
    delta = draws.delta.ravel() - level
    start = np.append(0.0, np.cumsum(draws.bridges())) - level * draws.lambdas
    state = _evaluate(draws.lambdas, delta, counts, start)
    for _ in range(NEWTON_STEPS):
        step = _newton_step(state, counts)
        if np.abs(step).max() <= STEP_TOLERANCE:
            break
        trial = _evaluate(draws.lambdas, delta, counts, state.log_z + step)
        if not trial.distance <= 0.5 * state.distance:
            if state.distance <= ROUNDING:
                break
            trial = _evaluate(draws.lambdas, delta, counts, state.log_z + state.surplus)
        state = trial
    return level, state


def influence(draws: Draws) -> NDArray[np.float64]:
    """Returns how much each draw moves the MBAR estimate, `[rung, chain, draw]`, up to constants.

    The estimate's error is that of the sum over rungs of this series' means.
    """
    counts = _counts(draws, None)
    return _influence(draws, counts, *_solve(draws, counts))[0]


def _influence(
    draws: Draws, counts: NDArray[np.float64], level: float, solution: _State
) -> tuple[NDArray[np.float64], float]:
    """Returns the influence series and the variance that the information implies."""
    shares, vectors = np.linalg.eigh(solution.jacobian)
    if shares[1] <= DISCONNECTED:
        return np.zeros_like(draws.delta), math.inf
    contrast = _contrast(draws)
    roots = np.sqrt(counts)
    slope = vectors[:, 1:] @ ((vectors[:, 1:].T @ (contrast / roots)) / shares[1:]) / roots
    series = np.empty(draws.delta.size)
    delta = draws.delta.ravel() - level
    for part, membership in _memberships(draws.lambdas, delta, counts, solution.log_z):
        series[part] = slope @ membership
    information = float(contrast @ slope - 1 / counts[0] - 1 / counts[-1])
    return series.reshape(draws.delta.shape) * counts[:, None, None], information


def _contrast(draws: Draws) -> NDArray[np.float64]:
    contrast = np.zeros(draws.rungs)
    contrast[[0, -1]] = -1.0, 1.0
    return contrast


def _error(draws: Draws, counts: NDArray[np.float64], level: float, solution: _State) -> float:
    series, information = _influence(draws, counts, level, solution)
    if not math.isfinite(information):
        return math.inf
    sandwich = monte_carlo_error(series)
    independent = 1 / counts[0] + 1 / counts[-1]
    if information > max(2 * sandwich**2, ROUNDING * independent):
        sandwich = math.sqrt(information)
    # Whatever Newton's method would still have moved is not known either.
    return math.hypot(sandwich, _contrast(draws) @ _newton_step(solution, counts))


def _evaluate(
    lambdas: NDArray[np.float64],
    delta: NDArray[np.float64],
    counts: NDArray[np.float64],
    log_z: NDArray[np.float64],
) -> _State:
    weight = np.repeat(counts * len(counts) / delta.size, delta.size // len(counts))
    total, links = np.zeros(len(counts)), np.zeros((len(counts), len(counts)))
    for part, membership in _memberships(lambdas, delta, counts, log_z):
        weighted = membership * weight[part]
        total += weighted.sum(axis=1)
        links += weighted @ membership.T
    # As a Laplacian, from the links alone: the diagonal by subtraction would lose weak ones.
    np.fill_diagonal(links, 0.0)
    jacobian = np.diag(links.sum(axis=1)) - links
    roots = np.sqrt(counts)
    return _State(
        log_z=log_z - log_z[0],
        surplus=np.log(np.maximum(total, np.finfo(np.float64).tiny) / counts),
        residual=(total - counts) / roots / math.sqrt(counts.sum()),
        jacobian=jacobian / np.outer(roots, roots),
    )


def _newton_step(state: _State, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the step to the root of the linearised equations, none where there is no link."""
    shares, vectors = np.linalg.eigh(state.jacobian)
    inverse = np.where(shares > DISCONNECTED, 1 / np.maximum(shares, DISCONNECTED), 0.0)
    scale = np.sqrt(counts.sum() / counts)
    step = scale * (vectors @ (inverse * (vectors.T @ state.residual)))
    return step - step[0]


def _memberships(
    lambdas: NDArray[np.float64],
    delta: NDArray[np.float64],
    counts: NDArray[np.float64],
    log_z: NDArray[np.float64],
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yields the probability that a draw belongs to each rung, `[rung, draw]`, in chunks."""
    offset = (np.log(counts) - log_z)[:, None]
    size = max(1, CHUNK_BYTES // (8 * len(lambdas)))
    for begin in range(0, delta.size, size):
        part = slice(begin, min(begin + size, delta.size))
        membership = lambdas[:, None] * delta[part] + offset
        membership -= membership.max(axis=0)
        np.exp(membership, out=membership)
        membership /= membership.sum(axis=0)
        yield part, membership
