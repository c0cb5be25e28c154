"""Cost: what a run took, and Budget, what it may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Evaluations and seconds of a run; `compile_seconds` is the part spent building programs."""

    gradient_evaluations: int
    density_evaluations: int
    seconds: float
    compile_seconds: float
    programs: int


@dataclass(frozen=True)
class Budget:
    """What a run may take; evaluations are gradients and densities together."""

    seconds: float = float("inf")
    evaluations: float = float("inf")
