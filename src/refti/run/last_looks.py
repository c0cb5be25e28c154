"""Last looks: what is looked at once the estimate is there, before it may be trusted.

A look that was cut short, by the end of the budget or by an interruption, tells nothing. So it
counts as one that failed, and the run as one that ended before its time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from refti.checks.check import CUT_SHORT, Check
from refti.checks.ended import Ended
from refti.checks.of_run import (
    check_fresh_starts,
    check_missing_tail,
    check_prior_reach,
    check_unreached_mass,
)
from refti.references.student import Student
from refti.results.result import Evidence
from refti.run.budget import spent_budget
from refti.run.fresh_starts import compare_fresh_starts
from refti.run.missing_tail import find_missing_tail
from refti.run.prior_reach import find_prior_reach
from refti.run.rounds import RunState
from refti.run.unreached_mass import check_beyond_peaks
from refti.sampling.engine import Engine
from refti.sampling.metering import OutOfBudgetError


class LastLooks(NamedTuple):
    """What the looks told, and whether the run ended before its time, in one of them or before."""

    checks: list[Check]
    tails: list[Check]  # apart, as they stand with the other checks of tails
    ended: Ended | None


def take_last_looks(state: RunState, engine: Engine) -> LastLooks:
    """The checks of all looks that the run should have; after one that was cut short, no more.

    A run that has ended already gets none: it is not trusted anyway.
    """
    told: dict[str, list[Check]] = {name: [] for name in _LOOKS}
    ended = state.ended
    for name, (look, missed) in _LOOKS.items():
        if ended is not None:
            break
        try:
            told[name] = look(state, engine)
        except OutOfBudgetError:
            ended = Ended.OUT_OF_BUDGET
            why = f"before it was done {spent_budget(state.problem.settings, engine.meter)}"
            told[name] = [_cut_short(missed, why)]
        except KeyboardInterrupt:
            ended = Ended.INTERRUPTED
            why = "the run was interrupted; run it again, with the same store= if it had one"
            told[name] = [_cut_short(missed, why)]
    tails = told["missing tail"] + told["prior draws"]
    return LastLooks(told["fresh starts"] + told["beyond the peaks"], tails, ended)


def _cut_short(check: Check, why: str) -> Check:
    """The check of a look that told nothing."""
    return replace(check, ok=False, advice=f"{CUT_SHORT}: {why}")


def _look_at_tails(state: RunState, engine: Engine) -> list[Check]:
    """The check of what the draws miss in the tails."""
    points = state.conclusion.samples[-1].end_points
    # Draws of a Student-t get out to all sides themselves, whether chains do or not.
    rays = not isinstance(state.plan.path.legs[-1].start, Student)
    pilot = state.plan.pilot
    apart = pilot.on_separate_modes and state.problem.way is None
    modes = pilot.modes.peaks if apart else None
    model = state.problem.model
    found = find_missing_tail(model, points, engine.meter, rays=rays, modes=modes)
    estimate = state.conclusion.estimates[state.problem.settings.estimator]
    return [check_missing_tail(*found, estimate.error)]


def _look_at_prior_draws(state: RunState, engine: Engine) -> list[Check]:
    """The check by exact draws of the prior, where there are such and they can tell something."""
    problem = state.problem
    if problem.kind is not Evidence:
        return []
    points = problem.own_points(state.conclusion.samples[-1].end_points)
    log_z, seed = state.conclusion.estimates["mbar"].value, problem.settings.seed
    found = find_prior_reach(problem.given[0], points, log_z, seed, engine.meter)
    if found is None:
        return []
    return [check_prior_reach(found.share, found.error, found.coordinate)]


_LOOKS: dict[str, tuple[Callable[[RunState, Engine], list[Check]], Check]] = {
    "fresh starts": (compare_fresh_starts, check_fresh_starts(float("nan"))),
    "beyond the peaks": (check_beyond_peaks, check_unreached_mass(float("nan"))),
    "missing tail": (_look_at_tails, check_missing_tail(float("nan"), 0.0)),
    "prior draws": (_look_at_prior_draws, check_prior_reach(float("nan"), 0.0, "")),
}
