"""StoreMemory: a run's memory on disk. Made again, the run finds there what it had computed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import jax
import numpy as np

from refti.draws.cost import Cost
from refti.errors import StoreError
from refti.paths.path import Leg
from refti.run.archive import from_bytes, places, to_bytes
from refti.run.elsewhere import Seen
from refti.run.problem import Problem
from refti.run.rounds import RunState
from refti.run.spread_blocks import SpreadBlocks
from refti.run.store.directory import log_event
from refti.run.store.keeper import Keeper
from refti.run.store.requests import Request, block_name, write_request
from refti.run.store.sharing import Sharing
from refti.sampling.block import Block, Points, Rung, run_block
from refti.sampling.evaluation_cache import Evaluated, EvaluationCache, RecordingCache
from refti.sampling.kernels.base import Trace
from refti.sampling.kernels.registry import KERNELS
from refti.sampling.memory import Forgetful
from refti.sampling.metering import Meter

Value = TypeVar("Value")
MADE_OF_OTHERS = ("plan", "pilot ")  # values whose blocks are kept too: holes in these are mended
EVALUATIONS = "evaluations "  # what the names of evaluated points begin with


@dataclass(frozen=True, eq=False)
class StoreMemory:
    """What a run, or a run beside it, keeps.

    A density without gradients is remembered point by point, and all else computed again from
    that: whoever asks for a point then finds, and pays, what they would have undisturbed.

    Attributes:
        keeper: of bytes.
        problem: what the run is to find; densities in files stand for those of this problem.
        prefix: that tells the names of this run from those of others beside it.
        spread: runs blocks elsewhere, if anything does.
        sharing: offers dear blocks to processes that were told to make the same run.
    """

    keeper: Keeper
    problem: Problem
    prefix: str = ""
    spread: SpreadBlocks | None = None
    sharing: Sharing | None = None

    @property
    def workers(self) -> int:
        """How many blocks run at once elsewhere."""
        if self.spread is not None:
            return self.spread.supervisor.workers
        return 0 if self.sharing is None else self.sharing.workers

    @property
    def earlier(self) -> Sequence[Mapping[str, Any]]:
        """The tallies of processes that worked on the run before; one beside has none."""
        return () if self.prefix else self.keeper.earlier

    @property
    def rejected_elsewhere(self) -> Seen:
        """What the models have rejected in processes that blocks were sent to."""
        return () if self.spread is None else self.spread.rejections()

    def tally_by(self, tally: Callable[[], Mapping[str, Any]]) -> None:
        """Writes down with every bundle what another process could not see for itself."""
        if not self.prefix:
            self.keeper.tally = tally

    def probe(self, points: np.ndarray) -> None:
        """Remembers posterior draws, x[chain, draw, dim], at which models can be compared."""
        if not self.prefix:
            self.keeper.probes = points.reshape(-1, points.shape[-1])

    def log(self, event: str, **values: Any) -> None:
        """Adds to the run's log of events."""
        beside = {"beside": self.prefix.strip()} if self.prefix else {}
        log_event(self.keeper.folder, event, **beside, **values)

    def about(self, problem: Problem) -> StoreMemory:
        """The memory of the same run in other coordinates."""
        spread = None if self.spread is None else self.spread.about(problem)
        return replace(self, problem=problem, spread=spread)

    def beside(self, problem: Problem, prefix: str) -> StoreMemory:
        """The memory of a run beside this one."""
        spread = None if self.spread is None else self.spread.about(problem)
        return StoreMemory(self.keeper, problem, f"{self.prefix}{prefix} ", spread)

    def recall(self, name: str, compute: Callable[[], Value], meter: Meter) -> Value:
        """The value of this name, read if it was kept."""
        if self._by_values:
            return compute()
        is_made_of_others = name.startswith(MADE_OF_OTHERS)
        found = None if is_made_of_others and self.keeper.has_holes else self._read(name, meter)
        if found is not None:
            return found[0]
        before, begun = meter.spent, time.perf_counter()
        cache = meter.cache
        meter.cache = record = RecordingCache(cache)
        try:
            value = compute()
        finally:
            meter.cache = cache
        self._keep(name, (value,), record, (meter.spent - before).timeless, begun)
        return value

    def run_block(
        self,
        leg: Leg,
        rung: Rung,
        keys: tuple[jax.Array, ...],
        *,
        iterations: int,
        meter: Meter,
        adapting: bool,
        points: Points,
    ) -> Block:
        """The block, read if it was kept."""
        if self._by_values:  # whose points are remembered here
            return run_block(
                leg,
                rung,
                keys,
                iterations=iterations,
                meter=meter,
                adapting=adapting,
                points=points,
            )
        name = block_name(rung, keys, iterations, adapting, points)
        found = self._read_block(name, rung, meter)
        if found is not None:
            return found
        settings: Any = {"iterations": iterations, "adapting": adapting, "points": points}
        if self.sharing is None or self.spread is not None:
            return self._make_block(name, leg, rung, keys, meter, settings)
        wanted = Request(leg, rung, keys, settings, self.problem)
        with self.sharing.turn(name, rung.moves, partial(write_request, wanted)) as is_ours:
            # What somebody else wrote may be damaged.
            found = None if is_ours else self._read_block(name, rung, meter)
            if found is None:
                found = self._make_block(name, leg, rung, keys, meter, settings)
                if found.usage.programs == 0:
                    self.sharing.took(rung.moves, found.usage.seconds)
            return found

    def _read_block(self, name: str, rung: Rung, meter: Meter) -> Block | None:
        found = self._read(name, meter)
        if found is None:
            return None
        state, step_size, trace, usage = found
        state = KERNELS[rung.kernel].state_kind(*state)
        return Block(replace(rung, state=state, step_size=step_size), trace, usage)

    def _make_block(
        self,
        name: str,
        leg: Leg,
        rung: Rung,
        keys: tuple[jax.Array, ...],
        meter: Meter,
        settings: Any,
    ) -> Block:
        begun, part = time.perf_counter(), meter.of_a_part()
        part.cache = record = RecordingCache(meter.cache)
        run = run_block if self.spread is None else self.spread
        block = run(leg, rung, keys, meter=part, **settings)
        # Whatever else a rung has is there already when a block is asked for; and seconds are not
        # the same twice.
        usage = block.usage.timeless
        parts = tuple(block.rung.state), block.rung.step_size, _on_host(block.trace), usage
        self._keep(name, parts, record, usage, begun)
        return block

    def evaluations(self) -> EvaluationCache:
        """The cache of the run; that of one by values has all points evaluated before."""
        if not self._by_values:
            return EvaluationCache()
        start = f"{self.prefix}{EVALUATIONS}"
        before: dict[tuple[int, bytes], float] = {}
        for name in self.keeper.bundles.names:
            content = self.keeper.find(name) if name.startswith(start) else None
            for density, x, values in [] if content is None else self._evaluated(content[1]):
                rows = zip(x, values, strict=True)
                before |= {(id(density), row.tobytes()): float(value) for row, value in rows}

        def note(new: Evaluated) -> None:
            if len(new.x) and id(new.density) in self._names:
                digest = hashlib.sha256(new.x.tobytes()).hexdigest()[:32]
                name = f"{EVALUATIONS}{self._names[id(new.density)]} {digest}"
                self._write(name, self._record([new]), None, 0.0)

        return EvaluationCache(before=before, note=note)

    @property
    def _by_values(self) -> bool:
        return not all(end.leg.has_gradient for end in self.problem.ends)

    @property
    def _names(self) -> dict[int, str]:
        """The places of densities in the problem, by their ids."""
        return {id(density): place for place, density in places(self.problem).items()}

    def _read(self, name: str, meter: Meter) -> Any:
        """What was kept under a name, paid for as if it were computed; None if nothing was."""
        found = self.keeper.find(f"{self.prefix}{name}")
        if found is None:
            return None
        entry, content = found
        try:
            value, evaluated = from_bytes(content, self.problem)
        except StoreError:  # as whole as it was written, but by a version that wrote otherwise
            return None
        for place, x, values in evaluated:
            meter.cache.keep(places(self.problem)[place], x, values)
        meter.count(gradients=entry.gradients, densities=entry.densities)
        return value

    def _keep(
        self, name: str, value: Any, evaluated: RecordingCache, cost: Cost, begun: float
    ) -> None:
        content = value, self._record(evaluated.kept)
        self._write(name, content, cost, time.perf_counter() - begun)

    def _write(self, name: str, content: Any, cost: Cost | None, seconds: float) -> None:
        value = content[0][0] if content[0] else None
        # A plan is made in coordinates that the run did not know before.
        problem = value.problem if isinstance(value, RunState) else self.problem
        self.keeper.keep(
            f"{self.prefix}{name}",
            to_bytes(content, problem),
            gradients=0 if cost is None else cost.gradient_evaluations,
            densities=0 if cost is None else cost.density_evaluations,
            seconds=seconds,
        )

    def _record(self, evaluated: Iterable[Evaluated]) -> tuple[tuple[str, Any, Any], ...]:
        """Evaluated points for a file, those of the problem's own densities."""
        names = self._names
        return tuple(
            (names[id(e.density)], e.x, e.values) for e in evaluated if id(e.density) in names
        )

    def _evaluated(self, content: bytes) -> list[Evaluated]:
        """Evaluated points of a file."""
        known = places(self.problem)
        return [Evaluated(known[place], x, v) for place, x, v in from_bytes(content, self.problem)]


class NoStore(Forgetful):
    """The memory of a run that is kept nowhere."""

    earlier: tuple[Mapping[str, Any], ...] = ()

    def __init__(self, spread: SpreadBlocks | None = None) -> None:
        if spread is not None:
            self.run_block = spread
            self.workers = spread.supervisor.workers
        self._spread = spread

    @property
    def rejected_elsewhere(self) -> Seen:
        """What the models have rejected in processes that blocks were sent to."""
        return () if self._spread is None else self._spread.rejections()

    def about(self, problem: Problem) -> NoStore:
        """The same for the problem in other coordinates."""
        return NoStore(None if self._spread is None else self._spread.about(problem))

    def beside(self, problem: Problem, prefix: str) -> NoStore:
        """The same for a run beside this one."""
        del prefix
        return self.about(problem)

    def tally_by(self, tally: Callable[[], Mapping[str, Any]]) -> None:
        """Nothing is written."""

    def probe(self, points: np.ndarray) -> None:
        """Nothing is remembered."""


def _on_host(trace: Trace) -> Trace:
    return Trace(*(np.asarray(part) for part in trace))
