"""Model: a log density on unconstrained space, with the user's names, shapes and supports."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun
from jaxtyping import Array, Float

from refti.errors import ModelError
from refti.supports import Support, check_parameters, real

LogDensity = Callable[[Float[Array, " dim"]], Float[Array, ""]]
ValueAndGradient = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From points x[n, dim] to log densities [n] and gradients [n, dim]; -inf and 0 outside."""


class Model:
    """A log density whose integral is wanted: `log_density(x)` over unconstrained x in R^dim.

    Give either the density of a vector (`dim=`), or of named parameters with supports, in which
    case the function takes one dictionary, or keyword arguments named as the parameters. Give
    `log_prior` and `log_likelihood` instead of `log_density` to keep the two apart. The
    Jacobians of the supports are added here; the user's functions speak of the parameters.

    Each function is run through JAX once, here, and never again: what it read from outside is
    fixed from then on, and all faults of the function are told before any sampling.

    Attributes:
        parameters: the supports by name.
        dim: the number of unconstrained coordinates.
        log_density: the log density of unconstrained coordinates, Jacobian included.
        log_prior: the prior's part with the Jacobian, or None where it was not split off.
        log_likelihood: the likelihood's part, or None.
        start: unconstrained coordinates where the search for the posterior begins.
    """

    parameters: Mapping[str, Support]
    dim: int
    log_density: LogDensity
    log_prior: LogDensity | None
    log_likelihood: LogDensity | None
    start: np.ndarray

    def __init__(
        self,
        log_density: Callable[..., Any] | None = None,
        parameters: Mapping[str, Support] | None = None,
        *,
        dim: int | None = None,
        log_prior: Callable[..., Any] | None = None,
        log_likelihood: Callable[..., Any] | None = None,
        start: Mapping[str, Any] | Any | None = None,
    ):
        _check_functions(log_density, log_prior, log_likelihood)
        named = _named_parameters(parameters, dim)
        takes_vector = parameters is None
        with jax.enable_x64(True):
            fixed = {"parameters": named, "dim": sum(s.unconstrained_size for s in named.values())}
            object.__setattr__(self, "__dict__", fixed)

            def trace(function: Callable[..., Any], role: str) -> LogDensity:
                return _trace_once(function, role, named, takes_vector, self.dim)

            split = log_density is None
            prior = trace(log_prior, "log_prior") if log_prior is not None else None
            likelihood = (
                trace(log_likelihood, "log_likelihood") if log_likelihood is not None else None
            )
            whole = None if log_density is None else trace(log_density, "log_density")

            def with_jacobian(function: LogDensity) -> LogDensity:
                return lambda x: function(x) + self.constrain_flat(x)[1]

            if split:
                assert prior is not None and likelihood is not None
                fixed["log_prior"] = with_jacobian(prior)
                fixed["log_likelihood"] = likelihood
                fixed["log_density"] = with_jacobian(lambda x: prior(x) + likelihood(x))
            else:
                assert whole is not None
                fixed["log_prior"] = fixed["log_likelihood"] = None
                fixed["log_density"] = with_jacobian(whole)
            fixed["start"] = self._start(start, takes_vector)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"Model is frozen; make a new one to change {name!r}.")

    def __repr__(self) -> str:
        return f"Model({', '.join(self.parameters)}; dim={self.dim})"

    def constrain(self, x: Float[Array, " dim"]) -> dict[str, Float[Array, "..."]]:
        """The named parameter values at unconstrained coordinates."""
        return {name: value for name, (value, _) in _pieces(self.parameters, x).items()}

    def unconstrain(self, values: Mapping[str, Any]) -> Float[Array, " dim"]:
        """The unconstrained coordinates of named parameter values inside their supports."""
        return jnp.concatenate(
            [s.unconstrain(jnp.asarray(values[name])) for name, s in self.parameters.items()]
        )

    def constrain_flat(
        self, x: Float[Array, " dim"]
    ) -> tuple[Float[Array, " flat"], Float[Array, ""]]:
        """All parameter values in one vector, and the log Jacobian of the whole map."""
        pieces = _pieces(self.parameters, x).values()
        return (
            jnp.concatenate([jnp.ravel(value) for value, _ in pieces]),
            sum((jacobian for _, jacobian in pieces), start=jnp.zeros(())),
        )

    def unconstrain_flat(self, theta: Float[Array, " flat"]) -> Float[Array, " dim"]:
        """The unconstrained coordinates of all parameter values in one vector."""
        sizes = [int(np.prod(s.shape)) for s in self.parameters.values()]
        parts = jnp.split(theta, np.cumsum(sizes)[:-1])
        return self.unconstrain(
            {
                name: part.reshape(support.shape)
                for (name, support), part in zip(self.parameters.items(), parts, strict=True)
            }
        )

    def _start(self, start: Mapping[str, Any] | Any | None, takes_vector: bool) -> np.ndarray:
        if start is None:
            return np.zeros(self.dim)
        if takes_vector:
            start = {"x": start}
        if not isinstance(start, Mapping) or set(start) != set(self.parameters):
            got = sorted(start) if isinstance(start, Mapping) else type(start).__name__
            raise ModelError(
                f"start= must give a value for each of {sorted(self.parameters)}; got {got}."
            )
        for name, support in self.parameters.items():
            if np.shape(start[name]) != support.shape:
                raise ModelError(
                    f'start= gives "{name}" the shape {np.shape(start[name])}; '
                    f"expected {support.shape}."
                )
        x = np.asarray(self.unconstrain(start), dtype=np.float64)
        if not np.all(np.isfinite(x)):
            raise ModelError(f"start= must lie inside the supports; got {dict(start)}.")
        return x


