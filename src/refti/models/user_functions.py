"""The user's own functions: what is given with them, and their way into JAX, faults told."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr
from jaxtyping import Array, Float

from refti.errors import ModelError
from refti.models.density import TracedDensity, inner_constants, to_density
from refti.models.determinism import trace_deterministic
from refti.models.edges import Values
from refti.models.exact_edges import keep_edges
from refti.models.recipe import copy_arrays
from refti.models.space import SupportedSpace
from refti.models.supports import Support, check_parameters, real

_PACKAGE = str(Path(__file__).parents[1])


def require_functions(
    functions: Mapping[str, Callable[..., Any] | None],
) -> dict[str, Callable[..., Any]]:
    """Those of the functions that were given. Raises ModelError if they make no model together."""
    given = {role: function for role, function in functions.items() if function is not None}
    if set(given) not in ({"log_density"}, {"log_prior", "log_likelihood"}):
        raise ModelError(
            "A model is given by log_density alone, or by log_prior and log_likelihood together; "
            f"got {' and '.join(given) or 'none of them'}."
        )
    for role, function in given.items():
        if not callable(function):
            raise ModelError(f"{role} must be a function; got {type(function).__name__}.")
    return given


def name_parameters(
    parameters: Mapping[str, Support] | None, dim: int | None
) -> dict[str, Support]:
    """The supports by name, or one vector named x of a given dimension."""
    if (parameters is None) == (dim is None):
        raise ModelError(
            "Give either dim= (a function of a vector) or parameters (a dictionary such as "
            '{"phi": refti.positive()}), not both or neither.'
        )
    if dim is not None:
        if not isinstance(dim, int | np.integer) or isinstance(dim, bool) or dim < 1:
            raise ModelError(f"dim= must be a whole number of at least 1; got {dim!r}.")
        return {"x": real(shape=(int(dim),))}
    if not isinstance(parameters, Mapping):
        raise ModelError(
            f"parameters must map names to supports; got {type(parameters).__name__}. "
            "For a function of a vector use dim=."
        )
    return check_parameters(parameters)


def shared_keywords(
    parameters: Mapping[str, Support] | None, dim: int | None, start: Any
) -> dict[str, Any]:
    """What was said beside the functions, for a recipe: copies, without what was left out."""
    said = {
        "parameters": None if parameters is None else dict(parameters),
        "dim": None if dim is None else int(dim),
        "start": copy_arrays(start),
    }
    return {name: value for name, value in said.items() if value is not None}


def unconstrain_start(
    space: SupportedSpace, start: Mapping[str, Any] | Any | None, *, takes_vector: bool
) -> np.ndarray:
    """The unconstrained coordinates of the user's start, or zeros. Raises ModelError if bad."""
    if start is None:
        return np.zeros(len(space.coordinates))
    if takes_vector:
        start = {"x": start}
    if not isinstance(start, Mapping) or set(start) != set(space.parameters):
        got = sorted(start) if isinstance(start, Mapping) else type(start).__name__
        raise ModelError(
            f"start= must give a value for each of {sorted(space.parameters)}; got {got}."
        )
    faults = [
        f"start= gives {fault}"
        for name, support in space.supports.items()
        for fault in support.faults(name, start[name])
    ]
    if faults:
        raise ModelError("\n".join(faults))
    x = np.asarray(space.unconstrain(start), dtype=np.float64)
    if not np.all(np.isfinite(x)):
        raise ModelError(f"start= must lie inside the supports, not at an edge; got {start}.")
    return x


def trace_factor(
    function: Callable[..., Any],
    role: str,
    space: SupportedSpace,
    dim: int | None,
    with_jacobian: bool,
) -> TracedDensity:
    """The user's function of the parameters as a density of unconstrained coordinates."""
    keywords = None if dim is not None else wanted_keywords(function, space)

    def of_unconstrained(x: Float[Array, " dim"]) -> Any:
        values, jacobian = space.constrained(x)
        values = Values(values, lambda name: space.edge(x, name))
        if dim is not None:
            value = function(values["x"])
        elif keywords is not None:
            value = function(**{name: values[name] for name in keywords})
        else:
            value = function(values)
        _check_output(value, role)
        return jnp.reshape(value, ()) + (jacobian if with_jacobian else 0.0)

    try:
        program = trace_deterministic(role, of_unconstrained, len(space.coordinates))
    except ModelError:
        raise
    except jax.errors.JAXTypeError as error:
        raise ModelError(
            f"{role} cannot be traced by JAX: {first_line(error)} ({where(error)}). Write it "
            "with jax.numpy and without Python branches on parameter values, or give it to "
            "refti.from_callable, which takes any function but has no gradients."
        ) from error
    except Exception as error:
        expected = (
            f"an array of shape ({dim},)" if dim is not None else f"{sorted(space.parameters)}"
        )
        raise ModelError(
            f"{role} failed when called with {expected}: {type(error).__name__}: "
            f"{first_line(error)} ({where(error)})."
        ) from error
    warn_of_32_bits(program, role, stacklevel=5)
    return to_density(keep_edges(program))


def warn_of_32_bits(program: ClosedJaxpr, role: str, *, stacklevel: int) -> None:
    """Warns if the program uses data of 32 bits."""
    held = (*program.consts, *inner_constants(program.jaxpr))
    if any(getattr(array, "dtype", None) == jnp.float32 for array in held):
        warnings.warn(
            f"{role} uses arrays of 32-bit numbers from outside, whose digits past the seventh "
            "are lost. Keep data in NumPy arrays (64-bit), not in jax.numpy arrays.",
            stacklevel=stacklevel,
        )


def wanted_keywords(function: Callable[..., Any], space: SupportedSpace) -> list[str] | None:
    """The parameters and edges that a function takes by name; None if it takes one dictionary.

    A parameter of which it asks for an edge may be left out.
    """
    try:
        arguments = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    required = {name for name, a in arguments.items() if a.default is a.empty}
    edges = {name for name in required if name in space.edges}
    covered = {space.edges[name] for name in edges} | set(arguments)
    if not set(space.parameters) <= covered or not required <= {*space.parameters, *edges}:
        return None
    return [name for name in arguments if name in space.parameters or name in edges]


def _check_output(value: Any, role: str) -> None:
    if not isinstance(value, jax.Array | np.ndarray | np.generic | float | int | complex):
        raise ModelError(f"{role} must return one number; got {type(value).__name__}.")
    shape, dtype = jnp.shape(value), jnp.result_type(value)
    if shape not in ((), (1,)):
        raise ModelError(
            f"{role} must return one number; got shape {shape}. Sum over the observations with "
            "jnp.sum."
        )
    if not jnp.issubdtype(dtype, jnp.floating):
        raise ModelError(f"{role} must return a real number; got {dtype}.")


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip() if lines else ""


def where(error: BaseException) -> str:
    """The line of the user's code in which the error arose."""
    place = "in the function given"
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if "site-packages" not in code.co_filename and not code.co_filename.startswith(_PACKAGE):
            place = f"line {traceback.tb_lineno} of {code.co_name}"
        traceback = traceback.tb_next
    return place
