"""The density of a compiled program as JAX sees it: a batch of points in one native call."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_long, c_void_p
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from refti.inputs.stan.cache import cache_folder, cache_key, make_once
from refti.inputs.stan.compiler import find_compiler
from refti.inputs.stan.library import Library
from refti.inputs.stan.unit_vectors import UnitVectors
from refti.models.rejections import Rejections

BATCH_SOURCE = Path(__file__).parent / "native" / "batch.cpp"
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-pthread", "-w")
VALUE, GRADIENT = "refti_value", "refti_gradient"


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["address", "offset", "unit_vectors"],
    meta_fields=[],
)
@dataclass(frozen=True, eq=False)
class StanDensity:
    """The density of a compiled program, behind an address.

    The address is an argument: what JAX compiles serves all programs of one dimension.
    """

    address: Int[Array, " one"]
    offset: Float[Array, ""]  # of the log density, such as the width of a uniform prior
    unit_vectors: UnitVectors | None = None

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The log density at one point; JAX makes one call of a whole batch of them."""
        lengths = 0.0 if self.unit_vectors is None else self.unit_vectors.log_lengths(x)
        return _log_density(self.address, x) + self.offset + lengths

    def __reduce__(self) -> Any:
        raise TypeError(
            "Compiled code belongs to the process it was made in; make the model again here."
        )


@partial(jax.tree_util.register_dataclass, data_fields=["value"], meta_fields=[])
@dataclass(frozen=True, eq=False)
class PointDensity:
    """The density of a program without parameters: one number."""

    value: Float[Array, ""]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The log density."""
        return self.value + 0.0 * x.sum()


@jax.custom_vjp
def _log_density(address: Int[Array, " one"], x: Float[Array, " dim"]) -> Float[Array, ""]:
    value = jax.ShapeDtypeStruct((), jnp.float64)
    return jax.ffi.ffi_call(VALUE, value, vmap_method="expand_dims")(address, x)


def _forward(
    address: Int[Array, " one"], x: Float[Array, " dim"]
) -> tuple[Float[Array, ""], Float[Array, " dim"]]:
    results = (jax.ShapeDtypeStruct((), jnp.float64), jax.ShapeDtypeStruct(x.shape, jnp.float64))
    value, gradient = jax.ffi.ffi_call(GRADIENT, results, vmap_method="expand_dims")(address, x)
    return value, gradient


def _backward(
    gradient: Float[Array, " dim"], cotangent: Float[Array, ""]
) -> tuple[None, Float[Array, " dim"]]:
    return None, cotangent * gradient


_log_density.defvjp(_forward, _backward)


class BatchEvaluator:
    """A library's model as the native code of batches calls it, and what it rejected so far."""

    def __init__(self, library: Library):
        self._batch, self._library = load_batch_library(), library
        functions = ("bs_log_density", "bs_log_density_gradient", "bs_free_error_msg")
        addresses = [library.function(name) for name in functions]
        self._address = self._batch.refti_evaluator(library.address, *addresses, library.dim)

    def density(self, offset: float = 0.0, unit_vectors: UnitVectors | None = None) -> StanDensity:
        """The density, with an offset added to its logarithm."""
        with jax.enable_x64(True):
            address = jnp.asarray([self._address], jnp.int64)
            return StanDensity(address, jnp.asarray(offset, jnp.float64), unit_vectors)

    def rejections(self) -> Rejections | None:
        """The points rejected so far."""
        count = self._batch.refti_rejected(self._address)
        if count == 0:
            return None
        where = np.zeros(self._library.dim)
        message = self._batch.refti_first(self._address, where.ctypes.data)
        text = " ".join(message.decode(errors="replace").split())
        return Rejections(int(count), text, tuple(map(float, where)), self._library.stopped())


@cache
def load_batch_library() -> ctypes.CDLL:
    """The native code, compiled once for each version of JAX, and known to XLA."""
    compiler = find_compiler()
    identity = cache_key(
        jax.__version__, compiler.version, *compiler.command, *FLAGS, BATCH_SOURCE.read_bytes()
    )
    include = f"-I{jax.ffi.include_dir()}"

    def compile_into(folder: Path) -> None:
        compiler.run(*FLAGS, include, BATCH_SOURCE, "-o", folder / "batch.so")

    batch = ctypes.CDLL(
        str(make_once(cache_folder() / f"batch-{identity}", compile_into) / "batch.so")
    )
    batch.refti_evaluator.restype = c_void_p
    batch.refti_evaluator.argtypes = [c_void_p] * 4 + [c_long]
    batch.refti_rejected.restype = c_long
    batch.refti_rejected.argtypes = [c_void_p]
    batch.refti_first.restype = c_char_p
    batch.refti_first.argtypes = [c_void_p, c_void_p]
    for name in (VALUE, GRADIENT):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(batch, name)), platform="cpu")
    return batch
