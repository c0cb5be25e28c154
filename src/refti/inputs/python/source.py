"""from_callable: the model of any Python function, known by its values alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.errors import ModelError
from refti.inputs.python.calls import Batch, Call, Style, copy_batch, size_of
from refti.inputs.python.sent_calls import SentCalls
from refti.inputs.python.tuning import TUNING
from refti.inputs.python.workers import Workers, choose_processes
from refti.models.density import ValueOnlyDensity
from refti.models.determinism import require_deterministic
from refti.models.model import Model
from refti.models.recipe import Recipe
from refti.models.rejections import Rejections
from refti.models.space import SupportedSpace
from refti.models.supports import Support
from refti.models.user_functions import (
    name_parameters,
    require_functions,
    shared_keywords,
    unconstrain_start,
    wanted_keywords,
)


def from_callable(
    log_density: Callable[..., Any] | None = None,
    parameters: Mapping[str, Support] | None = None,
    *,
    dim: int | None = None,
    log_prior: Callable[..., Any] | None = None,
    log_likelihood: Callable[..., Any] | None = None,
    start: Mapping[str, Any] | Any | None = None,
    vectorized: bool = False,
    processes: int | None = None,
    executor: Any = None,
) -> Model:
    """The model of any Python function, such as one that calls another program.

    As in `refti.Model`, the function takes a vector (`dim=`), or named parameters with supports as
    one dictionary or by keyword, and the Jacobians of the supports are added. It gets NumPy numbers
    and returns one number, always the same for the same input. Where it raises, the density counts
    as zero, and the result says how often that happened.

    Args:
        log_density: the function, or give `log_prior` and `log_likelihood`.
        parameters: supports by name.
        dim: the length of the vector, for a function of a vector.
        log_prior: the log density of the prior; where it is -inf the likelihood is not called.
        log_likelihood: the log likelihood.
        start: parameter values at which to begin.
        vectorized: whether the function takes arrays with a leading axis of points, and returns
            one number for each.
        processes: the number of processes in which it is called; 1 is this process, and a function
            that crashes or hangs takes it down. If not given, one other process if a call takes
            less than a millisecond, and otherwise one for each core.
        executor: what calls the function instead, such as a Dask Client or its address, or anything
            else that `refti.evidence` takes: points are distributed over its workers.
    """
    given = require_functions(
        {"log_density": log_density, "log_prior": log_prior, "log_likelihood": log_likelihood}
    )
    if processes is not None and (
        not isinstance(processes, int | np.integer) or isinstance(processes, bool) or processes < 1
    ):
        raise ModelError(
            f"processes= must be a whole number of at least 1, or None; got {processes!r}."
        )
    if processes is not None and executor is not None:
        raise ModelError("Give processes= or executor=, not both: each says where it is called.")
    space = SupportedSpace(name_parameters(parameters, dim))
    others: dict[str, Any] = {"vectorized": vectorized, "processes": processes}
    others |= shared_keywords(parameters, dim, start)
    with jax.enable_x64(True):
        begin = unconstrain_start(space, start, takes_vector=dim is not None)
        rejections = RejectionCounter()
        factors: dict[str, _FunctionDensity] = {}
        for role, function in given.items():
            keywords = wanted_keywords(function, space)
            style: Style = "keywords" if keywords is not None else "dictionary"
            points = _Points(space, keywords or list(space.parameters), is_vector=dim is not None)
            call = Call(function, role, "vector" if dim is not None else style, vectorized)
            workers = _try_function(call, points, begin, processes, executor)
            factors[role] = _FunctionDensity(points, workers, rejections, role != "log_likelihood")
    split = len(factors) > 1
    most = max(factor.workers.processes for factor in factors.values())
    return Model.assembled(
        space,
        _FunctionProduct(tuple(factors.values())) if split else factors["log_density"],
        prior=factors.get("log_prior"),
        start=begin,
        source="a Python function" + (f" in {most} processes" if most > 1 else ""),
        rejections=rejections.read,
        recipe=Recipe(f"{__name__}:from_callable", (), {**given, **others}),
    )


class _Points:
    """The way from unconstrained coordinates to what the user's function takes, by its names."""

    def __init__(self, space: SupportedSpace, names: Sequence[str], *, is_vector: bool):
        self.names = tuple(names)
        self._space, self._is_vector = space, is_vector

    def __call__(self, x: np.ndarray) -> tuple[Batch, np.ndarray]:
        """The parameters' values at points x[n, dim], and the log Jacobians [n]."""
        if self._is_vector:
            return {"x": x}, np.zeros(len(x))
        width = next((w for w in TUNING.widths if len(x) <= w), TUNING.widths[-1])
        padded = np.concatenate([x, np.broadcast_to(x[-1:], (-len(x) % width, x.shape[1]))])
        with jax.enable_x64(True):
            parts = [
                self._constrained(jnp.asarray(rows))
                for rows in np.split(padded, len(padded) // width)
            ]
        batch = {
            name: np.concatenate([np.asarray(values[name]) for values, _ in parts])[: len(x)]
            for name in self.names
        }
        return batch, np.concatenate([np.asarray(jacobian) for _, jacobian in parts])[: len(x)]

    @cached_property
    def _constrained(self) -> Any:
        def constrained(x: Any) -> Any:
            values, jacobian = self._space.constrained(x)
            edges = {n: self._space.edge(x, n) for n in self.names if n in self._space.edges}
            return values | edges, jacobian

        return jax.jit(jax.vmap(constrained))


class RejectionCounter:
    """The points at which the user's code raised, counted from all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: Rejections | None = None

    def add(self, x: np.ndarray, messages: Mapping[int, str]) -> None:
        if not messages:
            return
        with self._lock:
            if self._known is None:
                first = min(messages)
                where = tuple(float(v) for v in x[first])
                self._known = Rejections(len(messages), messages[first], where)
            else:
                known = self._known
                self._known = Rejections(known.count + len(messages), known.message, known.where)

    def read(self) -> Rejections | None:
        return self._known


class _FunctionDensity(ValueOnlyDensity):
    """One function of the user's as a density of unconstrained coordinates."""

    def __init__(
        self,
        points: _Points,
        workers: Workers | SentCalls,
        rejections: RejectionCounter,
        with_jacobian: bool,
    ):
        self.workers = workers
        self._points, self._rejections, self._with_jacobian = points, rejections, with_jacobian

    def log_densities(self, x: np.ndarray, deadline: float | None = None) -> np.ndarray:
        """The log densities at points x[n, dim]; NaN where the function raised."""
        if len(x) == 0:
            return np.zeros(0)
        batch, jacobians = self._points(x)
        answers = self.workers(batch, deadline)
        self._rejections.add(x, answers.messages)
        return answers.values + (jacobians if self._with_jacobian else 0.0)


class _FunctionProduct(ValueOnlyDensity):
    """The product of functions; none is asked where one before it is zero already."""

    def __init__(self, factors: tuple[ValueOnlyDensity, ...]):
        self._factors = factors

    def log_densities(self, x: np.ndarray, deadline: float | None = None) -> np.ndarray:
        """The sums of the factors' log densities at points x[n, dim]."""
        total = np.zeros(len(x))
        for factor in self._factors:
            alive = np.isfinite(total)
            total[alive] += factor.log_densities(x[alive], deadline)
        return total


def _try_function(
    call: Call, points: _Points, start: np.ndarray, processes: int | None, executor: Any
) -> Workers | SentCalls:
    """Where the function is called from now on, after it was seen to work.

    Raises ModelError if it does not. It is called in another process first, which it may crash.
    """
    # A run must not end for a None at a far point: from here on it is a rejection.
    forgiving = replace(call, forgiving=True)
    beside = Workers(forgiving, 1, beside=processes != 1)
    if processes != 1:
        beside(points(start[None])[0])
    chosen = choose_processes(processes, _time_call(call, points, start), call.vectorized)
    if chosen == 1 and executor is None:
        return beside
    beside.close()
    return Workers(forgiving, chosen) if executor is None else SentCalls(forgiving, executor)


def _time_call(call: Call, points: _Points, start: np.ndarray) -> float:
    """The seconds of a call. Raises ModelError if none near the start works, or it is random."""
    rng, radius = np.random.default_rng(0), TUNING.trial_radius
    spread = start + rng.uniform(-radius, radius, (TUNING.trials - 1, len(start)))
    message = ""
    for x in np.concatenate([start[None], spread]):
        batch, _ = points(x[None])
        answers = call(batch)
        if not answers.messages:
            break
        message = message or answers.messages[0]
    else:
        raise ModelError(
            f"{call.role} raised at all of {TUNING.trials} points that were tried, first with "
            f"{message}. Check that it takes {_expected(call, batch)}, or give start= with values "
            "at which it works."
        )
    begun = time.perf_counter()
    again = call(batch)
    seconds = time.perf_counter() - begun
    require_deterministic(call.role, answers.values, again.values)
    _require_arguments_unchanged(call, batch)
    return seconds


def _require_arguments_unchanged(call: Call, batch: Batch) -> None:
    """Raises ModelError if the function writes to what it is given."""
    if call.vectorized:
        handed: dict[str, Any] = copy_batch(batch)
    else:
        handed = {name: values[0] for name, values in copy_batch(batch).items()}
    before = {name: np.array(value) for name, value in handed.items()}
    try:
        call.raw(handed)
    except (Exception, SystemExit):  # it did not a moment ago; sampling will count it
        return
    changed = [n for n in before if not np.array_equal(before[n], handed[n], equal_nan=True)]
    if changed:
        raise ModelError(
            f"{call.role} changes its input ({', '.join(changed)}) while it runs. Let it work on a "
            "copy, such as x = x.copy()."
        )


def _expected(call: Call, batch: Batch) -> str:
    lead = f"{size_of(batch)} points as " if call.vectorized else ""
    shapes = {name: v.shape if call.vectorized else v.shape[1:] for name, v in batch.items()}
    if call.style == "vector":
        return f"{lead}one array of shape {shapes['x']}"
    names = ", ".join(f"{name} {shape}" if shape else name for name, shape in shapes.items())
    return f"{lead}{'a dictionary with' if call.style == 'dictionary' else 'arguments'} {names}"
