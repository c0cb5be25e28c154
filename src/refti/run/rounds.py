"""Rounds: a run as a value, and the function that takes it one round further.

Every round samples for as long as it takes at the rate so far, but no longer than all before it,
until the estimate will do, nothing more can be mended, or the budget is spent. Every decision is a
function of the state alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from refti.checks.ended import Ended
from refti.coordinates.links import Links
from refti.draws.cost import NOTHING, Cost
from refti.errors import ReferenceFitError, StoppedEarlyError
from refti.paths.path import telescopic
from refti.progress import Stage
from refti.references.registry import FAMILIES
from refti.results.result import Evidence
from refti.results.text import plus_minus
from refti.run.adapt import adapt_leg, refine_support_share
from refti.run.budget import spent_budget
from refti.run.choose_reference import fit_family, measure_length
from refti.run.conclude import Conclusion, conclude
from refti.run.plan import Plan
from refti.run.problem import Problem
from refti.run.round_length import length_after_refit, next_length
from refti.run.tuning import PILOT, REFERENCE_CHOICE, ROUNDS
from refti.sampling.block import Rung, positions
from refti.sampling.engine import Engine
from refti.sampling.kernels.registry import BY_VALUES
from refti.sampling.ladder_building import begin_leg, insert_rungs, keep_inside, refine_ladder
from refti.sampling.leg import LegState, scan
from refti.sampling.leg_sample import collect
from refti.sampling.metering import OutOfBudgetError
from refti.sampling.rung import move_chains, place_chains, warm_up
from refti.sampling.score_whitening import wants_scores
from refti.sampling.streams import GeneratorStream, KeyStream
from refti.sampling.whitening import whitening_of


@dataclass(frozen=True, eq=False)
class RunState:
    """A run as far as it has come; all that the next round depends on.

    Attributes:
        problem: what the run is to find.
        plan: the path, and where chains on it set out.
        legs: the chains and draws of every leg; none until the ladders are built.
        rounds: how many were made.
        scans_wanted: of every leg, when the next round ends.
        rounds_adapted: after how many of them the chains or the reference were adapted.
        refits: how often the reference was fitted anew.
        usage: what was spent so far.
        earlier: the state before the reference was fitted anew, until there is a better one.
        finished: whether no round follows.
        ended: why it ended before its time, if it did.
    """

    problem: Problem
    plan: Plan
    legs: tuple[LegState, ...] = ()
    rounds: int = 0
    scans_wanted: int = ROUNDS.first_round
    rounds_adapted: int = 0
    refits: int = 0
    usage: Cost = NOTHING
    earlier: RunState | None = None
    finished: bool = False
    ended: Ended | None = None

    @cached_property
    def conclusion(self) -> Conclusion:
        """What the draws so far tell."""
        kept = self.problem.settings.kept
        samples = [collect(leg, kept) for leg in self.legs]
        jumps = self.plan.jumps and self.problem.settings.kernel != BY_VALUES
        return conclude(self.plan.path, samples, self.problem.settings, jumps=jumps)

    @property
    def can_conclude(self) -> bool:
        """Whether every leg has draws enough for an estimate."""
        fewest = 2 if self.problem.settings.kept is None else 1
        return len(self.legs) > 0 and all(len(leg.scans) >= fewest for leg in self.legs)


def begin(problem: Problem, plan: Plan) -> RunState:
    """The state before the first round of a plan."""
    length = ROUNDS.first_round_with_flanks if plan.has_flanks else ROUNDS.first_round
    if _pools_groups(problem):
        length = ROUNDS.first_round_of_groups
    if plan.jumps and problem.settings.kernel != BY_VALUES:
        length = ROUNDS.first_round_where_it_jumps
    return RunState(problem, plan, scans_wanted=length)


def run_rounds(state: RunState, engine: Engine) -> RunState:
    """The last state of the run that an estimate can be made of.

    Raises StoppedEarlyError if the budget was spent before there was one, and KeyboardInterrupt if
    the run was interrupted before.
    """
    while not state.finished:
        state = next_round(state, engine)
        if state.can_conclude:
            estimate = state.conclusion.estimates[state.problem.settings.estimator]
            log = {"round": state.rounds, "log_z": estimate.value, "error": estimate.error}
            engine.memory.log("round", **log, gradients=state.usage.gradient_evaluations)
    if state.can_conclude:
        return state
    if state.earlier is not None:
        return replace(state.earlier, finished=True, ended=state.ended, usage=state.usage)
    if state.ended is Ended.INTERRUPTED:
        raise KeyboardInterrupt
    raise StoppedEarlyError(
        "The first estimate could not be made before "
        f"{spent_budget(state.problem.settings, engine.meter)}.",
        f"round {state.rounds + 1}" if state.legs else "building the ladder",
    )


def next_round(state: RunState, engine: Engine) -> RunState:
    """The state after one more round; what it had got to where the round was cut short."""
    try:
        for step in _steps_of_round(state, engine):
            state = step
    except OutOfBudgetError:
        return _spend(state, engine, finished=True, ended=Ended.OUT_OF_BUDGET)
    except KeyboardInterrupt:
        return _spend(state, engine, finished=True, ended=Ended.INTERRUPTED)
    return state


def _steps_of_round(state: RunState, engine: Engine) -> Iterator[RunState]:
    """The states that a round goes through, each of which outlasts an interruption.

    Taken up from any of them the round ends alike: what was done already is in the state.
    """
    if state.rounds_adapted < state.rounds:
        state = replace(_adapt(state, engine), rounds_adapted=state.rounds)
        yield state
    if not state.legs:
        state = _spend(state, engine, legs=build_ladders(state, engine))
        yield state
    total = _scans_of_round(state)
    for index in range(len(state.legs)):
        while len(state.legs[index].scans) < total:
            state = _replace_leg(state, scan(state.legs[index], engine), engine)
            yield state
            stage = f"round {state.rounds + 1}"
            stage += f", leg {index + 1}" if len(state.legs) > 1 else ""
            engine.report(stage, len(state.legs[index].scans), total)
        if state.legs[index].rounds_refined <= state.rounds:  # else the round was taken up again
            leg = refine_support_share(state.legs[index], engine, state.rounds, state.usage)
            leg = replace(leg, rounds_refined=state.rounds + 1)
            state = _replace_leg(state, leg, engine)
            yield state
    state = replace(state, rounds=state.rounds + 1)
    finished = is_enough(state)
    if not finished:
        engine.report(Stage(f"round {state.rounds}", _so_far(state)), total, total)
        state = replace(state, scans_wanted=next_length(total, state.conclusion.checks))
    yield replace(state, finished=finished)


def build_ladders(state: RunState, engine: Engine) -> tuple[LegState, ...]:
    """The legs of the plan with their rungs, warmed up."""
    engine.report("building the ladder", 0, 1)
    settings, path = state.problem.settings, state.plan.path
    warmup = _warmup_beside(state) if settings.warmup is None else settings.warmup
    before = () if state.earlier is None else state.earlier.legs
    made = max((leg.scans_made for leg in before), default=0)
    legs = []
    for index, leg in enumerate(path.legs):
        last = replace(_last_rung(state, index, engine), leaping=_leaps_at_once(state))
        built = begin_leg(leg, index, last, engine, warmup, made)
        if settings.ladder is None:
            built = refine_ladder(built, engine, warmup)
        elif len(settings.ladder) > 2:
            between = [float(lam) for lam in settings.ladder[1:-1]]
            built = insert_rungs(built, between, engine, warmup)
        legs.append(built)
    return tuple(legs)


def _warmup_beside(state: RunState) -> int:
    """Iterations of chains begun where those of the next rung stand."""
    if not state.plan.path.has_gradient:
        return ROUNDS.warmup_beside_by_values
    by_scores = wants_scores(state.problem.model.dim)
    return ROUNDS.warmup_beside_by_scores if by_scores else ROUNDS.warmup_beside


def _leaps_at_once(state: RunState) -> bool:
    """Whether chains are slow to get around, and leaps from the reference surely carry them.

    They are where they sit on modes of their own or on a ridge that winds, and between the ends of
    scales by which groups are pooled: a first round is over before the draws could tell how slow.
    """
    choice = state.plan.choice
    if choice is None:
        return False
    if FAMILIES[choice.family].auto == "ridges":
        return True
    if not (state.plan.pilot.on_separate_modes or _pools_groups(state.problem)):
        return False
    length = choice.lengths.get(choice.family)  # not measured where the family was asked for
    return length is not None and length < REFERENCE_CHOICE.short


def _pools_groups(problem: Problem) -> bool:
    """Whether it is seen in coordinates for groups that are pooled by scales."""
    layers = () if problem.way is None else problem.way.layers
    return any(isinstance(layer, Links) and layer.pooling is not None for layer in layers)


def is_enough(state: RunState) -> bool:
    """Whether no further round is to be made: the checks hold, or more draws would not mend them.

    Where draws are still wanting they may be beyond the budget at the rate so far.
    """
    if state.problem.settings.kept is not None:
        return True
    failed = [check for check in state.conclusion.checks if not check.ok]
    may_shorten = state.rounds <= ROUNDS.rounds_to_shorten_steps
    mended = all(
        check.mended_by_draws or (check.name == "divergences" and may_shorten) for check in failed
    )
    if not failed or not mended or state.scans_wanted >= ROUNDS.most_scans:
        return True
    return state.rounds >= ROUNDS.rounds_before_giving_up and is_beyond_budget(state)


def is_beyond_budget(state: RunState) -> bool:
    """Whether the draws still wanting, at the rate so far, are beyond the budget."""
    return evaluations_wanted(state) > state.problem.settings.max_evaluations


def evaluations_wanted(state: RunState) -> float:
    """How many evaluations it takes in all, at the rate so far, for the draws still wanting."""
    checks = {check.name: check for check in state.conclusion.checks}
    size, error = checks["effective draws"], checks["target error"]
    factor = max(size.threshold / max(size.value, 1.0), (error.value / error.threshold) ** 2)
    return state.usage.evaluations * factor


def refit_reference(state: RunState, engine: Engine) -> Plan | None:
    """The plan with a reference fitted to all draws of the posterior so far, if that is better.

    It is where the ladder has more than two rungs, the draws have at least doubled and are to
    double again, and the way from a reference fitted to the first half of them to the second half
    is that much shorter. The estimate then begins anew: draws that a reference was fitted to have
    no part in an estimate that starts from it.
    """
    plan, leg = state.plan, state.legs[-1]
    if plan.choice is None or len(state.legs) > 1 or len(leg.lambdas) < 3:
        return None
    if state.scans_wanted < ROUNDS.most_growth * len(leg.scans):
        return None
    points = np.concatenate([scan.end_points for scan in leg.scans], axis=1)
    middle, dim = points.shape[1] // 2, points.shape[2]
    if state.refits >= ROUNDS.refits or points.size // dim < 2 * len(plan.pool):
        return None
    first = np.concatenate([plan.pool, points[:, :middle].reshape(-1, dim)])
    second = points[:, middle:].reshape(-1, dim)
    (end,), family = state.problem.ends, plan.choice.family
    now = measure_length(end, plan.choice.reference, second, engine)
    pool = np.concatenate([first, second])
    try:
        halfway = fit_family(end, plan.pilot, family, first, engine)
        if measure_length(end, halfway, second, engine) > ROUNDS.refit_gain * now:
            return None
        reference = fit_family(end, plan.pilot, family, pool, engine)
    except ReferenceFitError:
        return None
    return replace(
        plan,
        path=telescopic(reference, (), state.problem.model),
        pool=pool,
        last=leg.rungs[-1],
        choice=replace(plan.choice, reference=reference),
    )


def _so_far(state: RunState) -> str:
    """The estimate so far, in words."""
    settings, kind = state.problem.settings, state.problem.kind
    estimate = state.conclusion.estimates[settings.estimator]
    name = "log z" if kind is Evidence else "log ratio"
    return f"{name} {plus_minus(estimate.value, estimate.error)} (target {settings.target_error:g})"


def _adapt(state: RunState, engine: Engine) -> RunState:
    """The state with a better reference, or with its chains adapted to what they have met."""
    plan = engine.recall(f"refit {state.rounds}", partial(refit_reference, state, engine))
    if plan is not None:
        state = _spend(state, engine)
        return replace(
            state,
            plan=plan,
            legs=(),
            scans_wanted=_length_after_refit(state),
            refits=state.refits + 1,
            earlier=state,
        )
    return _spend(state, engine, legs=tuple(adapt_leg(leg) for leg in state.legs))


def _last_rung(state: RunState, index: int, engine: Engine) -> Rung:
    """Chains at the end of a leg: those at hand at the end of the path, or new ones."""
    plan, leg = state.plan, state.plan.path.legs[index]
    if index == len(plan.path.legs) - 1:
        return move_chains(leg, plan.last, positions(leg, plan.last), engine)
    picks = engine.generator(GeneratorStream.LEG_END_STARTS, index).permutation(len(plan.pool))
    start = plan.pool[picks[: engine.chains]]
    start = keep_inside(leg, np.resize(start, (engine.chains, plan.pool.shape[1])), engine)
    rung = place_chains(leg, 1.0, start, whitening_of(plan.pool), engine)
    key = engine.key(KeyStream.LEG_END_WARM_UP, index)
    return warm_up(leg, rung, state.problem.settings.warmup or PILOT.warmup, key, engine)


def _scans_of_round(state: RunState) -> int:
    """How many scans every leg has when the round ends."""
    kept = state.problem.settings.kept
    return state.scans_wanted if kept is None else -(-kept // state.problem.block_length)


def _length_after_refit(state: RunState) -> int:
    settings = state.problem.settings
    error = state.conclusion.estimates[settings.estimator].error
    return length_after_refit(len(state.legs[-1].scans), error, settings.target_error)


def _replace_leg(state: RunState, leg: LegState, engine: Engine) -> RunState:
    legs = (*state.legs[: leg.index], leg, *state.legs[leg.index + 1 :])
    return _spend(state, engine, legs=legs)


def _spend(state: RunState, engine: Engine, **changes: Any) -> RunState:
    """The state with what was spent up to now, and these changes."""
    return replace(state, usage=engine.meter.spent, **changes)
