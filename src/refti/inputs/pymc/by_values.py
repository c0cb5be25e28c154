"""PyMC models that have no gradient, such as those with a black-box Op, known by values alone."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from refti.errors import ModelError
from refti.inputs.pymc.agreement import OwnValues
from refti.inputs.pymc.backends import compile_graphs, density
from refti.inputs.pymc.graph import Graphs
from refti.inputs.pymc.tuning import TUNING
from refti.inputs.python.calls import describe_error
from refti.inputs.python.source import RejectionCounter
from refti.models.density import Density, OutOfTimeError, ValueOnlyDensity


class PymcValues(ValueOnlyDensity):
    """The log density as PyTensor evaluates it in Python, point by point, in this process."""

    def __init__(self, graphs: Graphs, output: Any, rejections: RejectionCounter):
        from pytensor.compile.mode import Mode

        # All rewrites that make a log density stable, and no C++ compiler.
        mode = Mode(linker="vm_nogc", optimizer="fast_run")
        self._function = compile_graphs([graphs.x], output, graphs, mode)
        self._rejections = rejections
        self._one_at_a_time = threading.Lock()

    def log_densities(self, x: np.ndarray, deadline: float | None = None) -> np.ndarray:
        """The log densities at points x[n, dim]; NaN where the model raised."""
        values = np.full(len(x), np.nan)
        for i, row in enumerate(x):
            if deadline is not None and time.perf_counter() > deadline:
                raise OutOfTimeError
            try:
                with self._one_at_a_time:
                    values[i] = float(self._function(np.array(row, dtype=np.float64)))
            except Exception as error:
                self._rejections.add(x, {i: describe_error(error)})
        return values


def by_values(
    graphs: Graphs, own: OwnValues, rejections: RejectionCounter
) -> tuple[Density | None, ValueOnlyDensity]:
    """The prior, by JAX where it can be had so, and the whole density by its values.

    Raises ModelError if the values are not those of PyMC.
    """
    whole = graphs.prior if graphs.likelihood is None else graphs.prior + graphs.likelihood
    made = PymcValues(graphs, whole, rejections)
    with np.errstate(all="ignore"):
        values = made.log_densities(own.points)
    same = np.isclose(values, own.values, rtol=TUNING.same_difference, atol=TUNING.same_difference)
    if not np.all(same | ~np.isfinite(own.values)):
        raise ModelError(f"its own values differ, {values} against {own.values}")
    if graphs.likelihood is None:
        return None, made
    try:
        return density(graphs, graphs.prior, "jax"), made
    except Exception:
        return PymcValues(graphs, graphs.prior, rejections), made
