"""Dispatcher: the thread that sends tasks to a pool, hears of them, and sends lost ones again."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import cloudpickle

from refti import errors
from refti.errors import ExecutorError, RefTIError
from refti.executors.markers import Markers
from refti.executors.pools import Pool
from refti.executors.task import Spread, Task
from refti.executors.tuning import TUNING
from refti.executors.worker_side import Failure, Report, run_packed

CLOSED = "The workers were released before {name} had finished. Run it again to continue."


@dataclass(eq=False)
class Sent:
    """A task on its way; only the dispatcher's thread changes it."""

    task: Task
    future: Future[Any] = field(default_factory=Future)
    packed: bytes | None = None
    marker: str | None = None
    starts: int = 0
    sent: float = 0.0


class Dispatcher:
    """Keeps a bounded number of tasks in a pool; all its state belongs to one thread."""

    def __init__(self, pool: Pool, attempts: int) -> None:
        self.spread = Spread()
        self._pool, self._attempts = pool, attempts
        self._markers = Markers() if pool.marks else None
        self._events: SimpleQueue[tuple[Sent, Future[Any] | None] | None] = SimpleQueue()
        self._pending: deque[Sent] = deque()
        self._in_flight: set[Sent] = set()
        self._last_seen: dict[str, tuple[float, float]] = {}
        self._fruitless = 0  # workers lost in a row before any of them began a task
        self._workers, self._counted = 0, 0.0
        self._lock, self._closed = Lock(), False
        self._thread = Thread(target=self._serve, daemon=True, name="refti supervisor")
        self._thread.start()

    @property
    def workers(self) -> int:
        """How many tasks run at the same time; a cluster's may come and go."""
        if time.monotonic() - self._counted > 1 or not self._workers:
            self._workers, self._counted = self._pool.workers, time.monotonic()
        return self._workers

    def submit(self, task: Task) -> Future[Any]:
        """What the task's function will return."""
        sent = Sent(task)
        with self._lock:
            if self._closed:
                raise ExecutorError(CLOSED.format(name=task.name))
            self._events.put((sent, None))
        return sent.future

    def close(self, *, at_once: bool) -> None:
        """Ends the thread and the pool; the futures of tasks that are not done fail."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._events.put(None)
        self._thread.join()
        self._pool.close(at_once=at_once or bool(self._in_flight))
        for sent in [*self._pending, *self._in_flight]:
            _fail(sent, ExecutorError(CLOSED.format(name=sent.task.name)))
        if self._markers is not None:
            self._markers.close()

    def _serve(self) -> None:
        while (event := self._events.get()) is not None:
            sent, done = event
            if done is None:
                self._pending.append(sent)
            else:
                self._in_flight.discard(sent)
                try:
                    self._hear(sent, done)
                except Exception as error:  # nobody may wait for ever for this thread
                    reason = f"{type(error).__name__}: {error}"
                    _fail(
                        sent, ExecutorError(f"What {sent.task.name} sent cannot be read: {reason}.")
                    )
            while self._pending and len(self._in_flight) < self.workers * TUNING.ahead:
                self._send(self._pending.popleft())

    def _send(self, sent: Sent) -> None:
        if sent.packed is None and not sent.future.set_running_or_notify_cancel():
            return
        try:
            if sent.packed is None:
                began = time.monotonic()
                sent.packed = cloudpickle.dumps((sent.task.function, sent.task.arguments))
                self._add(packing=time.monotonic() - began)
            sent.marker = None if self._markers is None else self._markers.next()
            sent.sent = time.monotonic()
            done = self._pool.submit(run_packed, sent.packed, sent.marker)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            _fail(sent, ExecutorError(f"{sent.task.name} cannot be sent to a worker: {reason}."))
            return
        self._in_flight.add(sent)
        done.add_done_callback(lambda future: self._events.put((sent, future)))

    def _hear(self, sent: Sent, done: Future[Any]) -> None:
        error = CancelledError("it was cancelled") if done.cancelled() else done.exception()
        began = Markers.take(sent.marker)
        if error is None:
            self._fruitless = 0
            self._count(sent, done.result())
            value = done.result().value
            if isinstance(value, Failure):
                _fail(sent, _restored(value, sent.task.name))
            else:
                sent.future.set_result(cloudpickle.loads(value))
        elif not self._pool.is_loss(error):
            reason = f"{type(error).__name__}: {error}"
            _fail(sent, ExecutorError(f"{sent.task.name} failed on its way back: {reason}."))
        elif not self._pool.mends_itself:
            _fail(sent, _lost_with_its_pool(sent.task.name, error))
        else:
            self._lose(sent, began)

    def _lose(self, sent: Sent, began: bool) -> None:
        """Sends a task again whose worker was lost, unless it was lost too often."""
        sent.starts += began
        self._fruitless = 0 if began else self._fruitless + 1
        self._add(lost=int(began))
        if sent.starts >= self._attempts:
            message = (
                f"{sent.task.name} was given up: the workers that ran it were lost {sent.starts} "
                "times, so it may be what kills them, most likely for lack of memory. Give it "
                "more memory, or use fewer workers, and run again."
            )
            _fail(sent, ExecutorError(message))
        elif self._fruitless >= TUNING.starts_in_a_row * self.workers:
            message = (
                f"{sent.task.name} could not be started: {self._fruitless} times in a row a "
                "worker was lost before it began anything. Make sure that there is memory for "
                "another process and that python can be started here."
            )
            _fail(sent, ExecutorError(message))
        else:
            self._pending.appendleft(sent)

    def _count(self, sent: Sent, report: Report) -> None:
        heard, ended = self._last_seen.get(report.worker, (0.0, report.began))
        # A worker that had no task to go on with did not wait for one to be sent.
        waited = report.began - ended if sent.sent < heard else 0.0
        self._last_seen[report.worker] = time.monotonic(), report.ended
        most = max(self.spread.megabytes, report.megabytes)
        self.spread = replace(self.spread, megabytes=most)
        self._add(tasks=1, running=report.ended - report.began, waiting=max(0.0, waited))

    def _add(self, **more: float) -> None:
        totals: dict[str, Any] = {k: getattr(self.spread, k) + v for k, v in more.items()}
        self.spread = replace(self.spread, **totals)


def _fail(sent: Sent, error: BaseException) -> None:
    is_new = not sent.future.running() and not sent.future.done()
    if sent.future.running() or (is_new and sent.future.set_running_or_notify_cancel()):
        sent.future.set_exception(error)


def _restored(failure: Failure, name: str) -> RefTIError:
    """The error that a task raised in a worker; one of ours is of its own kind again."""
    error: RefTIError = ExecutorError(
        f"{name} failed in a worker: {failure.kind}: {failure.message}"
    )
    kind = getattr(errors, failure.kind, None)
    if isinstance(kind, type) and issubclass(kind, RefTIError):
        with suppress(TypeError):  # a kind that carries more than words
            error = kind(failure.message)
    error.add_note(failure.trace)
    return error


def _lost_with_its_pool(name: str, error: BaseException) -> ExecutorError:
    return ExecutorError(
        f"{name} was lost with the workers of the executor that was given "
        f"({type(error).__name__}: {error}). What was finished is kept; make a new executor and "
        "run again to continue."
    )
