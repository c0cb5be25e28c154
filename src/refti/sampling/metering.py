"""Metering: evaluations counted where the work is done, and held to the budget."""

from __future__ import annotations

import time
from threading import Lock
from typing import Any

import numpy as np

from refti.draws.cost import Budget, Cost


class OutOfBudgetError(Exception):
    """The budget is spent: a signal within a run, which ends with what it has."""


class EvaluationCache:
    """Log densities that a run knows already, so that none is evaluated twice at one point."""

    MOST = 100_000

    def __init__(self) -> None:
        self._values: dict[tuple[int, bytes], float] = {}
        self._lock = Lock()  # rungs run in threads, and one may forget what another looks up

    def look_up(self, density: object, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the points x[n, dim] are known, and the values [n] there; 0 elsewhere."""
        with self._lock:
            found = [self._values.get((id(density), row.tobytes())) for row in x]
        known = np.array([value is not None for value in found], dtype=bool)
        return known, np.array([0.0 if value is None else value for value in found])

    def keep(self, density: object, x: np.ndarray, values: np.ndarray) -> None:
        """Adds values, and forgets the oldest where there are too many."""
        new = {(id(density), row.tobytes()): float(v) for row, v in zip(x, values, strict=True)}
        with self._lock:
            self._values.update(new)
            while len(self._values) > self.MOST:
                del self._values[next(iter(self._values))]


class Meter:
    """Counts evaluations, seconds and compiled programs while a run goes on."""

    def __init__(self, budget: Budget | None = None) -> None:
        self._begun = time.perf_counter()
        self._compile_seconds = 0.0
        self._programs = 0
        self.budget = Budget() if budget is None else budget
        self._lock = Lock()
        self.gradients = 0
        self.densities = 0
        self.cache = EvaluationCache()

    def count(self, *, gradients: int = 0, densities: int = 0) -> None:
        """Adds evaluations; from any thread."""
        with self._lock:
            self.gradients += gradients
            self.densities += densities

    def reserve(self, densities: int) -> None:
        """Counts densities before they are evaluated, or ends the run if there is no room."""
        with self._lock:
            if self.spent + densities > self.budget.evaluations or self.exhausted:
                raise OutOfBudgetError
            self.densities += densities

    def call(self, program: Any, *arguments: Any, **options: Any) -> Any:
        """The program's result; the call's time counts as compiling if it built a new one."""
        if self.exhausted:
            raise OutOfBudgetError
        known, begun = program._cache_size(), time.perf_counter()
        result = program(*arguments, **options)
        if program._cache_size() > known:
            with self._lock:
                self._compile_seconds += time.perf_counter() - begun
                self._programs += 1
        return result

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self.spent >= self.budget.evaluations or self._seconds >= self.budget.seconds

    @property
    def spent(self) -> int:
        """All evaluations so far."""
        return self.gradients + self.densities

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._begun

    def read(self) -> Cost:
        """The cost so far."""
        return Cost(
            gradient_evaluations=self.gradients,
            density_evaluations=self.densities,
            seconds=self._seconds,
            compile_seconds=self._compile_seconds,
            programs=self._programs,
        )
