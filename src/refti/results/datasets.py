"""Datasets: values by name as xarray has them, with the user's axes and labels where known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray

SAMPLE = ("chain", "draw")  # the axes of draws, which no variable of a user's may be called
PLAIN_KINDS = "biufUSM"  # kinds of NumPy's types that a netCDF file holds as they are


def to_dataset(
    values: Mapping[str, np.ndarray],
    *,
    lead: Sequence[str] = (),
    dims: Mapping[str, tuple[str, ...]],
    coords: Mapping[str, np.ndarray],
) -> xarray.Dataset:
    """Arrays [*lead, ...] by name as a Dataset.

    Axes go by the names that the user gave them, with the labels along them, or by numbers
    (theta_dim_0) where they have none. A name that xarray takes for another thing, such as a
    variable that is called as its own axis, gives way.
    """
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    sizes: dict[str, int] = {}
    for name, value in values.items():
        shape = value.shape[len(lead) :]
        axes = _axes(name, shape, dims.get(name, ()), {*lead, *values}, sizes)
        sizes.update(zip(axes, shape, strict=True))
        variables[free_name(name) if lead else name] = ((*lead, *axes), value)
        sizes.update(zip(lead, value.shape, strict=False))
    labels = {
        name: plain_labels(coords[name])
        if name in coords and len(coords[name]) == size
        else np.arange(size)
        for name, size in sizes.items()
    }
    import xarray

    return xarray.Dataset(variables, coords=labels)


def free_name(name: str) -> str:
    """The name under which draws of a variable are kept: its own, unless an axis has it."""
    return f"{name}_" if name in SAMPLE else name


def plain_labels(labels: np.ndarray) -> np.ndarray:
    """Labels as a file can hold them: numbers, times and text as they are, the rest as text."""
    array = np.asarray(labels)
    if array.ndim == 1 and array.dtype.kind in PLAIN_KINDS:
        return array
    return np.array([str(label) for label in labels])


def _axes(
    name: str,
    shape: tuple[int, ...],
    known: tuple[str, ...],
    not_free: set[str],
    sizes: Mapping[str, int],
) -> tuple[str, ...]:
    """The names of a variable's axes, numbered where the user's do not fit."""
    fits = len(known) >= len(shape) and len(set(known[: len(shape)])) == len(shape)
    if fits:
        pairs = list(zip(known, shape, strict=False))
        if all(axis not in not_free and sizes.get(axis, n) == n for axis, n in pairs):
            return tuple(axis for axis, _ in pairs)
    return tuple(_free_axis(f"{name}_dim_{i}", not_free) for i in range(len(shape)))


def _free_axis(axis: str, not_free: set[str]) -> str:
    """The name of an axis, lengthened where a variable has it already."""
    while axis in not_free:
        axis += "_"
    return axis
