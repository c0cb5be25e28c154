"""evidence() and log_bayes_factor(): from a model to its result, one call each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from refti import progress as reporters
from refti.checks.check import Check
from refti.checks.ended import Ended
from refti.checks.of_run import (
    check_end,
    check_modes,
    check_peak,
    check_prior_integral,
    check_solver,
)
from refti.draws.cost import Budget
from refti.errors import RefTIError, SamplingError
from refti.estimators import Estimate
from refti.inputs.posterior.formats import Posterior
from refti.inputs.posterior.unconstrain import unconstrain_draws
from refti.models.batching import may_run_side_by_side
from refti.models.model import Model
from refti.models.rejections import Rejections
from refti.paths import path as paths
from refti.progress import Progress
from refti.results.result import Evidence, LogRatio, Result
from refti.run import settings as options
from refti.run import store as stores
from refti.run.conclude import Kind, result
from refti.run.plan import Planner, Route
from refti.run.rounds import Loop, Outcome
from refti.run.settings import ReferenceLike, Settings
from refti.run.suitability import check_stations, expect_model, suited
from refti.sampling.computing import computing
from refti.sampling.engine import engine
from refti.sampling.kernels.base import KernelName
from refti.sampling.metering import Meter, OutOfBudgetError

STRETCH = 25  # iterations between two looks at a run: exchanges, budget, progress
CHAINS = 8
MAX_EVALUATIONS = 20_000_000
PRIOR_EVALUATIONS = 200_000, 500_000  # of the prior check, which should cost no more than the run


def evidence(
    model: Model,
    *,
    reference: ReferenceLike = "auto",
    path: options.PathName = "referenced",
    ladder: Sequence[float] | np.ndarray | None = None,
    estimator: options.EstimatorName = "mbar",
    target_error: float = 0.05,
    seed: int = 0,
    max_seconds: float | None = None,
    max_evaluations: int = MAX_EVALUATIONS,
    chains: int = CHAINS,
    warmup: int | None = None,
    kept: int | None = None,
    kernel: KernelName = "hmc",
    check_prior: bool = True,
    draws: Posterior | None = None,
    store: str | FilePath | None = None,
    progress: Progress | bool | None = None,
) -> Evidence:
    """The log evidence of a model, with its error and a verdict on whether to trust it.

    Args:
        model: the density to integrate.
        reference: where the path starts: "laplace", "covariance", "diagonal", "low_rank",
            "variational", "variational_diagonal", "truncated", "warped", "student", "mixture",
            "flow", a Reference, or a list (telescopic path) that goes on with orders of Taylor
            expansion at the mode (4, 6, ...) or with other models. "auto" fits several and takes
            the one from which the way is shortest.
        path: "referenced", or "power" for power posteriors (from the prior).
        ladder: values of lambda from 0 to 1, the same for every leg; adapted to the measured
            path if not given.
        estimator: whose value and error the result gives; the others stand beside it.
        target_error: the error in nats at which sampling stops; above it the result is not
            trusted.
        seed: all randomness comes from this number.
        max_seconds: the time after which the run ends with what it has, not trusted.
        max_evaluations: the number of evaluations, gradients and densities together, after which
            it does.
        chains: Markov chains a rung.
        warmup: iterations of each chain that adapt it and are thrown away; a few hundred if not
            given.
        kept: draws of each chain that are kept; as many as the target error asks for if not given.
        kernel: "hmc", "nuts", or "elliptical", which needs no gradients and which models without
            them get in any case.
        check_prior: whether a prior given apart is seen to integrate to one, by a run of its own.
        draws: posterior draws, which take the place of the pilot's: a dictionary of arrays by
            parameter name, [chain, draw, ...] or [draw, ...]; an InferenceData of ArviZ, or an
            xarray DataTree, with a group "posterior"; an xarray Dataset; a netCDF file (.nc) of
            these; or CSV files of CmdStan, one a chain. Variables that are no parameters are
            ignored.
        store: a directory to keep the run in; a run of the same model and settings that came to
            its end there, be it that of its budget, is read from it instead of sampled again.
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
        max_seconds=max_seconds,
        max_evaluations=max_evaluations,
        check_prior=check_prior,
    )
    expect_model(model)
    asked = suited(asked, [model])
    with computing():
        power = paths.power_posteriors(model) if asked.path == "power" else None
        check_stations(model, asked)
        given = None if draws is None else unconstrain_draws(model, draws)

        def route(planner: Planner) -> Route:
            if power is not None:
                return planner.from_prior(model, power, given)
            return planner.referenced(model, given)

        return _run(Evidence, [model], route, asked, given, store, progress)


def log_bayes_factor(
    model_a: Model,
    model_b: Model,
    *,
    ladder: Sequence[float] | np.ndarray | None = None,
    estimator: options.EstimatorName = "mbar",
    target_error: float = 0.05,
    seed: int = 0,
    max_seconds: float | None = None,
    max_evaluations: int = MAX_EVALUATIONS,
    chains: int = CHAINS,
    warmup: int | None = None,
    kept: int | None = None,
    kernel: KernelName = "hmc",
    store: str | FilePath | None = None,
    progress: Progress | bool | None = None,
) -> LogRatio:
    """log z_a - log z_b by a direct path between two models of one dimension (model switch).

    The arguments are those of `evidence`.
    """
    asked = options.checked(
        reference="auto",
        path="referenced",
        ladder=ladder,
        estimator=estimator,
        target_error=target_error,
        seed=seed,
        chains=chains,
        warmup=warmup,
        kept=kept,
        kernel=kernel,
        max_seconds=max_seconds,
        max_evaluations=max_evaluations,
    )
    expect_model(model_a)
    expect_model(model_b)
    whole = paths.model_switch(model_a, model_b)
    models = [model_a, model_b]
    asked = suited(asked, models)
    with computing():
        return _run(
            LogRatio, models, lambda plan: plan.between(models, whole), asked, None, store, progress
        )


