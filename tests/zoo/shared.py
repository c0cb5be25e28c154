"""A model of any source, seen through the parameters that all sources of it share.

Every source has unconstrained coordinates of its own, and a Jacobian to go with them. Densities
are compared where they must agree: with respect to the free elements of the shared parameters.
The Jacobians are taken by differences of `constrain`, so no source's formula is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import numpy as np
from numpyro.distributions import constraints

import refti

# Central differences of order 6: Σ weight (f(+ i h) - f(- i h)) / h, for i = 1, 2, 3.
STEP = 0.01
WEIGHTS = (3 / 4, -3 / 20, 1 / 60)

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Shared:
    """One source's model; `plain` is the JAX one, whose parameters are the shared ones."""

    model: refti.Model
    plain: refti.Model
    from_own: Callable[[Values], Values]
    to_own: Callable[[Values], Values]

    @classmethod
    def of(cls, zoo: ModuleType, source: str, model: refti.Model, plain: refti.Model) -> Shared:
        """The model, with the translations that its zoo module declares for the source."""
        from_own = getattr(zoo, f"from_{source}_values", dict)
        return cls(model, plain, from_own, getattr(zoo, f"to_{source}_values", dict))

    def values(self, x: np.ndarray) -> Values:
        """The shared parameters' values at the source's unconstrained coordinates."""
        return self.from_own(self.model.constrain(x))

    def coordinates(self, values: Values) -> np.ndarray:
        """The source's unconstrained coordinates of the shared parameters' values."""
        return np.asarray(self.model.unconstrain(self.to_own(values)))

    def log_densities(self, points: list[Values]) -> np.ndarray:
        """The log densities of points with respect to the free elements of the parameters."""
        x = np.stack([self.coordinates(point) for point in points])
        return self.model.log_densities(x) - [self.log_jacobian(each) for each in x]

    def slope(self, curve: Callable[[float], Values]) -> float:
        """The log density's derivative along a curve through the parameters, at its start.

        It is the gradient of `model.log_density` along the curve, less the Jacobian's change.
        """
        start = self.coordinates(curve(0.0))
        gradient = np.asarray(jax.grad(self.model.log_density)(start))
        velocity = derivative(lambda t: self.coordinates(curve(t)))
        jacobian = derivative(lambda t: self.log_jacobian(self.coordinates(curve(t))))
        return float(gradient @ velocity - jacobian)

    def log_jacobian(self, x: np.ndarray) -> float:
        """The log determinant of the map from unconstrained coordinates to free elements."""
        value = self._free(x)
        # Where an element is its coordinate itself, its row of the matrix is one of the identity.
        unchanged = {
            (row, column)
            for row, element in enumerate(value)
            for column in np.flatnonzero(x == element)
        }
        rows = sorted(set(range(len(value))) - {row for row, _ in unchanged})
        columns = sorted(set(range(len(x))) - {column for _, column in unchanged})
        assert len(value) == len(x)
        assert len(rows) == len(columns)
        matrix = np.empty((len(rows), len(columns)))
        for i, column in enumerate(columns):
            along = np.eye(len(x))[column]
            matrix[:, i] = derivative(lambda t, along=along: self._free(x + t * along))[rows]
        return float(np.linalg.slogdet(matrix)[1])

    def _free(self, x: np.ndarray) -> np.ndarray:
        values = self.values(x)
        return np.concatenate(
            [
                free_elements(support.constraint, np.asarray(values[name]))
                for name, support in self.plain.parameters.items()
            ]
        )


def free_elements(constraint: constraints.Constraint, value: np.ndarray) -> np.ndarray:
    """The elements of a value with respect to which its density is meant."""
    if constraint is constraints.simplex:
        return value[:-1]
    if constraint is constraints.corr_cholesky:
        return value[np.tril_indices(len(value), -1)]
    return np.ravel(value)


def derivative(function: Callable[[float], Any]) -> Any:
    """The derivative of a function of one variable at 0."""
    return sum(
        weight * (np.asarray(function(i * STEP)) - np.asarray(function(-i * STEP))) / STEP
        for i, weight in enumerate(WEIGHTS, start=1)
    )
