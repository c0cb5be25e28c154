"""Operations: about how much work one evaluation of a density is, read off its program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Jaxpr, jaxprs_in_params

from refti.models.batching import LAPACK
from refti.models.density import ValueOnlyDensity
from refti.models.model import Model

# What these do is not in the program: calls into compiled code, and loops of unknown length.
OPAQUE = {"ffi_call", "custom_call", "pure_callback", "io_callback", "while"}


def operations_of(model: Model) -> int | None:
    """How many operations on numbers one evaluation takes, roughly; None where that is not known.

    It is the same wherever and whenever it is asked, unlike a time, so decisions by it leave a run
    repeatable.
    """
    if model.operations is not None or isinstance(model.density, ValueOnlyDensity):
        return model.operations
    with jax.enable_x64(True):
        return _operations(jax.make_jaxpr(model.density.log_density)(model.start).jaxpr)


def _operations(jaxpr: Jaxpr) -> int | None:
    """The operations of a program: one for every number that an equation makes or reads."""
    total = 0
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name in OPAQUE:
            return None
        inner = [_operations(one) for one in jaxprs_in_params(equation.params)]
        if any(one is None for one in inner):
            return None
        if inner:
            total += int(equation.params.get("length", 1)) * sum(filter(None, inner))
        elif name == "dot_general":
            total += _products(equation)
        elif name in LAPACK:
            total += sum(_largest_side(v) * _size(v) for v in equation.invars)
        else:
            total += max(_sizes(equation.outvars) + _sizes(equation.invars), default=0)
    return total


def _products(equation: Any) -> int:
    """The multiplications of a product of arrays: the numbers it makes, times those in a sum."""
    (left, _), _ = equation.params["dimension_numbers"]
    summed = np.prod([equation.invars[0].aval.shape[axis] for axis in left], dtype=int)
    return int(summed) * sum(_sizes(equation.outvars))


def _largest_side(variable: Any) -> int:
    return max(getattr(variable.aval, "shape", ()), default=1)


def _size(variable: Any) -> int:
    return int(np.prod(getattr(variable.aval, "shape", ()), dtype=int))


def _sizes(variables: Iterable[Any]) -> list[int]:
    return [_size(variable) for variable in variables]
