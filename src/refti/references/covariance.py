"""Covariance references: the Gaussian of the draws' moments, with or without correlations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from refti.models.model import ValueAndGradient
from refti.references.family import FitInputs
from refti.references.gaussian import Gaussian, gaussian
from refti.references.level import height_at
from refti.references.shrinkage import require_covariance, shrunk_factor


def fit(inputs: FitInputs) -> Gaussian:
    """The Gaussian of the draws' mean and shrunk covariance."""
    return sampled_covariance(inputs.draws, inputs.evaluate, bases=inputs.bases)


def fit_diagonal(inputs: FitInputs) -> Gaussian:
    """The Gaussian of the draws' means and variances."""
    return sampled_covariance(inputs.draws, inputs.evaluate, diagonal=True)


def sampled_covariance(
    draws: np.ndarray,
    evaluate: ValueAndGradient,
    *,
    diagonal: bool = False,
    bases: Sequence[np.ndarray | None] = (),
) -> Gaussian:
    """The Gaussian of the draws' mean and covariance (paper, section 2.2).

    With few draws for the dimension the covariance is shrunk; `bases` are factors that may be
    close to it.
    """
    require_covariance(draws)
    if diagonal:
        mean = draws.mean(axis=0)
        return gaussian(mean, draws.std(axis=0), height_at(evaluate, mean))
    mean, factor = shrunk_factor(draws, *bases)
    return gaussian(mean, factor, height_at(evaluate, mean))
