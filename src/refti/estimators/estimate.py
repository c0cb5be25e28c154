"""Estimate: a log ratio of evidences with its error, and the one way that errors are made.

Every estimator is linearised into one influence series a rung, `s[rung, chain, draw]`, such that
its deviation from the truth is the sum over rungs of `mean(s[rung]) - E[s[rung]]`. Rungs sampled
apart add their variances, each with the autocorrelation of that very series. Rungs that exchange
positions depend on each other, which shows in the autocorrelation of the series summed over rungs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refti.draws import autocorrelation


@dataclass(frozen=True)
class Estimate:
    """An estimate of `log z_end - log z_start`, in nats.

    Attributes:
        value: The estimate.
        monte_carlo_error: The standard error that comes of a finite number of draws.
        quadrature_error: The size of the error that comes of a finite number of rungs.
    """

    value: float
    monte_carlo_error: float
    quadrature_error: float = 0.0

    @property
    def error(self) -> float:
        """Both errors together, in quadrature."""
        return math.hypot(self.monte_carlo_error, self.quadrature_error)


def add(estimates: Iterable[Estimate]) -> Estimate:
    """Returns the estimate of a chain of legs: values add, errors of a kind add in quadrature."""
    legs = list(estimates)
    return Estimate(
        value=math.fsum(leg.value for leg in legs),
        monte_carlo_error=math.hypot(*(leg.monte_carlo_error for leg in legs)),
        quadrature_error=math.hypot(*(leg.quadrature_error for leg in legs)),
    )


def monte_carlo_error(influence: NDArray[np.float64]) -> float:
    """Returns the standard error of `sum over rungs of mean(influence[rung])`.

    It is the larger of two: as if rungs were independent, and of the sum of what all rungs drew at
    one time.

    Args:
        influence: `[rung, chain, draw]`; a rung that plays no part is constant.
    """
    apart = math.hypot(*np.atleast_1d(autocorrelation.standard_error(influence)))
    together = float(autocorrelation.standard_error(influence.sum(axis=0)))
    return max(apart, together)
