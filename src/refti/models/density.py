"""Density: a log density of unconstrained coordinates, as a fixed program with its data apart."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun
from jaxtyping import Array, Float


@runtime_checkable
class Density(Protocol):
    """An unnormalised log density; a JAX pytree whose leaves are its numbers."""

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        ...


class OutOfTimeError(Exception):
    """Values were not there in time: a signal within a run, which ends with what it has."""


class ValueOnlyDensity(ABC):
    """A density known by its values alone, such as any Python function: no JAX, no gradient."""

    @abstractmethod
    def log_densities(self, x: np.ndarray, deadline: float | None = None) -> np.ndarray:
        """The log densities at points x[n, dim]; NaN where they could not be had.

        Raises OutOfTimeError if they are not there by the deadline, of time.perf_counter().
        """

    def log_density(self, x: Any) -> Any:
        """The log density at one point, which JAX can neither trace nor differentiate."""
        return self.log_densities(np.asarray(x, dtype=np.float64)[None])[0]


# Compiling is most of what a user waits for. Measured on the radiata models (2 cores, jaxlib 0.10):
# the sampler's program compiles in 1.9 s instead of 4.1 s with these, and runs no slower.
# What the user says in XLA_FLAGS goes before them.
QUICK_COMPILE = {
    name: value
    for name, value in (
        ("xla_backend_optimization_level", 1),
        ("xla_cpu_use_fusion_emitters", False),
        # Parts of a program that LLVM compiles side by side; 32 otherwise, each at a price.
        ("xla_cpu_parallel_codegen_split_count", 8),
    )
    if f"--{name}=" not in os.environ.get("XLA_FLAGS", "")
}


class Program:
    """A traced function; two are equal if they compute the same from the same arguments.

    Equality is that of the printed program, in which numbers are exact, together with the arrays
    held by functions inside it and the identity of every other object it refers to. So models
    that differ only in their data share what was compiled for them.
    """

    def __init__(self, jaxpr: Jaxpr):
        self.jaxpr = jaxpr

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        inner = (_array_identity(array) for array in inner_constants(self.jaxpr))
        return (str(self.jaxpr), *inner, *(id(held) for held in _unprinted_objects(self.jaxpr)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


@partial(jax.tree_util.register_dataclass, data_fields=["constants"], meta_fields=["program"])
@dataclass(frozen=True, eq=False)
class TracedDensity:
    """A density that was a Python function: its program, and the arrays it held."""

    constants: tuple[Array, ...]
    program: Program

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The function's value at one point."""
        (value,) = jaxpr_as_fun(ClosedJaxpr(self.program.jaxpr, self.constants))(x)
        return jnp.asarray(value, jnp.float64).reshape(())


@partial(jax.tree_util.register_dataclass, data_fields=["factors"], meta_fields=[])
@dataclass(frozen=True, eq=False)
class ProductDensity:
    """The product of densities, such as prior and likelihood."""

    factors: tuple[Density, ...]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The sum of the factors' log densities at one point."""
        return sum((factor.log_density(x) for factor in self.factors), start=jnp.zeros(()))


def trace(function: Callable[[Float[Array, " dim"]], Any], dim: int) -> ClosedJaxpr:
    """The program of a function of unconstrained coordinates, which is run once, here."""
    return jax.make_jaxpr(function)(jax.ShapeDtypeStruct((dim,), jnp.float64))


def to_density(closed: ClosedJaxpr) -> TracedDensity:
    """The density of a program."""
    return TracedDensity(tuple(jnp.asarray(c) for c in closed.consts), Program(closed.jaxpr))


def inner_constants(jaxpr: Jaxpr) -> Iterator[Any]:
    """The arrays that functions inside a program hold, such as what a jitted one closed over."""
    for part in _parts(jaxpr):
        if isinstance(part, ClosedJaxpr):
            yield from part.consts
            yield from inner_constants(part.jaxpr)
        elif isinstance(part, Jaxpr):
            yield from inner_constants(part)


def _unprinted_objects(jaxpr: Jaxpr) -> Iterator[object]:
    """What a program refers to and does not print, such as the rule of a custom derivative."""
    for part in _parts(jaxpr):
        if isinstance(part, ClosedJaxpr | Jaxpr):
            yield from _unprinted_objects(part.jaxpr if isinstance(part, ClosedJaxpr) else part)
        elif not isinstance(part, _PRINTED):
            yield part


def _parts(jaxpr: Jaxpr) -> Iterator[Any]:
    """The parameters of all equations, those in tuples and dictionaries one by one."""
    todo = [parameter for equation in jaxpr.eqns for parameter in equation.params.values()]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            todo.extend(part.values())
        elif isinstance(part, tuple | list):
            todo.extend(part)
        else:
            yield part


def _array_identity(array: Any) -> tuple[Any, ...]:
    values = np.asarray(array)
    return values.shape, str(values.dtype), values.tobytes()


_PRINTED = (type(None), bool, int, float, complex, str, type, np.dtype, np.generic, Enum)
