"""How far the prior reaches beyond the chains: exact draws of it, weighted by the likelihood.

Chains that do not get into a part of a hierarchy, such as where a scale is large and all that it
scales spreads out with it, look well mixed, and lines along one coordinate do not lead there
either. A language that can draw from the prior gets there without any chain. That tells something
where the data say little, so that a fair share of those draws lies in the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refti.checks.tuning import TUNING
from refti.draws import autocorrelation
from refti.models.model import Model
from refti.sampling.metering import Meter


@dataclass(frozen=True)
class PriorReach:
    """What chains lack beyond their own draws of one coordinate.

    Attributes:
        share: of the mass, that exact draws have beyond the chains' more than these have there.
        error: its standard error.
        coordinate: the name of the coordinate in which it is largest, in errors.
    """

    share: float
    error: float
    coordinate: str


def find_prior_reach(
    model: Model, points: np.ndarray, log_z: float, seed: int, meter: Meter
) -> PriorReach | None:
    """What draws[chain, draw, dim] lack; None where prior draws cannot tell.

    Raises OutOfBudgetError if the budget has no room for it.
    """
    if model.prior_draws is None or not model.prior_parts:
        return None
    flat = points.reshape(-1, points.shape[2])
    some = flat[np.linspace(0, len(flat) - 1, TUNING.information_draws).astype(int)]
    if np.mean(_log_likelihoods(model, some, meter)) - log_z > TUNING.most_information:
        return None
    drawn = model.prior_draws(TUNING.prior_draws, seed)
    weights = _weights(_log_likelihoods(model, drawn, meter))
    size = 1 / np.sum(weights**2) if weights.any() else 0.0
    if size < TUNING.fewest_prior_draws or np.isnan(drawn).any():
        return None
    found = [
        _beyond(points[:, :, axis], drawn[:, axis], weights, size) for axis in range(model.dim)
    ]
    worst = max(range(model.dim), key=lambda axis: found[axis][0] / found[axis][1])
    return PriorReach(*found[worst], str(model.space.coordinates[worst]))


def _log_likelihoods(model: Model, x: np.ndarray, meter: Meter) -> np.ndarray:
    """The log likelihood at x[n, dim]; 0 for a prior alone, -inf where it has none."""
    if model.prior is None:
        return np.zeros(len(x))
    meter.reserve(2 * len(x))
    with np.errstate(invalid="ignore"):
        found = model.log_densities(x) - model.prior_alone().log_densities(x)
    return np.where(np.isnan(found), -np.inf, found)


def _weights(log_likelihoods: np.ndarray) -> np.ndarray:
    """Weights that sum to one; all zero where no draw has any."""
    top = log_likelihoods.max()
    if not np.isfinite(top):
        return np.zeros(len(log_likelihoods))
    weights = np.exp(log_likelihoods - top)
    return weights / weights.sum()


def _beyond(
    chains: np.ndarray, exact: np.ndarray, weights: np.ndarray, size: float
) -> tuple[float, float]:
    """The share of exact draws beyond the last of chains[chain, draw], less theirs; its error."""
    low, high = np.quantile(chains, [TUNING.reach_tail, 1 - TUNING.reach_tail])
    outside = ((chains < low) | (chains > high)).astype(float)
    effective = max(float(autocorrelation.effective_sample_size(outside)), 1.0)
    share = float(weights @ ((exact < low) | (exact > high)))
    counted = float(outside.mean())
    spread = max(share * (1 - share), TUNING.reach_tail)
    return share - counted, float(np.hypot(np.sqrt(counted / effective), np.sqrt(spread / size)))
