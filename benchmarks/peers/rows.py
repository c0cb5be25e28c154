"""Rows: what one run of one program on one problem gave, a line of JSON each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NUMBERS = (
    "seconds",
    "processor_seconds",
    "sampling_seconds",
    "log_z",
    "error",
    "megabytes",
    "length",
)


@dataclass(frozen=True)
class Answer:
    """What a program answers.

    Attributes:
        log_z: the log evidence.
        error: the standard error that it claims; not a number where it claims none.
        gradients: evaluations of the gradient.
        calls: evaluations of the density or likelihood without a gradient.
        sampling_seconds: the part of its time that an error twice as small would take four times.
        trusted: whether the program says that its answer can be used.
        length: ∫ sd_λ Δ dλ along the path, for refti.
        draws: those that the answer was made of, for refti.
    """

    log_z: float
    error: float
    gradients: int
    calls: int
    sampling_seconds: float
    trusted: bool = True
    length: float = math.nan
    draws: int = 0


@dataclass(frozen=True)
class Row:
    """An answer, what it took, and how it came about.

    Attributes:
        status: "ok", or why there is no answer.
        cold: whether the process began with this run, so that its seconds are those of starting
            Python, importing and compiling too.
        seconds: of a cold run since the process began, of a warm one of the run itself.
        processor_seconds: those that processors worked for it, all cores and child processes
            together, which others on the machine change little.
        megabytes: the most memory that the process had until then.
    """

    problem: str
    program: str
    seed: int
    status: str
    cold: bool
    seconds: float
    processor_seconds: float
    sampling_seconds: float
    log_z: float
    error: float
    trusted: bool
    gradients: int
    calls: int
    megabytes: float
    length: float
    draws: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells this run from others."""
        return self.problem, self.program, self.seed


def read_row(record: Mapping[str, Any]) -> Row:
    """The row of its plain values, where numbers that are none are strings."""
    return Row(**{**record, **{name: float(record[name]) for name in NUMBERS}})


def without_answer(problem: str, program: str, seed: int, status: str, seconds: float) -> Row:
    """The row of a run that gave nothing."""
    nan = math.nan
    return Row(
        problem, program, seed, status, True, seconds, nan, nan, nan, nan, False, 0, 0, nan, nan, 0
    )
