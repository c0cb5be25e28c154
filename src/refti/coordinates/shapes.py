"""The table of shapes: one row each, from which the maps that a run may try are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from refti.coordinates.fit_links import fit_links
from refti.coordinates.fit_tails import fit_power_tails, fit_radial_tail
from refti.coordinates.map import Layer, Map, to_latent
from refti.coordinates.tuning import TUNING


@dataclass(frozen=True)
class Shape:
    """A row of the table.

    Attributes:
        name: what the posterior is like, in words.
        fit: the layers of a map for draws[n, dim], or None where they do not have the shape.
    """

    name: str
    fit: Callable[[np.ndarray], tuple[Layer, ...] | None]


def _fit_links_and_tails(draws: np.ndarray) -> tuple[Layer, ...] | None:
    """Links, and power tails of what they leave."""
    links = fit_links(draws)
    if links is None:
        return None
    tails = fit_power_tails(to_latent(Map(links, ""), draws))
    return links if tails is None else (*tails, *links)


SHAPES: dict[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape("heavy tails", fit_power_tails),
        Shape("a heavy radial tail", fit_radial_tail),
        Shape("scales or means that follow others", _fit_links_and_tails),
    )
}


def fit_shape(name: str, draws: np.ndarray) -> Map | None:
    """The map of a shape fitted to draws[n, dim], or None where they do not have it."""
    if draws.shape[1] > TUNING.most_dimensions or len(draws) < TUNING.fewest_draws:
        return None
    if not (np.isfinite(draws).all() and (draws.std(axis=0) > 0).all()):
        return None
    layers = SHAPES[name].fit(draws)
    return None if layers is None else Map(layers, name)
