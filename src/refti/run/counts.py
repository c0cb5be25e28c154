"""Counts: what the models of a run rejected, and when, also before the run was cut short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from refti.draws.cost import Cost
from refti.models.rejections import Rejections
from refti.run.problem import Counts, Problem
from refti.sampling.metering import Meter


class Counting:
    """Counts at the moments of a run that matter: its start, its plan, and the end of sampling.

    Args:
        problem: whose models are looked at.
        meter: of the run.
        earlier: the tallies of processes that worked on the run before.
    """

    def __init__(
        self, problem: Problem, meter: Meter, earlier: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        self._problem, self._meter = problem, meter
        self._earlier = list(earlier)
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
        stopped += sum(int(one.get("stopped_on_path", 0)) for one in self._earlier)
        return stopped / max(1, end.evaluations - self._plan.evaluations)

    @property
    def rejected(self) -> Rejections | None:
        """What the first model that rejected anything has rejected since the run began."""
        new = next((found for found in self._new() if found is not None), None)
        before = [Rejections(**one["rejected"]) for one in self._earlier if one.get("rejected")]
        found = [*before, *([] if new is None else [new])]
        if not found:
            return None
        first = found[0]
        count, stopped = (sum(getattr(f, name) for f in found) for name in ("count", "stopped"))
        return Rejections(count, first.message, tuple(first.where), stopped)

    def tally(self) -> dict[str, Any]:
        """What a process that goes on with this run cannot see for itself."""
        spent = self._meter.spent - spent_before(self._earlier)
        new = next((found for found in self._new() if found is not None), None)
        on_path = 0 if self._plan is None else self._now().stopped - self._plan.stopped
        return {
            "seconds": spent.seconds,
            "compile_seconds": spent.compile_seconds,
            "trace_seconds": spent.trace_seconds,
            "programs": spent.programs,
            "stopped_on_path": on_path,
            "rejected": None if new is None else new.record(),
        }

    def _new(self) -> Iterable[Rejections | None]:
        for model, seen in zip(self._problem.models, self._start.rejections, strict=True):
            now = model.rejections()
            yield None if now is None else now.since(seen)

    def _now(self) -> Counts:
        return self._problem.count(self._meter.spent)


def spent_before(earlier: Iterable[Mapping[str, Any]]) -> Cost:
    """The time that processes took which worked on a run before; its evaluations count anew."""
    tallies = list(earlier)
    seconds, compiling, tracing = (
        sum(float(one.get(name, 0.0)) for one in tallies)
        for name in ("seconds", "compile_seconds", "trace_seconds")
    )
    programs = sum(int(one.get("programs", 0)) for one in tallies)
    return Cost(0, 0, seconds, compiling, programs, tracing)
