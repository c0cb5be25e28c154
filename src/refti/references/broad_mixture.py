"""Broad mixtures: two Gaussians a mode, the second of them wide, for modes with long flanks.

A mode at the bound of a parameter has an exponential flank where a Gaussian has none. Chains that
get there stay for long, and no leap brings others: whether a short run has met it is luck, and so
is what a pilot knows of it. So these are not fitted to chains. Independent draws of the mixture
itself, weighed by the density over it, tell what each Gaussian is to be, and the wide ones among
them reach the flanks (population Monte Carlo; Cappé, Douc, Guillin, Marin and Robert 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from refti.models.model import ValueAndGradient
from refti.references.clusters import log_normals
from refti.references.family import FitInputs
from refti.references.level import match_level
from refti.references.mixture import Mixture, fit_mixture, mixture
from refti.tuning import tuned


@dataclass(frozen=True)
class BroadMixtureTuning:
    """Numbers of the fit of a mixture with a wide Gaussian for each mode."""

    wider: float = tuned(3.0, "times as wide as a mode's curvature, where its second one begins")
    wide_share: float = tuned(
        0.3, "of a mode's draws that are made of the second one to begin with"
    )
    least_wide_share: float = tuned(0.02, "of a mode that the second one has, whatever was found")
    draws_a_mode: int = tuned(100, "for each turn, of the mixture as it is then …")
    draws: tuple[int, int] = tuned((1000, 4000), "… and fewest and most of them in all")
    turns: int = tuned(2, "in which its own weighted draws say what it is to be")
    rounds: int = tuned(5, "of expectation and maximisation in each")
    prior_draws: float = tuned(5.0, "that the Gaussians by the curvature count for in the fit")


TUNING = BroadMixtureTuning()


class Parts(NamedTuple):
    """Gaussians: log weights[k], means[k, dim] and lower Cholesky factors[k, dim, dim]."""

    log_weights: np.ndarray
    means: np.ndarray
    factors: np.ndarray


def fit(inputs: FitInputs) -> Mixture:
    """The mixture of two Gaussians about each mode, as its own weighted draws have it."""
    rng = np.random.default_rng(inputs.seed)
    first = parts = two_a_mode(*_modes(inputs))
    for _ in range(TUNING.turns):
        parts = learn(parts, first, inputs.evaluate, rng)
    return match_level(mixture(*parts, 0.0), inputs)


def two_a_mode(peaks: np.ndarray, factors: np.ndarray, log_masses: np.ndarray) -> Parts:
    """The Gaussians by the curvature at modes x[mode, dim], and as many wider ones after them."""
    log_shares = np.log([1 - TUNING.wide_share, TUNING.wide_share])
    return Parts(
        log_softmax(np.concatenate([log_masses + log_share for log_share in log_shares])),
        np.concatenate([peaks, peaks]),
        np.concatenate([factors, TUNING.wider * factors]),
    )


def learn(
    parts: Parts, first: Parts, evaluate: ValueAndGradient, rng: np.random.Generator
) -> Parts:
    """The Gaussians after draws of them, weighed by the density, were looked at.

    What they were at first counts as a few of these.
    """
    count = np.clip(TUNING.draws_a_mode * len(parts.means) // 2, *TUNING.draws)
    x = draw(parts, count, rng)
    heights, _ = evaluate(x)
    logs = heights - logsumexp(log_normals(x, *parts[1:]) + parts.log_weights, axis=1)
    inside = np.isfinite(logs)
    if not inside.any():
        return parts
    x, weights = x[inside], bounded(softmax(logs[inside]))
    effective = 1 / np.sum(weights**2)
    for _ in range(TUNING.rounds):
        joint = log_normals(x, *parts[1:]) + parts.log_weights
        members = effective * weights * softmax(joint, axis=1).T
        parts = _maximise(members, x, first)
    return parts


def _maximise(members: np.ndarray, x: np.ndarray, first: Parts) -> Parts:
    """The Gaussians of points x[n, dim], of which each has a part members[k, n]."""
    sizes, prior = members.sum(axis=1), TUNING.prior_draws
    totals = (prior + sizes)[:, None]
    means = (prior * first.means + members @ x) / totals
    off, back = x - means[:, None], first.means - means
    known = first.factors @ first.factors.transpose(0, 2, 1) + np.einsum("ki,kj->kij", back, back)
    scatter = np.einsum("kn,kni,knj->kij", members, off, off)
    factors = np.linalg.cholesky((prior * known + scatter) / totals[:, :, None])
    # A mode of which no draw was met has a weight all the same, and its wide one a share of it.
    least = np.exp(first.log_weights) + sizes
    narrow, wide = np.split(least, 2)
    share = TUNING.least_wide_share / (1 - TUNING.least_wide_share)
    wide = np.maximum(wide, share * narrow)
    return Parts(log_softmax(np.log(np.concatenate([narrow, wide]))), means, factors)


def draw(parts: Parts, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points x[n, dim] of the mixture."""
    which = rng.choice(len(parts.means), size=count, p=np.exp(log_softmax(parts.log_weights)))
    normal = rng.normal(size=(count, parts.means.shape[1]))
    return parts.means[which] + np.einsum("nij,nj->ni", parts.factors[which], normal)


def bounded(weights: np.ndarray) -> np.ndarray:
    """The weights, none of which may count for more than the root of their number (Ionides)."""
    bounded = np.minimum(weights, 1 / np.sqrt(len(weights)))
    return bounded / bounded.sum()


def _modes(inputs: FitInputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places x[mode, dim] of modes, the factors of the covariances there, and their log masses.

    Where the curvature is not known, or chains sit on no modes of their own, they are of the draws
    about the modes, or of the draws' clusters.
    """
    if inputs.peaks is None or inputs.peak_factors is None or inputs.peak_masses is None:
        found = fit_mixture(inputs.draws, inputs.peaks)
        return np.asarray(found.means), np.asarray(found.factors), np.asarray(found.log_weights)
    return inputs.peaks, inputs.peak_factors, inputs.peak_masses