def _check_functions(
    log_density: object | None, log_prior: object | None, log_likelihood: object | None
) -> None:
    split = (log_prior is not None, log_likelihood is not None)
    if (log_density is not None) == any(split) or (any(split) and not all(split)):
        given = [
            name
            for name, function in (
                ("log_density", log_density),
                ("log_prior", log_prior),
                ("log_likelihood", log_likelihood),
            )
            if function is not None
        ]
        raise ModelError(
            "A model is given by log_density alone, or by log_prior and log_likelihood together; "
            f"got {' and '.join(given) or 'none of them'}."
        )
    for function in (log_density, log_prior, log_likelihood):
        if function is not None and not callable(function):
            raise ModelError(f"Expected a function; got {type(function).__name__}.")


def _named_parameters(
    parameters: Mapping[str, Support] | None, dim: int | None
) -> dict[str, Support]:
    if (parameters is None) == (dim is None):
        raise ModelError(
            "Give either dim= (a function of a vector) or parameters (a dictionary such as "
            '{"phi": refti.positive()}), not both or neither.'
        )
    if dim is not None:
        if not isinstance(dim, int) or dim < 1:
            raise ModelError(f"dim= must be a whole number of at least 1; got {dim!r}.")
        return {"x": real(shape=(dim,))}
    if not isinstance(parameters, Mapping):
        raise ModelError(
            f"parameters must map names to supports; got {type(parameters).__name__}. "
            "For a function of a vector use dim=."
        )
    return check_parameters(parameters)


def _pieces(
    parameters: Mapping[str, Support], x: Float[Array, " dim"]
) -> dict[str, tuple[Float[Array, "..."], Float[Array, ""]]]:
    offsets = np.cumsum([s.unconstrained_size for s in parameters.values()])[:-1]
    parts = jnp.split(x, offsets)
    return {
        name: support.constrain(part)
        for (name, support), part in zip(parameters.items(), parts, strict=True)
    }


def _trace_once(
    function: Callable[..., Any],
    role: str,
    parameters: Mapping[str, Support],
    takes_vector: bool,
    dim: int,
) -> LogDensity:
    """The user's function of the parameters as a fixed JAX program of unconstrained x."""
    by_keyword = not takes_vector and _wants_keywords(function, parameters)

    def of_unconstrained(x: Float[Array, " dim"]) -> Any:
        values = {name: value for name, (value, _) in _pieces(parameters, x).items()}
        if takes_vector:
            return function(values["x"])
        return function(**values) if by_keyword else function(values)

    shape = jax.ShapeDtypeStruct((dim,), jnp.float64)
    try:
        program = jax.make_jaxpr(of_unconstrained)(shape)
    except jax.errors.JAXTypeError as error:
        raise ModelError(
            f"{role} cannot be traced by JAX: {_first_line(error)} ({_where(error)}). Write it "
            "with jax.numpy and without Python branches on parameter values; a black-box function "
            "has its own entry, refti.from_callable."
        ) from error
    except Exception as error:
        expected = f"an array of shape ({dim},)" if takes_vector else f"{sorted(parameters)}"
        raise ModelError(
            f"{role} failed when called with {expected}: {type(error).__name__}: "
            f"{_first_line(error)} ({_where(error)}). Functions that JAX cannot run have their "
            "own entry, refti.from_callable."
        ) from error
    _check_output(program.out_avals, role)
    if any(getattr(c, "dtype", None) == jnp.float32 for c in program.consts):
        warnings.warn(
            f"{role} uses arrays of 32-bit numbers from outside, whose digits past the seventh "
            "are lost. Keep data in NumPy arrays (64-bit), not in jax.numpy ones.",
            stacklevel=4,
        )
    run = jaxpr_as_fun(program)
    return lambda x: jnp.asarray(run(x)[0], jnp.float64).reshape(())


def _wants_keywords(function: Callable[..., Any], parameters: Mapping[str, Support]) -> bool:
    try:
        arguments = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    required = {name for name, a in arguments.items() if a.default is a.empty}
    return set(parameters) <= set(arguments) and required <= set(parameters)


def _check_output(outputs: list[Any], role: str) -> None:
    if len(outputs) != 1 or getattr(outputs[0], "shape", None) not in ((), (1,)):
        shapes = [tuple(o.shape) for o in outputs]
        got = f"shape {shapes[0]}" if len(shapes) == 1 else f"{len(shapes)} values"
        raise ModelError(
            f"{role} must return one number; got {got}. Sum over the observations with jnp.sum."
        )
    if not jnp.issubdtype(outputs[0].dtype, jnp.floating):
        raise ModelError(f"{role} must return a real number; got {outputs[0].dtype}.")


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip() if lines else ""


def _where(error: BaseException) -> str:
    """The line of the user's code in which the error arose."""
    place = "in the function given"
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if "site-packages" not in code.co_filename and code.co_filename != __file__:
            place = f"line {traceback.tb_lineno} of {code.co_name}"
        traceback = traceback.tb_next
    return place
