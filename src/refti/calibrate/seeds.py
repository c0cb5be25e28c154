"""Seeds: the suite under several seeds, one row a target: right, untrusted, wrong, and the cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from refti.calibrate.answer_first import answer_first
from refti.calibrate.runs import Job, Run
from refti.calibrate.tuning import TUNING
from refti.suite import Target


@dataclass(frozen=True)
class TargetCount:
    """How the runs of one target came out.

    Attributes:
        right: trusted, and within 4 errors of the truth.
        untrusted: not trusted, of which `refused` gave no estimate at all.
        wrong: trusted, and further off.
        evaluations: gradients and densities of a run, the median.
        seconds: of a run, the median.
    """

    target: str
    dim: int
    runs: int
    right: int
    untrusted: int
    refused: int
    wrong: int
    evaluations: float
    seconds: float


def jobs(
    targets: Sequence[Target], first: int, seeds: int, settings: dict[str, object]
) -> list[Job]:
    """Every target under as many seeds, counted from the first."""
    return [
        Job("suite", target.name, seed, settings=settings)
        for target in targets
        for seed in range(first, first + seeds)
    ]


def is_wrong(run: Run) -> bool:
    """Whether a run is trusted and more than 4 errors from the truth, or has no finite error."""
    return run.trusted and not abs(run.z) <= TUNING.wrong_of_many_errors


def count(runs: Iterable[Run]) -> list[TargetCount]:
    """The counts of every target in the runs."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.name, []).append(run)
    return [_count(name, group) for name, group in groups.items()]


def passes(counts: Sequence[TargetCount]) -> bool:
    """Whether no run was trusted and wrong."""
    return all(row.wrong == 0 for row in counts)


def text(counts: Sequence[TargetCount]) -> str:
    """The sums in words, then a row a target."""
    totals = {name: sum(getattr(row, name) for row in counts) for name in _SUMS}
    wrong = [row.target for row in counts if row.wrong]
    named = f" ({', '.join(wrong)})" if wrong else ""
    share = 100 * totals["right"] / max(totals["runs"], 1)
    answer = (
        f"Of {totals['runs']} runs of {len(counts)} targets {totals['right']} were trusted and "
        f"right ({share:.1f} %), {totals['untrusted']} not trusted ({totals['refused']} of these "
        f"refused), {totals['wrong']} trusted and wrong "
        f"(|z| > {TUNING.wrong_of_many_errors:g}){named}."
    )
    head = (
        f"{'target':24s} {'dim':>4s} {'runs':>5s} {'right':>6s} {'untrusted':>10s} "
        f"{'wrong':>6s} {'evaluations':>12s} {'s':>6s}"
    )
    rows = [
        f"{row.target:24s} {row.dim:4d} {row.runs:5d} {row.right:6d} {row.untrusted:10d} "
        f"{row.wrong:6d} {row.evaluations:12,.0f} {row.seconds:6.1f}"
        for row in counts
    ]
    return answer_first(answer, [head, *rows])


def _count(name: str, runs: Sequence[Run]) -> TargetCount:
    finished = [run for run in runs if run.message is None]
    return TargetCount(
        target=name,
        dim=runs[0].dim,
        runs=len(runs),
        right=sum(run.trusted and not is_wrong(run) for run in runs),
        untrusted=sum(not run.trusted for run in runs),
        refused=len(runs) - len(finished),
        wrong=sum(is_wrong(run) for run in runs),
        evaluations=_median([run.gradients + run.densities for run in finished]),
        seconds=_median([run.seconds for run in finished]),
    )


def _median(values: Sequence[float]) -> float:
    return float(median(values)) if values else math.nan


_SUMS = ("runs", "right", "untrusted", "refused", "wrong")
