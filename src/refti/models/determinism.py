"""Determinism: a log density must be the same at the same point each time it is asked."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr
from jaxtyping import Array, Float

from refti.errors import ModelError
from refti.models.batching import log_densities
from refti.models.density import inner_constants, to_density, trace
from refti.models.tuning import TUNING


def require_deterministic(
    name: str, first: np.ndarray, second: np.ndarray, noise: float = TUNING.largest_noise
) -> None:
    """Raises ModelError if the same points gave other values the second time."""
    other = ~np.isclose(first, second, rtol=noise, atol=noise, equal_nan=True)
    if other.any():
        at = int(np.argmax(other))
        raise ModelError(
            f"{name} must give the same number for the same values; got {first[at]:.10g} and then "
            f"{second[at]:.10g}. The density is random, or depends on earlier calls. If it draws "
            "random numbers, draw them once, outside; if it keeps something between calls, reset "
            "that each time."
        )


def trace_deterministic(
    name: str, function: Callable[[Float[Array, " dim"]], Any], dim: int
) -> ClosedJaxpr:
    """The program of a function of unconstrained coordinates, which is run twice, here.

    JAX keeps what one run of the function computed, random numbers included. Raises ModelError if
    another run computes something else.
    """
    program = trace(function, dim)
    with run_afresh():
        again = trace(function, dim)
    if not is_same_program(program, again):
        rng = np.random.default_rng(0)
        x = jnp.asarray(
            rng.uniform(-TUNING.trial_radius, TUNING.trial_radius, (TUNING.trials, dim))
        )
        first, second = (np.asarray(log_densities(to_density(p), x)) for p in (program, again))
        require_deterministic(name, first, second)
    return program


def is_same_program(one: ClosedJaxpr, other: ClosedJaxpr) -> bool:
    """Whether two programs are written alike and hold the same numbers."""
    if str(one.jaxpr) != str(other.jaxpr):
        return False
    return all(
        a is b or np.array_equal(np.asarray(a), np.asarray(b))
        for a, b in zip(_constants(one), _constants(other), strict=True)
    )


@contextmanager
def run_afresh() -> Iterator[None]:
    """The scope in which JAX runs functions again, those that it has run already among them.

    What `jax.jit` remembers of a function holds for the settings it was run under. This one only
    decides whether a warning is given, and warnings that were given a moment ago are not repeated.
    """
    setting = jax.config.jax_numpy_rank_promotion  # type: ignore[attr-defined]
    other = "allow" if setting == "warn" else "warn"
    with _ONE_AT_A_TIME, warnings.catch_warnings(), jax.numpy_rank_promotion(other):
        warnings.simplefilter("ignore")
        yield


def _constants(program: ClosedJaxpr) -> list[Any]:
    return [*program.consts, *inner_constants(program.jaxpr)]


_ONE_AT_A_TIME = threading.RLock()  # filters of warnings are those of all threads
