"""Wide densities: a model's density and prior at many points at once, for wanderers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from refti.models.batching import log_densities
from refti.models.model import ValueAndGradient
from refti.paths.path import Leg
from refti.run.problem import End
from refti.run.tuning import PILOT
from refti.sampling.engine import Engine
from refti.sampling.evaluation import value_and_gradient


def wide_densities(
    end: End, evaluate: ValueAndGradient, engine: Engine
) -> tuple[ValueAndGradient, ValueAndGradient | None]:
    """The density at an end of a path, and its prior where that is apart, each fit for batches.

    One program serves both, for any number of points; a few points go by the one of the chains,
    which is there already.
    """
    prior = end.model.prior
    leg, lam = (end.leg, end.lam) if prior is None else (Leg(prior, end.model.density), 1.0)
    if not leg.has_gradient:
        leg, lam, prior = end.leg, end.lam, None
    width = PILOT.wanderers_at_once
    wide = value_and_gradient(leg, lam, width, engine.meter)

    def density(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        few = len(x) % width
        few = few if few <= PILOT.few_wanderers * engine.chains else 0
        many = len(x) - few
        parts = [part(x[rows]) for part, rows in _parts(wide, evaluate, many, few)]
        values, gradients = zip(*parts, strict=True)
        return np.concatenate(values), np.concatenate(gradients)

    return density, None if prior is None else value_and_gradient(leg, 0.0, width, engine.meter)


def wide_values(end: End, engine: Engine) -> Callable[[np.ndarray], np.ndarray]:
    """The log density alone at an end of a path, at thousands of points a call."""
    density, width = end.model.density, PILOT.values_at_once

    def values(x: np.ndarray) -> np.ndarray:
        padded = np.concatenate([x, np.broadcast_to(x[-1:], (-len(x) % width, x.shape[1]))])
        parts = [
            np.asarray(engine.meter.call(log_densities, density, rows))
            for rows in np.split(padded, len(padded) // width)
        ]
        engine.meter.count(densities=len(x))
        return np.concatenate(parts)[: len(x)]

    return values


def _parts(
    wide: ValueAndGradient, narrow: ValueAndGradient, many: int, few: int
) -> list[tuple[ValueAndGradient, slice]]:
    """Who evaluates which rows: the first so many go by the wide program."""
    parts = [(wide, slice(0, many)), (narrow, slice(many, many + few))]
    return [(part, rows) for part, rows in parts if rows.stop > rows.start]
