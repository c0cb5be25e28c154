"""Cost: what a run took, stage by stage, and Budget, what it may take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class StageCost:
    """What one stage of a run took; the fields are those of `Cost`."""

    stage: str
    gradient_evaluations: int
    density_evaluations: int
    seconds: float
    compile_seconds: float
    trace_seconds: float
    programs: int

    @property
    def evaluations(self) -> int:
        """Gradients and densities together."""
        return self.gradient_evaluations + self.density_evaluations


@dataclass(frozen=True)
class Cost:
    """Evaluations and seconds of a run.

    Attributes:
        gradient_evaluations: of the model, each with its density.
        density_evaluations: of the model, without a gradient.
        seconds: of the whole run.
        compile_seconds: the part of them spent building programs, tracing included.
        programs: how many programs of the run were built.
        trace_seconds: the part of `compile_seconds` that JAX spent reading Python functions.
        import_seconds: what refti and the packages it needs took to import in this process, before
            the run and apart from its seconds.
        stages: what each stage took, in the order in which they began.
    """

    gradient_evaluations: int
    density_evaluations: int
    seconds: float
    compile_seconds: float
    programs: int
    trace_seconds: float = 0.0
    import_seconds: float = 0.0
    stages: tuple[StageCost, ...] = ()

    @property
    def evaluations(self) -> int:
        """Gradients and densities together."""
        return self.gradient_evaluations + self.density_evaluations

    @property
    def profile(self) -> tuple[StageCost, ...]:
        """The stages, with all rounds as one and the ladders of all legs as one."""
        merged: dict[str, Cost] = {}
        for stage in self.stages:
            name = re.sub(r" of leg \d+$", "", stage.stage)
            name = re.sub(r"^round \d+.*$", "sampling in rounds", name)
            merged[name] = merged.get(name, NOTHING) + cost_of(stage)
        return tuple(stage_cost(name, cost) for name, cost in merged.items())

    @property
    def timeless(self) -> Cost:
        """The evaluations alone, which are the same wherever and however often a run is made."""
        return Cost(self.gradient_evaluations, self.density_evaluations, 0.0, 0.0, 0)

    def __add__(self, other: Cost) -> Cost:
        """Both together; stages and importing are told of whole runs only, and left out."""
        return Cost(
            self.gradient_evaluations + other.gradient_evaluations,
            self.density_evaluations + other.density_evaluations,
            self.seconds + other.seconds,
            self.compile_seconds + other.compile_seconds,
            self.programs + other.programs,
            self.trace_seconds + other.trace_seconds,
        )

    def __sub__(self, other: Cost) -> Cost:
        """What was spent since the other."""
        return Cost(
            self.gradient_evaluations - other.gradient_evaluations,
            self.density_evaluations - other.density_evaluations,
            self.seconds - other.seconds,
            self.compile_seconds - other.compile_seconds,
            self.programs - other.programs,
            self.trace_seconds - other.trace_seconds,
        )


NOTHING = Cost(0, 0, 0.0, 0.0, 0)


@dataclass(frozen=True)
class Budget:
    """What a run may take; evaluations are gradients and densities together."""

    seconds: float = float("inf")
    evaluations: float = float("inf")


def stage_cost(name: str, cost: Cost) -> StageCost:
    """What a stage took, with its name."""
    return StageCost(
        name,
        cost.gradient_evaluations,
        cost.density_evaluations,
        cost.seconds,
        cost.compile_seconds,
        cost.trace_seconds,
        cost.programs,
    )


def cost_of(stage: StageCost) -> Cost:
    """What a stage took, without its name."""
    return Cost(
        stage.gradient_evaluations,
        stage.density_evaluations,
        stage.seconds,
        stage.compile_seconds,
        stage.programs,
        stage.trace_seconds,
    )


def read_cost(record: Mapping[str, Any]) -> Cost:
    """The cost of its plain values, as a file has them; without stages in those of old."""
    parts = dict(record)
    stages = tuple(StageCost(**stage) for stage in parts.pop("stages", ()))
    return replace(Cost(**parts), stages=stages)
