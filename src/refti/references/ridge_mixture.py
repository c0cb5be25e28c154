"""Ridge mixtures: many Gaussians strung along a ridge that winds, up to the ends of it.

On a spiral, a ring or a bent valley chains move slowly, and where it is thinnest not at all, so
their draws may leave out the ends. What they have met is therefore only where a fit begins. Draws
of the mixture itself, weighed by the density, say what each Gaussian is to be and what all of them
hold (population Monte Carlo, as for broad mixtures); and from the Gaussians steps lead on along the
ridge to where the mixture has nothing and the density has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from refti.errors import ReferenceFitError
from refti.models.model import ValueAndGradient
from refti.references.broad_mixture import Parts, bounded, draw
from refti.references.clusters import k_means, log_normals
from refti.references.family import FitInputs
from refti.references.mixture import Mixture, mixture
from refti.references.ridge_growth import grow
from refti.references.shrinkage import require_covariance
from refti.tuning import tuned


@dataclass(frozen=True)
class RidgeMixtureTuning:
    """Numbers of the fit of a mixture along a ridge."""

    draws_a_part: int = tuned(60, "of chains, for each of the Gaussians that a fit begins with …")
    first_parts: int = tuned(32, "… and most of these: a spiral of ten radians has about 60 in all")
    draws_looked_at: int = tuned(4000, "of chains, of which they are found")
    rounds: int = tuned(5, "of expectation and maximisation for each set of draws")
    turns: int = tuned(3, "in which Gaussians are added further on, and all of them learned anew")
    own_draws: int = tuned(3000, "of the mixture itself, weighed by the density, in each")
    wide_share: float = tuned(0.25, "of these that are made of the Gaussians widened …")
    wider: float = tuned(2.5, "… so many times: they meet what is beside the ridge")
    share_beside: float = tuned(0.15, "of the weight that widened ones have in the end")
    prior_draws: float = tuned(2.0, "that what a Gaussian was before counts for in the fit")
    kept_share: float = tuned(
        0.3,
        "of what a Gaussian's weight was that it keeps, whatever was drawn of it: at an end where "
        "chains stand, or came to be stuck, leaps are to lead there and away",
    )


TUNING = RidgeMixtureTuning()


def fit(inputs: FitInputs) -> Mixture:
    """The mixture along the ridge of the draws, at about the density's own level.

    Raises ReferenceFitError where it is so thin that numbers end.
    """
    require_covariance(inputs.draws)
    try:
        return _fit(inputs)
    except np.linalg.LinAlgError as error:
        raise ReferenceFitError(
            f"No Gaussians could be placed along the ridge of the draws ({error}): it is too thin "
            "for floating-point numbers. Use another reference, such as 'mixture'."
        ) from None


def _fit(inputs: FitInputs) -> Mixture:
    rng = np.random.default_rng(inputs.seed)
    picks = np.linspace(0, len(inputs.draws) - 1, TUNING.draws_looked_at).astype(int)
    draws = inputs.draws[np.unique(picks)]
    parts, level = learn(parts_of(draws), inputs.evaluate, rng)
    for _ in range(TUNING.turns):
        parts = grow(parts, level, inputs.evaluate, draws.std(axis=0))
        parts, level = learn(parts, inputs.evaluate, rng)
    return mixture(*with_wide(parts, TUNING.share_beside), level)


def parts_of(draws: np.ndarray) -> Parts:
    """Gaussians of draws[n, dim], about as many for each stretch of the ridge."""
    spread = draws.std(axis=0)
    count = int(np.clip(len(draws) // TUNING.draws_a_part, 1, TUNING.first_parts))
    labels = k_means(draws / spread, count)
    members = np.eye(labels.max() + 1)[:, labels]
    sizes = members.sum(axis=1)
    # Draws that are all the same have no width of their own.
    narrow = np.broadcast_to(np.diag(spread / count), (len(sizes), len(spread), len(spread)))
    parts = Parts(log_softmax(np.log(sizes)), members @ draws / sizes[:, None], narrow)
    each = np.ones(len(draws))
    for _ in range(TUNING.rounds):
        parts = _improved(parts, parts, draws, each)
    return parts


def learn(
    parts: Parts, evaluate: ValueAndGradient, rng: np.random.Generator
) -> tuple[Parts, float]:
    """The Gaussians after draws of them were weighed by the density, and its log integral so."""
    both = with_wide(parts, TUNING.wide_share)
    x = draw(both, TUNING.own_draws, rng)
    heights, _ = evaluate(x)
    logs = heights - log_mixture(both, x)
    inside = np.isfinite(logs)
    if not inside.any():
        return parts, 0.0
    level = float(logsumexp(logs[inside]) - np.log(len(x)))
    x, weights = x[inside], bounded(softmax(logs[inside]))
    weights /= np.sum(weights**2)  # they add up to what the draws are worth
    first = parts
    for _ in range(TUNING.rounds):
        parts = _improved(parts, first, x, weights)
    return parts, level


def with_wide(parts: Parts, share: float) -> Parts:
    """The Gaussians, and the same widened with a share of the weight: they reach into gaps."""
    log_shares = np.log([1 - share, share])
    return Parts(
        np.concatenate([log_softmax(parts.log_weights) + log_share for log_share in log_shares]),
        np.concatenate([parts.means, parts.means]),
        np.concatenate([parts.factors, TUNING.wider * parts.factors]),
    )


def log_mixture(parts: Parts, x: np.ndarray) -> np.ndarray:
    """The log density [n] of the mixture of the parts at points x[n, dim]."""
    logs = log_normals(x, parts.means, parts.factors) + log_softmax(parts.log_weights)
    return np.asarray(logsumexp(logs, axis=1))


def _improved(parts: Parts, first: Parts, x: np.ndarray, weights: np.ndarray) -> Parts:
    """The Gaussians after one round for points x[n, dim]; what they were counts as a few draws."""
    joint = log_normals(x, parts.means, parts.factors) + parts.log_weights
    members = weights * softmax(joint, axis=1).T
    sizes, prior = members.sum(axis=1), TUNING.prior_draws
    totals = (prior + sizes)[:, None]
    means = (prior * first.means + members @ x) / totals
    off, back = x - means[:, None], first.means - means
    known = first.factors @ first.factors.transpose(0, 2, 1) + back[:, :, None] * back[:, None]
    scatter = np.einsum("kn,kni,knj->kij", members, off, off, optimize=True)
    factors = np.linalg.cholesky((prior * known + scatter) / totals[:, :, None])
    kept = TUNING.kept_share * sizes.sum() * softmax(first.log_weights)
    return Parts(log_softmax(np.log(sizes + kept)), means, factors)
