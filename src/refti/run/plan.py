"""Plan: the path to sample, from which reference and why, and where chains on it set out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from refti.models.density import Density
from refti.models.model import Model
from refti.paths.path import Path, telescopic
from refti.references import registry
from refti.references.base import Reference
from refti.references.taylor import expand
from refti.run.choose_reference import Choice, choose_reference, fit_family, measure_families
from refti.run.pilot import Pilot
from refti.run.problem import Problem
from refti.run.settings import Station
from refti.sampling.block import Rung
from refti.sampling.engine import Engine
from refti.sampling.kernels.registry import BY_VALUES


@dataclass(frozen=True, eq=False)
class Plan:
    """A path and what is known of the densities along it.

    Attributes:
        path: the legs.
        pool: points near the densities of the path, x[n, dim].
        last: chains at the end of the last leg.
        pilot: what is known of the posterior.
        choice: the reference that was fitted, and why it was that one.
        coordinates: why the coordinates are not the model's own, in words, if they are not.
    """

    path: Path
    pool: np.ndarray
    last: Rung
    pilot: Pilot
    choice: Choice | None = None
    coordinates: str | None = None

    @property
    def jumps(self) -> bool:
        """Whether the density jumps: only then has it gradients and is sliced all the same."""
        return self.last.kernel == BY_VALUES and self.path.has_gradient

    @property
    def has_flanks(self) -> bool:
        """Whether the posterior has modes with flanks that a Gaussian does not reach."""
        return self.choice is not None and registry.FAMILIES[self.choice.family].reaches_far

    @property
    def why(self) -> str:
        """Why the path is this one, in words."""
        if self.choice is None:
            return f"the path was given: {self.path.name}"
        return f"from the reference {self.choice.family}: {self.choice.reason}"


def make_plan(
    problem: Problem,
    pilots: Sequence[Pilot],
    engine: Engine,
    lengths: Mapping[str, float] | None = None,
) -> Plan:
    """The path of a problem, from what is known of its ends and of the ways from families."""
    pilot = pilots[0]
    if problem.known_path is not None:
        pool = np.concatenate([one.draws for one in pilots])
        return Plan(problem.known_path, pool, pilot.rung, pilot)
    first, *between = problem.settings.stations
    (end,) = problem.ends
    choice, longer = None, pilot
    if first == "auto":
        target = problem.settings.target_error
        # Beside a peak that a density jumps down from, the reference's tails decide what is met.
        jumps = engine.kernel.name == BY_VALUES != problem.settings.kernel and end.leg.has_gradient
        is_shaped = problem.way is not None or jumps
        if lengths is None:
            lengths = measure_families(end, pilot, target, engine, is_shaped=is_shaped)
        choice, longer = choose_reference(end, pilot, target, engine, lengths, is_shaped=is_shaped)
    elif isinstance(first, str):
        fitted = fit_family(end, pilot, first, pilot.draws, engine)
        choice = Choice(fitted, first, {}, "it was asked for")
    start = first if choice is None else choice.reference
    assert isinstance(start, Reference)  # seen to by the settings' checks
    # Chains set out from the pilot's draws even where the reference needs none: about one mode
    # alone, a second would never be noticed.
    stations = [_intermediate(station, problem.model, pilot) for station in between]
    path = telescopic(start, stations, problem.model)
    return Plan(path, longer.draws, longer.rung, pilot, choice)


def _intermediate(station: Station, model: Model, pilot: Pilot) -> Density:
    if isinstance(station, Model):
        return station.density
    assert isinstance(station, int)
    return expand(model.log_density, jnp.asarray(pilot.modes.mode.x), station)
