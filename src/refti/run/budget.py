"""The budget in words: which part of it is spent, and what would let a run sample longer."""

from __future__ import annotations

from refti.errors import SamplingError
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.tuning import PILOT
from refti.sampling.metering import Meter


def spent_budget(settings: Settings, meter: Meter) -> str:
    """What of the budget was spent, and what to raise; nothing else is advised to be raised."""
    spent = meter.spent
    if settings.max_seconds is not None and spent.seconds >= settings.max_seconds:
        return (
            f"the {settings.max_seconds:g} s of max_seconds= were spent "
            f"({spent.evaluations:,} evaluations made); raise max_seconds="
        )
    return (
        f"the {settings.max_evaluations:,} evaluations of max_evaluations= were spent "
        f"({spent.seconds:.0f} s); raise max_evaluations="
    )


def require_time(problem: Problem) -> None:
    """Raises SamplingError if one step of the search would outlast max_seconds=.

    Without gradients the search factors matrices of the dimension's size, which nothing can
    interrupt. With them it makes none that are large.
    """
    dim, most = problem.model.dim, problem.settings.max_seconds
    seconds = PILOT.factoring_seconds * dim**3
    if problem.model.has_gradient or most is None or seconds <= max(most, 1.0):
        return
    raise SamplingError(
        f"The search for the posterior factorises matrices of {dim:,} by {dim:,}, each of which "
        f"takes about {seconds:,.0f} s and cannot be interrupted; max_seconds= allows {most:g}. "
        "Raise max_seconds=, or give the model fewer parameters, or gradients."
    )
