"""The mode of a density and its curvature there, from values and gradients alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from refti.models.model import ValueAndGradient
from refti.search.climb import climb
from refti.search.tuning import TUNING


@dataclass(frozen=True, eq=False)
class Mode:
    """The highest point found.

    Attributes:
        x: its unconstrained coordinates.
        log_density: the log density there.
        hessian: the matrix of second derivatives of the log density.
        disagreement: how much the curvature differs between a fine and a coarse step, relative to
            its size; a cusp or a kink gives 1 or more, a smooth density far less.
        spread: a lower Cholesky factor of the inverse of minus the Hessian, where that is known to
            more digits than the Hessian leaves of it: if scales differ by more than ten thousand
            times, it leaves none.
    """

    x: np.ndarray
    log_density: float
    hessian: np.ndarray
    disagreement: float
    spread: np.ndarray | None = None

    @property
    def is_smooth(self) -> bool:
        """Whether second derivatives exist, so that the Hessian means something."""
        return bool(np.isfinite(self.disagreement) and self.disagreement < TUNING.most_disagreement)

    @property
    def is_negative_definite(self) -> bool:
        """Whether the density falls in every direction from here."""
        if self.spread is not None:
            return True
        return bool(np.all(np.isfinite(self.hessian))) and bool(
            np.linalg.eigvalsh(self.hessian)[-1] < 0
        )

    def factor(self) -> np.ndarray | None:
        """The lower Cholesky factor of the inverse of minus the Hessian, where there is one."""
        return self._factor

    @cached_property
    def _factor(self) -> np.ndarray | None:
        # Asked for again and again, and it takes a second in a thousand dimensions.
        if not (self.is_smooth and self.is_negative_definite):
            return None
        if self.spread is not None:
            return self.spread
        try:
            return np.linalg.cholesky(np.linalg.inv(-self.hessian))
        except np.linalg.LinAlgError:
            return None

    @property
    def log_mass(self) -> float:
        """The log integral of the density about the mode by Laplace's approximation, or NaN."""
        factor = self.factor()
        if factor is None:
            return float("nan")
        width = 0.5 * len(self.x) * np.log(2 * np.pi) + np.log(np.diag(factor)).sum()
        return self.log_density + float(width)


def log_mass_within(mode: Mode, spread: np.ndarray) -> float:
    """The log of about the mass at a peak, whatever its curvature; NaN where that is no number.

    As by Laplace's approximation, but no direction counts as wider than the posterior's own spread
    [dim], and a spike without a top is as wide as its bends, whatever their sign, say.
    """
    scaled = mode.hessian * np.outer(spread, spread)
    if not np.isfinite(scaled).all():
        return float("nan")
    bends = np.maximum(np.abs(np.linalg.eigvalsh(scaled)), 1.0)
    widths = np.log(spread).sum() - 0.5 * np.log(bends).sum()
    return mode.log_density + float(widths) + 0.5 * len(spread) * float(np.log(2 * np.pi))


def find_mode(evaluate: ValueAndGradient, start: np.ndarray) -> Mode:
    """The mode uphill of a start.

    A climb that ends where the density has no curvature may have been led astray by that of the
    way there, so it is begun anew for as long as it then comes higher, beside it if it is a saddle.
    A cusp stays one.
    """
    mode = _climb_whitened(evaluate, start)
    for _ in range(TUNING.fresh_climbs):
        if mode.factor() is not None:
            break
        again = _climb_whitened(evaluate, _off_a_saddle(evaluate, mode))
        if not again.log_density > mode.log_density + TUNING.higher:
            break
        mode = again
    return mode


