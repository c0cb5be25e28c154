"""Parameters one number at a time: the draws of a dataset as columns with the user's names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray

MOST_COLUMNS = 2_000  # of all parameters together, which are compared with each other


def flat_columns(dataset: xarray.Dataset, sample: Sequence[str]) -> dict[str, np.ndarray]:
    """The numbers of every parameter by name, such as `rho[2]`, all draws in one row.

    Args:
        dataset: draws by parameter.
        sample: the dimensions of draws, such as chain and draw.
    """
    columns: dict[str, np.ndarray] = {}
    for name, values in dataset.data_vars.items():
        own = [dim for dim in values.dims if dim not in sample]
        ordered = values.transpose(*(dim for dim in sample if dim in values.dims), *own)
        count = int(np.prod([values.sizes[dim] for dim in values.dims if dim in sample]))
        flat = ordered.values.reshape(count, -1)
        for place, index in enumerate(np.ndindex(*(values.sizes[dim] for dim in own))):
            if len(columns) == MOST_COLUMNS:
                return columns
            label = _label(str(name), values, own, index)
            while label in columns:  # a number that is called as an element of another parameter
                label += "′"
            columns[label] = flat[:, place]
    return columns


def _label(name: str, values: xarray.DataArray, own: Sequence, index: tuple[int, ...]) -> str:
    """`rho[2]`, or `rho[school A]` where the user named the places."""
    if not own:
        return name
    places = [
        str(values.coords[dim].values[i]) if dim in values.coords else str(i)
        for dim, i in zip(own, index, strict=True)
    ]
    return f"{name}[{', '.join(places)}]"
