"""One run on one screen: pilot, plan, rounds, checks, result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, NamedTuple, cast

import numpy as np

from refti import progress as reporters
from refti.checks.check import Check
from refti.checks.ended import Ended
from refti.checks.of_run import check_end, check_known_prior, check_prior_integral
from refti.draws.cost import Budget
from refti.errors import StoppedEarlyError
from refti.importing import seconds_importing
from refti.models.batching import may_run_side_by_side
from refti.progress import Progress
from refti.results.result import Evidence, LogRatio
from refti.run.budget import require_time, spent_budget
from refti.run.choose_coordinates import choose_coordinates
from refti.run.choose_kernel import choose_kernel, is_cut_up
from refti.run.counts import Counting, spent_before
from refti.run.finish import build_result, check_run, told_by_models
from refti.run.groups import gather_groups
from refti.run.last_looks import take_last_looks
from refti.run.more_draws import draw_posterior
from refti.run.pilot import find_posterior
from refti.run.plan import make_plan
from refti.run.point import evaluate_point, is_point
from refti.run.prior_integral import integrate_prior
from refti.run.problem import Problem
from refti.run.rounds import RunState, begin, run_rounds
from refti.run.shown import draw_reference, name_shown
from refti.run.spread_blocks import spreading
from refti.run.stages import StageClock, plain_stages
from refti.run.store.kept_run import open_run
from refti.run.store.memory import NoStore, StoreMemory
from refti.run.witness import second_estimate
from refti.sampling.engine import Engine, open_engine
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.metering import Meter, OutOfBudgetError


def find_result(
    problem: Problem,
    store: str | FilePath | None,
    progress: Progress | bool | None,
    executor: Any = None,
) -> Evidence | LogRatio:
    """The result of a problem; with a store, read if it is finished there, or gone on with."""
    with reporters.reporting(progress) as report, spreading(problem, executor) as spread:
        if store is None:
            return run(problem, report, NoStore(spread))
        with open_run(store, problem, report) as kept:
            if kept.result is None:
                memory = replace(kept.memory, spread=spread)
                kept.keep(run(problem, kept.report, memory))
            assert kept.result is not None
            return kept.result


def run(problem: Problem, report: Progress, memory: StoreMemory | NoStore) -> Evidence | LogRatio:
    """The result of a run: pilot, plan, rounds, checks."""
    if is_point(problem):
        return evaluate_point(problem)
    settings = problem.settings
    seconds = float("inf") if settings.max_seconds is None else settings.max_seconds
    budget = Budget(seconds, settings.max_evaluations)
    meter = Meter(budget, spent=spent_before(memory.earlier))
    meter.cache = memory.evaluations()
    counting = Counting(problem, meter, memory)
    memory.tally_by(counting.tally)
    clock = StageClock(report, meter)
    with open_engine(
        chains=settings.chains,
        kernel=settings.kernel,
        block_length=problem.block_length,
        seed=settings.seed,
        meter=meter,
        report=clock,
        side_by_side=all(may_run_side_by_side(m.density, m.start) for m in problem.models),
        memory=memory,
    ) as engine:
        state = engine.recall("plan", partial(_explore, problem, engine))
        counting.planned()
        seen, pilot = state.problem, state.plan.pilot
        kernel = KERNELS[state.plan.last.kernel]
        engine = replace(engine, chains=pilot.chains, kernel=kernel, memory=memory.about(seen))
        state = run_rounds(replace(state, usage=meter.spent), engine)
        counting.sampled()
        clock.begin("checking")
        looks = take_last_looks(state, engine)
        if looks.ended is not state.ended:
            state = replace(state, ended=looks.ended)
        drawn = draw_posterior(state, engine)
        reference = draw_reference(state, engine)
    checks = check_run(state, counting.stopped_share, meter, looks.tails)
    points = seen.own_points(state.conclusion.samples[-1].end_points)
    memory.probe(points)
    groups = gather_groups(problem.given[0], seen.own_points(drawn), meter)
    beside = _look_beside(problem, state, points, meter, memory, clock)
    shown, found = name_shown(state, reference)
    told = told_by_models(problem, counting.rejected)
    notes = [*told.get("notes", ()), *beside.found.get("notes", ())]
    found |= told | beside.found | ({"notes": notes} if notes else {})
    ended = beside.ended
    stages = clock.costs()
    found |= {"stages": plain_stages(stages), "ended": None if ended is None else ended.value}
    return build_result(
        state,
        checks=[
            check_end(ended, spent_budget(settings, meter)),
            *looks.checks,
            *checks,
            *beside.checks,
        ],
        groups=groups,
        cost=replace(meter.spent, stages=stages, import_seconds=seconds_importing()),
        found=found,
        reference=shown,
    )


class _Beside(NamedTuple):
    """What runs beside the first one told, and whether the first ended before its time."""

    checks: list[Check]
    found: dict[str, Any]
    ended: Ended | None


def _look_beside(
    problem: Problem,
    state: RunState,
    points: np.ndarray,
    meter: Meter,
    memory: StoreMemory | NoStore,
    report: Progress,
) -> _Beside:
    """The prior's own integral and the second witness, where they are wanted.

    An interruption may not cost the result that is there already.
    """
    settings, ended = problem.settings, state.ended
    checks, found = list[Check](), dict[str, Any]()
    if settings.check_prior and problem.model.prior is not None and ended is None:
        report("integrating the prior", 0, 1)
        try:
            alone = partial(_run_alone, memory, "prior")
            integral, why_not = integrate_prior(problem, meter, alone)
            if meter.exhausted:
                why_not = f"before {spent_budget(settings, meter)}"
            parts = problem.given[0].prior_parts
            checks.append(check_prior_integral(integral, problem.given[0].source, why_not, parts))
            if parts and not np.isfinite(integral.value):
                found["notes"] = [f"the prior was not integrated as a whole: {parts}"]
        except KeyboardInterrupt:
            ended = Ended.INTERRUPTED
    elif settings.check_prior and problem.kind is Evidence and problem.given[0].is_normalised:
        parts = problem.given[0].prior_parts
        checks.append(check_known_prior(state.conclusion.estimates["mbar"], parts))
    if settings.witness:
        report("making the second estimate", 0, 1)
        try:
            alone = partial(_run_alone, memory, "witness")
            witness = second_estimate(problem, points, ended, meter, alone)
            checks.append(witness.check(state.conclusion.estimates["mbar"]))
            found["witness"] = witness.record()
        except KeyboardInterrupt:
            ended = Ended.INTERRUPTED
    return _Beside(checks, found, ended)


def _explore(problem: Problem, engine: Engine) -> RunState:
    """The state before the first round: the plan, in coordinates of choice.

    Raises StoppedEarlyError if it was not in time.
    """
    require_time(problem)
    stage = "finding the posterior"
    try:
        pilots = [
            engine.recall(f"pilot {index}", partial(find_posterior, problem, end, engine))
            for index, end in enumerate(problem.ends)
        ]
        engine = replace(engine, chains=pilots[0].chains)
        stage = "choosing the reference"
        engine.report(stage, 0, 1)
        if is_cut_up(problem, pilots[0], engine):
            engine, pilots[0] = choose_kernel(problem, pilots[0], engine)
            return begin(problem, make_plan(problem, pilots, engine))
        reshaped = choose_coordinates(problem, pilots[0], engine)
        pilots[0] = replace(reshaped.pilot, judged=pilots[0].judged)
        plan = make_plan(reshaped.problem, pilots, engine, reshaped.lengths)
        return begin(reshaped.problem, replace(plan, coordinates=reshaped.reason))
    except OutOfBudgetError:
        raise StoppedEarlyError(
            f"The posterior was not found before {spent_budget(problem.settings, engine.meter)}.",
            stage,
        ) from None


def _run_alone(memory: StoreMemory | NoStore, name: str, problem: Problem) -> Evidence:
    """The evidence of a problem beside another's, without a word."""
    return cast(Evidence, run(problem, reporters.silent, memory.beside(problem, name)))
