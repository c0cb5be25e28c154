"""What a PyMC model knows beside its parameters: deterministics, dims, coords, data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from refti.inputs.pymc.backends import Backend, funcify_by_jax
from refti.inputs.pymc.graph import Graphs, replace_free_values
from refti.inputs.pymc.points import compile_for_points
from refti.models.quantities import ByName, Quantities


def read_quantities(graphs: Graphs, backend: Backend) -> Quantities:
    """All that the result of a run may tell of the model, its data as they are now.

    Graphs are taken here, while data are what they are, and compiled when first asked for.
    """
    model = graphs.model
    names = [v.name for v in (*model.free_RVs, *model.deterministics, *model.observed_RVs)]
    return Quantities(
        dims={name: dims for name in names if (dims := _dims(model, name)) is not None},
        coords={
            str(dim): np.asarray(list(labels))
            for dim, labels in model.coords.items()
            if labels is not None
        },
        derived=_by_name(graphs, model.deterministics, model.replace_rvs_by_values, backend),
        observed={rv.name: _value(model.rvs_to_values[rv]) for rv in model.observed_RVs},
        log_likelihoods=_by_name(
            graphs, model.observed_RVs, lambda rvs: model.logp(vars=rvs, sum=False), backend
        ),
    )


def _dims(model: Any, name: str) -> tuple[str, ...] | None:
    """The names of a variable's axes, numbered where it has none; None if it has none at all."""
    dims = model.named_vars_to_dims.get(name)
    if not dims:
        return None
    return tuple(f"{name}_dim_{i}" if dim is None else str(dim) for i, dim in enumerate(dims))


def _by_name(
    graphs: Graphs,
    variables: Sequence[Any],
    to_graphs: Callable[[list[Any]], Sequence[Any]],
    backend: Backend,
) -> ByName | None:
    """The values of some variables as a function of points; None if there are none."""
    if not variables:
        return None
    names = [variable.name for variable in variables]
    outputs = replace_free_values(graphs, to_graphs(list(variables)))

    @cache
    def compiled() -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
        if backend == "jax":
            return _point_by_point_in_jax(graphs, outputs)
        return compile_for_points([graphs.x], outputs, graphs)

    def values(x: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(names, compiled()([np.ascontiguousarray(x, np.float64)]), strict=True))

    return values


def _point_by_point_in_jax(
    graphs: Graphs, outputs: Sequence[Any]
) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
    """By JAX, one point after another: some of its batches wait for ever (see models/batching)."""
    with jax.enable_x64(True):
        function = funcify_by_jax(graphs, outputs)
    program = jax.jit(lambda points: jax.lax.map(function, points))

    def run(values: Sequence[np.ndarray]) -> list[np.ndarray]:
        with jax.enable_x64(True):
            return [np.asarray(value) for value in program(jnp.asarray(values[0]))]

    return run


def _value(variable: Any) -> np.ndarray:
    """The data that a variable was observed to be."""
    from pytensor.compile import SharedVariable
    from pytensor.graph.basic import Constant

    if isinstance(variable, Constant):
        return np.array(variable.data)
    if isinstance(variable, SharedVariable):
        return np.array(variable.get_value())
    return np.array(variable.eval(mode="FAST_COMPILE"))
