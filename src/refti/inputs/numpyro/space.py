"""The space of a NumPyro model: its latent sites, mapped by NumPyro's own transforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from refti.errors import ModelError
from refti.inputs.numpyro.sites import Call, Site, at_coordinates, bijection, of_kind
from refti.models.space import Space, labels


@dataclass(frozen=True)
class Latent:
    """A latent site: the shape of its value, and that of its unconstrained coordinates."""

    shape: tuple[int, ...]
    unconstrained_shape: tuple[int, ...]


def latents(sites: Mapping[str, Site]) -> dict[str, Latent]:
    """The latent sites by name."""
    return {
        name: Latent(
            jnp.shape(site["value"]), bijection(site).inverse_shape(jnp.shape(site["value"]))
        )
        for name, site in of_kind(sites, "latent").items()
    }


class NumPyroSpace(Space):
    """The latent sites in the order of the model.

    A support may depend on other sites, so the way to and from it leads through the model.
    """

    def __init__(self, call: Call, latents: Mapping[str, Latent]):
        self.call = call
        self.parameters: Mapping[str, Latent] = latents
        self.coordinates = tuple(
            label
            for name, latent in self.parameters.items()
            for label in labels(name, latent.unconstrained_shape)
        )

    def by_name(self, x: Float[Array, " dim"]) -> dict[str, Float[Array, "..."]]:
        """Unconstrained coordinates by the site they belong to."""
        sizes = [prod(latent.unconstrained_shape) for latent in self.parameters.values()]
        parts = jnp.split(x, np.cumsum(sizes)[:-1])
        return {
            name: part.reshape(latent.unconstrained_shape)
            for (name, latent), part in zip(self.parameters.items(), parts, strict=True)
        }

    def sites(self, x: Float[Array, " dim"], seed: Any = 0) -> dict[str, Site]:
        """All sites of the model at unconstrained coordinates."""
        return self.call.run(at_coordinates(self.by_name(x)), seed)

    def constrain_all(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The latents' values [n, *shape] at unconstrained coordinates x[n, dim]."""
        with jax.enable_x64(True):
            values = self._constrain_all(jnp.asarray(x, jnp.float64))
        return {name: np.asarray(values[name]) for name in self.parameters}

    def unconstrain_all(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The coordinates x[n, dim] of values [n, *shape]. Raises ModelError if any is outside."""
        with jax.enable_x64(True):
            arrays = {name: jnp.asarray(values[name], jnp.float64) for name in self.parameters}
            x, inside = self._unconstrain_all(arrays)
        outside = [name for name in self.parameters if not np.all(inside[name])]
        if outside:
            raise ModelError(
                "\n".join(f"{name!r} has values outside its support." for name in outside)
            )
        return np.asarray(x)

    def round_trip(self, x: np.ndarray) -> np.ndarray:
        """The coordinates of the values at x[n, dim], rounded as they are; not finite where none.

        They are those that went where the values have kept their digits.
        """
        with jax.enable_x64(True):
            values = self._constrain_all(jnp.asarray(x, jnp.float64))
            return np.asarray(self._unconstrain_all(values)[0])

    def draw_prior(self, count: int, seed: int) -> np.ndarray:
        """Coordinates x[n, dim] of values that the model itself draws, one site after the other.

        Not finite where a value was rounded to the edge of its support.
        """

        def one(key: Any) -> Float[Array, " dim"]:
            sites = self.call.run(lambda site: None, key)
            parts = [bijection(sites[n]).inv(sites[n]["value"]) for n in self.parameters]
            return jnp.concatenate([jnp.ravel(part) for part in parts])

        with jax.enable_x64(True):
            keys = jax.random.split(jax.random.PRNGKey(seed), count)
            return np.asarray(jax.jit(jax.vmap(one))(keys))

    @cached_property
    def _constrain_all(self) -> Any:
        def constrained(x: Float[Array, " dim"]) -> dict[str, Float[Array, "..."]]:
            sites = self.sites(x)
            return {name: _reshape(sites[name], latent) for name, latent in self.parameters.items()}

        return jax.jit(jax.vmap(constrained))

    @cached_property
    def _unconstrain_all(self) -> Any:
        def unconstrained(
            values: Mapping[str, Float[Array, "..."]],
        ) -> tuple[Float[Array, " dim"], dict[str, Bool[Array, ""]]]:
            sites = self.call.run(lambda site: values[site["name"]])
            parts, inside = [], {}
            for name in self.parameters:
                part = bijection(sites[name]).inv(sites[name]["value"])
                holds = sites[name]["fn"].support(sites[name]["value"])
                # An edge may belong to the support, but has no unconstrained coordinates.
                inside[name] = jnp.all(holds) & jnp.all(jnp.isfinite(part))
                parts.append(jnp.ravel(part))
            return jnp.concatenate(parts), inside

        return jax.jit(jax.vmap(unconstrained))


def _reshape(site: Site, latent: Latent) -> Float[Array, "..."]:
    return jnp.reshape(site["value"], latent.shape)
