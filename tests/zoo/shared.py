"""A model of any source, seen through the parameters that all sources of it share.

Every source has unconstrained coordinates of its own, and a Jacobian to go with them. Densities
are compared where they must agree: with respect to the free elements of the shared parameters.
The Jacobians are taken by differences of `constrain`, so no source's formula is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

import jax
import numpy as np
from numpyro.distributions import constraints

import refti

# Central differences of order 6: a derivative is Σ weight · f(offset).
STEP = 0.01
OFFSETS = STEP * np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
WEIGHTS = np.array([-1 / 60, 3 / 20, -3 / 4, 3 / 4, -3 / 20, 1 / 60]) / STEP

Values = Mapping[str, Any]
"""The parameters' values by name, [n, *shape]."""


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
        """The shared parameters' values at the source's unconstrained coordinates x[n, dim]."""
        return self.from_own(self.model.space.constrain_all(x))

    def coordinates(self, values: Values) -> np.ndarray:
        """The source's unconstrained coordinates [n, dim] of the shared parameters' values."""
        return self.model.space.unconstrain_all(self.to_own(values))

    def log_densities(self, values: Values) -> np.ndarray:
        """The log densities [n] with respect to the free elements of the shared parameters."""
        x = self.coordinates(values)
        return self.model.log_densities(x) - self.log_jacobians(x)

    def slope(self, x: np.ndarray, direction: np.ndarray) -> float:
        """The log density's derivative along a curve through the shared parameters.

        The curve is a straight line, from x in a direction, in the plain model's coordinates. Its
        slope is the source's gradient along the curve, less the change of the source's Jacobian.
        """
        line = x + np.append(OFFSETS, 0.0)[:, None] * direction
        *around, at = self.coordinates(self.plain.space.constrain_all(line))
        gradient = np.asarray(self._gradient(at))
        return float(gradient @ (WEIGHTS @ around) - WEIGHTS @ self.log_jacobians(np.array(around)))

    def log_jacobians(self, x: np.ndarray) -> np.ndarray:
        """The log determinants [n] of the map from unconstrained coordinates to free elements."""
        elements = self._free(x)
        assert elements.shape == x.shape
        # Where an element is its coordinate itself, its row of the matrix is one of the identity.
        unchanged = np.all(elements[:, :, None] == x[:, None, :], axis=0)
        rows, columns = ~unchanged.any(axis=1), np.flatnonzero(~unchanged.any(axis=0))
        if not len(columns):
            return np.zeros(len(x))
        moved = OFFSETS[:, None] * np.eye(x.shape[1])[columns, None, :]
        around = x[:, None, None, :] + moved
        elements = self._free(around.reshape(-1, x.shape[1])).reshape(around.shape)[..., rows]
        return np.linalg.slogdet(np.einsum("o,ncor->ncr", WEIGHTS, elements))[1]

    @cached_property
    def _gradient(self) -> Callable[[np.ndarray], Any]:
        return jax.jit(jax.grad(self.model.log_density))

    def _free(self, x: np.ndarray) -> np.ndarray:
        values = self.values(x)
        elements = [
            free_elements(support.constraint, np.asarray(values[name]))
            for name, support in self.plain.supported_space.supports.items()
        ]
        return np.concatenate(elements, axis=1)


def free_elements(constraint: constraints.Constraint, value: np.ndarray) -> np.ndarray:
    """The elements [n, free] of values [n, *shape], with respect to which a density is meant."""
    if constraint is constraints.simplex:
        return value[:, :-1]
    if constraint is constraints.corr_cholesky:
        return value[:, *np.tril_indices(value.shape[-1], -1)]
    return value.reshape(len(value), -1)
