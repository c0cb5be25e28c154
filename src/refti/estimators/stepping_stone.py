"""Stepping stone: one importance-sampling estimate a pair of rungs, multiplied along the ladder."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import special

from refti.draws.draws import Draws
from refti.errors import SettingsError
from refti.estimators.estimate import Estimate, monte_carlo_error


def stepping_stone(
    draws: Draws, *, direction: Literal["forward", "reverse"] = "forward"
) -> Estimate:
    """Returns the stepping-stone estimate of the log ratio (Xie et al. 2011).

    Forward is `sum_k log mean_k exp((lam_{k+1} - lam_k) delta)`, from the draws of the lower rung
    of each pair; reverse is `-sum_k log mean_{k+1} exp(-(lam_{k+1} - lam_k) delta)`, from those of
    the upper one. Their disagreement is a sign of rungs that are too far apart, and there the
    error, which sees only the draws that were made, is too small.
    """
    if direction not in ("forward", "reverse"):
        raise SettingsError(f'Direction must be "forward" or "reverse"; got {direction!r}.')
    forward = direction == "forward"
    sign = 1.0 if forward else -1.0
    used = slice(None, -1) if forward else slice(1, None)
    exponent = sign * np.diff(draws.lambdas)[:, None, None] * draws.delta[used]
    stones = special.logsumexp(exponent, axis=(1, 2)) - np.log(draws.chains * draws.draws)
    influence = np.zeros_like(draws.delta)
    influence[used] = np.exp(exponent - stones[:, None, None])
    return Estimate(float(sign * stones.sum()), monte_carlo_error(influence))
