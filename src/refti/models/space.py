"""Space: a model's parameters by name, and the map between them and unconstrained coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.distributions import constraints

from refti.errors import ModelError
from refti.models.edges import edge, edge_names
from refti.models.supports import Support


class Shaped(Protocol):
    """What every space knows of a parameter."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its value."""
        ...


@dataclass(frozen=True)
class Parameter:
    """A parameter whose support is the business of the language its model was written in."""

    shape: tuple[int, ...]


class Space(ABC):
    """The parameters, and the way from unconstrained coordinates to them and back.

    Attributes:
        parameters: what is known of each, by name, in the user's order.
        coordinates: the name of every unconstrained coordinate.
    """

    parameters: Mapping[str, Shaped]
    coordinates: tuple[str, ...]

    @property
    def owners(self) -> tuple[str, ...]:
        """The parameter that each coordinate belongs to, by its label."""
        names = sorted(self.parameters, key=len, reverse=True)
        return tuple(
            next((name for name in names if label.startswith(name)), label)
            for label in self.coordinates
        )

    @abstractmethod
    def constrain_all(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The parameters' values [n, *shape] at unconstrained coordinates x[n, dim]."""

    @abstractmethod
    def unconstrain_all(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The coordinates x[n, dim] of values [n, *shape]. Raises ModelError if any is outside."""

    def round_trip(self, x: np.ndarray) -> np.ndarray:
        """The coordinates of the values at x[n, dim], rounded as they are; NaN where none.

        They are those that went where the values have kept their digits.
        """
        values = self.constrain_all(x)
        try:
            return self.unconstrain_all(values)
        except ModelError:
            pass
        # One value at its bound fails them all, so each parameter is asked beside usual others.
        usual = self.constrain_all(np.zeros_like(x))
        owners, back = np.array(self.owners), np.full(x.shape, np.nan)
        for name in self.parameters:
            mine = owners == name
            for row in range(len(x)):
                one = {n: (values if n == name else usual)[n][row : row + 1] for n in values}
                with suppress(ModelError):
                    back[row, mine] = self.unconstrain_all(one)[0, mine]
        return back

    def constrain(self, x: Any) -> dict[str, Any]:
        """The parameters' values at one point."""
        values = self.constrain_all(np.asarray(x, dtype=np.float64)[None])
        return {name: value[0] for name, value in values.items()}

    def unconstrain(self, values: Mapping[str, Any]) -> Any:
        """The coordinates of one value of each parameter."""
        one = {name: np.asarray(values[name], np.float64)[None] for name in self.parameters}
        return self.unconstrain_all(one)[0]


class SupportedSpace(Space):
    """Parameters with declared supports, mapped one by one, by JAX."""

    def __init__(self, supports: Mapping[str, Support]):
        self.supports = MappingProxyType(dict(supports))
        self.parameters = self.supports
        self.coordinates = tuple(
            label
            for name, support in supports.items()
            for label in labels(name, support.unconstrained_shape)
        )

    def constrained(
        self, x: Float[Array, " dim"]
    ) -> tuple[dict[str, Float[Array, "..."]], Float[Array, ""]]:
        """The parameters' values at one point, and the log Jacobian of the map."""
        values, jacobian = {}, jnp.zeros(())
        for name, part in self._parts(x).items():
            values[name], log_jacobian = self.supports[name].constrain(part)
            jacobian = jacobian + log_jacobian
        return values, jacobian

    @cached_property
    def edges(self) -> Mapping[str, str]:
        """The parameter of each edge that functions may ask for by name."""
        return edge_names(self.supports)

    def edge(self, x: Float[Array, " dim"], wanted: str) -> Float[Array, "..."]:
        """An edge at one point: a parameter's exact distance to a bound, or its logarithm."""
        if wanted not in self.edges:
            raise KeyError(wanted)
        name = self.edges[wanted]
        return edge(name, self.supports[name], wanted, self._parts(x)[name])

    def _parts(self, x: Float[Array, " dim"]) -> dict[str, Float[Array, " size"]]:
        sizes = [support.unconstrained_size for support in self.supports.values()]
        parts = jnp.split(x, np.cumsum(sizes)[:-1]) if sizes else []
        return dict(zip(self.supports, parts, strict=True))

    def constrain(self, x: Float[Array, " dim"]) -> dict[str, Float[Array, "..."]]:
        """The parameters' values at one point."""
        return self.constrained(x)[0]

    def unconstrain(self, values: Mapping[str, Any]) -> Float[Array, " dim"]:
        """The coordinates of one value of each parameter."""
        return jnp.concatenate(
            [s.unconstrain(jnp.asarray(values[name])) for name, s in self.supports.items()]
        )

    def constrain_flat(
        self, x: Float[Array, " dim"]
    ) -> tuple[Float[Array, " flat"], Float[Array, ""]]:
        """All parameter values in one vector, and the log Jacobian of the map."""
        values, jacobian = self.constrained(x)
        return jnp.concatenate([jnp.ravel(value) for value in values.values()]), jacobian

    def unconstrain_flat(self, theta: Float[Array, " flat"]) -> Float[Array, " dim"]:
        """The unconstrained coordinates of all parameter values in one vector."""
        sizes = [prod(support.shape) for support in self.supports.values()]
        parts = jnp.split(theta, np.cumsum(sizes)[:-1])
        return self.unconstrain(
            {
                name: part.reshape(support.shape)
                for (name, support), part in zip(self.supports.items(), parts, strict=True)
            }
        )

    def constrain_all(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The parameters' values [n, *shape] at unconstrained coordinates x[n, dim]."""
        values = self._constrain_all(jnp.asarray(x))
        return {name: np.asarray(values[name]) for name in self.parameters}

    def unconstrain_all(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The coordinates x[n, dim] of values [n, *shape]. Raises ModelError if any is outside."""
        outside = [name for name, s in self.supports.items() if not s.holds(values[name])]
        if outside:
            raise ModelError(
                "\n".join(f"{name!r} has values outside its support." for name in outside)
            )
        return np.asarray(self._unconstrain_all({k: jnp.asarray(values[k]) for k in self.supports}))

    def round_trip(self, x: np.ndarray) -> np.ndarray:
        """The coordinates of the values at x[n, dim], rounded as they are; not finite where none.

        They are those that went where the values have kept their digits.
        """
        if all(support.constraint is constraints.real for support in self.supports.values()):
            return x
        with jax.enable_x64(True):
            return np.asarray(self._unconstrain_all(self._constrain_all(jnp.asarray(x))))

    @cached_property
    def _constrain_all(self) -> Any:
        return jax.jit(jax.vmap(self.constrain))

    @cached_property
    def _unconstrain_all(self) -> Any:
        return jax.jit(jax.vmap(self.unconstrain))


def labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """The names of a parameter's elements: "phi", or "rho[0]", "rho[1]"."""
    if not shape:
        return [name]
    return [f"{name}[{','.join(map(str, index))}]" for index in np.ndindex(*shape)]
