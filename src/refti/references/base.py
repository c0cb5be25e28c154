"""What a reference is: a density with an exact integral and exact draws."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
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


def in_64_bits(*values: Any) -> list[Any]:
    """The values as NumPy arrays of 64-bit numbers, the form in which references keep them.

    NumPy keeps 64 bits wherever this is called; JAX would round outside of refti's own calls.
    """
    return [np.asarray(value, np.float64) for value in values]
