"""Metering: evaluations counted where the work is done, and held to the budget."""

from __future__ import annotations

import time
from contextlib import nullcontext
from threading import Lock
from typing import Any

from refti.draws.cost import NOTHING, Budget, Cost
from refti.interruption import end_if_asked
from refti.models.compiled import Compiled
from refti.progress import compiling
from refti.sampling.building import built
from refti.sampling.evaluation_cache import EvaluationCache


class OutOfBudgetError(Exception):
    """The budget is spent: a signal within a run, which ends with what it has."""


class Meter:
    """Counts evaluations, seconds and compiled programs while a run goes on, within its budget.

    The budget is looked at before every call of a compiled program, which is a block of sampling
    or a batch of evaluations. A meter `of_a_part` counts that part by itself, and all it counts
    also counts here.
    """

    def __init__(self, budget: Budget | None = None, *, spent: Cost = NOTHING) -> None:
        self.budget = Budget() if budget is None else budget
        self.cache = EvaluationCache()
        self._begun, self._built = time.perf_counter(), built()
        self._spent = spent
        self._lock = Lock()
        self._whole: Meter | None = None

    def of_a_part(self) -> Meter:
        """A meter of one part of the run, which adds to this one and shares its cache."""
        part = Meter(self.budget)
        part.cache, part._whole = self.cache, self
        return part

    def count(self, *, gradients: int = 0, densities: int = 0) -> None:
        """Adds evaluations; from any thread."""
        self._add(Cost(gradients, densities, 0.0, 0.0, 0))

    def reserve(self, densities: int) -> None:
        """Counts densities before they are evaluated; raises if the budget has no room for them."""
        end_if_asked()
        root, cost = self._root, Cost(0, densities, 0.0, 0.0, 0)
        with root._lock:
            if root.spent.evaluations + densities > self.budget.evaluations or root.exhausted:
                raise OutOfBudgetError
            root._spent += cost
        part = self
        while part is not root and part._whole is not None:
            with part._lock:
                part._spent += cost
            part = part._whole

    def call(self, program: Any, *arguments: Any, **options: Any) -> Any:
        """The result of a program, which is counted if it had to be built."""
        end_if_asked()
        if self._root.exhausted:
            raise OutOfBudgetError
        if isinstance(program, Compiled):
            program = program.program_for(arguments[0])
        known = program._cache_size()
        with compiling() if known == 0 else nullcontext():
            result = program(*arguments, **options)
        if program._cache_size() > known:
            self._add(Cost(0, 0, 0.0, 0.0, 1))
        return result

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        seconds = self._spent.seconds + time.perf_counter() - self._begun
        return self._spent.evaluations >= self.budget.evaluations or seconds >= self.budget.seconds

    @property
    def deadline(self) -> float | None:
        """When the seconds of the budget are spent, of time.perf_counter(); None if never."""
        root = self if self._whole is None else self._whole
        ends = root._begun + root.budget.seconds - root._spent.seconds
        return ends if ends < float("inf") else None

    @property
    def spent(self) -> Cost:
        """What was spent so far."""
        since, now = self._built, built()
        building = now.seconds - since.seconds
        tracing = building - (now.compile_seconds - since.compile_seconds)
        seconds = time.perf_counter() - self._begun
        return self._spent + Cost(0, 0, seconds, building, 0, max(0.0, tracing))

    @property
    def _root(self) -> Meter:
        """The meter of the whole run."""
        return self if self._whole is None else self._whole._root

    def _add(self, cost: Cost) -> None:
        with self._lock:
            self._spent += cost
        if self._whole is not None:
            self._whole._add(cost)
