"""Reference densities: each with its exact integral, exact draws and log density."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from jaxtyping import Array, Float, Key

from refti.models.density import Density


@runtime_checkable
class Reference(Density, Protocol):
    """A density whose integral is known and which can be drawn from exactly."""

    @property
    def log_z(self) -> Float[Array, ""]:
        """The exact log of the density's integral over R^dim."""
        ...

    def sample(self, key: Key[Array, ""]) -> Float[Array, " dim"]:
        """One exact draw."""
        ...
