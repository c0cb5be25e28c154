"""Graphs of PyTensor compiled as functions of many points at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refti.inputs.pymc.backends import compile_graphs
from refti.inputs.pymc.graph import Graphs


def compile_for_points(
    inputs: Sequence[Any], outputs: Sequence[Any], graphs: Graphs
) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    """A function of points to values, each with the points along its first axis."""
    from pytensor.graph.replace import vectorize_graph
    from pytensor.tensor import TensorType

    many = [TensorType("float64", (None, *variable.type.shape))() for variable in inputs]
    try:
        batch = vectorize_graph(list(outputs), dict(zip(inputs, many, strict=True)))
        axes = [output.type.ndim for output in outputs]
        return _vectorised(compile_graphs(many, batch, graphs, "FAST_COMPILE"), axes)
    except Exception:  # a transform that PyTensor cannot vectorise, such as a loop
        return _point_by_point(compile_graphs(list(inputs), list(outputs), graphs, "FAST_COMPILE"))


def _vectorised(
    function: Any, axes: Sequence[int]
) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    """The function with an axis of points also of what does not depend on them."""

    def run(values: Sequence[np.ndarray]) -> list[np.ndarray]:
        results = [np.asarray(result) for result in function(*values)]
        return [
            np.broadcast_to(result, (len(values[0]), *result.shape)) if result.ndim == n else result
            for result, n in zip(results, axes, strict=True)
        ]

    return run


def _point_by_point(function: Any) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    def run(values: Sequence[np.ndarray]) -> list[np.ndarray]:
        rows = [function(*row) for row in zip(*values, strict=True)]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return run
