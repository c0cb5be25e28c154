"""Relabelling: numberings of components under which a density stays what it is.

A mixture of K exchangeable components has every mode K! times. Each is the image of any other
under a permutation of the components' parameters, so one of them tells where all of them are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import factorial, prod

import numpy as np

from refti.errors import ModelError
from refti.models.model import ValueAndGradient
from refti.models.space import Space
from refti.search.tuning import TUNING

Values = Mapping[str, np.ndarray]
"""Values [n, *shape] by the names of parameters."""


@dataclass(frozen=True)
class Axis:
    """Where components are numbered: along an axis of a parameter, or by the ends of names.

    Attributes:
        names: the parameter, or all of those whose names differ in a number at their end.
        axis: of the one parameter.
    """

    names: tuple[str, ...]
    axis: int = 0

    def permuted(self, values: Values, order: tuple[int, ...]) -> dict[str, np.ndarray]:
        """The values with the components in another order."""
        if len(self.names) > 1:
            return {**values, **{self.names[i]: values[self.names[j]] for i, j in enumerate(order)}}
        name = self.names[0]
        return {**values, name: np.take(values[name], order, axis=self.axis + 1)}


@dataclass(frozen=True, eq=False)
class Relabelling:
    """Sets of axes, of so many components each, along all of which together they may be renumbered.

    Attributes:
        space: whose parameters they are of.
        sets: the axes of every set, and how many components they have.
    """

    space: Space
    sets: tuple[tuple[tuple[Axis, ...], int], ...]

    @property
    def count(self) -> int:
        """How many numberings there are."""
        return prod(factorial(size) for _, size in self.sets)

    @property
    def sentence(self) -> str:
        """What may be renumbered, in words."""
        parts = [
            f"the {size} components of {', '.join(dict.fromkeys(n for a in axes for n in a.names))}"
            for axes, size in self.sets
        ]
        return f"the density is the same under all {self.count} numberings of {' and '.join(parts)}"

    def orders(self) -> Iterator[tuple[tuple[int, ...], ...]]:
        """Every order of the components of each set; the one that changes nothing comes first."""
        return product(*(permutations(range(size)) for _, size in self.sets))

    def image(self, x: np.ndarray, orders: tuple[tuple[int, ...], ...]) -> np.ndarray:
        """The points x[n, dim] with their components in other orders."""
        # Programs are compiled for a number of points, so that is kept the same.
        width = TUNING.relabelled_at_once
        padded = np.concatenate([x, np.repeat(x[-1:], -len(x) % width, axis=0)])
        parts = [self._image(part, orders) for part in np.split(padded, len(padded) // width)]
        return np.concatenate(parts)[: len(x)]

    def _image(self, x: np.ndarray, orders: tuple[tuple[int, ...], ...]) -> np.ndarray:
        values: Values = self.space.constrain_all(x)
        for (axes, _), order in zip(self.sets, orders, strict=True):
            for axis in axes:
                values = axis.permuted(values, order)
        return self.space.unconstrain_all(values)

    def with_slopes(
        self, x: np.ndarray, orders: tuple[tuple[int, ...], ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The image of one point x[dim], and the matrix of its derivatives, by differences."""
        steps = TUNING.relabelling_step * np.maximum(1.0, np.abs(x)) * np.eye(len(x))
        images = self.image(np.concatenate([x[None], x + steps, x - steps]), orders)
        ahead, behind = np.split(images[1:], 2)
        return images[0], (ahead - behind).T / (2 * np.diag(steps))


def find_relabelling(space: Space, evaluate: ValueAndGradient, x: np.ndarray) -> Relabelling | None:
    """The smallest sets of axes along which components may be renumbered, tried at x[n, dim].

    A density of unconstrained coordinates is the same up to the Jacobian of the renumbering, which
    is not 1 where it is that of a simplex.
    """
    found: list[tuple[tuple[Axis, ...], int]] = []
    for size, axes in _axes(space).items():
        for count in range(1, len(axes) + 1):
            for chosen in combinations(axes, count):
                if any(set(smaller) <= set(chosen) for smaller, _ in found):
                    continue
                tried = Relabelling(space, ((chosen, size),))
                if _is_invariant(tried, evaluate, x):
                    found.append((chosen, size))
    whole = Relabelling(space, tuple(found))
    return whole if found and whole.count <= TUNING.most_numberings else None


def _axes(space: Space) -> dict[int, list[Axis]]:
    """The axes along which components may be numbered, by how many there would be."""
    axes: dict[int, list[Axis]] = {}
    stems: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for name, parameter in space.parameters.items():
        for axis, size in enumerate(parameter.shape):
            axes.setdefault(size, []).append(Axis((name,), axis))
        if (stem := name.rstrip("0123456789")) != name:
            stems.setdefault((stem, tuple(parameter.shape)), []).append(name)
    for names in stems.values():
        axes.setdefault(len(names), []).append(Axis(tuple(names)))
    return {
        size: some
        for size, some in axes.items()
        if size > 1
        and factorial(min(size, 20)) <= TUNING.most_numberings
        # All sets of them are tried.
        and len(some) <= TUNING.most_relabelled_axes
    }


def _is_invariant(tried: Relabelling, evaluate: ValueAndGradient, x: np.ndarray) -> bool:
    """Whether a swap and a turn of all components, of which all orders are made, change nothing.

    Points outside the support tell nothing, and one inside has to be left.
    """
    size = tried.sets[0][1]
    swap, turn = (1, 0, *range(2, size)), (*range(1, size), 0)
    values, _ = evaluate(x)
    inside = np.isfinite(values)
    if not inside.any():
        return False
    for order in dict.fromkeys([swap, turn]):
        for point, value in zip(x[inside], values[inside], strict=True):
            try:
                with np.errstate(invalid="ignore"):  # infinite images, which are no numbering
                    image, slopes = tried.with_slopes(point, (order,))
            except ModelError:  # an order that the support forbids
                return False
            if not (np.isfinite(image).all() and np.isfinite(slopes).all()):
                return False
            stretch = np.linalg.slogdet(slopes)[1]
            there, _ = evaluate(image[None])
            if not abs(there[0] + stretch - value) < TUNING.same_density * max(1.0, abs(value)):
                return False
    return True
