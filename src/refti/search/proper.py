"""Whether a density falls away from its mode, so that there is an evidence."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from refti.errors import ModelError
from refti.models.model import Model, ValueAndGradient
from refti.search.large_mode import LargeMode
from refti.search.large_tuning import LARGE
from refti.search.mode import Mode
from refti.search.tuning import TUNING


def require_proper(
    model: Model, evaluate: ValueAndGradient, mode: Mode | LargeMode, rng: np.random.Generator
) -> None:
    """Raises ModelError, naming the direction, if the density does not fall far away.

    Along a line on which it falls no faster than 1 / distance its integral is infinite. Lines
    are the coordinates, or some that `rng` chooses, and the directions in which the density is
    flattest about its mode. A density far wider than its lines, or of a slow tail, falls further
    out only: one that seems not to fall is looked at to where numbers end.
    """
    axes = _axes(model.dim, rng)
    lines = _lines(mode, axes, rng)
    both = np.concatenate([lines, -lines])
    near, less_near, far, farther = (
        evaluate(mode.x + distance * both)[0]
        for distance in (
            TUNING.tail_near,
            TUNING.tail_less_near,
            TUNING.tail_far,
            TUNING.tail_farther,
        )
    )
    with np.errstate(invalid="ignore"):
        falls = far - farther
        fell = near - less_near
    flat_near = fell < TUNING.tail_rate * np.log(TUNING.tail_less_near / TUNING.tail_near)
    flat_near |= farther > mode.log_density - TUNING.plateau
    flat_far = falls < TUNING.tail_rate * np.log(TUNING.tail_farther / TUNING.tail_far)
    flat = flat_far & flat_near & np.isfinite(farther)
    longest = np.tile(_longest(mode, lines), 2)
    flat[flat] = _never_falls(evaluate, mode, both[flat], longest[flat])
    if not flat.any():
        return
    first = int(np.argmax(flat))
    raise ModelError(
        "The evidence does not exist: the log density does not decrease enough far out "
        f"{_where(model, axes, lines, first % len(lines))}; from {TUNING.tail_far:g} to "
        f"{TUNING.tail_farther:g} spreads from the mode it falls by {falls[first]:.3g}, and 1 / "
        f"distance, which has no integral, by {np.log(TUNING.tail_farther / TUNING.tail_far):.3g}. "
        "Give every parameter a proper prior, or bounds by its support, such as "
        "refti.interval(0, 1)."
    )


def _never_falls(
    evaluate: ValueAndGradient, mode: Mode | LargeMode, lines: np.ndarray, longest: np.ndarray
) -> np.ndarray:
    """Whether [line] the density is flat along lines at every distance beyond those looked at."""
    flat = np.ones(len(lines), dtype=bool)
    ratio = TUNING.tail_farther / TUNING.tail_far
    distance = TUNING.tail_farther
    while flat.any() and distance * ratio <= TUNING.tail_ends:
        both = np.concatenate([distance * lines[flat], ratio * distance * lines[flat]])
        inner, outer = np.split(evaluate(mode.x + both)[0], 2)
        with np.errstate(invalid="ignore"):
            falls = inner - outer > TUNING.tail_rate * np.log(ratio)
        # Where numbers end, by overflow or by rounding, nothing is seen.
        seen = np.isfinite(outer) & (ratio * distance <= longest[flat])
        flat[flat] = ~(falls & seen)
        distance *= ratio
    return flat


def _longest(mode: Mode | LargeMode, lines: np.ndarray) -> np.ndarray:
    """How far [line] lines can be followed before the rounding of their direction shows.

    A line between the coordinates is off by its last digit, and that, far enough out, is a way
    across the density and not along it: by a spread, which is half a nat. The coordinates
    themselves are exact.
    """
    bends = mode.bends if isinstance(mode, LargeMode) else np.diag(mode.hessian)
    steepest = np.sqrt(np.abs(np.nan_to_num(bends, posinf=0.0, neginf=0.0)).max())
    lengths = np.linalg.norm(lines, axis=1)
    rounded = 1.0 / (np.finfo(float).eps * lengths * max(steepest, 1e-100))
    return np.where(np.count_nonzero(lines, axis=1) == 1, np.inf, rounded)


def require_finite_parameters(model: Model, mode: Mode | LargeMode) -> None:
    """Raises ModelError if the density rises until a parameter overflows."""
    values = model.constrain(jnp.asarray(mode.x))
    for name, value in values.items():
        if not np.all(np.abs(np.asarray(value)) < TUNING.most_value):
            raise ModelError(
                f"The evidence does not exist: the log density rises with parameter {name!r} until "
                "its value overflows. Give it a proper prior, or bounds by its support, such as "
                "refti.interval(0, 1)."
            )


def _axes(dim: int, rng: np.random.Generator) -> np.ndarray:
    """The coordinates along which to look."""
    if dim > TUNING.most_axes:
        return rng.choice(dim, TUNING.most_axes, replace=False)
    return np.arange(dim)


def _lines(mode: Mode | LargeMode, axes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The lines [line, dim] along which to look, the axes first, each as long as a spread."""
    dim = len(mode.x)
    if isinstance(mode, LargeMode):
        return _lines_of_large(mode, axes, rng)
    hessian = np.where(np.isfinite(mode.hessian), mode.hessian, 0.0)
    _, flattest = np.linalg.eigh(-hessian)
    lines = np.concatenate([np.eye(dim)[axes], flattest[:, : min(TUNING.flattest_lines, dim)].T])
    bends = np.abs(np.einsum("ij,jk,ik->i", lines, hessian, lines))
    # About a spike the curvature is that of the spike, and says nothing of the density's width.
    return lines / np.sqrt(np.clip(bends, 1e-6, 1e6))[:, None]


def _lines_of_large(mode: LargeMode, axes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same without the Hessian's eigenvectors: covariance times anything turns to the widest.

    As long as a spread given all others, which the axes' own curvature tells.
    """
    along = np.zeros((len(axes), len(mode.x)))
    along[np.arange(len(axes)), axes] = np.clip(np.abs(mode.bends[axes]), 1e-6, 1e6) ** -0.5
    factor = mode.factor()
    if factor is None:
        return along
    widest = rng.normal(size=(TUNING.flattest_lines, len(mode.x)))
    for _ in range(LARGE.turns):
        u = factor.pull_rows(np.linalg.qr(widest.T)[0].T)
        widest = factor.out_rows(u / np.linalg.norm(u, axis=1)[:, None])
    return np.concatenate([along, widest])


def _where(model: Model, axes: np.ndarray, lines: np.ndarray, index: int) -> str:
    """The direction of a line in words."""
    coordinates = model.space.coordinates
    if index < len(axes):
        return f"along parameter {coordinates[axes[index]]!r}"
    largest = np.argsort(-np.abs(lines[index]))[:2]
    mostly = " and ".join(f"parameter {coordinates[i]!r}" for i in largest)
    return f"along a combination of parameters (mostly {mostly})"
