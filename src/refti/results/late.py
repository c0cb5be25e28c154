"""Late datasets: draws by name, which become xarray's when somebody first looks at them.

Importing xarray and making Datasets takes as long as the sampling of a small model, and what most
runs are asked for is a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True, eq=False)
class NamedArrays:
    """What a Dataset is made of.

    Attributes:
        values: arrays [*lead, ...] by name.
        lead: the axes that all of them begin with.
        dims: the names of a variable's other axes, where the user gave them.
        coords: the labels along an axis, where the user gave them.
    """

    values: Mapping[str, np.ndarray] = field(default_factory=dict)
    lead: Sequence[str] = ()
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    coords: Mapping[str, np.ndarray] = field(default_factory=dict)


LateDataset = Any
"""A Dataset for those who read it; before that NamedArrays will do."""


def no_dataset() -> LateDataset:
    """What becomes a Dataset without variables."""
    return NamedArrays()


def made_late(*names: str) -> Callable[[Class], Class]:
    """The decorator of a dataclass whose fields of these names are Datasets, or Datasets by name.

    What is given as NamedArrays is a Dataset from the first time that it is looked at.
    """

    def decorate(owner: Class) -> Class:
        for name in names:
            setattr(owner, name, _Late(name))
        return owner

    return decorate


class _Late:
    """A field that is kept in the instance under its own name, as given and then as made."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(self._name)
        made = instance.__dict__[self._name] = _made(instance.__dict__[self._name])
        return made

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value


def _made(value: Any) -> Any:
    if isinstance(value, NamedArrays):
        from refti.results.datasets import to_dataset

        return to_dataset(value.values, lead=value.lead, dims=value.dims, coords=value.coords)
    if isinstance(value, dict) and any(isinstance(one, NamedArrays) for one in value.values()):
        return {name: _made(one) for name, one in value.items()}
    return value
