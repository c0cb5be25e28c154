"""Runs beside a run: what else must be integrated to trust a result, at no more than its cost."""

from __future__ import annotations

from collections.abc import Callable

from refti.checks.ended import Ended
from refti.results.result import Evidence
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.sampling.metering import Meter

RunAlone = Callable[[Problem], Evidence]


def evaluations_left(settings: Settings, meter: Meter, least: int, most: float) -> int:
    """How many evaluations a run beside may make: about as many as were made, within bounds."""
    spent = meter.spent.evaluations
    return max(1, int(min(settings.max_evaluations - spent, max(least, min(spent, most)))))


def seconds_left(settings: Settings, meter: Meter) -> float | None:
    """How long it may take, or None for as long as it likes."""
    if settings.max_seconds is None:
        return None
    return max(1e-3, settings.max_seconds - meter.spent.seconds)


def run_beside(problem: Problem, meter: Meter, run: RunAlone) -> Evidence:
    """The evidence of the other problem; what it cost counts as the first one's.

    Raises what the run raises, and KeyboardInterrupt if it was interrupted.
    """
    found = run(problem)
    cost = found.cost
    meter.count(gradients=cost.gradient_evaluations, densities=cost.density_evaluations)
    if found.found["ended"] == Ended.INTERRUPTED.value:
        raise KeyboardInterrupt
    return found
