"""The mode of a density and its curvature there, from values and gradients alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from refti.models.model import ValueAndGradient

STEP = 1e-4  # of central differences, in coordinates whitened by the optimiser's curvature
COARSE_STEP = 1e-2
MOST_CLIMBS = 6
FRESH_STARTS = 3
IDLE_STEPS = 3  # of a climber that neither gains nor has a step to shorten, before it is left
HIGHER = 0.01  # nats that one climb more has to gain for another


@dataclass(frozen=True)
class Mode:
    """The highest point found.

    Attributes:
        x: its unconstrained coordinates.
        log_density: the log density there.
        hessian: the matrix of second derivatives of the log density.
        disagreement: how much the curvature differs between a fine and a coarse step, relative to
            its size; a cusp or a kink gives 1 or more, a smooth density far less.
    """

    x: np.ndarray
    log_density: float
    hessian: np.ndarray
    disagreement: float

    @property
    def is_smooth(self) -> bool:
        """Whether second derivatives exist, so that the Hessian means something."""
        return bool(np.isfinite(self.disagreement) and self.disagreement < 0.2)

    @property
    def is_negative_definite(self) -> bool:
        """Whether the density falls in every direction from here."""
        return bool(np.all(np.isfinite(self.hessian))) and bool(
            np.linalg.eigvalsh(self.hessian)[-1] < 0
        )

    def factor(self) -> np.ndarray | None:
        """The lower Cholesky factor of the inverse of minus the Hessian, where there is one."""
        if not (self.is_smooth and self.is_negative_definite):
            return None
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


def find_mode(evaluate: ValueAndGradient, start: np.ndarray) -> Mode:
    """The mode uphill of a start.

    A climb that ends where the density has no curvature may have been led astray by that of the
    way there, so it is begun anew for as long as it then comes higher. A cusp stays one.
    """
    mode = _whitened_climbs(evaluate, start)
    for _ in range(FRESH_STARTS):
        if mode.factor() is not None:
            break
        again = _whitened_climbs(evaluate, mode.x)
        if not again.log_density > mode.log_density + HIGHER:
            break
        mode = again
    return mode


def _whitened_climbs(evaluate: ValueAndGradient, start: np.ndarray) -> Mode:
    """Where L-BFGS comes to, again and again in coordinates whitened by the last.

    Twice is enough for most densities; in hierarchies of hundreds of parameters L-BFGS gives up on
    the way, so it goes on for as long as it comes higher.
    """
    origin, height, factor = start, -np.inf, np.eye(len(start))
    for _ in range(MOST_CLIMBS):
        before = height
        origin, height = climb(evaluate, origin, factor=factor, iterations=400)
        factor = factor @ _bounded_inverse_root(_curvature(evaluate, origin, factor, STEP))
        if height < before + HIGHER:
            break
    fine = _curvature(evaluate, origin, factor, STEP)
    coarse = _curvature(evaluate, origin, factor, COARSE_STEP)
    size = np.abs(fine).max()
    disagreement = np.abs(fine - coarse).max() / size if size > 0 else np.inf
    inverse = np.linalg.inv(factor)
    value, _ = evaluate(origin[None])
    return Mode(origin, float(value[0]), inverse.T @ fine @ inverse, float(disagreement))


def climb(
    evaluate: ValueAndGradient,
    start: np.ndarray,
    *,
    factor: np.ndarray,
    iterations: int,
    tolerance: float = 1e-13,
) -> tuple[np.ndarray, float]:
    """The point that L-BFGS reaches in the coordinates of a factor, and the log density there."""

    def descent(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluate((start + factor @ u)[None])
        if not np.isfinite(value[0]):
            return np.inf, np.zeros_like(u)
        return -value[0], -(factor.T @ gradient[0])

    found = optimize.minimize(
        descent,
        np.zeros_like(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxcor": 20, "ftol": tolerance, "gtol": 1e-7},
    )
    return start + factor @ found.x, -float(found.fun)


def ascend(
    evaluate: ValueAndGradient, starts: np.ndarray, *, factor: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Points x[n, dim] uphill of many starts, all climbing at once, and their log densities.

    Each goes along its gradient in the coordinates of a factor, by the step of Barzilai and
    Borwein (1988), and stays where it is, with a shorter step, when it would come out lower. Near
    enough to tell one hill from another, not to a mode's last digits.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # far out, where steps are refused
        return _ascended(evaluate, starts, factor, iterations)


def _ascended(
    evaluate: ValueAndGradient, x: np.ndarray, factor: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    x = x.copy()
    values, gradients = evaluate(x)
    slopes = gradients @ factor
    steps, idle = np.ones(len(x)), np.zeros(len(x), dtype=int)
    for _ in range(iterations):
        going = np.flatnonzero(idle < IDLE_STEPS)
        if len(going) == 0:
            break
        moves = steps[going, None] * slopes[going]
        tried_x = x[going] + moves @ factor.T
        tried, tried_gradients = evaluate(tried_x)
        tried_slopes = tried_gradients @ factor
        better = tried > values[going]
        bend = np.abs(np.einsum("nd,nd->n", moves, tried_slopes - slopes[going]))
        barzilai = np.einsum("nd,nd->n", moves, moves) / np.where(bend > 0, bend, np.inf)
        barzilai = np.where(np.isfinite(barzilai), barzilai, 1.0)
        steps[going] = np.where(better, np.clip(barzilai, 1e-12, 1e12), 0.25 * steps[going])
        gains = better & (tried - values[going] > 1e-3)
        waits = ~better & (steps[going] > 1e-3)
        idle[going] = np.where(gains | waits, 0, idle[going] + 1)
        here = going[better]
        x[here], slopes[here], values[here] = tried_x[better], tried_slopes[better], tried[better]
    return x, values


def _curvature(
    evaluate: ValueAndGradient, x: np.ndarray, factor: np.ndarray, step: float
) -> np.ndarray:
    """The Hessian in the coordinates of `factor`, by central differences of the gradient."""
    shifts = step * factor.T
    _, gradients = evaluate(np.concatenate([x + shifts, x - shifts]))
    up, down = np.split(gradients @ factor, 2)
    hessian = (up - down) / (2 * step)
    return 0.5 * (hessian + hessian.T)


def _bounded_inverse_root(hessian: np.ndarray) -> np.ndarray:
    """A factor that makes the curvature's size one, whatever its sign, where it is usable."""
    if not np.all(np.isfinite(hessian)):
        return np.eye(len(hessian))
    sizes, directions = np.linalg.eigh(hessian)
    sizes = np.abs(sizes)
    if sizes.max() == 0:
        return np.eye(len(hessian))
    return directions / np.sqrt(np.maximum(sizes, 1e-10 * sizes.max()))
