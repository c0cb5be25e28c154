"""Rotations: components that may be turned into each other by any angle without a change.

The loadings of a factor model with normal priors are known up to a rotation of the factors, so its
modes are rings or spheres and no points, which neither a mixture about modes nor chains get around
quickly. There is no cure from outside: the model has to name its factors.
"""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np

from refti.models.model import ValueAndGradient
from refti.models.space import Space
from refti.search.tuning import TUNING

ANGLE = 1.0  # radians; no symmetry of a square or of a hexagon


def find_rotations(space: Space, evaluate: ValueAndGradient, points: np.ndarray) -> str:
    """What may be rotated, in words, and what to do about it; nothing if nothing may.

    Tried at points x[n, dim], along sets of up to three axes of one length.
    """
    values, _ = evaluate(points)
    inside = np.isfinite(values)
    for size, axes in _axes(space).items():
        for count in range(1, TUNING.flipped_together + 1):
            for chosen in combinations(axes, count):
                turned = points[inside].copy()
                for _, first, second in chosen:
                    one, two = points[inside][:, first], points[inside][:, second]
                    turned[:, first] = np.cos(ANGLE) * one - np.sin(ANGLE) * two
                    turned[:, second] = np.sin(ANGLE) * one + np.cos(ANGLE) * two
                least = TUNING.same_density * np.maximum(1.0, np.abs(values[inside]))
                if inside.any() and (np.abs(evaluate(turned)[0] - values[inside]) < least).all():
                    return _in_words(size, tuple(name for name, *_ in chosen))
    return ""


def _axes(space: Space) -> dict[int, list[tuple[str, np.ndarray, np.ndarray]]]:
    """Axes by their length: the parameter, and the coordinates of its first two components."""
    owners = np.array(space.owners)
    found: dict[int, list[tuple[str, np.ndarray, np.ndarray]]] = {}
    for name, parameter in space.parameters.items():
        places = np.flatnonzero(owners == name)
        if len(places) != prod(parameter.shape):
            continue
        whole = places.reshape(parameter.shape)
        for axis, size in enumerate(parameter.shape):
            if len(parameter.shape) > 1 and 1 < size <= TUNING.most_signed:
                first, second = (np.take(whole, one, axis=axis).ravel() for one in (0, 1))
                found.setdefault(size, []).append((name, first, second))
    return found


def _in_words(size: int, names: tuple[str, ...]) -> str:
    return (
        f"the density is the same however the {size} components of {', '.join(names)} are rotated "
        "into each other, so that its modes are no points, and runs are long: fix the rotation in "
        "the model, such as by loadings that are zero above a diagonal of positive ones (the "
        "evidence of that model is another where its prior is)"
    )
