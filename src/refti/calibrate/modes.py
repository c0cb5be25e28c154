"""Modes: whether two separated modes are found, and whether a miss is noticed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from refti.calibrate.answer_first import answer_first
from refti.calibrate.runs import Job, Run
from refti.calibrate.tuning import TUNING

DIMS, DISTANCES, WEIGHTS = (2, 10), (10, 30), (0.5, 0.9)


@dataclass(frozen=True)
class ModeCount:
    """How the runs of one mixture came out.

    Attributes:
        right: trusted, and within 3.5 errors or 0.2 nats of the truth.
        wrong: trusted, and further off.
        untrusted: not trusted, of which `near` were within 3.5 errors nevertheless.
    """

    target: str
    runs: int
    right: int
    wrong: int
    untrusted: int
    near: int


def jobs(seeds: int, settings: dict[str, object]) -> list[Job]:
    """Every mixture under as many seeds, counted from 0."""
    return [
        Job(
            "modes",
            "bimodal",
            seed,
            {"dim": dim, "distance": distance, "weight": weight},
            settings,
        )
        for dim, distance, weight in product(DIMS, DISTANCES, WEIGHTS)
        for seed in range(seeds)
    ]


def is_right(run: Run) -> bool:
    """Whether a run's estimate is within 3.5 errors or 0.2 nats of the truth."""
    return abs(run.z) <= TUNING.wrong_errors or abs(run.log_z - run.truth) <= TUNING.near_nats


def count(runs: Iterable[Run]) -> list[ModeCount]:
    """The counts of every mixture in the runs."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.name, []).append(run)
    return [
        ModeCount(
            target=name,
            runs=len(group),
            right=sum(run.trusted and is_right(run) for run in group),
            wrong=sum(run.trusted and not is_right(run) for run in group),
            untrusted=sum(not run.trusted for run in group),
            near=sum(not run.trusted and abs(run.z) <= TUNING.wrong_errors for run in group),
        )
        for name, group in groups.items()
    ]


def passes(counts: Sequence[ModeCount]) -> bool:
    """Whether no run was trusted and wrong."""
    return all(row.wrong == 0 for row in counts)


def text(counts: Sequence[ModeCount]) -> str:
    """Their sums in words, then a row a mixture."""
    totals = {name: sum(getattr(row, name) for row in counts) for name in _SUMS}
    answer = (
        f"Of {totals['runs']} runs {totals['right']} were trusted and right, {totals['wrong']} "
        f"trusted and wrong, {totals['untrusted']} not trusted ({totals['near']} of these within "
        f"{TUNING.wrong_errors} errors)."
    )
    head = f"{'mixture':24s} {'runs':>5s} {'right':>6s} {'untrusted':>10s} {'trusted, wrong':>15s}"
    rows = [
        f"{row.target:24s} {row.runs:5d} {row.right:6d} {row.untrusted:10d} {row.wrong:15d}"
        for row in counts
    ]
    return answer_first(answer, [head, *rows])


_SUMS = ("runs", "right", "wrong", "untrusted", "near")
