"""Counts: what the models of a run rejected, and when, also in other processes and before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

from refti.draws.cost import Cost
from refti.models.rejections import Rejections
from refti.run.elsewhere import Seen, together
from refti.run.problem import Problem
from refti.sampling.metering import Meter


class Tallies(Protocol):
    """What a run's memory knows of other processes."""

    @property
    def earlier(self) -> Sequence[Mapping[str, Any]]:
        """The last tally of each process that works on the run, or did."""
        ...

    @property
    def rejected_elsewhere(self) -> Seen:
        """What the models have rejected in processes that blocks were sent to."""
        ...


@dataclass(frozen=True)
class Counts:
    """What the models had rejected, and what was spent, at some moment of a run."""

    rejections: Seen
    evaluations: int

    @property
    def stopped(self) -> int:
        """How many densities the models had given up for taking too long."""
        return sum(one.stopped for one in self.rejections if one is not None)


class Counting:
    """Counts at the moments of a run that matter: its start, its plan, and the end of sampling.

    Args:
        problem: whose models are looked at.
        meter: of the run.
        tallies: of processes that worked on the run before, or that work on it now.
    """

    def __init__(self, problem: Problem, meter: Meter, tallies: Tallies) -> None:
        self._problem, self._meter, self._tallies = problem, meter, tallies
        self._before = spent_before(tallies.earlier)
        self._start = self._now()
        self._plan: Counts | None = None
        self._end: Counts | None = None

    def planned(self) -> None:
        """Marks that sampling begins."""
        self._plan = self._now()

    def sampled(self) -> None:
        """Marks that sampling has ended."""
        self._end = self._now()

    @property
    def stopped_share(self) -> float:
        """The share of evaluations on the path that took too long and were given up."""
        assert self._plan is not None
        end = self._end or self._now()
        stopped = end.stopped - self._plan.stopped
        stopped += sum(int(one.get("stopped_on_path", 0)) for one in self._tallies.earlier)
        return stopped / max(1, end.evaluations - self._plan.evaluations)

    @property
    def rejected(self) -> Rejections | None:
        """What the first model that rejected anything has rejected since the run began."""
        others = [one["rejected"] for one in self._tallies.earlier if one.get("rejected")]
        found = [Rejections(**{**one, "where": tuple(one["where"])}) for one in others]
        return reduce(together, [*found, self._new()], None)

    def tally(self) -> dict[str, Any]:
        """What a process that goes on with this run cannot see for itself."""
        spent, new = self._meter.spent - self._before, self._new()
        on_path = 0 if self._plan is None else self._now().stopped - self._plan.stopped
        return {
            "seconds": spent.seconds,
            "compile_seconds": spent.compile_seconds,
            "trace_seconds": spent.trace_seconds,
            "programs": spent.programs,
            "stopped_on_path": on_path,
            "rejected": None if new is None else new.record(),
        }

    def _new(self) -> Rejections | None:
        return new_rejections(self._start.rejections, self._now().rejections)

    def _now(self) -> Counts:
        here = seen_by(self._problem)
        there = self._tallies.rejected_elsewhere or (None,) * len(here)
        return Counts(tuple(map(together, here, there)), self._meter.spent.evaluations)


def seen_by(problem: Problem) -> Seen:
    """What each model of a problem has rejected in this process."""
    return tuple(model.rejections() for model in problem.given)


def new_rejections(before: Seen, now: Seen) -> Rejections | None:
    """What the first model that rejected anything has rejected since."""
    pairs = zip(now, before, strict=True)
    new = (None if found is None else found.since(seen) for found, seen in pairs)
    return next((found for found in new if found is not None), None)


def spent_before(earlier: Iterable[Mapping[str, Any]]) -> Cost:
    """The time that processes took which worked on a run before; its evaluations count anew."""
    tallies = list(earlier)
    seconds, compiling, tracing = (
        sum(float(one.get(name, 0.0)) for one in tallies)
        for name in ("seconds", "compile_seconds", "trace_seconds")
    )
    programs = sum(int(one.get("programs", 0)) for one in tallies)
    return Cost(0, 0, seconds, compiling, programs, tracing)
