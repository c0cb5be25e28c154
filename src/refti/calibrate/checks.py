"""Checks: how often each check fires on runs that were right and on runs that were wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from refti.calibrate.answer_first import answer_first
from refti.calibrate.runs import Run
from refti.calibrate.tuning import TUNING


@dataclass(frozen=True)
class Firing:
    """How often one check failed: alarms on good runs are false, on bad runs wanted."""

    name: str
    on_good: int
    on_bad: int
    alone_on_good: int
    alone_on_bad: int


@dataclass(frozen=True)
class Firings:
    """All checks; `alone` counts the runs on which no other check failed."""

    good: int
    bad: int
    refused: int
    trusted_good: int
    trusted_bad: int
    checks: tuple[Firing, ...]

    @property
    def passes(self) -> bool:
        """Whether at most 1 % of the trusted runs are bad."""
        return self.trusted_bad <= TUNING.most_trusted_bad * (self.trusted_good + self.trusted_bad)


def is_good(run: Run) -> bool:
    """Whether a run has a finite error and is within three errors of the truth."""
    return math.isfinite(run.error) and abs(run.z) <= TUNING.good_errors


def firings(runs: Sequence[Run]) -> Firings:
    """The firings of every check met in the runs; refused runs are bad and have no checks."""
    good = [run for run in runs if is_good(run)]
    bad = [run for run in runs if not is_good(run)]
    names = dict.fromkeys(name for run in runs for name in run.checks)
    return Firings(
        good=len(good),
        bad=len(bad),
        refused=sum(run.message is not None for run in runs),
        trusted_good=sum(run.trusted for run in good),
        trusted_bad=sum(run.trusted for run in bad),
        checks=tuple(
            Firing(
                name,
                on_good=sum(name in run.failed for run in good),
                on_bad=sum(name in run.failed for run in bad),
                alone_on_good=sum(run.failed == (name,) for run in good),
                alone_on_bad=sum(run.failed == (name,) for run in bad),
            )
            for name in names
        ),
    )


def text(found: Firings) -> str:
    """How many runs were good and bad, then a row a check."""
    answer = (
        f"Good (within {TUNING.good_errors:g} errors): {found.good}, trusted {found.trusted_good}. "
        f"Bad: {found.bad} ({found.refused} refused), trusted {found.trusted_bad}."
    )
    head = f"{'check':20s} {'on good':>8s} {'alone':>6s} {'on bad':>8s} {'alone':>6s}"
    rows = [
        f"{c.name:20s} {c.on_good:8d} {c.alone_on_good:6d} {c.on_bad:8d} {c.alone_on_bad:6d}"
        for c in found.checks
    ]
    return answer_first(answer, [head, *rows])
