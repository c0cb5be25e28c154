"""Reshape: a model seen in latent coordinates. Its evidence is the same, its shape rounder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from refti.coordinates.map import Map, from_latent, to_latent
from refti.models.density import Density, ValueOnlyDensity
from refti.models.model import Model
from refti.models.space import Space


@partial(jax.tree_util.register_dataclass, data_fields=["density", "way"], meta_fields=[])
@dataclass(frozen=True)
class PulledBack:
    """The density q(x(v)) |dx / dv| of latent coordinates v."""

    density: Density
    way: Map

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The log density at one latent point."""
        there, log_jacobian = self.way.forward(x)
        return self.density.log_density(there) + log_jacobian


class PulledBackValues(ValueOnlyDensity):
    """The same of a density that is known by its values alone."""

    def __init__(self, density: ValueOnlyDensity, way: Map):
        self._density, self._way = density, way

    def log_densities(self, x: np.ndarray, deadline: float | None = None) -> np.ndarray:
        """The log densities at latent points x[n, dim]."""
        if len(x) == 0:
            return np.zeros(0)
        with jax.enable_x64(True):
            there, log_jacobian = from_latent(self._way, x)
        return self._density.log_densities(there, deadline) + log_jacobian


class ReshapedSpace(Space):
    """A model's parameters by latent coordinates."""

    def __init__(self, space: Space, way: Map):
        self._space, self._way = space, way
        self.parameters, self.coordinates = space.parameters, space.coordinates

    def constrain_all(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The parameters' values [n, *shape] at latent coordinates x[n, dim]."""
        return self._space.constrain_all(from_latent(self._way, x)[0])

    def unconstrain_all(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The latent coordinates x[n, dim] of values [n, *shape]."""
        return to_latent(self._way, self._space.unconstrain_all(values))

    def constrain(self, x: Any) -> dict[str, Any]:
        """The parameters' values at one point."""
        return self._space.constrain(self._way.forward(jnp.asarray(x))[0])


def reshape(model: Model, way: Map) -> Model:
    """The model in the map's latent coordinates."""
    with jax.enable_x64(True):
        start = to_latent(way, model.start[None])[0]
    return Model.assembled(
        ReshapedSpace(model.space, way),
        pull_back(model.density, way),
        prior=None if model.prior is None else pull_back(model.prior, way),
        start=start,
        source=model.source,
        rejections=model.rejections,
        limits=model.limits,
        no_recipe="it is seen in coordinates of its own",
        origin=model.origin,
        notes=model.notes,
    )


def pull_back(density: Density, way: Map) -> Density:
    """The density in the map's latent coordinates."""
    if isinstance(density, ValueOnlyDensity):
        return PulledBackValues(density, way)
    return PulledBack(density, way)
