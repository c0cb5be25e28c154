"""What came of a model after a published one: a line of runs/studies.jsonl."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import Any


@dataclass(frozen=True)
class Record:
    """One run of one model.

    Attributes:
        name: the model's.
        code: a hash of refti and of the models, as they were when it ran.
        revision: the commit at that time; a + where refti had changes that were not committed.
        dim: how many parameters.
        log_z: the estimate; None where the model was refused or the run broke.
        error: of the estimate.
        other: the evidence by another way and its error, if there is one.
        trusted: the verdict.
        reasons: the names of the checks that failed.
        words: what these checks advise, or why there is no number.
        gradients: evaluations of the gradient.
        densities: evaluations of the density alone.
        processor_seconds: of the whole process and its compilers, imports included.
        seconds: the same on the clock.
        command_line: "same" where the command line gave this log z, error and verdict to the last
            bit, otherwise what it said; "" where it was not asked.
    """

    name: str
    code: str
    revision: str
    dim: int | None = None
    log_z: float | None = None
    error: float | None = None
    other: tuple[float, float] | None = None
    trusted: bool = False
    reasons: tuple[str, ...] = ()
    words: str = ""
    gradients: int = 0
    densities: int = 0
    processor_seconds: float = 0.0
    seconds: float = 0.0
    command_line: str = ""

    @property
    def z(self) -> float | None:
        """How far the estimate is off, in combined errors; None where that means nothing."""
        if self.log_z is None or self.error is None or self.other is None:
            return None
        both = hypot(self.error, self.other[1])
        return (self.log_z - self.other[0]) / both if both > 0 else None


def read_record(line: dict[str, Any]) -> Record:
    """The record of a line."""
    other, reasons = line.pop("other"), tuple(line.pop("reasons"))
    return Record(**line, other=None if other is None else (other[0], other[1]), reasons=reasons)
