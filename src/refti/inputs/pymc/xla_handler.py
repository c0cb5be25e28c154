"""The function that XLA calls where a program needs densities that are compiled outside of JAX."""

from __future__ import annotations

import ctypes
from typing import Any

import jax
import numpy as np

from refti.inputs.pymc.xla_layout import Layout, LayoutError

# Machine code, and memory that it writes to, live as long as the process.
_KEPT: list[object] = []
# The structures that XLA hands over when it asks a handler for its version.
ASKED_FOR_VERSION = ("XLA_FFI_CallFrame", "XLA_FFI_Metadata_Extension", "XLA_FFI_Metadata")


def register_handler(name: str, layout: Layout) -> None:
    """Tells XLA of the handler by a name.

    XLA asks it for its version at once, and the handler notes down how large XLA's structures are.
    Raises LayoutError if they are not as the layout has them: then no density can be called.
    """
    seen = np.zeros(len(ASKED_FOR_VERSION), dtype=np.int64)
    handler = _make_handler(layout, seen.ctypes.data)
    _KEPT.extend((handler, seen))
    make_capsule = ctypes.pythonapi.PyCapsule_New
    make_capsule.restype = ctypes.py_object
    make_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = make_capsule(handler.address, None, None)
    jax.devices("cpu")  # before XLA has started it would ask later
    refused = None
    try:
        jax.ffi.register_ffi_target(name, capsule, platform="cpu")
    except Exception as error:
        refused = error
    for structure, size in zip(ASKED_FOR_VERSION, seen, strict=True):
        if size != layout.size(structure):
            raise LayoutError(
                f"its {structure} has {size} bytes and its header declares {layout.size(structure)}"
            )
    if refused is not None:
        raise LayoutError(f"XLA refuses it: {refused}") from refused


def _make_handler(layout: Layout, seen: int) -> Any:
    """The machine code of the handler, by Numba, which needs no C++ compiler.

    A callback into Python instead would hold the interpreter, and deadlocks when several programs
    run at once. What XLA hands over is touched only where its size is the one expected.
    """
    import numba

    load, store, store_int, call = _make_memory_access()
    offset = layout.offset
    frame_size, extension_size, metadata_size = map(layout.size, ASKED_FOR_VERSION)
    at_extension = offset("XLA_FFI_CallFrame", "extension_start")
    at_type = offset("XLA_FFI_Metadata_Extension", "extension_base", "type")
    at_metadata = offset("XLA_FFI_Metadata_Extension", "metadata")
    at_major = offset("XLA_FFI_Metadata", "api_version", "major_version")
    at_minor = offset("XLA_FFI_Metadata", "api_version", "minor_version")
    at_arguments = offset("XLA_FFI_CallFrame", "args", "args")
    at_results = offset("XLA_FFI_CallFrame", "rets", "rets")
    at_data, at_rank, at_shape = (offset("XLA_FFI_Buffer", f) for f in ("data", "rank", "dims"))
    is_metadata = layout.constant("XLA_FFI_Extension_Metadata")
    major, minor = layout.constant("XLA_FFI_API_MAJOR"), layout.constant("XLA_FFI_API_MINOR")

    @numba.cfunc(numba.types.int64(numba.types.int64), nopython=True)
    def handler(frame: int) -> int:
        if load(frame) != frame_size:
            store(seen, load(frame))
            return 0
        extension = load(frame + at_extension)
        if extension != 0 and load(extension + at_type) & 0xFFFFFFFF == is_metadata:
            store(seen, load(frame))
            store(seen + 8, load(extension))
            if load(extension) != extension_size:
                return 0
            metadata = load(extension + at_metadata)
            store(seen + 16, load(metadata))
            if load(metadata) == metadata_size:
                store_int(metadata + at_major, major)
                store_int(metadata + at_minor, minor)
            return 0
        arguments, results = load(frame + at_arguments), load(frame + at_results)
        functions, points = load(load(arguments) + at_data), load(arguments + 8)
        values, gradients = load(load(results) + at_data), load(load(results + 8) + at_data)
        x, rank, shape = load(points + at_data), load(points + at_rank), load(points + at_shape)
        chains, stride = 1, 8 * load(shape + 8 * (rank - 1))
        for axis in range(rank - 1):
            chains *= load(shape + 8 * axis)
        for i in range(chains):
            call(load(functions + 8 * i), x + stride * i, values + 8 * i, gradients + stride * i)
        return 0

    return handler


def _make_memory_access() -> tuple[Any, Any, Any, Any]:
    """Numba functions of addresses: read a word, write a word, write an int, call a density."""
    import numba
    from llvmlite import ir
    from numba.extending import intrinsic

    word, small = ir.IntType(64), ir.IntType(32)
    integer, nothing = numba.types.int64, numba.types.void

    @intrinsic
    def load(typing: Any, address: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], word.as_pointer()))

        return integer(integer), emit

    @intrinsic
    def store(typing: Any, address: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[1], builder.inttoptr(arguments[0], word.as_pointer()))
            return context.get_dummy_value()

        return nothing(integer, integer), emit

    @intrinsic
    def store_int(typing: Any, address: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place = builder.inttoptr(arguments[0], small.as_pointer())
            builder.store(builder.trunc(arguments[1], small), place)
            return context.get_dummy_value()

        return nothing(integer, integer), emit

    @intrinsic
    def call(typing: Any, function: Any, x: Any, value: Any, gradient: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [word, word, word]).as_pointer()
            builder.call(builder.inttoptr(arguments[0], kind), arguments[1:])
            return context.get_dummy_value()

        return nothing(integer, integer, integer, integer), emit

    return load, store, store_int, call
