"""Whether a density may solve something by steps that it chooses, so that it is a little rough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.models.density import Density

# A loop that ends by itself, and code that JAX does not see into, such as Stan's.
UNSEEN = frozenset({"while", "pure_callback", "io_callback", "ffi_call", "custom_call"})


def may_solve(density: Density, x: np.ndarray) -> bool:
    """Whether the density at x[dim] goes by a loop of no fixed length, or by code that is not JAX.

    A solver that chooses its steps gives a density and a gradient that are off by its tolerance,
    each in its own way. A plain program has the derivative of what it computes.
    """
    with jax.enable_x64(True):
        program = jax.make_jaxpr(density.log_density)(jnp.asarray(x, jnp.float64))
    return not UNSEEN.isdisjoint(_primitives(program.jaxpr))


def _primitives(jaxpr: Any) -> Iterator[str]:
    """The names of all operations of a program and of those inside them."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for value in equation.params.values():
            for part in value if isinstance(value, list | tuple) else (value,):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns"):
                    yield from _primitives(inner)
