"""One run on one screen: pilot, plan, rounds, checks, result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath
from typing import cast

from refti import progress as reporters
from refti.checks.ended import Ended
from refti.checks.of_run import check_end, check_prior_integral
from refti.draws.cost import Budget
from refti.errors import StoppedEarlyError
from refti.models.batching import may_run_side_by_side
from refti.progress import Progress
from refti.results.result import Evidence, LogRatio
from refti.run import store as stores
from refti.run.choose_coordinates import choose_coordinates
from refti.run.choose_kernel import choose_kernel, is_cut_up
from refti.run.finish import build_result, check_run, told_by_models
from refti.run.pilot import find_posterior, require_time
from refti.run.plan import Plan, make_plan
from refti.run.prior_integral import integrate_prior
from refti.run.problem import Problem
from refti.run.rounds import RunState, run_rounds
from refti.run.shown import draw_reference, name_shown
from refti.run.stages import StageClock
from refti.run.witness import second_estimate
from refti.sampling.engine import Engine, open_engine
from refti.sampling.metering import Meter, OutOfBudgetError


def find_result(
    problem: Problem, store: str | FilePath | None, progress: Progress | bool | None
) -> Evidence | LogRatio:
    """The result of a problem, read from its directory if it is finished there."""
    if store is None:
        return run(problem, progress, lambda: None)
    identity = stores.identify(problem)
    finished = stores.find_finished(store, problem.kind, identity)
    if finished is not None:
        return finished
    result = run(problem, progress, lambda: stores.begin(store, identity))
    # A spent budget is a setting's own end, but an interrupted run is to be made again.
    if result.found["ended"] != Ended.INTERRUPTED.value:
        result.save(store)
    return result


def run(
    problem: Problem, progress: Progress | bool | None, planned: Callable[[], None]
) -> Evidence | LogRatio:
    """The result of a run: pilot, plan, rounds, checks; told once it is planned."""
    with reporters.reporting(progress) as report:
        return _run(problem, report, planned)


def _run(problem: Problem, report: Progress, planned: Callable[[], None]) -> Evidence | LogRatio:
    settings = problem.settings
    seconds = float("inf") if settings.max_seconds is None else settings.max_seconds
    meter = Meter(Budget(seconds, settings.max_evaluations))
    clock = StageClock(report, meter)
    at_start = problem.count(meter.spent)
    with open_engine(
        chains=settings.chains,
        kernel=settings.kernel,
        block_length=problem.block_length,
        seed=settings.seed,
        meter=meter,
        report=clock,
        side_by_side=all(may_run_side_by_side(m.density, m.start) for m in problem.models),
    ) as engine:
        seen, plan, engine = _explore(problem, engine)
        planned()
        at_plan = problem.count(meter.spent)
        state = run_rounds(RunState(seen, plan, usage=meter.spent), engine)
        at_end = problem.count(meter.spent)
        reference = draw_reference(state, engine)
    checks, ended = check_run(state, at_plan, at_end, meter), state.ended
    if settings.check_prior and problem.model.prior is not None and ended is None:
        clock("integrating the prior", 0, 1)
        try:
            checks.append(check_prior_integral(integrate_prior(problem, meter, _run_alone)))
        except KeyboardInterrupt:  # may not cost the result that is there already
            ended = Ended.INTERRUPTED
    told = told_by_models(problem, at_start)
    if settings.witness:
        clock("making the second estimate", 0, 1)
        try:
            points = seen.own_points(state.conclusion.samples[-1].end_points)
            witness = second_estimate(problem, points, ended, meter, _run_alone)
            checks.append(witness.check(state.conclusion.estimates["mbar"]))
            told["witness"] = witness.record()
        except KeyboardInterrupt:
            ended = Ended.INTERRUPTED
    shown, told_of_modes = name_shown(state, reference)
    told |= told_of_modes | {"stages": clock.record()}
    return build_result(
        state,
        checks=[check_end(ended), *checks],
        cost=meter.spent,
        found=told | {"ended": None if ended is None else ended.value},
        reference=shown,
    )


def _explore(problem: Problem, engine: Engine) -> tuple[Problem, Plan, Engine]:
    """The problem in coordinates of choice, the plan, and the engine with a chain for every mode.

    Raises StoppedEarlyError if it was not in time.
    """
    require_time(problem)
    stage = "finding the posterior"
    try:
        pilots = [find_posterior(problem, end, engine) for end in problem.ends]
        engine = replace(engine, chains=pilots[0].chains)
        stage = "choosing coordinates and the reference"
        if is_cut_up(problem, pilots[0], engine):
            engine, pilots[0] = choose_kernel(problem, pilots[0], engine)
            return problem, make_plan(problem, pilots, engine), engine
        reshaped = choose_coordinates(problem, pilots[0], engine)
        pilots[0] = reshaped.pilot
        plan = make_plan(reshaped.problem, pilots, engine)
        return reshaped.problem, replace(plan, coordinates=reshaped.reason), engine
    except OutOfBudgetError:
        raise StoppedEarlyError(
            "The budget was spent before the first estimate could be made. Raise max_seconds= or "
            "max_evaluations=.",
            stage,
        ) from None


def _run_alone(problem: Problem) -> Evidence:
    """The evidence of a problem, without a word."""
    return cast(Evidence, run(problem, False, lambda: None))
