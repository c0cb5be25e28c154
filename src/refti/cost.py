"""Cost: what a run took, counted where the work is done."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cost:
    """Evaluations and seconds of a run; `compile_seconds` is the part spent building programs."""

    gradient_evaluations: int
    density_evaluations: int
    seconds: float
    compile_seconds: float
    programs: int


class Meter:
    """Counts evaluations, seconds and compiled programs while a run goes on."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()
        self._compile_seconds = 0.0
        self._programs = 0
        self.gradients = 0
        self.densities = 0

    def call(self, program: Any, *arguments: Any, **options: Any) -> Any:
        """The program's result; the call's time counts as compiling if it built a new one."""
        known, begun = program._cache_size(), time.perf_counter()
        result = program(*arguments, **options)
        if program._cache_size() > known:
            self._compile_seconds += time.perf_counter() - begun
            self._programs += 1
        return result

    def read(self) -> Cost:
        """The cost so far."""
        return Cost(
            gradient_evaluations=self.gradients,
            density_evaluations=self.densities,
            seconds=time.perf_counter() - self._begun,
            compile_seconds=self._compile_seconds,
            programs=self._programs,
        )
