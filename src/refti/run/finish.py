"""The end of a run: the checks that need more than the draws, and the result that is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from refti.checks.check import Check
from refti.checks.ended import Ended
from refti.checks.of_draws import SAMPLE_LONGER
from refti.checks.of_run import (
    check_modes,
    check_peak,
    check_search,
    check_solver,
)
from refti.checks.tuning import TUNING as CHECKS
from refti.draws.cost import Cost
from refti.models.rejections import Rejections
from refti.results.late import LateDataset
from refti.results.result import Evidence, LogRatio
from refti.results.rungs import RungSummary, summarise_rungs
from refti.run.conclude import Conclusion, shares_of
from refti.run.groups import Groups
from refti.run.origins import origin_of
from refti.run.pilot import Peak
from refti.run.problem import Problem
from refti.run.rounding import check_bounds
from refti.run.rounds import RunState, evaluations_wanted, is_beyond_budget
from refti.sampling.leg_sample import LegSample
from refti.sampling.metering import Meter
from refti.search.large_mode import LargeMode


def check_run(
    state: RunState, stopped: float, meter: Meter, tails: Sequence[Check] = ()
) -> list[Check]:
    """The checks that need more than the draws.

    Args:
        state: the last one.
        stopped: the share of evaluations on the path that took too long and were given up.
        meter: of the run.
        tails: the checks of what the draws miss in the tails, if it was looked for.
    """
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
    checks += tails
    points = state.conclusion.samples[-1].end_points
    checks.append(check_bounds(problem.given[0], problem.own_points(points), meter))
    if stopped:
        checks.append(check_solver(stopped))
    return checks


def _check_peak(peak: Peak, log_z: float, dim: int) -> Check:
    share = peak.log_mass - log_z
    return check_peak(peak.height, share, dim, has_top=peak.has_top, mass_falls=peak.mass_falls)


def build_result(
    state: RunState,
    *,
    checks: Sequence[Check],
    groups: Groups,
    reference: LateDataset,
    cost: Cost,
    found: Mapping[str, Any],
) -> Evidence | LogRatio:
    """The state's conclusion, with the checks of the run and what it found."""
    problem, conclusion = state.problem, state.conclusion
    chosen = conclusion.estimates[problem.settings.estimator]
    return problem.kind(
        value=chosen.value,
        error=chosen.error,
        estimates=conclusion.estimates,
        checks=(*(_advised(check, state) for check in conclusion.checks), *checks),
        draws=tuple(sample.draws for sample in conclusion.samples),
        posterior=groups.posterior,
        cost=cost,
        settings=problem.settings.record(),
        found=_with_notes({**_found_on_path(state), **found, **_left_out(groups)}, conclusion),
        rungs=_rungs(conclusion.samples),
        groups=groups.others,
        reference=reference,
    )


def _with_notes(found: dict[str, Any], conclusion: Conclusion) -> dict[str, Any]:
    """What was found, with notes on the user's draws, NaN on the reference, and draws left out."""
    faults = found.get("draws", {}).get("faults", ())
    notes = [
        f"draws= are not used directly: {fault}; they only served as starting points of new chains"
        for fault in faults
    ]
    worst = max(shares_of(conclusion.samples)[0], key=lambda share: share.not_a_number_share)
    if worst.not_a_number_share > CHECKS.told_not_a_number:
        notes.append(
            f"the density is NaN or +infinite at {100 * worst.not_a_number_share:.2g} % of the "
            f"reference's draws, such as at unconstrained x = {worst.example}, where it counted "
            "as zero: if it should have a value there, the evidence is too low"
        )
    last = conclusion.samples[-1]
    every = last.draws.delta.shape[2] / max(1, last.end_points.shape[1])
    if every > 1.5:
        notes.append(
            f"of the posterior, about every {round(every)}th draw is kept, to save memory; the "
            "estimate uses all of them"
        )
    return {**found, "notes": [*found.get("notes", ()), *notes]} if notes else found


def _advised(check: Check, state: RunState) -> Check:
    """A check whose advice says by what this run could have sampled longer, if it failed."""
    if check.ok or SAMPLE_LONGER not in check.advice:
        return check
    means = f"{SAMPLE_LONGER} ({_by_what(state)})"
    return replace(check, advice=check.advice.replace(SAMPLE_LONGER, means, 1))


def _by_what(state: RunState) -> str:
    """What lets such a run sample longer; never a part of the budget that it has not used."""
    settings, usage = state.problem.settings, state.usage
    if settings.kept is not None:
        return "raise kept="
    if state.ended is Ended.OUT_OF_BUDGET:
        in_time = settings.max_seconds is None or usage.seconds < settings.max_seconds
        return "raise max_evaluations=" if in_time else "raise max_seconds="
    if is_beyond_budget(state):
        return "raise max_evaluations=, which would not have been enough at this rate"
    return f"set kept= above {state.conclusion.samples[-1].draws.delta.shape[2]:,}"


def _left_out(groups: Groups) -> dict[str, Any]:
    return {"left_out": dict(groups.left_out)} if groups.left_out else {}


def told_by_models(problem: Problem, rejected: Rejections | None) -> dict[str, Any]:
    """What the models' own languages have to say: what they are, and the points they rejected."""
    sources = dict.fromkeys(model.source for model in problem.models)
    told: dict[str, Any] = {"source": ", ".join(sources)}
    origins = [origin_of(model) for model in problem.given]
    if any(origin is not None for origin in origins):
        told["origin"] = origins[0] if len(origins) == 1 else origins
    notes = list(dict.fromkeys(note for model in problem.given for note in model.notes))
    if notes:
        told["notes"] = notes
    if rejected is not None:
        told["rejected"] = rejected.record()
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
        "modes": plan.pilot.modes.count - plan.pilot.modes.broad,
        "broad_parts": plan.pilot.modes.broad,
        "pilot": plan.pilot.why,
        "search": None if searched is None else searched.record(),
    }
    if isinstance(plan.pilot.modes.mode, LargeMode):
        found["large"] = _in_many_dimensions(plan.pilot.modes.mode)
    if plan.pilot.judged is not None:
        found["draws"] = plan.pilot.judged.record()
    if plan.coordinates is not None:
        found["coordinates"] = plan.coordinates
    settings, wanted = state.problem.settings, evaluations_wanted(state)
    if state.ended is None and settings.kept is None and wanted > settings.max_evaluations:
        found["out_of_reach"] = (
            f"The run ended because an error of {settings.target_error:g} is out of reach: at the "
            f"rate so far it would take about {float(f'{wanted:.2g}'):,.0f} evaluations, and "
            f"max_evaluations= allows {settings.max_evaluations:,}."
        )
    if choice is not None:
        found["chosen_reference"] = choice.family
        found["chosen_because"] = choice.reason
        found["lengths"] = {name: float(value) for name, value in choice.lengths.items()}
    return found


def _in_many_dimensions(mode: LargeMode) -> str:
    """What is done otherwise where no dense matrix is made, in words."""
    curvature = (
        "is sparse and known in full"
        if mode.sparse
        else "is not sparse and known in a few directions only"
    )
    return (
        f"{len(mode.x):,} parameters: no dense matrices were used. The curvature at the mode "
        f"{curvature}; refti did not look for coordinates for funnels and heavy tails, nor "
        "whether the mass decreases towards a spike."
    )


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
