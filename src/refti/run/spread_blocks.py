"""Spread blocks: those of rungs side by side run in other processes, where that is worth it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock, current_thread
from typing import Any

import jax

from refti.executors.supervisor import Supervisor
from refti.executors.task import Task
from refti.paths.path import Leg
from refti.run.elsewhere import Elsewhere, Seen
from refti.run.problem import Problem
from refti.run.remote_block import pack_problem, read_block, request_block, run_request
from refti.run.tuning import SPREAD
from refti.sampling.block import Block, Points, Rung, run_block
from refti.sampling.engine import SIDE_BY_SIDE
from refti.sampling.metering import Meter


@dataclass
class Measured:
    """What blocks and sending them cost, in seconds, and what models rejected, as far as known."""

    sending: float | None = None
    here: dict[int, float] = field(default_factory=dict)
    sent: int = 0
    elsewhere: Elsewhere = field(default_factory=Elsewhere)
    lock: Lock = field(default_factory=Lock)


@dataclass(frozen=True, eq=False)
class SpreadBlocks:
    """Runs blocks as `run_block` does, to the same bits.

    A block on which all else waits is run here. So are blocks that would cost about as much to
    send as to run, which is measured: the first blocks are always run here.

    Attributes:
        problem: whose blocks they are.
        supervisor: sends them, and again where a worker is lost.
        measured: what blocks have cost so far.
    """

    problem: Problem
    supervisor: Supervisor
    measured: Measured = field(default_factory=Measured)

    def about(self, problem: Problem) -> SpreadBlocks:
        """The same for the problem in other coordinates."""
        return replace(self, problem=problem)

    def rejections(self) -> Seen:
        """What the problem's models have rejected in other processes."""
        return self.measured.elsewhere.rejections(self.problem.given)

    def __call__(
        self,
        leg: Leg,
        rung: Rung,
        keys: tuple[jax.Array, ...],
        *,
        iterations: int,
        meter: Meter,
        adapting: bool = False,
        points: Points = "all",
    ) -> Block:
        """The block, run here or elsewhere."""
        if self._is_worth_sending(rung):
            request = request_block(
                self.problem,
                leg,
                rung,
                keys,
                iterations=iterations,
                adapting=adapting,
                points=points,
            )
            name = f"block at lambda {rung.lam:g}"
            answer = self.supervisor.submit(Task(name, run_request, (request,))).result()
            self.measured.elsewhere.hear(self.problem.given, answer.witnessed)
            block = read_block(answer.content, self.problem)
            used = block.usage
            meter.count(gradients=used.gradient_evaluations, densities=used.density_evaluations)
            self.measured.sent += 1
            return block
        begun = time.perf_counter()
        block = run_block(
            leg, rung, keys, iterations=iterations, meter=meter, adapting=adapting, points=points
        )
        seconds = time.perf_counter() - begun
        if block.usage.programs == 0 and seconds > 0:
            self.measured.here[rung.moves] = seconds
        return block

    def _is_worth_sending(self, rung: Rung) -> bool:
        if not current_thread().name.startswith(SIDE_BY_SIDE):
            return False
        here = self.measured.here.get(rung.moves)
        if here is None or here < SPREAD.least_seconds:
            return False
        with self.measured.lock:
            if self.measured.sending is None:
                self.measured.sending = self.supervisor.sending_seconds()
        return here > SPREAD.worth * self.measured.sending


@contextmanager
def spreading(problem: Problem, executor: Any) -> Iterator[SpreadBlocks | None]:
    """What runs the blocks of a problem elsewhere while it is open; None where nothing does.

    Raises ModelError if a model cannot be sent, and ExecutorError if the executor cannot be used.
    """
    if executor is None:
        yield None
        return
    pack_problem(problem)
    with Supervisor(executor) as supervisor:
        yield SpreadBlocks(problem, supervisor)
