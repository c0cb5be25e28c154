"""A density that is compiled outside of JAX, and called by XLA without Python."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from refti.inputs.pymc.xla_handler import register_handler
from refti.inputs.pymc.xla_layout import LayoutError, read_layout

TARGET = "refti_compiled_density"
# Machine code lives as long as the process: a density is a plain address, which keeps nothing.
_KEPT: list[object] = []


@partial(jax.tree_util.register_dataclass, data_fields=["address"], meta_fields=[])
@dataclass(frozen=True, eq=False)
class CompiledDensity:
    """A density given by the address of a C function, void(double *x, double *value, double *grad).

    The address is data, not program: all densities of a dimension run what was compiled for one.
    It means nothing in another process, so the density does not travel.
    """

    address: Int[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The function's value at one point."""
        return _log_density(self.address, x)

    def __reduce__(self) -> Any:
        raise TypeError(
            "Compiled code belongs to the process it was made in; make the model again here."
        )


def density_at(address: int, keep: object) -> CompiledDensity:
    """The density of the C function at an address, which `keep` holds in memory.

    Raises LayoutError if this version of XLA cannot be told how to call it.
    """
    require_handler()
    _KEPT.append(keep)
    with jax.enable_x64(True):
        return CompiledDensity(jnp.asarray(address, jnp.int64))


def require_handler() -> None:
    """Raises LayoutError if this version of XLA cannot be told how to call compiled densities."""
    fault = _register_once()
    if fault is not None:
        raise fault


@jax.custom_vjp
def _log_density(address: Int[Array, ""], x: Float[Array, " dim"]) -> Float[Array, ""]:
    return _value_and_gradient(address, x)[0]


def _forward(address: Int[Array, ""], x: Float[Array, " dim"]) -> Any:
    return _value_and_gradient(address, x)


def _backward(gradient: Float[Array, " dim"], cotangent: Float[Array, ""]) -> Any:
    return np.zeros((), jax.dtypes.float0), cotangent * gradient


_log_density.defvjp(_forward, _backward)


def _value_and_gradient(
    address: Int[Array, ""], x: Float[Array, " dim"]
) -> tuple[Float[Array, ""], Float[Array, " dim"]]:
    shapes = (jax.ShapeDtypeStruct((), x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype))
    value, gradient = jax.ffi.ffi_call(TARGET, shapes, vmap_method="broadcast_all")(address, x)
    return value, gradient


@cache
def _register_once() -> LayoutError | None:
    """What is wrong with the handler, which is registered once in a process; None if it works."""
    try:
        register_handler(TARGET, read_layout())
    except LayoutError as error:
        return error
    return None
