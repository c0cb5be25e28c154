"""The table of shapes: one row each, from which the maps that a run may try are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from refti.coordinates.curvature import Curvature
from refti.coordinates.fit_links import fit_links
from refti.coordinates.fit_tails import fit_power_tails, fit_radial_tail
from refti.coordinates.map import Layer, Map, to_latent
from refti.coordinates.slanting import fit_slanting
from refti.coordinates.tuning import TUNING
from refti.coordinates.valleys import fit_valleys


@dataclass(frozen=True, eq=False)
class Cloud:
    """What is known of a posterior: all that a map is fitted to.

    Attributes:
        draws: x[n, dim].
        worth: how many independent ones they are worth.
        curvature: that of the density at some of them, if it is known.
        heavy: whether the density has a heavy tail to the left and right of every coordinate.
    """

    draws: np.ndarray
    worth: float
    curvature: Curvature | None
    heavy: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Shape:
    """A row of the table.

    Attributes:
        name: what the posterior is like, in words.
        fit: the layers of a map for a cloud, or None where it does not have the shape.
    """

    name: str
    fit: Callable[[Cloud], tuple[Layer, ...] | None]


def _fit_links_and_tails(cloud: Cloud) -> tuple[Layer, ...] | None:
    """Links, and power tails of what they leave."""
    links = fit_links(cloud.draws, cloud.curvature, cloud.worth)
    if links is None:
        return None
    tails = fit_power_tails(to_latent(Map(links, ""), cloud.draws), cloud.heavy)
    return links if tails is None else (*tails, *links)


def _fit_radial(cloud: Cloud) -> tuple[Layer, ...] | None:
    """A radial tail, where every side is heavy."""
    return fit_radial_tail(cloud.draws) if np.all(cloud.heavy) else None


LINKS = "scales or means that depend on other parameters"
VALLEYS = "bent valleys"
SLANTING = "bent valleys at a slant"
SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("heavy tails", lambda cloud: fit_power_tails(cloud.draws, cloud.heavy)),
        Shape("a heavy radial tail", _fit_radial),
        Shape(LINKS, _fit_links_and_tails),
        Shape(VALLEYS, lambda cloud: fit_valleys(cloud.draws, cloud.curvature)),
        Shape(SLANTING, lambda cloud: fit_slanting(cloud.draws, cloud.curvature)),
    )
}


def fit_shape(name: str, cloud: Cloud) -> Map | None:
    """The map of a shape fitted to a cloud, or None where it does not have it."""
    draws = cloud.draws
    if draws.shape[1] > TUNING.most_dimensions or len(draws) < TUNING.fewest_draws:
        return None
    if not (np.isfinite(draws).all() and (draws.std(axis=0) > 0).all()):
        return None
    try:
        layers = SHAPES[name].fit(cloud)
    except np.linalg.LinAlgError:  # what numbers cannot fit is not this shape
        return None
    return None if layers is None else Map(layers, name)
