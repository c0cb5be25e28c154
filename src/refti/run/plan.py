"""Route: the path to sample, and where chains on it set out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from refti.models.density import Density
from refti.models.model import Model
from refti.paths import path as paths
from refti.paths.path import Leg, Path
from refti.progress import Progress
from refti.references import registry
from refti.references.base import Reference
from refti.references.taylor import expand
from refti.run.choose_reference import Choice, choose, fitted
from refti.run.pilot import Exploration
from refti.run.settings import Settings
from refti.sampling.engine import Engine
from refti.sampling.rung import Rung

WARMUP = 300  # iterations in which chains find a density
WARMUP_BY_VALUES = 75  # where they have nothing but coordinates to learn, and evaluations are dear


@dataclass(frozen=True, eq=False)
class Route:
    """A path and what is known of the densities along it.

    Attributes:
        path: the legs.
        pool: points near the densities of the path, x[n, dim].
        last: chains at the end of the last leg.
        explored: the posterior, as far as it is known.
        choice: the reference that was fitted, and why it was that one.
    """

    path: Path
    pool: np.ndarray
    last: Rung
    explored: Exploration
    choice: Choice | None = None


@dataclass(frozen=True, eq=False)
class Planner:
    """What all routes are made with."""

    asked: Settings
    engine: Engine
    report: Progress

    def explore(
        self, model: Model, leg: Leg, lam: float, given: np.ndarray | None = None
    ) -> Exploration:
        """What can be known of one end of a leg."""
        usual = WARMUP if leg.has_gradient else WARMUP_BY_VALUES
        warmup = usual if self.asked.warmup is None else self.asked.warmup
        return Exploration(model, leg, lam, self.engine, warmup, self.report, given)

    def from_prior(self, model: Model, path: Path, given: np.ndarray | None) -> Route:
        """The power path, from the prior to the posterior."""
        explored = self.explore(model, path.legs[0], 1.0, given)
        explored.check()
        return Route(path, explored.draws, explored.pilot.rung, explored)

    def referenced(self, model: Model, given: np.ndarray | None) -> Route:
        """The path from the reference to the posterior."""
        first, *between = self.asked.stations
        assert isinstance(first, str | Reference)  # seen to by the settings' checks
        start = registry.placeholder(first, model) if isinstance(first, str) else first
        explored = self.explore(model, Leg(start, model.density), 1.0, given)
        explored.check()
        choice = None
        if first == "auto":
            choice = choose(explored, self.asked.target_error)
        elif isinstance(first, str):
            reference = fitted(explored, first, explored.pilot)
            choice = Choice(reference, first, {}, explored.pilot, "it was asked for")
        pilot = explored.pilot
        if choice is not None:
            start, pilot = choice.reference, choice.pilot
        intermediates = [self._intermediate(station, model, explored) for station in between]
        # Chains set out from the pilot's draws even where the reference needs none: about one mode
        # alone, a second would never be noticed.
        path = paths.telescopic(start, intermediates, model)
        return Route(path, pilot.draws, pilot.rung, explored, choice)

    def between(self, models: Sequence[Model], path: Path) -> Route:
        """The path from the second model to the first."""
        leg = path.legs[0]
        ends = [
            self.explore(model, leg, lam) for model, lam in zip(models, (1.0, 0.0), strict=True)
        ]
        pool = np.concatenate([end.draws for end in ends])
        return Route(path, pool, ends[0].pilot.rung, ends[0])

    def _intermediate(self, station: Any, model: Model, explored: Exploration) -> Density:
        if isinstance(station, Model):
            return station.density
        return expand(model.log_density, jnp.asarray(explored.mode.x), station)
