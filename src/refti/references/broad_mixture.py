"""Broad mixtures: two Gaussians a mode, the second of them wide, for modes with long flanks.

A mode at the bound of a parameter has an exponential flank where a Gaussian has none. Chains that
get there stay for long, and no leap brings others: whether a short run has met it is luck. The
second Gaussian of each mode reaches there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from refti.errors import ReferenceFitError
from refti.references.clusters import label_by_nearest, log_normals
from refti.references.family import FitInputs
from refti.references.laplace import expand_at_mode
from refti.references.level import match_level
from refti.references.mixture import Mixture, mixture
from refti.tuning import tuned


@dataclass(frozen=True)
class BroadMixtureTuning:
    """Numbers of the fit of a mixture with a wide component for each mode."""

    wider: float = tuned(3.0, "times as wide as a mode's curvature, where its second one begins")
    wide_share: float = tuned(0.1, "of a mode that the second one has before any draw is seen …")
    prior_draws: float = tuned(10.0, "… and the draws that this and its width count as")
    rounds: int = tuned(20, "of expectation and maximisation")


TUNING = BroadMixtureTuning()


def fit(inputs: FitInputs) -> Mixture:
    """The mixture of two Gaussians about each mode, weighed by the mass that each mode holds.

    Raises ReferenceFitError if a curvature is not known.
    """
    peaks, factors, masses = _modes(inputs)
    heights, _ = inputs.evaluate(inputs.draws)
    labels = label_by_nearest(inputs.draws, peaks)
    parts = []
    for k, (peak, factor) in enumerate(zip(peaks, factors, strict=True)):
        own = (labels == k) & np.isfinite(heights)
        log_shares, means, wide = fit_mode(inputs.draws[own], peak, factor)
        mass = masses[k]
        if own.any():
            each = log_normals(inputs.draws[own], means, wide) + log_shares
            mass = np.mean(heights[own] - np.logaddexp(*each.T))
        parts.append((log_shares + mass, means, wide))
    log_weights, means, wide = (np.concatenate(part) for part in zip(*parts, strict=True))
    return match_level(mixture(log_weights, means, wide, 0.0), inputs)


def _modes(inputs: FitInputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The modes x[mode, dim], the factors of the covariances about them, and their log masses."""
    if inputs.peaks is None:
        only = expand_at_mode(inputs.mode)
        return np.asarray(only.mean)[None], np.asarray(only.factor)[None], np.zeros(1)
    if inputs.peak_factors is None or inputs.peak_masses is None:
        raise ReferenceFitError(
            "A broad mixture needs a negative definite Hessian at every mode; got "
            f"{len(inputs.peaks)} modes, not all of which have one. Use reference='mixture'."
        )
    return inputs.peaks, inputs.peak_factors, inputs.peak_masses


def fit_mode(
    draws: np.ndarray, peak: np.ndarray, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log shares[2], means[2, dim] and factors[2, dim, dim] of a mode's two Gaussians.

    What is known before the draws counts as some of them: a Gaussian of the curvature, and a wider
    one of a small share.
    """
    known = np.array([1.0, TUNING.wider**2])[:, None, None] * (factor @ factor.T)
    prior = TUNING.prior_draws * np.array([1 - TUNING.wide_share, TUNING.wide_share])
    counts, means, factors = prior, np.stack([peak, peak]), np.linalg.cholesky(known)
    for _ in range(TUNING.rounds):
        logs = log_normals(draws, means, factors) + np.log(counts / counts.sum())
        members = softmax(logs, axis=1).T
        counts = prior + members.sum(axis=1)
        weights = TUNING.prior_draws + members.sum(axis=1)
        means = (TUNING.prior_draws * peak + members @ draws) / weights[:, None]
        off, back = draws - means[:, None], peak - means
        scatter = np.einsum("kn,kni,knj->kij", members, off, off)
        pulled = TUNING.prior_draws * (known + np.einsum("ki,kj->kij", back, back))
        factors = np.linalg.cholesky((pulled + scatter) / weights[:, None, None])
    return np.log(counts / counts.sum()), means, factors
