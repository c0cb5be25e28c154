"""The space of a PyMC model: its free variables, and PyMC's own transforms of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from refti.errors import ModelError
from refti.inputs.pymc.backends import compile_graphs
from refti.inputs.pymc.graph import Graphs
from refti.inputs.pymc.tuning import TUNING
from refti.models.space import Parameter, Space


class PymcSpace(Space):
    """The free variables of a PyMC model, mapped by its transforms."""

    def __init__(self, graphs: Graphs):
        self._graphs = graphs
        self._constrain = _compile_for_points([graphs.x], graphs.constrained, graphs)
        self._unconstrain = _compile_for_points(graphs.theta, [graphs.unconstrained], graphs)
        one = self._constrain([graphs.start[None]])
        shapes = zip(graphs.names, one, strict=True)
        self.parameters = MappingProxyType({n: Parameter(v.shape[1:]) for n, v in shapes})
        self.coordinates = graphs.coordinates

    def constrain_all(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The parameters' values [n, *shape] at unconstrained coordinates x[n, dim]."""
        values = self._constrain([np.ascontiguousarray(x, dtype=np.float64)])
        return dict(zip(self.parameters, values, strict=True))

    def unconstrain_all(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The coordinates x[n, dim] of values [n, *shape].

        Raises ModelError, with the names of the parameters, if values are outside of the support.
        Such a value has no coordinates, or has those of another value, as shares that do not sum
        to one do.
        """
        given = [np.ascontiguousarray(values[name], dtype=np.float64) for name in self.parameters]
        with np.errstate(all="ignore"):
            (x,) = self._unconstrain(given)
            back = self._constrain([np.where(np.isfinite(x), x, 0.0)])
        sizes = [prod(shape) for shape in self._graphs.shapes]
        owners = np.repeat(np.array(self._graphs.names), sizes)
        astray = set(owners[~np.isfinite(x).all(axis=0)])
        if not astray:
            astray = {
                name
                for name, came, went in zip(self.parameters, back, given, strict=True)
                if not np.allclose(came, went, rtol=TUNING.round_trip, atol=TUNING.round_trip)
            }
        if astray:
            outside = [name for name in self.parameters if name in astray]
            raise ModelError(
                "\n".join(f"{name!r} has values outside its support." for name in outside)
            )
        return x

    def round_trip(self, x: np.ndarray) -> np.ndarray:
        """The coordinates of the values at x[n, dim], rounded as they are; not finite where none.

        They are those that went where the values have kept their digits.
        """
        with np.errstate(all="ignore"):
            values = self._constrain([np.ascontiguousarray(x, dtype=np.float64)])
            return self._unconstrain(values)[0]


def _compile_for_points(
    inputs: Sequence[Any], outputs: Sequence[Any], graphs: Graphs
) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    """A function of points to values, each with the points along its first axis."""
    from pytensor.graph.replace import vectorize_graph
    from pytensor.tensor import TensorType

    many = [TensorType("float64", (None, *variable.type.shape))() for variable in inputs]
    try:
        batch = vectorize_graph(list(outputs), dict(zip(inputs, many, strict=True)))
        return _vectorised(compile_graphs(many, batch, graphs, "FAST_COMPILE"))
    except Exception:  # a transform that PyTensor cannot vectorise, such as a loop
        return _point_by_point(compile_graphs(list(inputs), list(outputs), graphs, "FAST_COMPILE"))


def _vectorised(function: Any) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    def run(values: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(result) for result in function(*values)]

    return run


def _point_by_point(function: Any) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    def run(values: Sequence[np.ndarray]) -> list[np.ndarray]:
        rows = [function(*row) for row in zip(*values, strict=True)]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return run
