"""The end of a run: the checks that need more than the draws, and the result that is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import xarray

from refti.checks.check import Check
from refti.checks.of_run import (
    check_missing_tail,
    check_modes,
    check_peak,
    check_search,
    check_solver,
    check_tails,
)
from refti.checks.pareto import pareto_shape
from refti.draws.cost import Cost
from refti.models.model import Model
from refti.references.student import Student
from refti.results.result import Evidence, LogRatio
from refti.results.rungs import RungSummary, summarise_rungs
from refti.run.conclude import shares_of
from refti.run.missing_tail import find_missing_tail
from refti.run.pilot import Peak
from refti.run.problem import Counts, Problem
from refti.run.rounding import check_bounds
from refti.run.rounds import RunState
from refti.sampling.leg_sample import LegSample
from refti.sampling.metering import Meter, OutOfBudgetError


def check_run(state: RunState, planned: Counts, sampled: Counts, meter: Meter) -> list[Check]:
    """The checks that need more than the draws, from counts before and after the sampling."""
    problem, pilot = state.problem, state.plan.pilot
    checks = [check_modes(pilot.modes.count, pilot.chains)]
    searched = pilot.modes.searched
    if searched is not None:
        # Modes that chains move between freely are bumps on one hill, however many there are.
        growing = searched.still_growing and pilot.sits_apart
        checks.append(check_search(growing, searched.sentence))
    if pilot.peak is not None:
        # A ratio of evidences does not tell what is little beside either.
        is_evidence = problem.kind is Evidence
        log_z = state.conclusion.estimates["mbar"].value if is_evidence else float("nan")
        checks.append(_check_peak(pilot.peak, log_z, problem.model.dim))
    points = state.conclusion.samples[-1].end_points
    if not isinstance(state.plan.path.legs[-1].start, Student):  # whose own draws get there
        checks.append(check_tails(_heaviest(points)))
    if not pilot.on_separate_modes:  # between which a line has gaps and peaks of its own
        # A run without the budget for it is not trusted anyway, or has next to nothing left.
        with suppress(OutOfBudgetError):
            checks.append(check_missing_tail(*find_missing_tail(problem.model, points, meter)))
    own = problem.own_points(points)
    checks.append(check_bounds(problem.given[0], own, meter))
    stopped = sampled.stopped - planned.stopped
    if stopped:
        checks.append(check_solver(stopped / (sampled.evaluations - planned.evaluations)))
    return checks


def _heaviest(points: np.ndarray) -> float:
    """The largest tail shape of the coordinates of draws[chain, draw, dim]."""
    x = points.reshape(-1, points.shape[2])
    distances = np.abs(x - np.median(x, axis=0))
    with np.errstate(divide="ignore"):
        return max(pareto_shape(column) for column in np.log(distances).T)


def _check_peak(peak: Peak, log_z: float, dim: int) -> Check:
    share = peak.log_mass - log_z
    return check_peak(peak.height, share, dim, has_top=peak.has_top, mass_falls=peak.mass_falls)


def build_result(
    state: RunState, *, checks: Sequence[Check], cost: Cost, found: Mapping[str, Any]
) -> Evidence | LogRatio:
    """The state's conclusion, with the checks of the run and what it found."""
    problem, conclusion = state.problem, state.conclusion
    chosen = conclusion.estimates[problem.settings.estimator]
    return problem.kind(
        value=chosen.value,
        error=chosen.error,
        estimates=conclusion.estimates,
        checks=(*conclusion.checks, *checks),
        draws=tuple(sample.draws for sample in conclusion.samples),
        posterior=_posterior(problem.model, conclusion.samples[-1].end_points),
        cost=cost,
        settings=problem.settings.record(),
        found={**_found_on_path(state), **found},
        rungs=_rungs(conclusion.samples),
    )


def told_by_models(problem: Problem, before: Counts) -> dict[str, Any]:
    """What the models' own languages have to say: what they are, and the points they rejected."""
    sources = dict.fromkeys(model.source for model in problem.models)
    told: dict[str, Any] = {"source": ", ".join(sources)}
    for model, seen in zip(problem.models, before.rejections, strict=True):
        now = model.rejections()
        new = None if now is None else now.since(seen)
        if new is not None:
            told.setdefault("rejected", new.record())
    return told


def _found_on_path(state: RunState) -> dict[str, Any]:
    """What the run chose by itself, as plain values."""
    plan, choice = state.plan, state.plan.choice
    starts, ends = shares_of(state.conclusion.samples)
    searched = plan.pilot.modes.searched
    found: dict[str, Any] = {
        "path": plan.path.name,
        "log_z_start": plan.path.log_z_start,
        "shares": [[share.inside, share.drawn] for share in starts],
        "end_shares": [[share.inside, share.drawn] for share in ends],
        "rounds": state.rounds,
        "kernel": state.legs[-1].rungs[-1].kernel,
        "modes": plan.pilot.modes.count,
        "pilot": plan.pilot.why,
        "search": None if searched is None else searched.record(),
    }
    if plan.coordinates is not None:
        found["coordinates"] = plan.coordinates
    if choice is not None:
        found["chosen_reference"] = choice.family
        found["chosen_because"] = choice.reason
        found["lengths"] = {name: float(value) for name, value in choice.lengths.items()}
    return found


def _rungs(samples: Sequence[LegSample]) -> tuple[RungSummary, ...]:
    return tuple(
        rung
        for leg, sample in enumerate(samples)
        for rung in summarise_rungs(
            leg,
            sample.draws,
            divergences=sample.divergences,
            exchanges=sample.exchanges,
            acceptance=sample.acceptance,
            gradients=sample.gradients,
        )
    )


def _posterior(model: Model, x: np.ndarray) -> xarray.Dataset:
    chains, count, dim = x.shape
    values = model.space.constrain_all(x.reshape(-1, dim))
    return xarray.Dataset(
        {
            name: (
                ("chain", "draw", *(f"{name}_dim_{i}" for i in range(value.ndim - 1))),
                value.reshape(chains, count, *value.shape[1:]),
            )
            for name, value in values.items()
        }
    )
