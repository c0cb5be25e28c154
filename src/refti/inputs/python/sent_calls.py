"""Sent calls: a user's function called by the workers of an executor, as those of a cluster."""

from __future__ import annotations

import time
import weakref
from concurrent.futures import Future
from functools import lru_cache
from itertools import pairwise
from typing import Any

import cloudpickle
import numpy as np

from refti.errors import ModelError
from refti.executors.supervisor import Supervisor
from refti.executors.task import Task
from refti.inputs.python.calls import (
    Answers,
    Batch,
    Call,
    describe_error,
    join_answers,
    size_of,
    slice_batch,
)
from refti.inputs.python.tuning import TUNING
from refti.inputs.python.workers import RUNNING
from refti.models.density import OutOfTimeError


class SentCalls:
    """Calls of one function by the workers of an executor; lost ones are sent again.

    Attributes:
        call: the function.
    """

    def __init__(self, call: Call, executor: Any) -> None:
        """Opens the executor.

        Raises ExecutorError if it cannot be used, and ModelError if the function cannot be sent.
        """
        self.call = call
        try:
            self._packed = cloudpickle.dumps(call)
        except Exception as error:
            raise ModelError(
                f"{call.role} cannot be sent to other processes ({describe_error(error)}). Define "
                "it at the top of a module, or leave out executor=."
            ) from error
        self._crew = Supervisor(executor)
        weakref.finalize(self, self._crew.close, at_once=True)
        RUNNING.add(self)

    @property
    def processes(self) -> int:
        """How many call it at a time."""
        return self._crew.workers

    def __call__(self, batch: Batch, deadline: float | None = None) -> Answers:
        """The answers at all points of a batch, in order.

        Raises OutOfTimeError if they are not there by the deadline, of time.perf_counter().
        """
        count = size_of(batch)
        edges = np.linspace(0, count, min(count, TUNING.parts_each * self.processes) + 1)
        sent = [
            self._crew.submit(self._task(slice_batch(batch, start, stop), start))
            for start, stop in pairwise(edges.astype(int).tolist())
        ]
        return join_answers([_answer(one, deadline) for one in sent])

    def close(self) -> None:
        """Lets the workers go."""
        self._crew.close(at_once=True)

    def _task(self, part: Batch, start: int) -> Task:
        return Task(f"{self.call.role} from point {start} on", call_packed, (self._packed, part))


def call_packed(packed: bytes, batch: Batch) -> Answers:
    """The answers of a packed call, in a worker."""
    return _unpacked(packed)(batch)


@lru_cache(maxsize=8)
def _unpacked(packed: bytes) -> Call:
    call: Call = cloudpickle.loads(packed)
    return call


def _answer(sent: Future[Any], deadline: float | None) -> Answers:
    left = None if deadline is None else max(0.0, deadline - time.perf_counter())
    try:
        answers: Answers = sent.result(left)
    except TimeoutError:
        raise OutOfTimeError from None
    return answers
