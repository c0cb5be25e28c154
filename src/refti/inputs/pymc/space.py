"""The space of a PyMC model: its free variables, and PyMC's own transforms of them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

import numpy as np

from refti.errors import ModelError
from refti.inputs.pymc.graph import Graphs
from refti.inputs.pymc.points import compile_for_points
from refti.inputs.pymc.tuning import TUNING
from refti.models.space import Parameter, Space


class PymcSpace(Space):
    """The free variables of a PyMC model, mapped by its transforms."""

    def __init__(self, graphs: Graphs):
        self._graphs = graphs
        self._constrain = compile_for_points([graphs.x], graphs.constrained, graphs)
        self._unconstrain = compile_for_points(graphs.theta, [graphs.unconstrained], graphs)
        one = self._constrain([graphs.start[None]])
        shapes = zip(graphs.names, one, strict=True)
        self.parameters = MappingProxyType({n: Parameter(v.shape[1:]) for n, v in shapes})
        self.coordinates = graphs.coordinates

    @property
    def owners(self) -> tuple[str, ...]:
        """The free variable that each coordinate belongs to."""
        pairs = zip(self._graphs.names, self._graphs.shapes, strict=True)
        return tuple(name for name, shape in pairs for _ in range(prod(shape)))

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
        x = self.coordinates_of(values)
        with np.errstate(all="ignore"):
            back = self._constrain([np.where(np.isfinite(x), x, 0.0)])
        owners = np.array(self.owners)
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

    def coordinates_of(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The coordinates x[n, dim] of values [n, *shape]; not finite where they have none."""
        given = [np.ascontiguousarray(values[name], dtype=np.float64) for name in self.parameters]
        with np.errstate(all="ignore"):
            return self._unconstrain(given)[0]

    def round_trip(self, x: np.ndarray) -> np.ndarray:
        """The coordinates of the values at x[n, dim], rounded as they are; not finite where none.

        They are those that went where the values have kept their digits.
        """
        with np.errstate(all="ignore"):
            values = self._constrain([np.ascontiguousarray(x, dtype=np.float64)])
            return self._unconstrain(values)[0]
