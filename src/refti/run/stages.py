"""Stages: what each part of a run took, told by the reports of its progress."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from refti.draws.cost import NOTHING, Cost, StageCost, stage_cost
from refti.progress import Progress
from refti.sampling.metering import Meter


@dataclass
class StageClock:
    """A listener to progress that passes it on, and adds up what each stage took.

    What happened between two reports belongs to the stage of the later one, unless that one only
    says that its stage begins.

    Attributes:
        listener: who is told of the progress.
        meter: what was spent so far.
        stages: what each took, by its name.
    """

    listener: Progress
    meter: Meter
    stages: dict[str, Cost] = field(default_factory=dict)
    _seen: Cost = NOTHING
    _stage: str = "getting ready"
    _begins: bool = True

    def __post_init__(self) -> None:
        if self.meter.spent.evaluations:  # the run goes on from one that was cut short
            self._charge("before it was resumed")

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Notes what was spent since the last report, and passes this one on."""
        name = str(stage)
        if done == 0:
            self.begin(name)
        else:
            self._charge(name)
            self._stage, self._begins = name, False
        self.listener(stage, done, total)

    def begin(self, stage: str) -> None:
        """Notes that a stage begins, without a word to the listener, who may not interrupt it."""
        self._charge(self._stage)
        self._stage, self._begins = stage, True

    def costs(self) -> tuple[StageCost, ...]:
        """What each stage took, in the order in which they began."""
        self._charge(self._stage if self._begins else "checking")
        return tuple(stage_cost(name, cost) for name, cost in self.stages.items())

    def _charge(self, stage: str) -> None:
        spent = self.meter.spent
        self.stages[stage] = self.stages.get(stage, NOTHING) + (spent - self._seen)
        self._seen = spent


def plain_stages(stages: Iterable[StageCost]) -> list[dict[str, Any]]:
    """The stages as plain values, as `result.found` has them."""
    return [
        {
            "stage": stage.stage,
            "seconds": stage.seconds,
            "compile_seconds": stage.compile_seconds,
            "evaluations": stage.evaluations,
        }
        for stage in stages
    ]
