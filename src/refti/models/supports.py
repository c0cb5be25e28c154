"""Where a parameter may lie: its constraint, its shape and the map from unconstrained space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.distributions import biject_to, constraints

from refti.errors import ModelError


@dataclass(frozen=True)
class Support:
    """A parameter's constraint and shape; `lower` and `upper` are its bounds, element by element.

    NumPyro's transforms map unconstrained space to the support, with their Jacobians.
    """

    constraint: constraints.Constraint
    shape: tuple[int, ...]
    unconstrained_shape: tuple[int, ...]
    lower: float | None
    upper: float | None

    @property
    def unconstrained_size(self) -> int:
        """How many unconstrained coordinates the parameter takes."""
        return prod(self.unconstrained_shape)

    @property
    def is_elementwise(self) -> bool:
        """Whether every element is bounded by itself, not jointly as in a simplex."""
        return self.lower is not None

    @property
    def made_by(self) -> tuple[str, tuple[float, ...], tuple[int, ...] | None]:
        """The function below that makes this support, with its bounds or size, and its shape."""
        vectors = {
            "simplex": constraints.simplex,
            "ordered": constraints.ordered_vector,
            "correlation_cholesky": constraints.corr_cholesky,
        }
        for name, constraint in vectors.items():
            if self.constraint is constraint:
                return name, (self.shape[0],), None
        assert self.lower is not None and self.upper is not None
        if self.constraint is constraints.real:
            return "real", (), self.shape
        if self.constraint is constraints.positive:
            return "positive", (), self.shape
        if self.upper == float("inf"):
            return "lower", (self.lower,), self.shape
        if self.lower == -float("inf"):
            return "upper", (self.upper,), self.shape
        return "interval", (self.lower, self.upper), self.shape

    def constrain(self, x: Float[Array, " size"]) -> tuple[Float[Array, "..."], Float[Array, ""]]:
        """The parameter's value at unconstrained coordinates, and the map's log Jacobian."""
        transform = biject_to(self.constraint)
        x = x.reshape(self.unconstrained_shape)
        value = transform(x)
        return value, jnp.sum(transform.log_abs_det_jacobian(x, value))

    def unconstrain(self, value: Float[Array, "..."]) -> Float[Array, " size"]:
        """The unconstrained coordinates of a value inside the support."""
        return jnp.ravel(biject_to(self.constraint).inv(value))

    def faults(self, name: str, value: Any) -> list[str]:
        """What keeps a value from being the parameter's: its type, its shape, its bounds."""
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            return [f'"{name}" the value {value!r}; expected numbers.']
        if array.shape != self.shape:
            return [f'"{name}" the shape {array.shape}; expected {self.shape}.']
        if not self.holds(array):
            text = np.array2string(array, threshold=6)
            return [f'"{name}" the value {text}; expected one inside the supports.']
        return []

    def holds(self, values: np.ndarray) -> bool:
        """Whether values, [..., *shape], all lie inside the support."""
        inside = np.all(np.isfinite(values)) and np.all(np.asarray(self.constraint(values)))
        if self.lower is not None and self.upper is not None:
            # An edge belongs to NumPyro's intervals, but has no unconstrained coordinates.
            inside = inside and np.all(values > self.lower) and np.all(values < self.upper)
        return bool(inside)


def real(*, shape: tuple[int, ...] = ()) -> Support:
    """A parameter free to take any real value."""
    return _elementwise(constraints.real, shape, -jnp.inf, jnp.inf)


def positive(*, shape: tuple[int, ...] = ()) -> Support:
    """A parameter above zero."""
    return _elementwise(constraints.positive, shape, 0.0, jnp.inf)


def lower(bound: float, *, shape: tuple[int, ...] = ()) -> Support:
    """A parameter above `bound`."""
    bound = _finite(bound, "lower")
    return _elementwise(constraints.greater_than(bound), shape, bound, jnp.inf)


def upper(bound: float, *, shape: tuple[int, ...] = ()) -> Support:
    """A parameter below `bound`."""
    bound = _finite(bound, "upper")
    return _elementwise(constraints.less_than(bound), shape, -jnp.inf, bound)


def interval(low: float, high: float, *, shape: tuple[int, ...] = ()) -> Support:
    """A parameter between `low` and `high`."""
    low, high = _finite(low, "interval"), _finite(high, "interval")
    if not low < high:
        raise ModelError(f"interval(low, high) needs low < high; got {low} and {high}.")
    return _elementwise(constraints.interval(low, high), shape, low, high)


def simplex(size: int) -> Support:
    """A vector of `size` non-negative shares that sum to one."""
    return _vector(constraints.simplex, "simplex", size, fixed=1)


def ordered(size: int) -> Support:
    """A vector of `size` increasing values."""
    return _vector(constraints.ordered_vector, "ordered", size, fixed=0)


def correlation_cholesky(size: int) -> Support:
    """The lower Cholesky factor of a `size` by `size` correlation matrix."""
    size = _size(size, "correlation_cholesky")
    free = (size * (size - 1) // 2,)
    return Support(constraints.corr_cholesky, (size, size), free, None, None)


def make_support(name: str, arguments: tuple[float, ...], shape: tuple[int, ...] | None) -> Support:
    """The support that a function of this module makes, by the function's name."""
    makers: dict[str, Callable[..., Support]] = {
        make.__name__: make
        for make in (real, positive, lower, upper, interval, simplex, ordered, correlation_cholesky)
    }
    return makers[name](*arguments, **({} if shape is None else {"shape": shape}))


def check_parameters(parameters: Mapping[str, object]) -> dict[str, Support]:
    """The parameters as a plain dictionary. Raises ModelError with all their faults together."""
    known = "real, positive, lower, upper, interval, simplex, ordered, correlation_cholesky"
    faults = []
    if not parameters:
        faults.append("a model needs at least one parameter; got none.")
    for name, support in parameters.items():
        if not isinstance(name, str) or not name:
            faults.append(f"a parameter's name must be a non-empty string; got {name!r}.")
        if not isinstance(support, Support):
            faults.append(
                f'parameter "{name}" has an unknown support; expected one of refti.{{{known}}}, '
                f"such as refti.positive(); got {support!r}."
            )
    if faults:
        raise ModelError("\n".join(faults))
    return dict(parameters)  # type: ignore[arg-type]


def _elementwise(
    constraint: constraints.Constraint, shape: tuple[int, ...], low: float, high: float
) -> Support:
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if not all(isinstance(n, int) and n > 0 for n in shape):
        raise ModelError(f"shape= must be a tuple of positive whole numbers; got {shape!r}.")
    return Support(constraint, shape, shape, float(low), float(high))


def _vector(constraint: constraints.Constraint, name: str, size: int, *, fixed: int) -> Support:
    size = _size(size, name)
    return Support(constraint, (size,), (size - fixed,), None, None)


def _size(size: int, name: str) -> int:
    if not isinstance(size, int) or size < 2:
        raise ModelError(f"{name}(size) needs a whole number of at least 2; got {size!r}.")
    return size


def _finite(bound: float, name: str) -> float:
    if not isinstance(bound, int | float) or not abs(bound) < float("inf"):
        raise ModelError(
            f"{name}() needs finite bounds; got {bound!r}. Use refti.real() for no bound."
        )
    return float(bound)