def _run(
    kind: type[Kind],
    models: Sequence[Model],
    route: Callable[[Planner], Route],
    asked: Settings,
    given: np.ndarray | None,
    store: str | FilePath | None,
    progress: Progress | bool | None,
) -> Kind:
    """The result of a run, read from its directory if it is finished there."""
    identity = None
    if store is not None:
        identity = stores.identify(kind, models, asked, given)
        finished = stores.find_finished(store, kind, identity)
        if finished is not None:
            return finished
    rejected = [model.rejections() for model in models]
    seconds = float("inf") if asked.max_seconds is None else asked.max_seconds
    meter = Meter(Budget(seconds, asked.max_evaluations))
    with (
        reporters.reporting(progress) as report,
        engine(
            chains=asked.chains,
            kernel=asked.kernel,
            stretch=STRETCH if asked.kept is None else min(STRETCH, asked.kept),
            seed=asked.seed,
            meter=meter,
            side_by_side=all(may_run_side_by_side(model.density, model.start) for model in models),
        ) as means,
    ):
        try:
            planned = route(Planner(asked, means, report))
        except OutOfBudgetError:
            raise SamplingError(
                "The budget was spent before the posterior was found. Raise max_seconds= or "
                "max_evaluations=."
            ) from None
        if store is not None and identity is not None:
            stores.begin(store, identity)
        searched = _stopped(models), meter.spent
        outcome = Loop(planned, asked, means, report, []).run()
        stopped, evaluations = _stopped(models) - searched[0], meter.spent - searched[1]
    checks, ended = _more_checks(kind, models[0], outcome, asked, meter)
    if stopped:
        checks.append(check_solver(stopped / evaluations))
    finished = result(
        kind,
        models[0],
        outcome.route.path,
        outcome.conclusion,
        asked=asked,
        more_checks=checks,
        cost=meter.read(),
        facts=_facts(outcome)
        | _told_by(models, rejected)
        | {"ended": None if ended is None else ended.value},
    )
    # A spent budget is a setting's own end, but an interrupted run is to be made again.
    if store is not None and ended is not Ended.INTERRUPTED:
        finished.save(store)
    return finished


def _more_checks(
    kind: type[Result], model: Model, outcome: Outcome, asked: Settings, meter: Meter
) -> tuple[list[Check], Ended | None]:
    """The checks that need more than the draws, and why the run ended early if it did."""
    explored = outcome.route.explored
    checks, ended = [check_modes(_modes(outcome), asked.chains)], outcome.ended
    if explored.given is None:
        height = explored.mode.log_density - float(np.median(explored.pilot.log_density))
        # A ratio of evidences does not tell what is little beside either.
        log_z = outcome.conclusion.estimates["mbar"].value if kind is Evidence else float("nan")
        checks.append(check_peak(height, explored.mode.log_mass - log_z, model.dim))
    if asked.check_prior and model.prior is not None and ended is None:
        try:
            checks.append(check_prior_integral(_prior_integral(model, asked, meter)))
        except KeyboardInterrupt:  # may not cost the result that is there already
            ended = Ended.INTERRUPTED
    return [check_end(ended), *checks], ended


def _prior_integral(model: Model, asked: Settings, meter: Meter) -> Estimate:
    """The log of the prior's own integral, which should be 0; NaN where it was not found."""
    spent = meter.gradients + meter.densities
    fewest, most = PRIOR_EVALUATIONS
    allowed = min(asked.max_evaluations - spent, max(fewest, min(spent, most)))
    try:
        alone = evidence(
            model.prior_alone(),
            target_error=max(asked.target_error, 0.05),
            seed=asked.seed,
            chains=asked.chains,
            max_seconds=asked.max_seconds,
            max_evaluations=max(1, allowed),
            check_prior=False,
            progress=False,
        )
    except RefTIError:  # may not cost the result that is there already
        return Estimate(float("nan"), 0.0)
    cost = alone.cost
    meter.count(gradients=cost.gradient_evaluations, densities=cost.density_evaluations)
    if alone.found["ended"] == Ended.INTERRUPTED.value:
        raise KeyboardInterrupt
    return alone.estimates["mbar"]


def _stopped(models: Sequence[Model]) -> int:
    """How many densities the models gave up so far for taking too long."""
    rejected = [model.rejections() for model in models]
    return sum(one.stopped for one in rejected if one is not None)


def _modes(outcome: Outcome) -> int:
    """How many modes were found."""
    explored = outcome.route.explored
    return len(explored.landscape.peaks) if explored.modes_apart else 1


def _told_by(models: Sequence[Model], before: Sequence[Rejections | None]) -> dict[str, Any]:
    """What the models' own languages have to say: what they are, and the points they rejected."""
    facts: dict[str, Any] = {"source": ", ".join(dict.fromkeys(model.source for model in models))}
    for model, seen in zip(models, before, strict=True):
        now = model.rejections()
        new = None if now is None else now.since(seen)
        if new is not None:
            facts.setdefault("rejected", new.record())
    return facts


def _facts(outcome: Outcome) -> dict[str, Any]:
    """What the run chose by itself, as plain values."""
    choice = outcome.route.choice
    facts: dict[str, Any] = {"rounds": outcome.rounds, "modes": _modes(outcome)}
    if choice is not None:
        facts["chosen_reference"] = choice.family
        facts["chosen_because"] = choice.reason
        facts["lengths"] = {name: float(value) for name, value in choice.lengths.items()}
    return facts
