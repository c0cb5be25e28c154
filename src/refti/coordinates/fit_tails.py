"""The fit of power tails: location, scale and heaviness to either side of each coordinate."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from refti.coordinates.affine import affine
from refti.coordinates.map import Layer
from refti.coordinates.power_tails import PowerTails, RadialTail, shrink
from refti.coordinates.tuning import TUNING
from refti.references.base import in_64_bits


def fit_power_tails(
    draws: np.ndarray, heavy: tuple[np.ndarray, np.ndarray]
) -> tuple[Layer, ...] | None:
    """The layers that make heavy-tailed coordinates of draws[n, dim] normal, or None.

    Only sides on which the density is heavy, left and right [dim], are given power tails.
    """
    dim = draws.shape[1]
    location, scale = robust_standard(draws)
    standard = (draws - location) / scale
    left, right = np.zeros(dim), np.zeros(dim)
    for k in range(dim):
        sides = bool(heavy[0][k]), bool(heavy[1][k])
        found = _fit_one(standard[:, k], sides) if any(sides) else None
        if found is not None:
            shift, size, left[k], right[k] = found
            location[k] += scale[k] * shift
            scale[k] *= size
    if not (left.any() or right.any()):
        return None
    return PowerTails(*in_64_bits(left, right)), affine(location, scale)


def fit_radial_tail(draws: np.ndarray) -> tuple[Layer, ...] | None:
    """The layers that make a multivariate Student-t of draws[n, dim] normal, or None."""
    count, dim = draws.shape
    if dim < 2 or count < 10 * dim:
        return None
    location, factor = _student_scatter(draws)
    y = np.linalg.solve(factor, (draws - location).T).T
    squares = np.einsum("nd,nd->n", y, y)

    def surprise(free: np.ndarray) -> float:
        h, size = np.exp(free)
        return _radial_surprise(squares / size**2, h, dim) + dim * free[1]

    grid = [(np.log(h), 0.0) for h in (0.1, 0.4, 1.0)]
    best = min(grid, key=lambda free: surprise(np.array(free)))
    bounds = [(np.log(1e-4), np.log(TUNING.heaviest)), (-8.0, 8.0)]
    fitted = optimize.minimize(surprise, best, method="L-BFGS-B", bounds=bounds)
    h, size = np.exp(fitted.x)
    plain = 0.5 * dim * (1 + np.log(squares.mean() / dim))
    if h < TUNING.lightest or count * (plain - fitted.fun) < TUNING.least_tail_gain:
        return None
    return RadialTail(*in_64_bits(h)), affine(location, size * factor)


def robust_standard(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The median of every coordinate, and a scale that a few draws far out do not move."""
    low, middle, high = np.quantile(draws, [0.25, 0.5, 0.75], axis=0)
    spread = (high - low) / 1.349
    return middle, np.where(spread > 0, spread, np.maximum(draws.std(axis=0), 1e-300))


def _fit_one(y: np.ndarray, heavy: tuple[bool, bool]) -> tuple[float, float, float, float] | None:
    """Shift, scale and heaviness to the left and right of draws y[n], or None for a Gaussian."""

    def surprise(free: np.ndarray) -> float:
        shift, log_scale, left, right = free
        w = (y - shift) * np.exp(-log_scale)
        v, slope = shrink(np.where(w < 0, np.exp(left), np.exp(right)), w)
        return float(np.mean(0.5 * v**2 - slope) + log_scale)

    none, high = np.log(1e-6), np.log(TUNING.heaviest)
    starts = [
        np.array([0.0, s, *(np.log(h) if side else none for side in heavy)])
        for h in (0.1, 0.5, 1.0)
        for s in (-0.3, 0.0)
    ]
    tails = [(np.log(1e-4), high) if side else (none, none) for side in heavy]
    bounds = [(-1.0, 1.0), (-3.0, 2.0), *tails]
    start = min(starts, key=surprise)
    fitted = optimize.minimize(surprise, start, method="L-BFGS-B", bounds=bounds)
    plain = 0.5 * (1 + np.log(y.var() + 1e-300))
    if len(y) * (plain - fitted.fun) < TUNING.least_tail_gain:
        return None
    shift, log_scale, left, right = fitted.x
    heaviness = [h if h >= TUNING.lightest else 0.0 for h in np.exp([left, right])]
    if not any(heaviness):
        return None
    return float(shift), float(np.exp(log_scale)), heaviness[0], heaviness[1]


def _student_scatter(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Location and lower factor of the scatter of a Cauchy-like cloud, by reweighting."""
    dim = draws.shape[1]
    location, scale = robust_standard(draws)
    factor = np.diag(scale)
    for _ in range(20):
        y = np.linalg.solve(factor, (draws - location).T).T
        weights = (1 + dim) / (1 + np.einsum("nd,nd->n", y, y))
        location = weights @ draws / weights.sum()
        centred = np.sqrt(weights)[:, None] * (draws - location)
        scatter = centred.T @ centred / weights.sum()
        factor = np.linalg.cholesky(
            scatter + 1e-12 * np.diag(np.diag(scatter)) + 1e-300 * np.eye(dim)
        )
    return location, factor


def _radial_surprise(squares: np.ndarray, h: float, dim: int) -> float:
    """Minus the mean log density of points at these squared distances, without constants."""
    exponent = np.log1p(h * squares)  # h times the squared distance in latent coordinates
    t = np.maximum(exponent, 1e-12)
    stretch = t + np.log(-np.expm1(-t) / t)
    return float(np.mean(0.5 * exponent / h + exponent + 0.5 * (dim - 2) * stretch))
