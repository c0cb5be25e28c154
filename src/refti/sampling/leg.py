"""Sampling one leg: exact draws at its start where there are any, chains at the other rungs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

from refti import share as shares
from refti.cost import Meter
from refti.draws import Draws
from refti.errors import SamplingError
from refti.path import Leg
from refti.references import Reference
from refti.sampling.chains import Effort, run_chains
from refti.sampling.evaluation import value_and_gradient, values
from refti.sampling.lanes import exact_draws
from refti.sampling.whitening import same_for_all
from refti.share import Share

ROUNDS_FOR_INSIDE = 64  # times the wanted number of exact draws made to get enough inside


@dataclass(frozen=True)
class LegSample:
    """All that sampling a leg leaves behind."""

    draws: Draws
    share: Share  # of the start density inside the support of the end
    end_share: Share  # of the end density inside the support of the start
    end_points: np.ndarray  # [chain, draw, dim]: draws of the end density
    acceptance: np.ndarray  # [sampled rung]
    divergences: np.ndarray  # [sampled rung]


def sample_leg(
    leg: Leg,
    ladder: np.ndarray,
    pool: np.ndarray,
    effort: Effort,
    key: jax.Array,
    *,
    meter: Meter,
    progress: Callable[[int, int], None],
) -> LegSample:
    """The draws of every rung; chains start at points of pool[n, dim] inside the support."""
    start_key, chains_key, choice_key = (jax.random.fold_in(key, i) for i in range(3))
    exact = isinstance(leg.start, Reference)
    first = draw_start(leg, effort, start_key, meter) if exact else None
    lambdas = ladder[1:] if exact else ladder
    start = _starting_points(leg, pool, (len(lambdas), effort.chains), choice_key, meter)
    location, factor = _moments(pool)
    chains = run_chains(
        leg,
        lambdas,
        start,
        same_for_all(location, factor, len(lambdas)),
        effort,
        chains_key,
        meter=meter,
        progress=progress,
    )
    at_start, share = first if first is not None else _restricted(chains.delta[0])
    at_end, end_share = _restricted(chains.delta[-1])
    between = chains.delta[len(lambdas) - len(ladder) + 1 : -1]
    return LegSample(
        draws=Draws(ladder, np.concatenate([at_start[None], between, at_end[None]])),
        share=share,
        end_share=end_share,
        end_points=chains.x[-1],
        acceptance=chains.acceptance,
        divergences=chains.divergences,
    )


def draw_start(leg: Leg, effort: Effort, key: jax.Array, meter: Meter) -> tuple[np.ndarray, Share]:
    """Delta[chain, draw] at exact draws inside the end's support, and the share inside."""
    wanted = effort.chains * effort.kept
    kept: list[np.ndarray] = []
    share = shares.NONE_YET
    for index in range(ROUNDS_FOR_INSIDE):
        delta, share = count_inside(leg, share, wanted, jax.random.fold_in(key, index), meter)
        kept.append(delta)
        if share.inside >= wanted:
            break
    if share.inside == 0:
        raise SamplingError(
            f"None of {share.drawn} draws of the reference lie where the density is positive "
            "and finite. Use reference='covariance', or check the density's support."
        )
    return _stretched(np.concatenate(kept), wanted).reshape(effort.chains, effort.kept), share


def count_inside(
    leg: Leg, share: Share, count: int, key: jax.Array, meter: Meter
) -> tuple[np.ndarray, Share]:
    """Delta at those of `count` more exact draws that are inside, and the share so far."""
    assert isinstance(leg.start, Reference)
    x = np.asarray(meter.call(exact_draws, leg.start, key, count))
    end, delta = values(leg, x, meter)
    return delta[np.isfinite(delta)], shares.counted(share, x, end)


def _restricted(delta: np.ndarray) -> tuple[np.ndarray, Share]:
    """Delta[chain, draw] of a sampled end with only the draws inside the other, and their share."""
    inside = np.isfinite(delta)
    if not inside.any(axis=1).all():
        raise SamplingError(
            "A chain at one end of the path never entered the support of the other. Check that "
            "the two densities overlap."
        )
    rows = [_stretched(row[keep], len(row)) for row, keep in zip(delta, inside, strict=True)]
    return np.stack(rows), shares.of_chains(inside)


def _stretched(series: np.ndarray, length: int) -> np.ndarray:
    """The series at a given length: cut, or each value repeated about equally often.

    Repeats carry no information, which the autocorrelation of the series then shows.
    """
    if len(series) >= length:
        return series[:length]
    return series[np.arange(length) * len(series) // length]


def _starting_points(
    leg: Leg, pool: np.ndarray, shape: tuple[int, int], key: jax.Array, meter: Meter
) -> np.ndarray:
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    candidates = pool[rng.permutation(len(pool))[: 4 * shape[0] * shape[1]]]
    # Halfway the density lives where both ends do, so a start there is one at every rung.
    inside = candidates[np.isfinite(value_and_gradient(leg, 0.5, *shape, meter)(candidates)[0])]
    if len(inside) == 0:
        raise SamplingError(
            f"None of {len(candidates)} starting points lies inside the support of the path. "
            "Give the model a start= inside its support, or another reference."
        )
    return np.resize(inside, (*shape, pool.shape[1]))


def _moments(pool: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean and a lower factor of the covariance of points, fit to be a first whitening."""
    location = pool.mean(axis=0)
    deviation = pool - location
    dim, count = pool.shape[1], len(pool)
    covariance = deviation.T @ deviation / count
    diagonal = np.diag(np.diag(covariance)) + 1e-300 * np.eye(dim)
    return location, np.linalg.cholesky((count * covariance + dim * diagonal) / (count + dim))
