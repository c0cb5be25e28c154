"""MBAR: the evidence at every rung from all draws at once, without quadrature.

Shirts and Chodera (2008), with each rung weighing as many draws as it is effectively worth. The
density of the start cancels, so rung k weighs a draw by `exp(lam_k * delta - log z_k)`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from refti.draws.draws import Draws
from refti.errors import SettingsError
from refti.estimators.estimate import Estimate, monte_carlo_error
from refti.estimators.mbar_equations import Equations, memberships, newton_step, solve
from refti.estimators.tuning import TUNING


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
    level, solution = solve(draws, counts)
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
    level, solution = solve(draws, _counts(draws, weights))
    return solution.log_z - solution.log_z[0] + level * draws.lambdas


def influence(draws: Draws) -> NDArray[np.float64]:
    """Returns how much each draw moves the MBAR estimate, `[rung, chain, draw]`, up to constants.

    The estimate's error is that of the sum over rungs of this series' means.
    """
    counts = _counts(draws, None)
    return _influence(draws, counts, *solve(draws, counts))[0]


def _counts(draws: Draws, weights: ArrayLike | None) -> NDArray[np.float64]:
    if weights is None:
        return np.clip(draws.effective_sample_size(), 1.0, draws.chains * draws.draws)
    counts = np.asarray(weights, dtype=np.float64)
    if counts.shape != (draws.rungs,) or not (np.isfinite(counts) & (counts > 0)).all():
        raise SettingsError(
            f"Weights must be {draws.rungs} positive numbers, one a rung; got {weights!r}."
        )
    return counts


def _influence(
    draws: Draws, counts: NDArray[np.float64], level: float, solution: Equations
) -> tuple[NDArray[np.float64], float]:
    """Returns the influence series and the variance that the information implies."""
    shares, vectors = np.linalg.eigh(solution.jacobian)
    if shares[1] <= TUNING.disconnected:
        return np.zeros_like(draws.delta), math.inf
    contrast = _last_less_first(draws)
    roots = np.sqrt(counts)
    slope = vectors[:, 1:] @ ((vectors[:, 1:].T @ (contrast / roots)) / shares[1:]) / roots
    series = np.empty(draws.delta.size)
    delta = draws.delta.ravel() - level
    for part, membership in memberships(draws.lambdas, delta, counts, solution.log_z):
        series[part] = slope @ membership
    information = float(contrast @ slope - 1 / counts[0] - 1 / counts[-1])
    return series.reshape(draws.delta.shape) * counts[:, None, None], information


def _last_less_first(draws: Draws) -> NDArray[np.float64]:
    contrast = np.zeros(draws.rungs)
    contrast[[0, -1]] = -1.0, 1.0
    return contrast


def _error(draws: Draws, counts: NDArray[np.float64], level: float, solution: Equations) -> float:
    series, information = _influence(draws, counts, level, solution)
    if not math.isfinite(information):
        return math.inf
    sandwich = monte_carlo_error(series)
    independent = 1 / counts[0] + 1 / counts[-1]
    believed = TUNING.information_over_sandwich * sandwich**2
    if information > max(believed, TUNING.rounding * independent):
        sandwich = math.sqrt(information)
    # Whatever Newton's method would still have moved is not known either.
    return math.hypot(sandwich, _last_less_first(draws) @ newton_step(solution, counts))
