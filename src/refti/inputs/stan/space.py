"""The space of a Stan program: its own transforms, its names and shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np

from refti.errors import ModelError
from refti.inputs.stan.library import Library
from refti.inputs.stan.tuning import TUNING
from refti.models.space import Parameter, Space


class StanSpace(Space):
    """The parameters of a compiled program; elements are counted from 1, as in Stan."""

    def __init__(self, library: Library, unit_vectors: Iterable[str] = ()):
        self._library = library
        self._places = _places(library.names)
        shapes = {name: Parameter(places.shape) for name, places in self._places.items()}
        self.parameters = MappingProxyType(shapes)
        self.coordinates = tuple(_label(name) for name in library.unconstrained_names)
        owners = np.array(self.owners)
        self.unit_vectors = tuple(
            places
            for name in unit_vectors
            for places in np.flatnonzero(owners == name).reshape(
                -1, self.parameters[name].shape[-1]
            )
        )

    def constrain_all(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The parameters' values [n, *shape] at unconstrained coordinates x[n, dim]."""
        values = self._library.constrain(x)
        return {name: values[:, places] for name, places in self._places.items()}

    def derived_all(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Transformed parameters and generated quantities [n, *shape] at points x[n, dim].

        Those that would fill the memory are left out, the largest first.
        """
        places = _places(self._library.all_names)
        wanted = sorted(set(places) - set(self.parameters), key=lambda name: places[name].size)
        most = TUNING.most_derived // max(1, len(x))
        sizes = np.cumsum([places[name].size for name in wanted])
        kept = {name for name, size in zip(wanted, sizes, strict=True) if size <= most}
        if not kept:
            return {}
        values = self._library.derive(x, seed=0)
        return {name: values[:, where] for name, where in places.items() if name in kept}

    def unconstrain_all(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The coordinates x[n, dim] of values [n, *shape].

        Raises ModelError, with the name of what is outside, if a value is not the parameter's.
        """
        count = len(next(iter(values.values())))
        flat = np.empty((count, len(self._library.names)))
        for name, places in self._places.items():
            flat[:, places] = values[name]
        if not np.isfinite(flat).all():
            worst = self._library.names[int(np.argmin(np.isfinite(flat).all(axis=0)))]
            raise ModelError(f"{_label(worst)!r} has values that are not finite.")
        x = self._library.unconstrain(flat)
        rng = np.random.default_rng(0)
        for places in self.unit_vectors:  # which come back as they are, of length 1
            x[:, places] *= np.sqrt(rng.chisquare(len(places) + 2, size=(count, 1)))
        return x

    def round_trip(self, x: np.ndarray) -> np.ndarray:
        """The coordinates of the values at x[n, dim]; unit vectors keep the lengths they had."""
        back = super().round_trip(x)
        for places in self.unit_vectors:
            lengths = [np.linalg.norm(one[:, places], axis=1, keepdims=True) for one in (x, back)]
            with np.errstate(invalid="ignore", divide="ignore"):
                back[:, places] *= lengths[0] / lengths[1]
        return back


def _places(names: list[str]) -> dict[str, np.ndarray]:
    """Where the elements of each parameter stand, places[*shape], from names such as "L.2.1"."""
    found: dict[str, list[tuple[tuple[int, ...], int]]] = {}
    for place, name in enumerate(names):
        base, *indices = name.split(".")
        found.setdefault(base, []).append((tuple(int(i) - 1 for i in indices), place))
    places = {}
    for base, elements in found.items():
        shape = tuple(np.max([index for index, _ in elements], axis=0).astype(int) + 1)
        places[base] = np.zeros(shape, dtype=int)
        for index, place in elements:
            places[base][index] = place
    return places


def _label(name: str) -> str:
    base, *indices = name.split(".")
    return f"{base}[{','.join(indices)}]" if indices else base
