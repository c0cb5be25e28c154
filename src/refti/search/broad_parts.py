"""Broad parts: mass far beyond a narrow peak, all of whose slopes lead up to that peak.

A spike inside a slab is the plainest case. Every climb ends at the spike, chains begun there stay,
since what lies between the two holds next to nothing, and nothing about them tells of the slab. So
the mass is looked at on shells about the peak, further and further out. Where it falls and rises
again beyond all the draws, the parabola through a point out there is the Gaussian of a broad part.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from refti.factors.either import into_rows, log_determinant, out_rows
from refti.factors.factor import Factor
from refti.models.model import ValueAndGradient
from refti.search.curvatures import factors_at, log_masses
from refti.search.peaks import Modes
from refti.search.tuning import BROAD as TUNING
from refti.search.tuning import TUNING as SEARCH


class BroadPart(NamedTuple):
    """A Gaussian about which the density holds mass, without a peak of its own."""

    x: np.ndarray
    factor: np.ndarray
    log_mass: float
    effective: float  # of the draws of the Gaussian by which its mass was weighed


class Shells(NamedTuple):
    """Points[shell, ray, dim] about a peak, their log densities, and the log mass of each shell.

    The mass is that of a shell as thick as its radius, taken to be all of it where rays find it.
    """

    points: np.ndarray
    values: np.ndarray
    radii: np.ndarray
    log_mass: np.ndarray


def find_broad_part(
    evaluate: ValueAndGradient, modes: Modes, draws: np.ndarray, rng: np.random.Generator
) -> BroadPart | None:
    """The heaviest broad part about one of the modes that draws[n, dim] do not come to, if any."""
    if modes.factors is None or modes.log_masses is None:
        return None
    found: list[BroadPart] = []
    for peak in range(min(len(modes.peaks), TUNING.most_peaks)):
        x, factor = modes.peaks[peak], modes.factors[peak]
        shells = look_at_shells(evaluate, x, factor, rng)
        shell = heaviest_unreached(shells, x, factor, draws)
        if shell is None:
            continue
        wide = factor * shells.radii[shell] / np.sqrt(len(x))
        highest = shells.points[shell, np.argmax(shells.values[shell])]
        first = [(x, wide), *_parabola_through(evaluate, highest, wide)]
        parts = (_fit_part(evaluate, modes, *one, rng) for one in first)
        found += [part for part in parts if part is not None]
    return max(found, key=lambda part: part.effective, default=None)


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


def look_at_shells(
    evaluate: ValueAndGradient, x: np.ndarray, factor: np.ndarray | Factor, rng: np.random.Generator
) -> Shells:
    """The density on shells about a peak, along the same rays, out to thousands of its spreads."""
    dim = len(x)
    rays = rng.normal(size=(TUNING.rays, dim))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    radii = np.sqrt(dim) * TUNING.apart ** np.arange(TUNING.shells)
    points = x + radii[:, None, None] * out_rows(factor, rays)
    values, _ = evaluate(points.reshape(-1, dim))
    values = np.where(np.isfinite(values), values, -np.inf).reshape(len(radii), TUNING.rays)
    with np.errstate(divide="ignore"):
        mean = logsumexp(values, axis=1) - np.log(TUNING.rays)
    log_mass = mean + dim * np.log(radii) + _log_sphere(dim) + log_determinant(factor)
    return Shells(points, values, radii, log_mass)


def heaviest_unreached(
    shells: Shells, x: np.ndarray, factor: np.ndarray | Factor, draws: np.ndarray
) -> int | None:
    """The heaviest shell without a draw that the mass rises to from one with draws, if it does.

    Of a single hill, however long its tails, the mass falls beyond the draws.
    """
    distances = np.linalg.norm(into_rows(factor, draws - x), axis=1)
    edges = shells.radii * np.sqrt(TUNING.apart)
    reached = np.bincount(np.searchsorted(edges, distances), minlength=len(edges) + 1)[:-1] > 0
    reached[0] = True  # the peak's own
    rises = np.full(len(edges), -np.inf)
    for shell in np.flatnonzero(~reached):
        last = np.flatnonzero(reached[:shell])[-1]
        with np.errstate(invalid="ignore"):
            rises[shell] = shells.log_mass[shell] - shells.log_mass[last : shell + 1].min()
    masses = np.where(rises > TUNING.rise, shells.log_mass, -np.inf)
    return int(np.argmax(masses)) if np.isfinite(masses).any() else None


def _parabola_through(
    evaluate: ValueAndGradient, x: np.ndarray, wide: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The middle and the factor of the Gaussian of the parabola through a point; none if it has none.

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
        is_new = values > _laplace_mixture(modes, points) + TUNING.above_known
        weights = np.where(is_new, values - log_normal, -np.inf)
        if is_new.sum() < TUNING.fewest_effective:
            break
        log_mass = float(logsumexp(weights) - np.log(len(weights)))
        part = BroadPart(middle, factor, log_mass, _effective(weights))
        best = part if best is None or part.effective > best.effective else best
        power = next(p for p in TUNING.powers if _effective(p * weights) > TUNING.fewest_effective)
        middle, factor = _moments(points, power * weights)
    if best is None or best.effective < TUNING.fewest_effective:
        return None
    enough = best.log_mass > modes.log_masses.max() + SEARCH.least_log_share
    return best if enough else None


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


def _laplace_mixture(modes: Modes, x: np.ndarray) -> np.ndarray:
    """The log density at x[n, dim] of the Gaussians of all the modes together."""
    assert modes.factors is not None
    assert modes.log_masses is not None
    parts = []
    for peak, factor, mass in zip(modes.peaks, modes.factors, modes.log_masses, strict=True):
        u = into_rows(factor, x - peak)
        height = mass - log_masses(np.zeros(1), factor[None])[0]
        parts.append(height - 0.5 * np.sum(u**2, axis=1))
    return np.asarray(logsumexp(parts, axis=0))


def _log_sphere(dim: int) -> float:
    """The log area of the unit sphere."""
    return float(np.log(2) + 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim))
