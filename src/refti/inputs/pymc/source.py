"""PyMC: a model as it was written in PyMC, versions 5 and 6, as a refti.Model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from refti.errors import ModelError
from refti.inputs.pymc import faults
from refti.inputs.pymc.backends import TITLES, Backend, compiled, density
from refti.inputs.pymc.graph import Graphs, graphs
from refti.inputs.pymc.space import PymcSpace
from refti.models.batching import one_by_one
from refti.models.density import QUICK_COMPILE, Density, ProductDensity
from refti.models.model import Model
from refti.models.recipe import Recipe, freeze

POINTS = 3
DIRECTIONS = 3
LANES = 8
SAME = 1e-9  # relative difference of values that comes of rounding
ROUNDED = 1e-6  # the same where PyMC rounds constants to 32 bits, as it does


def from_pymc(model: Any, *, backend: Literal["auto", "jax", "numba"] = "auto") -> Model:
    """The evidence problem of a PyMC model: its free variables, its data as they are now.

    The prior is the density of the free variables with the Jacobians of PyMC's transforms. The
    likelihood is that of the observed variables times the potentials, whatever those were meant
    for: so the prior is one that integrates to one, which is checked, and power posteriors heat
    the potentials with the data.

    Before it is returned, the model is compared with PyMC's own values and their differences at a
    few points. What was chosen, and why, is told in the result's `source`.

    Args:
        model: the pymc.Model. It is read and not changed.
        backend: "jax" where JAX has every operation of the model, "numba" where it has not.
            "auto" takes JAX, and Numba where JAX fails or gives other values or gradients than
            PyMC does; where Numba fails too it takes PyTensor's own, which is slow.
    """
    if backend not in ("auto", "jax", "numba"):
        raise ModelError(f'backend= must be "auto", "jax" or "numba"; got {backend!r}.')
    faults.check(model)
    import pymc

    with _quiet():
        try:
            said = graphs(model)
            space = PymcSpace(said)
            truth = _truth(said)
            _expect_same(said, truth)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(
                "PyMC gives no log density of this model: "
                f"{type(error).__name__}: {_first_sentence(error)}."
            ) from error
        tried: list[str] = []
        choices: tuple[Backend, ...] = ("jax", "numba", "pytensor")
        for name in choices if backend == "auto" else (backend,):
            try:
                prior, whole = _factors(said, name)
                fault = _disagreement(whole, truth)
                fault = fault and f"{TITLES[name]}'s {fault}"
            except Exception as error:
                fault = f"{TITLES[name]} cannot: {_first_sentence(error) or type(error).__name__}"
            if fault is None:
                by = f"{TITLES[name]} ({'; '.join(tried)})" if tried else TITLES[name]
                source = f"PyMC {pymc.__version__} by {by}"
                return Model.assembled(
                    space,
                    whole,
                    prior=prior,
                    start=said.start,
                    source=source,
                    **_recipe(model, backend),
                )
            tried.append(fault)
    raise ModelError(
        "The model cannot be evaluated as PyMC evaluates it. "
        + "; ".join(tried)
        + (". Leave out backend=." if backend != "auto" else ".")
    )


def _recipe(model: Any, backend: str) -> dict[str, Any]:
    """How the model, as it is now, is made again, or why it cannot be."""
    try:
        frozen = freeze(model, "a PyMC model")
    except Exception as error:
        return {"no_recipe": f"its PyMC model cannot be sent there ({_first_sentence(error)})"}
    return {"recipe": Recipe(f"{__name__}:from_pymc", (frozen,), {"backend": backend})}


def _factors(said: Graphs, backend: Backend) -> tuple[Density | None, Density]:
    """The prior where there are data to set it apart from, and the whole density."""
    prior = density(said, said.prior, backend)
    if said.likelihood is None:
        return None, prior
    return prior, ProductDensity((prior, density(said, said.likelihood, backend)))


@dataclass(frozen=True)
class _Truth:
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


def _truth(said: Graphs) -> _Truth:
    """The log density near the start, by PyTensor without a compiler, in 64 bits throughout."""
    parts = [said.prior] if said.likelihood is None else [said.prior, said.likelihood]
    log_densities = compiled([said.x], parts, said, "FAST_COMPILE")
    rng = np.random.default_rng(0)
    points = said.start + rng.uniform(-0.5, 0.5, (POINTS, said.dim))
    directions = rng.choice([-1.0, 1.0], (DIRECTIONS, said.dim))
    step = 1e-5

    def value(x: np.ndarray) -> float:
        return float(sum(log_densities(x)))

    def slope(x: np.ndarray, along: np.ndarray) -> float:
        return (value(x + along) - value(x - along)) / (2 * np.abs(along).max())

    with np.errstate(all="ignore"):
        values = np.array([value(x) for x in points])
        coarse, fine = (
            np.array([[slope(x, size * d) for d in directions] for x in points])
            for size in (step, step / 4)
        )
    rounding = 64 * np.finfo(float).eps * (1 + np.abs(values)) / step
    return _Truth(points, values, directions, fine, 10 * np.abs(coarse - fine) + rounding[:, None])


def _expect_same(said: Graphs, truth: _Truth) -> None:
    """Raises where the log density is not that of the function that PyMC itself makes."""
    with np.errstate(all="ignore"):
        own = said.model.compile_logp(mode="FAST_COMPILE")
        values = np.array([float(own(said.point(x))) for x in truth.points])
    if not np.allclose(truth.values, values, rtol=ROUNDED, atol=ROUNDED, equal_nan=True):
        raise ModelError(
            f"refti reads log densities {truth.values} out of this model where PyMC has {values}. "
            "Please report it with the model."
        )


def _disagreement(whole: Density, truth: _Truth) -> str | None:
    """How a backend's values or gradients differ from PyMC's, in words; None if they do not.

    Asked of two programs, one point at a time and a batch as the sampler's: XLA has compiled wrong
    gradients of Gaussian processes in one of them and right ones in the other.
    """
    with jax.enable_x64(True):
        one, batch = jax.jit(_value_and_gradient), jax.jit(_all, compiler_options=QUICK_COMPILE)
        padded = jnp.asarray(np.resize(truth.points, (LANES, truth.points.shape[1])))
        single = [one(whole, jnp.asarray(x)) for x in truth.points]
        values, gradients = batch(whole, padded)
    first, slopes = (np.array(part) for part in zip(*single, strict=True))
    alone = _difference(first, slopes, truth)
    return alone or _difference(np.asarray(values)[:POINTS], np.asarray(gradients)[:POINTS], truth)


def _value_and_gradient(whole: Density, x: Any) -> Any:
    return jax.value_and_grad(whole.log_density)(x)


def _all(whole: Density, x: Any) -> Any:
    return jax.vmap(lambda one: one_by_one(_value_and_gradient, whole, one))(x)


def _difference(values: np.ndarray, gradients: np.ndarray, truth: _Truth) -> str | None:
    both = np.isfinite(values) & np.isfinite(truth.values)
    with np.errstate(invalid="ignore"):  # where both are infinite
        far = np.abs(values - truth.values) > SAME * (1 + np.abs(truth.values))
    wrong = (both & far) | (np.isfinite(values) & np.isneginf(truth.values))
    if wrong.any():
        i = int(np.argmax(wrong))
        return f"values differ from PyMC's: {values[i]:.12g} against {truth.values[i]:.12g}"
    slopes = gradients @ truth.directions.T
    allowed = 1e-4 * np.abs(gradients).sum(axis=1, keepdims=True) + 1e-8 + truth.doubts
    off = np.isfinite(truth.doubts) & both[:, None] & ~(np.abs(slopes - truth.slopes) <= allowed)
    if off.any():
        row, column = np.argwhere(off)[0]
        return (
            "gradients differ from differences of PyMC's values: "
            f"{slopes[row, column]:.6g} against {truth.slopes[row, column]:.6g}"
        )
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """PyTensor's advice on how it might run faster is not the user's concern here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="pytensor")
        warnings.filterwarnings("ignore", module="pymc")
        warnings.filterwarnings("ignore", category=UserWarning, message=".*object mode.*")
        yield


def _first_sentence(error: BaseException) -> str:
    """The first sentence of what it says."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip().split(". ")[0].rstrip(".") if lines else ""
