"""Summary: what the rows of one program on one problem come to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from benchmarks.peers.rows import Row

WANTED = 0.05  # nats: the true error to which seconds are counted
Clock = Literal["wall", "processor"]
FAR = 2.5  # times the claimed error, which three seeds of an honest one reach once in 3,000 times
WIDTH = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True)
class Summary:
    """The rows of one program on one problem.

    Attributes:
        problem: its name.
        program: its name.
        answers: how many seeds gave one.
        asked: how many seeds were asked for.
        why_not: why the others gave none.
        cold: median seconds of a process from its start to its first answer.
        warm: median seconds of the answers after it; not a number if there were none.
        sampling: median seconds of sampling alone.
        gradients: median.
        calls: median.
        megabytes: the most.
        rms: the root of the mean squared distance to the truth.
        claimed: the root of the mean squared error that was claimed.
        covered: the share of 95 % intervals that hold the truth; not a number if it claims none.
        trusted: the share that the program itself trusts.
        limit: the error that draws of that number allow, ∫ sd_λ Δ dλ / √n, for refti.
    """

    problem: str
    program: str
    answers: int
    asked: int
    why_not: str
    cold: float
    warm: float
    sampling: float
    gradients: float
    calls: float
    megabytes: float
    rms: float
    claimed: float
    covered: float
    trusted: float
    limit: float

    @property
    def seconds_to_wanted(self) -> float:
        """Cold seconds to a true error of 0.05: sampling goes with one over the error squared.

        Not a number where there is no answer, infinite where more sampling does not help.
        """
        if not self.answers:
            return math.nan
        if self.is_biased:
            return math.inf
        return max(0.0, self.cold - self.sampling) + self.sampling * (self.rms / WANTED) ** 2

    @property
    def is_biased(self) -> bool:
        """Whether it misses 0.05 by far more than it claims: longer runs of it stay wrong."""
        return self.rms > WANTED and self.claimed > 0 and self.rms > FAR * self.claimed


def summarise(
    rows: Iterable[Row], truth: float, truth_error: float = 0.0, *, clock: Clock = "wall"
) -> Summary:
    """The summary of rows that are all of one program on one problem."""
    found = list(rows)
    first, good = found[0], [row for row in found if row.status == "ok"]
    errors = [row.error for row in good if math.isfinite(row.error)]
    off = [row.log_z - truth for row in good]
    held = [
        abs(row.log_z - truth) <= WIDTH * math.hypot(row.error, truth_error)
        for row in good
        if math.isfinite(row.error)
    ]
    limits = [row.length / math.sqrt(row.draws) for row in good if row.draws]
    return Summary(
        first.problem,
        first.program,
        len(good),
        len(found),
        next((row.status for row in found if row.status != "ok"), ""),
        _median([_seconds(row, clock) for row in good if row.cold]),
        _median([_seconds(row, clock) for row in good if not row.cold]),
        _median([_seconds(row, clock) * row.sampling_seconds / row.seconds for row in good]),
        _median([row.gradients for row in good]),
        _median([row.calls for row in good]),
        max((row.megabytes for row in good), default=math.nan),
        _root(off),
        _root(errors),
        sum(held) / len(held) if held else math.nan,
        sum(row.trusted for row in good) / len(good) if good else math.nan,
        _median(limits),
    )


def _seconds(row: Row, clock: Clock) -> float:
    return row.seconds if clock == "wall" else row.processor_seconds


def _median(values: Sequence[float]) -> float:
    return float(median(values)) if values else math.nan


def _root(values: Sequence[float]) -> float:
    return math.sqrt(sum(v * v for v in values) / len(values)) if values else math.nan
