"""Workers: where a user's function is called, here or in processes beside; never by a fork."""

from __future__ import annotations

import atexit
import os
import signal
import threading
import warnings
import weakref
from concurrent.futures import BrokenExecutor
from itertools import pairwise
from typing import Any

import cloudpickle
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
from refti.inputs.python.tuning import TUNING

ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    )
}


class Workers:
    """Calls of one function, in this process one at a time or in several others side by side.

    Processes are begun when first needed and end with the workers, or with Python.
    """

    def __init__(self, call: Call, processes: int):
        self.call = call
        self.processes = processes
        self._executor: Any = None
        self._lock = threading.Lock()
        # Rungs run in threads; a function that is called here need know nothing of that.
        self._one_at_a_time = threading.Lock()

    def __call__(self, batch: Batch) -> Answers:
        """The answers at all points of a batch, in order."""
        if self.processes > 1:
            try:
                return self._call_in_processes(batch)
            except BrokenExecutor:
                pass  # a worker was killed, perhaps for its memory: once more with new ones
            try:
                return self._call_in_processes(batch)
            except BrokenExecutor as error:
                raise ModelError(
                    f"{self.call.role} ends the processes it runs in ({describe_error(error)}), "
                    "twice over for the same points. Check that it neither exits nor runs "
                    "out of memory, or use processes=1."
                ) from error
        with self._one_at_a_time:
            return self.call(batch)

    def close(self) -> None:
        """Ends the processes."""
        with self._lock:
            executor, self._executor = self._executor, None
        _end(executor)

    def _call_in_processes(self, batch: Batch) -> Answers:
        executor = self._find_processes()
        if executor is None:
            return self(batch)
        count = size_of(batch)
        edges = np.linspace(0, count, min(count, TUNING.parts_each * self.processes) + 1).astype(
            int
        )
        try:
            todo = [
                executor.submit(_call_function, slice_batch(batch, int(start), int(stop)))
                for start, stop in pairwise(edges)
            ]
            return join_answers([task.result() for task in todo])
        except BrokenExecutor:
            self._forget(executor)
            raise

    def _find_processes(self) -> Any:
        """The processes, begun if there are none; None where the function cannot be sent there."""
        with self._lock:
            if self._executor is None and self.processes > 1:
                try:
                    self._executor = _start_processes(self.call, self.processes)
                except Exception as error:
                    self.processes = 1
                    warnings.warn(
                        f"{self.call.role} cannot be sent to other processes "
                        f"({describe_error(error)}), so it is called in this one, one point at a "
                        "time. Define it at the top of a module, or use processes=1.",
                        stacklevel=2,
                    )
            return self._executor

    def _forget(self, executor: Any) -> None:
        with self._lock:
            if self._executor is executor:
                self._executor = None
        _end(executor)


def choose_processes(processes: int | None, seconds: float, vectorized: bool) -> int:
    """How many processes a function is called in, from the time that a call takes."""
    if processes is not None:
        return processes
    return 1 if vectorized or seconds < TUNING.slow_call else os.cpu_count() or 1


def _start_processes(call: Call, processes: int) -> Any:
    """Processes that hold the function, after one of them was seen to have it."""
    from loky import ProcessPoolExecutor

    function = cloudpickle.dumps(call)
    executor = ProcessPoolExecutor(
        processes,
        timeout=TUNING.idle_seconds,
        initializer=_receive_function,
        initargs=(function,),
        env=ONE_THREAD,
    )
    _RUNNING.add(executor)
    try:
        executor.submit(_has_function).result()
    except BaseException:
        _end(executor)
        raise
    return executor


def _end(executor: Any) -> None:
    if executor is not None:
        _RUNNING.discard(executor)
        executor.shutdown(wait=True, kill_workers=True)


def _receive_function(function: bytes) -> None:
    """Makes a new process ready: the function travels once, not with every batch."""
    # The process that asked hears of Ctrl-C, or its end, and ends its workers in good order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        _HELD["call"] = cloudpickle.loads(function)
    except Exception as error:  # told to who asks, in words, instead of a broken pool
        _HELD["error"] = error


def _has_function() -> None:
    if "call" not in _HELD:
        raise ImportError(describe_error(_HELD["error"]))


def _call_function(batch: Batch) -> Answers:
    _has_function()
    answers: Answers = _HELD["call"](batch)
    return answers


@atexit.register
def end_all() -> None:
    """Ends the processes of all workers there are."""
    for executor in list(_RUNNING):
        _end(executor)


_HELD: dict[str, Any] = {}
_RUNNING: weakref.WeakSet[Any] = weakref.WeakSet()
