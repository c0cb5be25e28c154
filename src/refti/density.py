"""Density: a log density of unconstrained coordinates, as a fixed program with its data apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun
from jaxtyping import Array, Float


@runtime_checkable
class Density(Protocol):
    """An unnormalised log density; a JAX pytree whose leaves are its numbers."""

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The unnormalised log density at one point."""
        ...


class Program:
    """A traced function; two are equal if they compute the same from the same arguments.

    Equality is that of the printed program, in which numbers are exact, together with the
    identity of every Python object it calls back to. So models that differ only in their data
    share what was compiled for them.
    """

    def __init__(self, jaxpr: Jaxpr):
        self.jaxpr = jaxpr

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return (str(self.jaxpr), *(id(held) for held in _python_objects(self.jaxpr)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


@partial(jax.tree_util.register_dataclass, data_fields=["constants"], meta_fields=["program"])
@dataclass(frozen=True, eq=False)
class Traced:
    """A density that was a Python function once."""

    constants: tuple[Array, ...]
    program: Program

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The function's value at one point."""
        (value,) = jaxpr_as_fun(ClosedJaxpr(self.program.jaxpr, self.constants))(x)
        return jnp.asarray(value, jnp.float64).reshape(())


@partial(jax.tree_util.register_dataclass, data_fields=["factors"], meta_fields=[])
@dataclass(frozen=True, eq=False)
class Product:
    """The product of densities, such as prior and likelihood."""

    factors: tuple[Density, ...]

    def log_density(self, x: Float[Array, " dim"]) -> Float[Array, ""]:
        """The sum of the factors' log densities at one point."""
        return sum((factor.log_density(x) for factor in self.factors), start=jnp.zeros(()))


def trace(function: Callable[[Float[Array, " dim"]], Any], dim: int) -> ClosedJaxpr:
    """The program of a function of unconstrained coordinates, which is called once, here."""
    return jax.make_jaxpr(function)(jax.ShapeDtypeStruct((dim,), jnp.float64))


def traced(closed: ClosedJaxpr) -> Traced:
    """The density of a program."""
    return Traced(tuple(jnp.asarray(c) for c in closed.consts), Program(closed.jaxpr))


def _python_objects(jaxpr: Jaxpr) -> Iterator[object]:
    """Functions and other opaque objects among the parameters of a program's equations."""
    for equation in jaxpr.eqns:
        for parameter in equation.params.values():
            yield from _opaque(parameter)


def _opaque(parameter: Any) -> Iterator[object]:
    if isinstance(parameter, ClosedJaxpr):
        parameter = parameter.jaxpr
    if isinstance(parameter, Jaxpr):
        yield from _python_objects(parameter)
    elif isinstance(parameter, tuple | list):
        for item in parameter:
            yield from _opaque(item)
    elif callable(parameter) and not isinstance(parameter, type):
        yield parameter
