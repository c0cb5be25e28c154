"""Whether a backend evaluates a PyMC model as PyMC itself does: values, and slopes along lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.errors import ModelError
from refti.inputs.pymc.backends import compile_graphs
from refti.inputs.pymc.graph import Graphs
from refti.inputs.pymc.tuning import TUNING
from refti.models.batching import one_by_one
from refti.models.compiled import compiled
from refti.models.density import Density


@dataclass(frozen=True)
class OwnValues:
    """What the log density is at some points: values, and slopes along directions.

    Attributes:
        points: x[point, dim].
        values: the log densities.
        directions: of +1 and -1, [direction, dim].
        slopes: central differences, [point, direction].
        doubts: how far each can be believed.
    """

    points: np.ndarray
    values: np.ndarray
    directions: np.ndarray
    slopes: np.ndarray
    doubts: np.ndarray


def evaluate_by_pytensor(graphs: Graphs) -> OwnValues:
    """The log density near the start, by PyTensor without a compiler, in 64 bits throughout."""
    parts = [graphs.prior] if graphs.likelihood is None else [graphs.prior, graphs.likelihood]
    log_densities = compile_graphs([graphs.x], parts, graphs, "FAST_COMPILE")
    rng = np.random.default_rng(0)
    points = graphs.start + rng.uniform(-0.5, 0.5, (TUNING.points, graphs.dim))
    directions = rng.choice([-1.0, 1.0], (TUNING.directions, graphs.dim))

    def value(x: np.ndarray) -> float:
        return float(sum(log_densities(x)))

    def slope(x: np.ndarray, along: np.ndarray) -> float:
        return (value(x + along) - value(x - along)) / (2 * np.abs(along).max())

    with np.errstate(all="ignore"):
        values = np.array([value(x) for x in points])
        coarse, fine = (
            np.array([[slope(x, size * d) for d in directions] for x in points])
            for size in (TUNING.step, TUNING.step / 4)
        )
    rounding = 64 * np.finfo(float).eps * (1 + np.abs(values)) / TUNING.step
    doubts = 10 * np.abs(coarse - fine) + rounding[:, None]
    return OwnValues(points, values, directions, fine, doubts)


def require_same_density(graphs: Graphs, own: OwnValues) -> None:
    """Raises ModelError if the log density is not that of the function that PyMC itself makes."""
    with np.errstate(all="ignore"):
        log_density = graphs.model.compile_logp(mode="FAST_COMPILE")
        values = np.array([float(log_density(graphs.point(x))) for x in own.points])
    allowed = TUNING.rounded_difference
    if not np.allclose(own.values, values, rtol=allowed, atol=allowed, equal_nan=True):
        raise ModelError(
            f"refti reads log densities {own.values} out of this model where PyMC has {values}. "
            "Please report it with the model."
        )


def find_disagreement(whole: Density, own: OwnValues) -> str | None:
    """How a backend's values or gradients differ from PyMC's, in words; None if they do not.

    Asked of two programs, one point at a time and a batch as the sampler's: XLA has compiled wrong
    gradients of Gaussian processes in one of them and right ones in the other.
    """
    with jax.enable_x64(True):
        padded = jnp.asarray(np.resize(own.points, (TUNING.chains, own.points.shape[1])))
        single = [_evaluate_one(whole, jnp.asarray(x)) for x in own.points]
        values, gradients = _evaluate_all(whole, padded)
    values_alone, gradients_alone = (np.array(part) for part in zip(*single, strict=True))
    alone = _difference(values_alone, gradients_alone, own)
    among = slice(len(own.points))
    return alone or _difference(np.asarray(values)[among], np.asarray(gradients)[among], own)


def _value_and_gradient(whole: Density, x: Any) -> Any:
    return jax.value_and_grad(whole.log_density)(x)


@compiled(options=None)
def _evaluate_one(whole: Density, x: Any) -> Any:
    return _value_and_gradient(whole, x)


@compiled()
def _evaluate_all(whole: Density, x: Any) -> Any:
    return jax.vmap(lambda one: one_by_one(_value_and_gradient, whole, one))(x)


def _difference(values: np.ndarray, gradients: np.ndarray, own: OwnValues) -> str | None:
    """How values [point] and gradients [point, dim] differ from PyMC's, in words."""
    both = np.isfinite(values) & np.isfinite(own.values)
    with np.errstate(invalid="ignore"):  # where both are infinite
        far = np.abs(values - own.values) > TUNING.same_difference * (1 + np.abs(own.values))
    wrong = (both & far) | (np.isfinite(values) & np.isneginf(own.values))
    if wrong.any():
        i = int(np.argmax(wrong))
        return f"values differ from PyMC's: {values[i]:.12g} against {own.values[i]:.12g}"
    slopes = gradients @ own.directions.T
    allowed = TUNING.slope_difference * np.abs(gradients).sum(axis=1, keepdims=True)
    allowed = allowed + 1e-8 + own.doubts
    off = np.isfinite(own.doubts) & both[:, None] & ~(np.abs(slopes - own.slopes) <= allowed)
    if off.any():
        row, column = np.argwhere(off)[0]
        return (
            "gradients differ from differences of PyMC's values: "
            f"{slopes[row, column]:.6g} against {own.slopes[row, column]:.6g}"
        )
    return None
