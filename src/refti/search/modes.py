"""Landscape: the peaks of a density, searched from near and far, and whether it falls away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from refti.errors import ModelError
from refti.models.model import Model, ValueAndGradient
from refti.search.mode import Mode, ascend, climb, find_mode

NEAR_STARTS = 4
# How far from the mode, in units of its own spread, the search for others sets out, in how many
# opposite pairs of directions at each distance.
FAR_STARTS = ((10.0, 2), (30.0, 2), (100.0, 2), (300.0, 2))
CLIMB_STEPS = 60
SAME = 0.5  # spreads within which two ends of a climb are one
DIP = 0.5  # nats that the density must fall between two peaks for them to be two

# In units of the spread, where the density is asked whether it falls, and whether it still does.
# The transforms of bounded parameters saturate in rounding, so that far out a proper density may
# be flat; it has fallen on the way there.
NEAR, LESS_NEAR, FAR, FARTHER = 10.0, 30.0, 1e3, 1e6
MOST_AXES = 256
HUGE = 1e100  # a parameter's value that no data can want
HIGH = 3.0  # nats below the mode above which a plateau far out is no matter of rounding


@dataclass(frozen=True, eq=False)
class Landscape:
    """The highest mode found and all peaks, x[peak, dim], that mode first.

    `spread` is a factor of about the covariance there, for a mode without curvature.
    """

    mode: Mode
    peaks: np.ndarray
    spread: np.ndarray | None = None

    @property
    def factor(self) -> np.ndarray:
        """The spread about the mode as a factor of a covariance; the identity if it has none."""
        factor = self.mode.factor()
        if factor is not None:
            return factor
        return np.eye(len(self.mode.x)) if self.spread is None else self.spread


def survey(
    evaluate: ValueAndGradient,
    starts: np.ndarray,
    seed: int,
    wander: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Landscape:
    """The peaks uphill of several starts, of points far out, and of where wanderers come to.

    `wander` gives points x[n, dim] that draws of the flattened density come to from a mode of a
    given factor. They find what random directions, of which there are too many, miss.

    Where the highest point has no curvature of its own (a cusp, an edge, a spike without a top)
    the starts stand in for peaks: about such a point nothing can be learned of the posterior.
    """
    mode = find_mode(evaluate, starts[0])
    if mode.factor() is None:
        return Landscape(mode, starts)
    factor = mode.factor()
    assert factor is not None
    picks = np.linspace(1, len(starts) - 1, NEAR_STARTS).astype(int)
    near = starts[np.unique(picks[picks > 0])]
    others = np.concatenate([near, _far(mode, factor, seed), wander(mode.x, factor)])
    others = others[np.isfinite(evaluate(others)[0])]
    hills, heights = ascend(evaluate, others, factor=factor, iterations=CLIMB_STEPS)
    # Lower than this lies next to nothing of the mass, or a search that did not arrive.
    depth = 10 + 2 * len(mode.x)
    with np.errstate(over="ignore"):
        distances = np.linalg.norm(np.linalg.solve(factor, (hills - mode.x).T), axis=0)
    found = hills[(distances > SAME) & (heights > mode.log_density - 2 * depth)]
    ends = [
        climb(evaluate, hill, factor=factor, iterations=CLIMB_STEPS)
        for hill in distinct(found, factor)
    ]
    ends = sorted([*ends, (mode.x, mode.log_density)], key=lambda end: -end[1])
    if ends[0][1] > mode.log_density + DIP:
        mode = find_mode(evaluate, ends[0][0])
        if mode.factor() is None:
            return Landscape(mode, starts)
    peaks = [mode.x]
    for x, value in ends:
        if value > mode.log_density - depth and all(apart(evaluate, x, peak) for peak in peaks):
            peaks.append(x)
    return Landscape(mode, np.stack(peaks))


def refuse_improper(model: Model, evaluate: ValueAndGradient, mode: Mode, seed: int) -> None:
    """Nothing, or a ModelError that names the direction in which the density does not fall.

    Along a line on which it falls no faster than 1 / distance its integral is infinite. Lines
    are the coordinates and the directions in which the density is flattest about its mode.
    """
    dim = model.dim
    axes = np.arange(dim)
    if dim > MOST_AXES:
        axes = np.random.default_rng(seed).choice(dim, MOST_AXES, replace=False)
    hessian = np.where(np.isfinite(mode.hessian), mode.hessian, 0.0)
    _, flattest = np.linalg.eigh(-hessian)
    lines = np.concatenate([np.eye(dim)[axes], flattest[:, : min(3, dim)].T])
    bends = np.abs(np.einsum("ij,jk,ik->i", lines, hessian, lines))
    # About a spike the curvature is that of the spike, and says nothing of the density's width.
    lines = lines / np.sqrt(np.clip(bends, 1e-6, 1e6))[:, None]
    lines = np.concatenate([lines, -lines])
    near, less_near, far, farther = (
        evaluate(mode.x + distance * lines)[0] for distance in (NEAR, LESS_NEAR, FAR, FARTHER)
    )
    with np.errstate(invalid="ignore"):
        falls = far - farther
        fell = near - less_near
    flat_near = (fell < 1.01 * np.log(LESS_NEAR / NEAR)) | (farther > mode.log_density - HIGH)
    flat = (falls < 1.01 * np.log(FARTHER / FAR)) & flat_near & np.isfinite(farther)
    if not flat.any():
        return
    index = int(np.argmax(flat)) % (len(lines) // 2)
    where = (
        f"along parameter {model.space.coordinates[axes[index]]!r}"
        if index < len(axes)
        else f"along a combination of parameters (mostly {_mostly(model, lines[index])})"
    )
    raise ModelError(
        f"The evidence does not exist: the log density does not fall far away {where}; from "
        f"{FAR:g} to {FARTHER:g} spreads from the mode it falls by {falls[np.argmax(flat)]:.3g}. "
        "Give every parameter a proper prior, or bounds by its support, such as "
        "refti.interval(0, 1)."
    )


def refuse_overflow(model: Model, mode: Mode) -> None:
    """Nothing, or a ModelError where the density rises until a parameter overflows."""
    values = model.constrain(jnp.asarray(mode.x))
    for name, value in values.items():
        if not np.all(np.abs(np.asarray(value)) < HUGE):
            raise ModelError(
                f"The evidence does not exist: the log density rises with parameter {name!r} until "
                "its value overflows. Give it a proper prior, or bounds by its support, such as "
                "refti.interval(0, 1)."
            )


def _far(mode: Mode, factor: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng((seed, 7))
    points = []
    for distance, pairs in FAR_STARTS:
        directions = rng.normal(size=(pairs, len(mode.x)))
        directions *= distance / np.linalg.norm(directions, axis=1, keepdims=True)
        points += [mode.x + sign * factor @ d for d in directions for sign in (1, -1)]
    return np.stack(points)


def distinct(hills: np.ndarray, factor: np.ndarray) -> list[np.ndarray]:
    """One of those that are about the same."""
    kept: list[np.ndarray] = []
    for hill in hills:
        if all(np.linalg.norm(np.linalg.solve(factor, hill - other)) > SAME for other in kept):
            kept.append(hill)
    return kept


def apart(evaluate: ValueAndGradient, a: np.ndarray, b: np.ndarray, between_them: int = 16) -> bool:
    """Whether the density dips between two points, as seen at so many on the way."""
    between = np.linspace(0, 1, between_them + 2)[1:-1, None]
    values, _ = evaluate(np.concatenate([a[None], b[None], a + between * (b - a)]))
    return bool(values[2:].min() < values[:2].min() - DIP)


def _mostly(model: Model, line: np.ndarray) -> str:
    largest = np.argsort(-np.abs(line))[:2]
    return " and ".join(f"parameter {model.space.coordinates[i]!r}" for i in largest)
