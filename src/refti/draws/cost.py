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

    @property
    def evaluations(self) -> int:
        """Gradients and densities together."""
        return self.gradient_evaluations + self.density_evaluations

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.gradient_evaluations + other.gradient_evaluations,
            self.density_evaluations + other.density_evaluations,
            self.seconds + other.seconds,
            self.compile_seconds + other.compile_seconds,
            self.programs + other.programs,
        )


NOTHING = Cost(0, 0, 0.0, 0.0, 0)


@dataclass(frozen=True)
class Budget:
    """What a run may take; evaluations are gradients and densities together."""

    seconds: float = float("inf")
    evaluations: float = float("inf")
