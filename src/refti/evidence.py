"""evidence() and log_bayes_factor(): explore, refer, sample the path, estimate, give a verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path as FilePath
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import xarray

from refti import path as paths
from refti import progress as reporters
from refti import settings as options
from refti.checks import check_estimates, check_legs, check_share
from refti.cost import Meter
from refti.density import Density
from refti.draws import Draws
from refti.errors import SettingsError
from refti.estimators import Estimate, mbar, stepping_stone, thermodynamic_integration
from refti.estimators.estimate import add
from refti.explore import Exploration, unconstrained_draws
from refti.model import Model
from refti.path import Leg, Path
from refti.progress import Progress
from refti.references import Reference, fit
from refti.references.taylor import expand
from refti.result import Evidence, LogRatio
from refti.run import store as stores
from refti.sampling.chains import Effort
from refti.sampling.lanes import exact_draws
from refti.sampling.leg import LegSample, Share, count_inside, sample_leg
from refti.settings import ReferenceLike, Settings

Kind = TypeVar("Kind", Evidence, LogRatio)


def evidence(
    model: Model,
    *,
    reference: ReferenceLike = "auto",
    path: options.PathName = "referenced",
    ladder: Sequence[float] | np.ndarray | None = None,
    estimator: options.EstimatorName = "mbar",
    target_error: float = 0.05,
    seed: int = 0,
    chains: int = 4,
    warmup: int = 1000,
    kept: int = 1000,
    kernel: options.Kernel = "hmc",
    draws: Mapping[str, Any] | None = None,
    store: str | FilePath | None = None,
    progress: Progress | bool | None = None,
) -> Evidence:
    """The log evidence of a model, with its error and a verdict on whether to trust it.

    Args:
        model: the density to integrate.
        reference: where the path starts: "laplace", "covariance", "diagonal", "variational",
            "variational_diagonal", "truncated", a Reference, or a list (telescopic path) that
            goes on with orders of Taylor expansion at the mode (4, 6, ...) or with other models.
            "auto" is at present the sampled covariance.
        path: "referenced", or "power" for power posteriors (from the prior).
        ladder: values of lambda from 0 to 1, the same for every leg.
        estimator: whose value and error the result gives; the others stand beside it.
        target_error: the error in nats above which the result is not trusted.
        seed: all randomness comes from this number.
        chains: Markov chains a rung.
        warmup: iterations of each chain that adapt it and are thrown away.
        kept: draws of each chain that are kept.
        kernel: "hmc" or "nuts".
        draws: posterior draws by parameter name, [chain, draw, ...] or [draw, ...], which take
            the place of the pilot's.
        store: a directory to keep the run in; a finished run of the same model and settings is
            read from it instead of sampled again.
        progress: True or False to show progress or not, or a function of (stage, done, total);
            shown on a terminal if not given.
    """
    asked = options.checked(
        reference=reference,
        path=path,
        ladder=ladder,
        estimator=estimator,
        target_error=target_error,
        seed=seed,
        chains=chains,
        warmup=warmup,
        kept=kept,
        kernel=kernel,
    )
    _expect_model(model)
    with jax.enable_x64(True), reporters.reporting(progress) as report:
        if asked.path == "power":
            whole: Path | None = paths.power_posteriors(model)
        else:
            whole = None
            _check_stations(model, asked)
        given = None if draws is None else unconstrained_draws(model, draws)
        if store is not None:
            finished = stores.open_run(store, Evidence, [model], asked.record())
            if finished is not None:
                return finished
        run = _Run(asked, Meter(), report)
        if whole is not None:
            exploration = run.explore(model, whole.legs[0], 1.0, given)
            pool = exploration.draws
        else:
            whole, pool = run.referenced(model, given)
        return run.conclude(Evidence, model, whole, pool, store)


def log_bayes_factor(
    model_a: Model,
    model_b: Model,
    *,
    ladder: Sequence[float] | np.ndarray | None = None,
    estimator: options.EstimatorName = "mbar",
    target_error: float = 0.05,
    seed: int = 0,
    chains: int = 4,
    warmup: int = 1000,
    kept: int = 1000,
    kernel: options.Kernel = "hmc",
    store: str | FilePath | None = None,
    progress: Progress | bool | None = None,
) -> LogRatio:
    """log z_a - log z_b by a direct path between two models of one dimension (model switch).

    The arguments are those of `evidence`; the ladder is uniform if not given.
    """
    asked = options.checked(
        reference="auto",
        path="referenced",
        ladder=np.linspace(0.0, 1.0, 11) if ladder is None else ladder,
        estimator=estimator,
        target_error=target_error,
        seed=seed,
        chains=chains,
        warmup=warmup,
        kept=kept,
        kernel=kernel,
    )
    _expect_model(model_a)
    _expect_model(model_b)
    whole = paths.model_switch(model_a, model_b)
    with jax.enable_x64(True), reporters.reporting(progress) as report:
        if store is not None:
            finished = stores.open_run(store, LogRatio, [model_a, model_b], asked.record())
            if finished is not None:
                return finished
        run = _Run(asked, Meter(), report)
        ends = [
            run.explore(model, whole.legs[0], lam, None).draws
            for model, lam in ((model_a, 1.0), (model_b, 0.0))
        ]
        return run.conclude(LogRatio, model_a, whole, np.concatenate(ends), store)


@dataclass(frozen=True)
class _Run:
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

    def referenced(self, model: Model, given: np.ndarray | None) -> tuple[Path, np.ndarray]:
        """The path from the fitted reference to the posterior, and points to start chains at."""
        first, *between = self.asked.stations
        start = fit.placeholder(first, model) if isinstance(first, str) else first
        leg = Leg(start, model.density)
        explored = self.explore(model, leg, 1.0, given)
        assert len(explored.starts) > 0  # the preflight, before all else
        if isinstance(first, str):
            reference = fit.fitted(
                first,
                model,
                explored.evaluate,
                lambda: explored.mode,
                lambda: explored.draws,
                self.asked.seed,
            )
        else:
            reference = start
        intermediates = [self._intermediate(station, model, explored) for station in between]
        path = paths.telescopic(reference, intermediates, model)
        if first == "laplace":
            count = self.effort.chains * self.effort.kept
            return path, np.asarray(exact_draws(reference, self.key(1), count))
        return path, explored.draws

    def _intermediate(self, station: Any, model: Model, explored: Exploration) -> Density:
        if isinstance(station, Model):
            return station.density
        return expand(model.log_density, explored.mode.x, station)

    def conclude(
        self,
        kind: type[Kind],
        model: Model,
        path: Path,
        pool: np.ndarray,
        store: str | FilePath | None,
    ) -> Kind:
        """The result of sampling every leg of the path."""
        samples = []
        for index, leg in enumerate(path.legs):
            stage = "sampling" if len(path.legs) == 1 else f"sampling leg {index + 1}"
            samples.append(
                sample_leg(
                    leg,
                    self.asked.ladder,
                    pool,
                    self.effort,
                    self.key(2, index),
                    meter=self.meter,
                    progress=lambda done, total, stage=stage: self.report(stage, done, total),
                )
            )
        legs = [sample.draws for sample in samples]
        precise = self._sharpened_share(path.legs[0], samples[0], mbar(legs[0]).error)
        shares = [precise, *(sample.share for sample in samples[1:])]
        estimates = estimate_path(legs, shares, path.log_z_start or 0.0)
        chosen = estimates[self.asked.estimator]
        divergences = np.concatenate([sample.divergences for sample in samples])
        checks = (
            *check_legs(legs, divergences),
            *check_estimates(estimates, self.asked.estimator, self.asked.target_error),
            *check_share(shares),
        )
        result = kind(
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
                "shares": [[share.inside, share.drawn] for share in shares],
            },
        )
        if store is not None:
            stores.finish_run(result, store)
        return result

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


def estimate_path(
    legs: Sequence[Draws], shares: Sequence[Share], log_z_start: float
) -> dict[str, Estimate]:
    """Every estimator's value and error for a whole path."""
    known = Estimate(
        log_z_start + sum(share.log_share for share in shares),
        float(np.hypot.reduce([share.log_error for share in shares])),
    )

    def total(estimator: Callable[[Draws], Estimate]) -> Estimate:
        return add([known, *(estimator(leg) for leg in legs)])

    return {
        "mbar": total(mbar),
        "ti": total(thermodynamic_integration),
        "ti_trapezoid": total(partial(thermodynamic_integration, rule="trapezoid")),
        "ti_corrected": total(partial(thermodynamic_integration, rule="corrected")),
        "stepping_stone": total(stepping_stone),
        "stepping_stone_reverse": total(partial(stepping_stone, direction="reverse")),
    }


def _check_stations(model: Model, asked: Settings) -> None:
    if asked.stations[0] == "truncated":
        fit.bounds(model)
    for station in asked.stations[1:]:
        if isinstance(station, Model) and station.dim != model.dim:
            raise SettingsError(
                "A density between the reference and the posterior must have the model's "
                f"dimension; got {station.dim} and {model.dim}."
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


def _expect_model(model: object) -> None:
    if not isinstance(model, Model):
        raise SettingsError(
            f"Expected a refti.Model; got {type(model).__name__}. Make one with "
            "refti.Model(log_density, dim=...)."
        )
