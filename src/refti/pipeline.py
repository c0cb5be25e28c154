"""The pipeline: explore, refer, sample every leg of the path, estimate, check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from refti import path as paths
from refti.checks import check_estimates, check_legs, check_share
from refti.cost import Meter
from refti.density import Density
from refti.draws import Draws
from refti.estimators import Estimate, estimate_path, mbar
from refti.explore import Exploration
from refti.model import Model
from refti.path import Leg, Path
from refti.progress import Progress
from refti.references import Reference, fit
from refti.references.taylor import expand
from refti.result import Evidence, LogRatio
from refti.sampling.chains import Effort
from refti.sampling.leg import LegSample, count_inside, sample_leg
from refti.settings import Settings
from refti.share import Share

Kind = TypeVar("Kind", Evidence, LogRatio)


@dataclass(frozen=True)
class Pipeline:
    """One run: what was asked for, and where its cost and progress are told."""

    asked: Settings
    meter: Meter
    report: Progress

    @property
    def effort(self) -> Effort:
        """How much to sample."""
        asked = self.asked
        stretch = max(10, min(asked.warmup, asked.kept) // 10)
        return Effort(asked.chains, asked.warmup, asked.kept, stretch, asked.kernel)

    def key(self, *identity: int) -> jax.Array:
        """The random key of a part of the run, from the seed and what the part is."""
        key = jax.random.key(self.asked.seed)
        for number in identity:
            key = jax.random.fold_in(key, number)
        return key

    def explore(self, model: Model, leg: Leg, lam: float, given: np.ndarray | None) -> Exploration:
        """What can be known of one end of a leg."""
        return Exploration(
            model=model,
            leg=leg,
            lam=lam,
            rungs=len(self.asked.ladder) - isinstance(leg.start, Reference),
            effort=self.effort,
            seed=self.asked.seed,
            key=self.key(0, int(lam)),
            meter=self.meter,
            progress=self.report,
            given=given,
        )

    def from_prior(
        self, model: Model, path: Path, given: np.ndarray | None
    ) -> tuple[Path, np.ndarray]:
        """The power path, and points to start chains at."""
        explored = self.explore(model, path.legs[0], 1.0, given)
        explored.check()
        return path, explored.draws

    def referenced(self, model: Model, given: np.ndarray | None) -> tuple[Path, np.ndarray]:
        """The path from the fitted reference to the posterior, and points to start chains at."""
        first, *between = self.asked.stations
        assert isinstance(first, str | Reference)  # seen to by the settings' checks
        start = fit.placeholder(first, model) if isinstance(first, str) else first
        leg = Leg(start, model.density)
        explored = self.explore(model, leg, 1.0, given)
        explored.check()
        if isinstance(first, str):
            start = fit.fitted(
                first,
                model,
                explored.evaluate,
                lambda: explored.mode,
                lambda: explored.draws,
                self.asked.seed,
            )
        intermediates = [self._intermediate(station, model, explored) for station in between]
        # Chains set out from the pilot's draws even where the reference needs none: about one mode
        # alone, a second would never be noticed.
        return paths.telescopic(start, intermediates, model), explored.draws

    def _intermediate(self, station: Any, model: Model, explored: Exploration) -> Density:
        if isinstance(station, Model):
            return station.density
        return expand(model.log_density, jnp.asarray(explored.mode.x), station)

    def between(self, models: Sequence[Model], path: Path) -> tuple[Path, np.ndarray]:
        """The path from the second model to the first, and points to start chains at."""
        ends = zip(models, (1.0, 0.0), strict=True)
        draws = [self.explore(model, path.legs[0], lam, None).draws for model, lam in ends]
        return path, np.concatenate(draws)

    def conclude(self, kind: type[Kind], model: Model, path: Path, pool: np.ndarray) -> Kind:
        """The result of sampling every leg of the path."""
        samples: list[LegSample] = [
            sample_leg(
                leg,
                self.asked.ladder,
                pool,
                self.effort,
                self.key(2, index),
                meter=self.meter,
                progress=partial(self.report, f"sampling leg {index + 1} of {len(path.legs)}"),
            )
            for index, leg in enumerate(path.legs)
        ]
        legs: list[Draws] = [sample.draws for sample in samples]
        precise = self._sharpened_share(path.legs[0], samples[0], mbar(legs[0]).error)
        starts: list[Share] = [precise, *(sample.share for sample in samples[1:])]
        ends: list[Share] = [sample.end_share for sample in samples]
        estimates: dict[str, Estimate] = estimate_path(legs, _known(path, starts, ends))
        chosen = estimates[self.asked.estimator]
        divergences: np.ndarray = np.concatenate([sample.divergences for sample in samples])
        checks = (
            *check_legs(legs, divergences),
            *check_estimates(estimates, self.asked.estimator, self.asked.target_error),
            *check_share([*starts, *ends]),
        )
        return kind(
            value=chosen.value,
            error=chosen.error,
            estimates=estimates,
            checks=checks,
            draws=tuple(legs),
            posterior=_posterior(model, samples[-1].end_points),
            cost=self.meter.read(),
            settings={
                **self.asked.record(),
                "path": path.name,
                "log_z_start": path.log_z_start,
                "shares": [[share.inside, share.drawn] for share in starts],
                "end_shares": [[share.inside, share.drawn] for share in ends],
            },
        )

    def _sharpened_share(self, leg: Leg, sample: LegSample, error: float) -> Share:
        """The share inside the support, counted until its error no longer matters.

        Counting goes on while it costs less than the sampling did.
        """
        share, effort = sample.share, self.effort
        if not isinstance(leg.start, Reference) or share.inside == share.drawn:
            return share
        budget, index = self.meter.gradients, 0
        while share.log_error > max(error / 3, 1e-4) and share.drawn < budget:
            key = self.key(3, index)
            _, share = count_inside(leg, share, effort.chains * effort.kept, key, self.meter)
            index += 1
        return share


def _known(path: Path, starts: Sequence[Share], ends: Sequence[Share]) -> Estimate:
    """What of log z is known without the legs: its start, and the shares inside the supports.

    A leg joins the part of its start inside the end's support to the part of its end inside the
    start's, so the first share is multiplied and the second divided by.
    """
    shares = sum(share.log_share for share in starts) - sum(share.log_share for share in ends)
    return Estimate(
        (path.log_z_start or 0.0) + shares,
        float(np.hypot.reduce([share.log_error for share in (*starts, *ends)])),
    )


def _posterior(model: Model, x: np.ndarray) -> xarray.Dataset:
    values = jax.jit(jax.vmap(jax.vmap(model.constrain)))(jnp.asarray(x))
    return xarray.Dataset(
        {
            name: (
                ("chain", "draw", *(f"{name}_dim_{i}" for i in range(value.ndim - 2))),
                np.asarray(value),
            )
            for name, value in values.items()
        }
    )
