"""Box: a uniform prior on a box and a likelihood in it, as nested samplers want them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.models.model import Model
from refti.models.supports import interval


@dataclass(frozen=True)
class Box:
    """A likelihood of the points of a box on which the prior is uniform.

    Attributes:
        bounds: the lower and the upper bound of each parameter.
        log_likelihood: of a point of the box, in JAX.
    """

    bounds: tuple[tuple[float, float], ...]
    log_likelihood: Callable[[Float[Array, " dim"]], Float[Array, ""]]

    @property
    def dim(self) -> int:
        """The number of parameters."""
        return len(self.bounds)

    @property
    def log_volume(self) -> float:
        """The log volume, which is minus the log density of the prior."""
        return sum(log(high - low) for low, high in self.bounds)

    def from_cube(self, u: np.ndarray) -> np.ndarray:
        """The points of the box that belong to points u[..., dim] of the unit cube."""
        low, high = np.array(self.bounds).T
        return low + (high - low) * u

    def model(self) -> Model:
        """The model with the parameters x1, x2, ... and with its prior apart."""
        names = [f"x{number}" for number in range(1, self.dim + 1)]
        log_prior = -self.log_volume
        likelihood = self.log_likelihood

        def of_values(values: dict[str, Float[Array, ""]]) -> Float[Array, ""]:
            return likelihood(jnp.stack([values[name] for name in names]))

        def uniform(values: dict[str, Float[Array, ""]]) -> Float[Array, ""]:
            # Nothing of the values enters, but the log density must be made from them.
            return log_prior + 0.0 * values[names[0]]

        supports = {name: interval(*bound) for name, bound in zip(names, self.bounds, strict=True)}
        return Model(log_prior=uniform, log_likelihood=of_values, parameters=supports)


def cube(
    half: float, dim: int, log_likelihood: Callable[[Float[Array, " dim"]], Float[Array, ""]]
) -> Box:
    """The box from -half to half in every parameter."""
    return Box(((-half, half),) * dim, log_likelihood)
