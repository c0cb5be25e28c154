"""Variational references: the Gaussian with the highest bound on log z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from refti.errors import ReferenceFitError
from refti.models.model import ValueAndGradient
from refti.references import covariance
from refti.references.family import FitInputs
from refti.references.gaussian import Gaussian, gaussian
from refti.references.level import height_at
from refti.tuning import tuned


@dataclass(frozen=True)
class VariationalTuning:
    """Numbers of the climb to the highest bound."""

    least_draws: int = tuned(128, "standard normal draws that the bound is an average over")
    draws_a_dimension: int = tuned(4, "with fewer of them some direction would escape them all")
    iterations: int = tuned(200, "of L-BFGS, by when the bound has long ceased to rise")
    memory: int = tuned(20, "steps that L-BFGS remembers; more than usual, for they are cheap here")


TUNING = VariationalTuning()


def fit(inputs: FitInputs) -> Gaussian:
    """The Gaussian of the highest bound, climbed to from the sampled covariance."""
    return variational(covariance.fit(inputs), inputs.evaluate, seed=inputs.seed)


def fit_diagonal(inputs: FitInputs) -> Gaussian:
    """The same among Gaussians of independent coordinates."""
    start = covariance.fit_diagonal(inputs)
    return variational(start, inputs.evaluate, diagonal=True, seed=inputs.seed)


def variational(
    start: Gaussian, evaluate: ValueAndGradient, *, diagonal: bool = False, seed: int = 0
) -> Gaussian:
    """The Gaussian that maximises log z_ref + E_ref[log q / q_ref] (paper, section 2.3).

    The expectation is over one fixed set of standard normal draws, in coordinates whitened by the
    start, and L-BFGS climbs the resulting smooth function. With too few draws for the dimension
    some direction would escape them, hence their number.
    """
    dim = len(start.mean)
    noise = np.random.default_rng(seed).normal(
        size=(max(TUNING.least_draws, TUNING.draws_a_dimension * dim), dim)
    )
    noise = np.concatenate([noise, -noise])
    if not diagonal:
        # Exactly white draws: otherwise their sampled covariance would be mistaken for the fit's.
        noise = noise @ np.linalg.inv(np.linalg.cholesky(noise.T @ noise / len(noise))).T
    else:
        noise = noise / noise.std(axis=0)
    origin = np.asarray(start.mean)
    outer = np.asarray(start.factor)
    outer = np.diag(outer) if outer.ndim == 1 else outer
    rows, columns = np.diag_indices(dim) if diagonal else np.tril_indices(dim)
    on_diagonal = rows == columns

    def unpack(free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inner = np.zeros((dim, dim))
        inner[rows, columns] = np.where(on_diagonal, np.exp(free[dim:]), free[dim:])
        return free[:dim], inner

    def negative_bound(free: np.ndarray) -> tuple[float, np.ndarray]:
        shift, inner = unpack(free)
        values, gradients = evaluate(origin + (shift + noise @ inner.T) @ outer.T)
        if not np.all(np.isfinite(values)):
            return np.inf, np.zeros_like(free)
        gradients = gradients @ outer
        slope = (gradients.T @ noise / len(noise))[rows, columns]
        slope = np.where(on_diagonal, slope * np.exp(free[dim:]) + 1.0, slope)
        bound = values.mean() + free[dim:][on_diagonal].sum()
        return -bound, -np.concatenate([gradients.mean(axis=0), slope])

    free = np.zeros(dim + len(rows))
    if not np.isfinite(negative_bound(free)[0]):
        raise ReferenceFitError(
            "The variational reference maximises an expectation over the whole of a Gaussian, and "
            "the density is zero on a part of it. Declare the bound as a support, such as "
            "refti.positive(), or use reference='covariance'."
        )
    options = {"maxiter": TUNING.iterations, "maxcor": TUNING.memory}
    found = optimize.minimize(negative_bound, free, jac=True, method="L-BFGS-B", options=options)
    shift, inner = unpack(found.x)
    mean, factor = origin + outer @ shift, outer @ inner
    if diagonal:
        return gaussian(mean, np.diag(factor), height_at(evaluate, mean))
    return gaussian(mean, factor, height_at(evaluate, mean))
