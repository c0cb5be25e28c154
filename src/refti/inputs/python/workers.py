"""Workers: where a user's function is called, here or in processes beside; never by a fork."""

from __future__ import annotations

import os
import threading
import time
import warnings
import weakref
from itertools import pairwise
from multiprocessing.connection import wait
from typing import Any

import numpy as np

from refti.errors import ModelError
from refti.inputs.python.calls import (
    Answers,
    Batch,
    Call,
    describe_error,
    join_answers,
    size_of,
    slice_batch,
)
from refti.inputs.python.child import Child, ChildEndedError
from refti.inputs.python.tuning import TUNING
from refti.models.density import OutOfTimeError


class Workers:
    """Calls of one function, in this process one at a time or in others beside.

    Processes are begun when first needed and end with the workers, or with Python. A function that
    crashes takes only its process along, and one that hangs ends with it when the time is up.

    Attributes:
        call: the function.
        processes: how many call it.
        beside: whether these are others than this one.
    """

    def __init__(self, call: Call, processes: int, *, beside: bool | None = None):
        self.call = call
        self.processes = processes
        self.beside = processes > 1 if beside is None else beside
        self._children: list[Child] = []
        self._idle: list[Child] = []
        self._changed = threading.Condition()
        # Rungs run in threads; a function that is called here need know nothing of that.
        self._one_at_a_time = threading.Lock()
        weakref.finalize(self, _end_all, self._children)
        RUNNING.add(self)

    def __call__(self, batch: Batch, deadline: float | None = None) -> Answers:
        """The answers at all points of a batch, in order.

        Raises OutOfTimeError if they are not there by the deadline, of time.perf_counter(); a
        function that is called in this process cannot be held to it.
        """
        if self.beside and self._begin():
            try:
                return self._call_beside(batch, deadline)
            except ChildEndedError:
                pass  # it was killed, perhaps for its memory: once more with new ones
            try:
                return self._call_beside(batch, deadline)
            except ChildEndedError as error:
                raise ModelError(
                    f"{self.call.role} kills the processes it runs in ({error}), twice for the "
                    "same points. Check that it does not crash, exit or run out of memory."
                ) from error
        with self._one_at_a_time:
            return self.call(batch)

    def close(self) -> None:
        """Ends the processes."""
        with self._changed:
            _end_all(self._children)
            self._idle.clear()

    def _begin(self) -> bool:
        """Begins the processes if there are none; False where the function cannot be sent there."""
        with self._changed:
            if self._children or not self.beside:
                return self.beside
            try:
                self._children.extend(Child(self.call) for _ in range(self.processes))
                self._idle.extend(self._children)
            except Exception as error:
                _end_all(self._children)
                if self.processes > 1:  # a quick one loses nothing but its safety
                    warnings.warn(
                        f"{self.call.role} cannot be sent to other processes "
                        f"({describe_error(error)}), so it is called in this one, one point at a "
                        "time. Define it at the top of a module, or use processes=1.",
                        stacklevel=2,
                    )
                self.beside, self.processes = False, 1
            return self.beside

    def _call_beside(self, batch: Batch, deadline: float | None) -> Answers:
        self._begin()
        mine = self._take(deadline)
        try:
            answers = _share_out(batch, mine, deadline)
        except BaseException:  # who was stopped in the middle of a call would answer the next one
            self._give_back(mine, spoilt=True)
            raise
        self._give_back(mine)
        return answers

    def _take(self, deadline: float | None) -> list[Child]:
        """All processes that nobody else uses, at least one."""
        with self._changed:
            while not self._idle:
                if not self._children:
                    raise ChildEndedError("another call killed them")
                if not self._changed.wait(_seconds_to(deadline)):
                    raise OutOfTimeError
            mine, self._idle[:] = list(self._idle), []
            return mine

    def _give_back(self, mine: list[Child], *, spoilt: bool = False) -> None:
        with self._changed:
            alive = [child for child in mine if child in self._children]
            if spoilt:
                _end_all(alive)
                self._children[:] = [child for child in self._children if child not in mine]
            else:
                self._idle.extend(alive)
            self._changed.notify_all()


def choose_processes(processes: int | None, seconds: float, vectorized: bool) -> int:
    """How many processes a function is called in, from the time that a call takes."""
    if processes is not None:
        return processes
    return 1 if vectorized or seconds < TUNING.slow_call else os.cpu_count() or 1


def _share_out(batch: Batch, children: list[Child], deadline: float | None) -> Answers:
    """The answers of some processes, each of which gets a further part when it is done."""
    count = size_of(batch)
    most = TUNING.parts_each * len(children) if len(children) > 1 else 1
    edges = np.linspace(0, count, min(count, most) + 1).astype(int)
    parts = [slice_batch(batch, int(start), int(stop)) for start, stop in pairwise(edges)]
    answers: list[Answers] = [Answers(np.zeros(0))] * len(parts)
    todo = list(enumerate(parts))[::-1]
    busy: dict[Child, int] = {}

    def hand_on(child: Child) -> None:
        if todo:
            index, part = todo.pop()
            child.send(part)
            busy[child] = index

    for child in children:
        hand_on(child)
    while busy:
        ready = wait([child.connection for child in busy], _seconds_to(deadline))
        if not ready:
            raise OutOfTimeError
        for child in [child for child in busy if child.connection in ready]:
            answers[busy.pop(child)] = child.receive()
            hand_on(child)
    return join_answers(answers)


def _seconds_to(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.perf_counter())


def _end_all(children: list[Child]) -> None:
    for child in children:
        child.end()
    children.clear()


def end_all() -> None:
    """Ends the processes of all workers there are."""
    for workers in list(RUNNING):
        workers.close()


RUNNING: weakref.WeakSet[Any] = weakref.WeakSet()
