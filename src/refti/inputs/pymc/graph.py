"""The log density of a PyMC model as PyTensor graphs of one flat vector."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from refti.models.space import labels


@dataclass(frozen=True, eq=False)
class Graphs:
    """What a PyMC model says, its data fixed, as graphs of x[dim].

    Attributes:
        model: the user's model, which stays as it is.
        names: of the free variables, in the order of declaration.
        shapes: of their unconstrained values.
        start: where PyMC begins.
        x: the vector all graphs are made of.
        prior: the log density of the free variables, Jacobian included.
        likelihood: that of the observed variables plus the potentials; None if there are none.
        constrained: the value of each free variable.
        theta: a value of each free variable, to be unconstrained.
        unconstrained: x as a graph of `theta`.
    """

    model: Any
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    start: np.ndarray
    x: Any
    prior: Any
    likelihood: Any
    constrained: list[Any]
    theta: list[Any]
    unconstrained: Any

    @property
    def dim(self) -> int:
        """The number of unconstrained coordinates."""
        return len(self.start)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """The name of every unconstrained coordinate, which is PyMC's own."""
        values = [value.name for value in self.model.value_vars]
        pairs = zip(values, self.shapes, strict=True)
        return tuple(label for name, shape in pairs for label in labels(name, shape))

    def point(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The coordinates x[dim] as PyMC's own functions take them."""
        parts = np.split(x, np.cumsum([prod(shape) for shape in self.shapes])[:-1])
        triples = zip(self.model.value_vars, parts, self.shapes, strict=True)
        return {value.name: part.reshape(shape) for value, part, shape in triples}


def read_graphs(model: Any) -> Graphs:
    """The graphs of a PyMC model that has been seen to be fit for it."""
    with all_digits():
        return _build(model)


def replace_free_values(graphs: Graphs, outputs: Sequence[Any]) -> list[Any]:
    """Graphs of the free variables' values as graphs of x, data as they are now."""
    model = graphs.model
    values = _cut(graphs.x, graphs.shapes, model.value_vars)
    with all_digits():
        return [
            _tensor(g) for g in _replace(outputs, dict(zip(model.value_vars, values, strict=True)))
        ]


def all_digits() -> AbstractContextManager[None]:
    """A scope in which PyTensor takes Python's floats as 64-bit numbers.

    It takes them as 32-bit ones where that is exact, and in JAX one such may lower all it meets.
    """
    from pytensor import config
    from pytensor.scalar.basic import autocast_float_as

    # Under its other policies PyTensor casts as NumPy does, and refuses to be told otherwise.
    return autocast_float_as("float64") if config.cast_policy == "custom" else nullcontext()


def _build(model: Any) -> Graphs:
    import pytensor.tensor as pt

    initial = model.initial_point(random_seed=0)
    shapes = tuple(np.shape(initial[value.name]) for value in model.value_vars)
    start = np.concatenate([np.ravel(initial[value.name]) for value in model.value_vars])
    x = pt.vector("x", shape=(len(start),), dtype="float64")
    values = dict(zip(model.value_vars, _cut(x, shapes, model.value_vars), strict=True))
    likelihood = []
    if model.observed_RVs:
        likelihood.append(model.observedlogp)
    if model.potentials:
        likelihood.append(model.potentiallogp)
    wanted = [model.varlogp, *model.replace_rvs_by_values(model.free_RVs), *likelihood]
    prior, *rest = _replace(wanted, values)
    free = len(model.free_RVs)
    theta, unconstrained = _unconstrain(model)
    return Graphs(
        model=model,
        names=tuple(rv.name for rv in model.free_RVs),
        shapes=shapes,
        # Of ordered variables that begin all alike PyMC's own start is not finite.
        start=np.where(np.isfinite(start), start, 0.0).astype(np.float64),
        x=x,
        prior=_number(prior),
        likelihood=sum(map(_number, rest[free:])) if likelihood else None,
        constrained=[_tensor(value) for value in rest[:free]],
        theta=theta,
        unconstrained=unconstrained,
    )


def _unconstrain(model: Any) -> tuple[list[Any], Any]:
    """Values of the free variables, and the flat vector of unconstrained ones made of them.

    A transform may look at the variable's own parameters (the bounds of an interval), which may
    be other free variables.
    """
    import pytensor.tensor as pt

    # Not by pt.tensor(name), which takes a name such as "1|group_sigma" for a type of NumPy's.
    kinds = [pt.TensorType("float64", shape=rv.type.shape) for rv in model.free_RVs]
    theta = [kind(name=rv.name) for kind, rv in zip(kinds, model.free_RVs, strict=True)]
    values = [_with_dims(value, rv) for value, rv in zip(theta, model.free_RVs, strict=True)]
    parts = []
    for rv, value in zip(model.free_RVs, values, strict=True):
        transform = model.rvs_to_transforms[rv]
        forward = value if transform is None else transform.forward(value, *rv.owner.inputs)
        parts.append(_tensor(forward).ravel())
    flat = pt.join(0, *parts) if len(parts) > 1 else parts[0]
    (replaced,) = _replace([flat], dict(zip(model.free_RVs, values, strict=True)))
    return theta, replaced


def _cut(x: Any, shapes: Sequence[tuple[int, ...]], variables: Sequence[Any]) -> list[Any]:
    """The vector cut into variables of given shapes."""
    parts, begin = [], 0
    for shape, variable in zip(shapes, variables, strict=True):
        end = begin + prod(shape)
        parts.append(_with_dims(x[begin:end].reshape(shape) if shape else x[begin], variable))
        begin = end
    return parts


def _replace(outputs: Sequence[Any], replacements: dict[Any, Any]) -> list[Any]:
    """The graphs with variables replaced, with data and sizes as they are now, all in 64 bits.

    PyMC's freeze_dims_and_data does much the same, but refuses models with initial values.
    """
    from pytensor.compile import SharedVariable
    from pytensor.graph.basic import Constant
    from pytensor.graph.replace import clone_replace
    from pytensor.tensor import constant
    from pytensor.tensor.type import TensorType

    # Not strict, so that the shapes that are known now reach all that depends on them.
    replaced = clone_replace(list(outputs), replacements, rebuild_strict=False)
    fixed: dict[Any, Any] = {}
    for variable in ancestors(replaced):
        if not isinstance(variable.type, TensorType):
            continue
        if isinstance(variable, SharedVariable):
            fixed[variable] = constant(variable.get_value(), name=variable.name)
        elif isinstance(variable, Constant) and variable.type.dtype == "float32":
            fixed[variable] = constant(variable.data.astype("float64"), name=variable.name)
    return clone_replace(replaced, fixed, rebuild_strict=False)


def ancestors(outputs: Sequence[Any]) -> list[Any]:
    """All variables of graphs."""
    from pytensor.graph.traversal import ancestors as all_above

    return list(all_above(outputs))


def _with_dims(tensor: Any, like: Any) -> Any:
    """A tensor with named dimensions where `like` has some, as models of pymc.dims have."""
    dims = getattr(like.type, "dims", None)
    if dims is None:
        return tensor
    from pytensor.xtensor import as_xtensor

    return as_xtensor(tensor, dims=dims)


def _tensor(variable: Any) -> Any:
    """A plain tensor of one that may have named dimensions."""
    return variable.values if hasattr(variable.type, "dims") else variable


def _number(variable: Any) -> Any:
    return _tensor(variable).astype("float64").sum()
