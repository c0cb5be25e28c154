"""Supervisor: sees every task through, whatever becomes of the workers that run it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from statistics import median
from threading import Lock
from typing import Any, Self

from refti.executors.dispatcher import Dispatcher
from refti.executors.resolve import resolve_executor
from refti.executors.signals import stopping_when_terminated
from refti.executors.task import Outcome, Spread, Task
from refti.executors.tuning import TUNING
from refti.executors.worker_side import peak_megabytes


class Supervisor:
    """Sends tasks to workers, and again where workers are lost.

    It can be used from several threads. Close it, or use it in a `with`, to let the workers go.
    """

    def __init__(
        self, executor: Any = None, *, workers: int | None = None, attempts: int = TUNING.attempts
    ) -> None:
        """Opens the pool.

        Args:
            executor: where tasks run; see `resolve_executor`.
            workers: the number of processes, where this is ours to choose.
            attempts: starts of a task whose workers are lost, after which it is given up.

        Raises:
            ExecutorError: there is no such pool, it needs an extra, or it does not answer.
        """
        pool = resolve_executor(executor, workers)
        self._dispatcher = None if pool is None else Dispatcher(pool, attempts)
        self._here = Spread()
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self.close(at_once=kind is not None)

    @property
    def workers(self) -> int:
        """How many tasks run at the same time."""
        return 1 if self._dispatcher is None else self._dispatcher.workers

    @property
    def spread(self) -> Spread:
        """What the tasks have cost so far."""
        return self._here if self._dispatcher is None else self._dispatcher.spread

    def submit(self, task: Task) -> Future[Any]:
        """What the task's function will return, or the error that kept it from that.

        Without workers the task is run here and now.
        """
        return self._run_here(task) if self._dispatcher is None else self._dispatcher.submit(task)

    def run(
        self, tasks: Iterable[Task], on_done: Callable[[Outcome], None] = lambda outcome: None
    ) -> Spread:
        """Runs tasks until all have come to their end, well or badly; tells of each as it does.

        Tasks are taken one by one, as workers have room for them, so that there may be any number.
        An interrupt, or a request to terminate, ends the workers at once and is raised.

        Args:
            tasks: in the order in which they are to begin.
            on_done: called in this thread.
        """
        waiting = iter(tasks)
        finished: SimpleQueue[Outcome] = SimpleQueue()
        running, is_more = 0, True
        with stopping_when_terminated():
            try:
                while is_more or running:
                    while is_more and running < self.workers * TUNING.ahead + 1:
                        task = next(waiting, None)
                        if task is None:
                            is_more = False
                        elif task.is_done is not None and task.is_done():
                            on_done(Outcome(task, was_done=True))
                        else:
                            running += 1
                            self._start(task, finished)
                        if not finished.empty():  # as at once where there are no workers
                            break
                    if running:
                        on_done(finished.get())
                        running -= 1
            except BaseException:
                self.close(at_once=True)
                raise
        return self.spread

    def sending_seconds(self) -> float:
        """What it costs to send a task and to hear of it: the median over some that do nothing."""
        costs = []
        for number in range(TUNING.probes + 1):
            began, ran = time.monotonic(), self.spread.running
            self.submit(Task(f"probe {number}", _nothing)).result()
            costs.append(time.monotonic() - began - (self.spread.running - ran))
        return median(costs[1:])  # the first may have had to wait for a worker to start

    def close(self, *, at_once: bool = False) -> None:
        """Lets the workers go; tasks that have not come to their end fail."""
        if self._dispatcher is not None:
            self._dispatcher.close(at_once=at_once)

    def _start(self, task: Task, finished: SimpleQueue[Outcome]) -> None:
        def tell(future: Future[Any]) -> None:
            error = future.exception()
            finished.put(Outcome(task, None if error else future.result(), error))

        self.submit(task).add_done_callback(tell)

    def _run_here(self, task: Task) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        began = time.monotonic()
        try:
            future.set_result(task.function(*task.arguments))
        except (Exception, SystemExit) as error:  # as in a worker
            future.set_exception(error)
        seconds = time.monotonic() - began
        with self._lock:
            tasks, running = self._here.tasks + 1, self._here.running + seconds
            self._here = Spread(tasks, running, megabytes=peak_megabytes())
        return future


def _nothing() -> None:
    """Does nothing, in a worker."""