def _off_a_saddle(evaluate: ValueAndGradient, mode: Mode) -> np.ndarray:
    """The highest point found beside a saddle, such as the middle between two alike modes.

    The end of the climb itself where it is none.
    """
    if not (mode.is_smooth and np.isfinite(mode.hessian).all()):
        return mode.x
    bends, away = np.linalg.eigvalsh(mode.hessian), _whitening_factor(mode.hessian)
    rising = away[:, bends > TUNING.flat_bend * np.abs(bends).max()].T
    if len(rising) == 0:
        return mode.x
    _, gradient = evaluate(mode.x[None])
    if not np.linalg.norm(gradient[0] @ away) < TUNING.off_a_top:
        return mode.x
    steps = np.array(TUNING.off_a_saddle)[:, None, None] * rising
    beside = np.concatenate([steps, -steps]).reshape(-1, len(mode.x)) + mode.x
    values, _ = evaluate(beside)
    values = np.where(np.isfinite(values), values, -np.inf)
    best = int(np.argmax(values))
    return np.asarray(beside[best] if values[best] > mode.log_density else mode.x)


def _climb_whitened(evaluate: ValueAndGradient, start: np.ndarray) -> Mode:
    """The mode where L-BFGS comes to, again and again in coordinates whitened by the last.

    Twice is enough for most densities; in hierarchies of hundreds of parameters L-BFGS gives up on
    the way, so it goes on for as long as it comes higher.
    """
    origin, height, factor = start, -np.inf, np.eye(len(start))
    for _ in range(TUNING.whitened_climbs):
        before = height
        origin, height = climb(evaluate, origin, factor=factor, iterations=TUNING.climb_iterations)
        curvature = _curvature(evaluate, origin, factor, TUNING.gradient_step)
        factor = factor @ _whitening_factor(curvature)
        if height < before + TUNING.higher:
            break
    fine = _curvature(evaluate, origin, factor, TUNING.gradient_step)
    coarse = _curvature(evaluate, origin, factor, TUNING.coarse_gradient_step)
    size = np.abs(fine).max()
    disagreement = np.abs(fine - coarse).max() / size if size > 0 else np.inf
    inverse = np.linalg.inv(factor)
    value, gradient = evaluate(origin[None])
    hessian = inverse.T @ fine @ inverse
    return Mode(
        origin, float(value[0]), hessian, float(disagreement), _spread(fine, factor, gradient[0])
    )


def _spread(curvature: np.ndarray, factor: np.ndarray, gradient: np.ndarray) -> np.ndarray | None:
    """The lower factor of the inverse of minus a Hessian, given in the coordinates of a factor.

    There it is about round, so no digits are lost however much the scales differ. None where the
    gradient says that it is no top: up a spike without one, scales differ without end.
    """
    try:
        lower = np.linalg.cholesky(-curvature)
        if not np.linalg.norm(np.linalg.solve(lower, gradient @ factor)) < TUNING.off_a_top:
            return None
        triangle = linalg.qr(np.linalg.solve(lower, factor.T), mode="r")[0].T
    except np.linalg.LinAlgError:
        return None
    return np.asarray(triangle * np.where(np.diag(triangle) < 0, -1.0, 1.0))


def _curvature(
    evaluate: ValueAndGradient, x: np.ndarray, factor: np.ndarray, step: float
) -> np.ndarray:
    """The Hessian in the coordinates of `factor`, by central differences of the gradient."""
    shifts = step * factor.T
    _, gradients = evaluate(np.concatenate([x + shifts, x - shifts]))
    up, down = np.split(gradients @ factor, 2)
    hessian = (up - down) / (2 * step)
    return 0.5 * (hessian + hessian.T)


def _whitening_factor(hessian: np.ndarray) -> np.ndarray:
    """A factor that makes the curvature's size one, whatever its sign, where it is usable."""
    if not np.all(np.isfinite(hessian)):
        return np.eye(len(hessian))
    sizes, directions = np.linalg.eigh(hessian)
    sizes = np.abs(sizes)
    if sizes.max() == 0:  # flat, or so wide that the difference of gradients is lost in rounding
        return TUNING.wider * np.eye(len(hessian))
    return directions / np.sqrt(np.maximum(sizes, 1e-10 * sizes.max()))
