"""Problem: what a run is to find, and the densities at the ends of its path that it starts from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from refti.coordinates.map import Map, from_latent
from refti.coordinates.reshape import reshape
from refti.models.model import Model, ValueAndGradient
from refti.paths.path import Leg, Path, model_switch, power_posteriors
from refti.references import registry
from refti.results.result import Evidence, LogRatio
from refti.run.settings import Settings
from refti.run.tuning import PILOT
from refti.run.users_draws import Judged, judge_alone
from refti.sampling.engine import Engine
from refti.sampling.evaluation import value_and_gradient


@dataclass(frozen=True, eq=False)
class End:
    """A model's density as one end of a leg, at lambda = 0 or 1."""

    model: Model
    leg: Leg
    lam: float

    def evaluate_by(self, engine: Engine) -> ValueAndGradient:
        """The function from points to the log density and its gradient."""
        return value_and_gradient(self.leg, self.lam, engine.chains, engine.meter)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is wanted: the evidence of one model, or the ratio of two.

    Attributes:
        kind: of the result.
        given: the models as they were given: one, or the numerator and the denominator.
        settings: what was asked for.
        posterior_draws: the user's, x[draw, dim], one chain after the other, or None.
        way: the map in whose latent coordinates the models are seen, or None for their own.
        posterior_chains: how many chains the user's draws came in.
    """

    kind: type[Evidence] | type[LogRatio]
    given: tuple[Model, ...]
    settings: Settings
    posterior_draws: np.ndarray | None = None
    way: Map | None = None
    posterior_chains: int = 1

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The models in the coordinates that the run works in."""
        if self.way is None:
            return self.given
        return tuple(reshape(model, self.way) for model in self.given)

    def own_points(self, x: np.ndarray) -> np.ndarray:
        """Points of any shape [..., dim] of the run's coordinates in those of the given models."""
        if self.way is None:
            return x
        return from_latent(self.way, x.reshape(-1, x.shape[-1]))[0].reshape(x.shape)

    @property
    def model(self) -> Model:
        """The model whose posterior stands at the end of the path."""
        return self.models[0]

    @property
    def users_chains(self) -> np.ndarray:
        """The user's draws, x[chain, draw, dim]."""
        assert self.posterior_draws is not None
        return self.posterior_draws.reshape(self.posterior_chains, -1, self.model.dim)

    @cached_property
    def judged_alone(self) -> Judged:
        """What the user's draws say of themselves; nothing where there are none."""
        if self.posterior_draws is None:
            return Judged(0, 0, 0.0, float("inf"))
        return judge_alone(self.users_chains, self.given[0].space.coordinates)

    @cached_property
    def known_path(self) -> Path | None:
        """The path, where it does not wait for a reference to be fitted."""
        if self.kind is LogRatio:
            return model_switch(*self.models)
        return power_posteriors(self.model) if self.settings.path == "power" else None

    @property
    def ends(self) -> tuple[End, ...]:
        """The densities that must be known before the path is sampled, the posterior first."""
        if self.known_path is not None:
            leg = self.known_path.legs[0]
            pairs = zip(self.models, (1.0, 0.0), strict=False)
            return tuple(End(model, leg, lam) for model, lam in pairs)
        first = self.settings.stations[0]
        start = registry.placeholder(first, self.model) if isinstance(first, str) else first
        return (End(self.model, Leg(start, self.model.density), 1.0),)  # type: ignore[arg-type]

    @property
    def warmup(self) -> int:
        """Iterations in which chains find a density of which they know nothing."""
        has_gradient = all(end.leg.has_gradient for end in self.ends)
        usual = PILOT.warmup if has_gradient else PILOT.warmup_by_values
        return usual if self.settings.warmup is None else self.settings.warmup

    @property
    def block_length(self) -> int:
        """Iterations of one block."""
        kept = self.settings.kept
        return PILOT.block_length if kept is None else min(PILOT.block_length, kept)
