"""Broad parts: mass far beyond a narrow peak, all of whose slopes lead up to that peak.

No climb ends in such a part, so it is no mode, but chains have to begin there and a reference has
to have a Gaussian there as if it were. Which one is found from the shell that holds its mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from refti.factors.either import into_rows
from refti.models.model import ValueAndGradient
from refti.search.curvatures import factors_at, log_masses
from refti.search.peaks import Modes
from refti.search.shells import TUNING, find_unreached, known_density
from refti.search.tuning import TUNING as SEARCH


class BroadPart(NamedTuple):
    """A Gaussian about which the density holds mass, without a peak of its own."""

    x: np.ndarray
    factor: np.ndarray
    log_mass: float
    effective: float  # of the draws of the Gaussian by which its mass was weighed


def find_broad_part(
    evaluate: ValueAndGradient, modes: Modes, chains: np.ndarray, rng: np.random.Generator
) -> BroadPart | None:
    """A broad part about a mode, if there is one that chains[chain, draw, dim] do not come to."""
    found: list[BroadPart] = []
    for peak, shells, shell in find_unreached(evaluate, modes, chains, rng):
        assert modes.factors is not None
        x = modes.peaks[peak]
        wide = modes.factors[peak] * shells.radii[shell] / np.sqrt(len(x))
        highest = shells.points[shell, np.argmax(shells.values[shell])]
        first = [(x, wide), *_parabola_through(evaluate, highest, wide)]
        parts = (_fit_part(evaluate, modes, *one, rng) for one in first)
        found += [part for part in parts if part is not None]
    return max(found, key=_weight, default=None)


def part_of_draws(
    evaluate: ValueAndGradient, modes: Modes, chains: np.ndarray, rng: np.random.Generator
) -> BroadPart | None:
    """What is broad where many of chains[chain, draw, dim] lie, far beyond all peaks, if they do.

    Chains come there by themselves, so it needs none of its own; but climbs that set out about
    the peaks do not come to what lies further out.
    """
    if modes.factors is None or modes.log_masses is None:
        return None
    rows, dim = chains.reshape(-1, chains.shape[2]), chains.shape[2]
    off = np.min(
        [
            np.linalg.norm(into_rows(factor, rows - peak), axis=1)
            for peak, factor in zip(modes.peaks, modes.factors, strict=True)
        ],
        axis=0,
    )
    far = rows[off > TUNING.wide_draws * np.sqrt(dim)]
    if len(far) < max(TUNING.far_draws * len(rows), 2 * dim, TUNING.fewest_effective):
        return None
    middle = np.median(far, axis=0)
    scales = np.maximum(np.median(np.abs(far - middle), axis=0), 1e-300)
    distances = np.linalg.norm((far - middle) / scales, axis=1)
    inner = far[distances <= np.quantile(distances, 1 - TUNING.trimmed)]
    mean, factor = _moments(inner, np.zeros(len(inner)))
    there = inner[rng.integers(len(inner))]
    first = [(mean, factor), *_parabola_through(evaluate, there, factor)]
    parts = (_fit_part(evaluate, modes, *one, rng) for one in first)
    alone = BroadPart(mean, factor, float(modes.log_masses.max()), 0.0)
    return max((part for part in parts if part is not None), key=_weight, default=alone)


def _weight(part: BroadPart) -> float:
    return part.effective


def with_broad_part(modes: Modes, part: BroadPart) -> Modes:
    """The modes with one that is the middle of a broad part."""
    assert modes.factors is not None
    assert modes.log_masses is not None
    return Modes(
        modes.mode,
        np.concatenate([modes.peaks, part.x[None]]),
        modes.spread,
        np.concatenate([modes.factors, part.factor[None]]),
        np.append(modes.log_masses, part.log_mass),
        modes.searched,
        modes.broad + 1,
    )


def _parabola_through(
    evaluate: ValueAndGradient, x: np.ndarray, wide: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The middle and factor of the Gaussian of the parabola through a point, where it is one.

    That of a Gaussian is the Gaussian itself, however long and narrow, from anywhere on it.
    """
    _, gradient = evaluate(x[None])
    (factor,) = factors_at(evaluate, x[None], wide[None])
    return [(x + factor @ (factor.T @ gradient[0]), factor)] if np.isfinite(factor).all() else []


def _fit_part(
    evaluate: ValueAndGradient,
    modes: Modes,
    middle: np.ndarray,
    factor: np.ndarray,
    rng: np.random.Generator,
) -> BroadPart | None:
    """The Gaussian fitted to mass that no mode accounts for, from a first one, by its own draws.

    Draws count by the density over the Gaussian, at first to a power so low that enough count.
    """
    assert modes.log_masses is not None
    best = None
    for _ in range(TUNING.turns):
        normals = rng.normal(size=(TUNING.draws, len(middle)))
        points = middle + normals @ factor.T
        values, _ = evaluate(points)
        log_normal = -0.5 * np.sum(normals**2, axis=1) - log_masses(np.zeros(1), factor[None])[0]
        is_new = values > known_density(modes, points) + TUNING.above_known
        is_new &= np.isfinite(values - log_normal)
        points, weights = points[is_new], (values - log_normal)[is_new]
        if len(points) < TUNING.fewest_effective:
            break
        log_mass = float(logsumexp(weights) - np.log(TUNING.draws))
        part = BroadPart(middle, factor, log_mass, _effective(weights))
        best = part if best is None or part.effective > best.effective else best
        enough = (p for p in TUNING.powers if _effective(p * weights) > TUNING.fewest_effective)
        power = next(enough, 0.0)  # with which all of them count
        middle, factor = _moments(points, power * weights)
    if best is None or best.effective < TUNING.fewest_effective:
        return None
    holds_mass = best.log_mass > modes.log_masses.max() + SEARCH.least_log_share
    return best if holds_mass else None


def _effective(log_weights: np.ndarray) -> float:
    """How many draws count by these weights."""
    return float(np.exp(2 * logsumexp(log_weights) - logsumexp(2 * log_weights)))


def _moments(x: np.ndarray, log_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of weighted x[n, dim] and the factor of their covariance, shrunk where few count."""
    weights = np.exp(log_weights - logsumexp(log_weights))
    mean = weights @ x
    covariance = (weights[:, None] * (x - mean)).T @ (x - mean)
    count, dim = _effective(log_weights), x.shape[1]
    diagonal = np.diag(np.diag(covariance))
    return mean, np.linalg.cholesky((count * covariance + dim * diagonal) / (count + dim))
