"""Densities of a path as plain arrays, so that they can be written to a file, and back.

What is not an array is made again from the model: the maps of a truncated Gaussian, the function
that a Taylor expansion expands, the architecture of a flow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import numpy as np

from refti.errors import StoreError
from refti.models.density import Density
from refti.models.model import Model
from refti.references.registry import FAMILIES
from refti.references.taylor import TaylorExpansion, restore

Arrays = dict[str, np.ndarray]


def to_arrays(density: Density) -> tuple[str, Arrays]:
    """The name of a density's kind, and its numbers by the names of its fields.

    Raises StoreError if it is of no family of refti's.
    """
    name = type(density).__name__
    if type(density) is not _kinds().get(name, (None,))[0]:
        raise StoreError(
            "Only references of refti's own families and Taylor expansions can be written to a "
            f"file; got {name}. Give it as reference= again when the run is resumed."
        )
    leaves, _ = jax.tree_util.tree_flatten_with_path(density)
    named = {jax.tree_util.keystr(path, simple=True, separator="."): x for path, x in leaves}
    arrays = {field: np.asarray(value) for field, value in named.items()}
    if isinstance(density, TaylorExpansion):
        arrays["order"] = np.asarray(density.order)
    return name, arrays


def from_arrays(name: str, arrays: Mapping[str, np.ndarray], model: Model) -> Density:
    """The density that was written as these arrays, to the bit.

    Raises StoreError if there is no kind of that name.
    """
    if name not in _kinds():
        raise StoreError(
            f"Expected a density of kind {', '.join(_kinds())}; got {name!r}. It was written by "
            "another version of refti."
        )
    return _kinds()[name][1](arrays, model)


def _kinds() -> dict[str, tuple[type, Callable[[Mapping[str, np.ndarray], Model], Density]]]:
    """The classes that can be written, by name, each with what makes a member of arrays."""
    kinds = {
        family.kind.__name__: (family.kind, family.restore or _from_fields(family.kind))
        for family in FAMILIES.values()
    }
    return {**kinds, TaylorExpansion.__name__: (TaylorExpansion, restore)}


def _from_fields(
    kind: Callable[..., Density],
) -> Callable[[Mapping[str, np.ndarray], Model], Density]:
    return lambda arrays, model: kind(**arrays)
