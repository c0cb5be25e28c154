"""Batches: a density at many points at once, or one by one where it factors large matrices.

The LAPACK calls of jaxlib 0.10 split a batch of large matrices over XLA's threads and wait for them
on one of those very threads. As many calls at once as there are threads wait for ever: two Gaussian
processes in one vectorised density are enough on two cores. A batch of one is computed on the spot,
so points of such densities go one by one. Little is lost: on large matrices LAPACK is busy by
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Jaxpr, jaxprs_in_params
from jaxtyping import Array, Float

from refti.models.compiled import compiled
from refti.models.density import Density, ValueOnlyDensity
from refti.models.tuning import TUNING

Value = TypeVar("Value")

LAPACK = {
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "geqrf",
    "hessenberg",
    "householder_product",
    "lu",
    "ormqr",
    "qr",
    "schur",
    "svd",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
}


@compiled()
def log_densities(density: Density, x: Float[Array, "draw dim"]) -> Float[Array, " draw"]:
    """The log density at many points, as it comes; no gradients."""
    size = None if is_split_over_threads(density, x[0], TUNING.batch) else TUNING.batch
    return jax.lax.map(density.log_density, x, batch_size=size)


def one_by_one(
    function: Callable[[Density, Float[Array, " dim"]], Value],
    density: Density,
    x: Float[Array, " dim"],
) -> Value:
    """The function's value; where it factors large matrices JAX does not vectorise it over x."""
    if is_split_over_threads(density, x, TUNING.chains):
        function = jax.custom_batching.sequential_vmap(function)
    return function(density, x)


def may_run_side_by_side(density: Density, x: Float[np.ndarray, " dim"]) -> bool:
    """Whether evaluations may run side by side: not if each factors many matrices by itself."""
    return isinstance(density, ValueOnlyDensity) or not is_split_over_threads(
        density, jnp.asarray(x), 1
    )


def is_split_over_threads(density: Density, x: Float[Array, " dim"], batch: int) -> bool:
    """Whether matrices that a density factors, or solves with, are split in such a batch."""
    for *stacked, rows, columns in _factored_shapes(jax.make_jaxpr(density.log_density)(x).jaxpr):
        matrices = batch * int(np.prod(stacked))
        operations = matrices * TUNING.operations_each * max(rows, columns) ** 3
        if matrices > 1 and operations > TUNING.operations:
            return True
    return False


def _factored_shapes(jaxpr: Jaxpr) -> Iterator[tuple[int, ...]]:
    """The shapes of the matrices that a program factors or solves with."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in LAPACK:
            for operand in equation.invars:
                shape = getattr(operand.aval, "shape", ())
                if len(shape) > 1:
                    yield shape
        for inner in jaxprs_in_params(equation.params):
            yield from _factored_shapes(inner)
