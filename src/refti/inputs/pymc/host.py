"""Host: a density that compiled code outside of JAX computes, called by XLA without Python."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

TARGET = "refti_host_density"
# Machine code lives as long as the process: a density is a plain address, which keeps nothing.
_KEPT: list[object] = []


@partial(jax.tree_util.register_dataclass, data_fields=["address"], meta_fields=[])
@dataclass(frozen=True, eq=False)
class Host:
    """A density given by the address of a C function, void(double *x, double *value, double *grad).

    The address is data, not program: all densities of a dimension run what was compiled for one.
    It means nothing in another process, so a Host does not travel.
    """

    address: Int[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The function's value at one point."""
        return _log_density(self.address, x)

    def __reduce__(self) -> Any:
        raise TypeError("A density of compiled code belongs to its process; make the model anew.")


def host(address: int, keep: object) -> Host:
    """The density of the C function at an address, which `keep` holds in memory."""
    _register()
    _KEPT.append(keep)
    with jax.enable_x64(True):
        return Host(jnp.asarray(address, jnp.int64))


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
def _register() -> None:
    """Tells XLA, once in a process, of the function that calls a density for each lane."""
    handler = _handler()
    _KEPT.append(handler)
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype = ctypes.py_object
    capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    jax.ffi.register_ffi_target(TARGET, capsule(handler.address, None, None), platform="cpu")


def _handler() -> Any:
    """The machine code of the handler, by Numba, from the layout of XLA's stable C interface.

    A callback into Python instead would hold the interpreter, and deadlocks when several programs
    run at once.
    """
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    word, long = ir.IntType(32), ir.IntType(64)
    integer = numba.types.int64

    @intrinsic
    def load(typing: Any, address: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], long.as_pointer()))

        return integer(integer), emit

    @intrinsic
    def store_word(typing: Any, address: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], word.as_pointer())
            builder.store(builder.trunc(arguments[1], word), place)
            return context.get_dummy_value()

        return numba.types.void(integer, integer), emit

    @intrinsic
    def call(typing: Any, function: Any, x: Any, value: Any, gradient: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [long, long, long]).as_pointer()
            builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])
            return context.get_dummy_value()

        return numba.types.void(integer, integer, integer, integer), emit

    # Byte offsets into XLA_FFI_CallFrame, XLA_FFI_Buffer and XLA_FFI_Metadata_Extension.
    @numba.cfunc(integer(integer), nopython=True)
    def handler(frame: int) -> int:
        extension = load(frame + 8)
        if extension != 0 and load(extension + 8) & 0xFFFFFFFF == 1:
            version = load(extension + 24) + 8
            store_word(version + 16, 0)
            store_word(version + 20, 1)
            return 0
        arguments, results = load(frame + 72), load(frame + 112)
        functions, points = load(load(arguments) + 24), load(arguments + 8)
        values, gradients = load(load(results) + 24), load(load(results + 8) + 24)
        x, rank, shape = load(points + 24), load(points + 32), load(points + 40)
        lanes, stride = 1, 8 * load(shape + 8 * (rank - 1))
        for axis in range(rank - 1):
            lanes *= load(shape + 8 * axis)
        for i in range(lanes):
            call(load(functions + 8 * i), x + stride * i, values + 8 * i, gradients + stride * i)
        return 0

    return handler
