"""Thermodynamic integration: quadrature of `E_lam[delta]` over the rungs of a ladder.

Every rule is linear in the mean and the variance of delta at the rungs, so a rule is two rows of
weights, and so is the difference between two rules, from which the quadrature error is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from refti.draws.autocorrelation import standard_error
from refti.draws.draws import Draws
from refti.errors import SettingsError
from refti.estimators.estimate import Estimate, monte_carlo_error
from refti.estimators.tuning import TUNING


def thermodynamic_integration(
    draws: Draws, *, rule: Literal["spline", "trapezoid", "corrected"] = "spline"
) -> Estimate:
    """Returns the integral of `E_lam[delta]` over lambda from 0 to 1.

    The quadrature error is the root of the sum of three squares:

    - The difference to a rule that errs in another way: trapezoid and spline are set against the
      corrected rule held within bounds, and the corrected rule against the spline. The bounds:
      `E_lam[delta]` never falls, because its slope is the variance of delta, so on every interval
      the left and the right rectangle enclose the integral.
    - What the corrected rule itself still changes from every other rung to all of them, a
      fifteenth of it, since its error is of the fourth order in the step.
    - A rise between two rungs that the variances at the rungs do not show: `_hidden_rise`.

    The draws' noise is left in the differences: what the draws cannot resolve is not known.

    Args:
        draws: The draws of one leg.
        rule: `spline` integrates the not-a-knot cubic spline through the means, a line on two
            rungs and a parabola on three; `trapezoid` joins them by lines; `corrected` adds
            `-h^2/12 (V_{k+1} - V_k)` to each trapezoid (Friel, Hurn and Wyse 2014), which is the
            integral of the cubic that has the mean and its slope, the variance, at both ends.
    """
    lambdas, within_bounds = draws.lambdas, _corrected_within_bounds(draws)
    if rule == "spline":
        chosen, other = _spline(lambdas), within_bounds
    elif rule == "trapezoid":
        chosen, other = _trapezoid(lambdas), within_bounds
    elif rule == "corrected":
        chosen, other = _corrected(lambdas), _spline(lambdas)
    else:
        raise SettingsError(f'Rule must be "spline", "trapezoid" or "corrected"; got {rule!r}.')
    value = chosen.integral(draws)
    coarser = _every_other_rung(draws)
    refinement = within_bounds.integral(draws) - _corrected_within_bounds(coarser).integral(coarser)
    return Estimate(
        value=value,
        monte_carlo_error=monte_carlo_error(chosen.influence(draws)),
        quadrature_error=math.hypot(
            value - other.integral(draws), refinement / 15, _hidden_rise(draws)
        ),
    )


@dataclass(frozen=True, eq=False)
class _Rule:
    """A quadrature rule: what the mean and the variance at each rung are multiplied with."""

    of_mean: NDArray[np.float64]
    of_variance: NDArray[np.float64]

    def integral(self, draws: Draws) -> float:
        # All rules give a constant its own value; taking it out first keeps a large one exact.
        level = float(draws.delta.mean())
        change = self.of_mean @ (draws.mean() - level) + self.of_variance @ draws.variance()
        return level + float(change)

    def influence(self, draws: Draws) -> NDArray[np.float64]:
        centred = draws.delta - draws.mean()[:, None, None]
        weights, curvature = self.of_mean[:, None, None], self.of_variance[:, None, None]
        return weights * centred + curvature * centred**2


def _spline(lambdas: NDArray[np.float64]) -> _Rule:
    if len(lambdas) == 2:
        return _trapezoid(lambdas)
    from scipy.interpolate import CubicSpline  # a tenth of a second, which two rungs can do without

    # The spline is linear in its data: integrating the spline of each unit vector is its weight.
    weights = CubicSpline(lambdas, np.eye(len(lambdas))).integrate(0.0, 1.0)
    return _Rule(weights, np.zeros_like(lambdas))


def _trapezoid(lambdas: NDArray[np.float64]) -> _Rule:
    half_steps = 0.5 * np.diff(lambdas)
    return _Rule(_at_ends(half_steps, half_steps), np.zeros_like(lambdas))


def _corrected(lambdas: NDArray[np.float64]) -> _Rule:
    twelfths = np.diff(lambdas) ** 2 / 12
    return _Rule(_trapezoid(lambdas).of_mean, _at_ends(twelfths, -twelfths))


def _corrected_within_bounds(draws: Draws) -> _Rule:
    """Returns the corrected rule, with a rectangle where the correction would pass it."""
    half_steps, twelfths = 0.5 * np.diff(draws.lambdas), np.diff(draws.lambdas) ** 2 / 12
    correction = -twelfths * np.diff(draws.variance())
    # Noise may turn a flat pair of means around; the bound is then as wide as that noise.
    bound = half_steps * np.abs(np.diff(draws.mean()))
    within = np.abs(correction) <= bound
    twelfths = np.where(within, twelfths, 0.0)
    shift = np.where(within, 0.0, np.sign(correction) * half_steps)
    return _Rule(_at_ends(half_steps - shift, half_steps + shift), _at_ends(twelfths, -twelfths))


def _at_ends(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns weights of the rungs from the weights of the two ends of each interval."""
    return np.append(left, 0.0) + np.insert(right, 0, 0.0)


def _every_other_rung(draws: Draws) -> Draws:
    kept = sorted({*range(0, draws.rungs, 2), draws.rungs - 1})
    return Draws(draws.lambdas[kept], draws.delta[kept])


def _hidden_rise(draws: Draws) -> float:
    """Returns the error of not knowing where, between two rungs, an unexplained rise happens.

    The mean rises by the integral of the variance. What it rises beyond `h (V_k + V_{k+1}) / 2`,
    and beyond two standard errors of that difference, happened unseen; a step of this size at any
    place on the interval moves the integral by `h / sqrt(12)` times it. On a smooth path the
    excess is of the third order in h, and a path that is steep at a rung has none.
    """
    steps = np.diff(draws.lambdas)
    centred = draws.delta - draws.mean()[:, None, None]
    mean_noise, variance_noise = standard_error(centred) ** 2, standard_error(centred**2) ** 2
    variance = draws.variance()
    excess = np.diff(draws.mean()) - 0.5 * steps * (variance[1:] + variance[:-1])
    noise = mean_noise[1:] + mean_noise[:-1]
    noise += 0.25 * steps**2 * (variance_noise[1:] + variance_noise[:-1])
    unseen = np.maximum(excess - TUNING.seen_rise * np.sqrt(noise), 0.0)
    return float(np.linalg.norm(steps * unseen) / math.sqrt(12))
