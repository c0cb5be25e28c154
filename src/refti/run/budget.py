"""The budget in words: which part of it is spent, and what would let a run sample longer."""

from __future__ import annotations

from refti.run.settings import Settings
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
