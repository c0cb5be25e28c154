"""Processes of this machine, by loky: each a pool of its own, so that one that dies dies alone.

A process that is killed takes all calls of its pool with it. With one process a pool the others go
on undisturbed, and it is known which task was running where. Processes are started afresh, never
forked: a fork of a process in which JAX has started hangs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from threading import Lock, Thread
from typing import Any

from loky import ProcessPoolExecutor

from refti.executors.cores import environment_of_worker
from refti.executors.tuning import TUNING
from refti.executors.worker_side import begin_worker


class LokyPool:
    """Processes that are replaced when they are lost."""

    marks = True
    mends_itself = True

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._processes: list[ProcessPoolExecutor | None] = [None] * workers
        self._waiting: list[set[Future[Any]]] = [set() for _ in range(workers)]
        self._lock = Lock()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Sends a call to the process with the fewest, which is started if there is none."""
        with self._lock:
            for calls in self._waiting:
                calls.difference_update([call for call in calls if call.done()])
            place = min(range(self.workers), key=lambda index: len(self._waiting[index]))
            future = self._send(place, function, *arguments)
            self._waiting[place].add(future)
            return future

    def _send(self, place: int, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        process = self._processes[place]
        if process is not None:
            try:
                return process.submit(function, *arguments)
            except BrokenExecutor:  # it died since it was last heard of
                process.shutdown(wait=False, kill_workers=True)
        process = self._processes[place] = ProcessPoolExecutor(
            1,
            timeout=None,
            env={
                **environment_of_worker(self.workers),
                "LOKY_MAX_MEMORY_LEAK_SIZE": str(TUNING.growth_bytes),
            },
            initializer=begin_worker,
            initargs=(os.getpid(),),
        )
        return process.submit(function, *arguments)

    def is_loss(self, error: BaseException) -> bool:
        """Whether the process is gone."""
        return isinstance(error, BrokenExecutor)

    def close(self, *, at_once: bool = False) -> None:
        """Ends the processes, in the middle of their calls if it must be at once."""
        with self._lock:
            there = [process for process in self._processes if process is not None]
            self._processes = [None] * self.workers
        for process in there:
            if at_once:
                _end_at_once(process)
            else:
                process.shutdown(wait=True)


def _end_at_once(process: ProcessPoolExecutor) -> None:
    """Ends a process in the middle of its call; who was interrupted does not wait for long."""
    ending = Thread(
        target=process.shutdown, kwargs={"wait": True, "kill_workers": True}, daemon=True
    )
    ending.start()
    ending.join(TUNING.ending_seconds)
