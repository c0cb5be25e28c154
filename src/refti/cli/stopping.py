"""Stopping: Ctrl-C and SIGTERM end a command alike, quickly, with what there is.

Python hears signals in its main thread only, and not while that computes outside of Python, which
a compilation does for half a minute; an exception raised there in the middle of an import or a
callback crashes the process or is lost. So commands run in a thread of their own and the main
thread waits. Told to stop, a run ends at its next safe point. A command that does not get there in
time is left behind, with what there is by then.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, NoReturn

from refti import interruption, progress
from refti.cli.tuning import TUNING


class Stopping:
    """What the main thread waits for: the end of a command, or a signal that asks for it."""

    def __init__(self) -> None:
        self.heard = False
        self.forced: Callable[[], int] | None = None  # tells what there is, where it cannot wait
        self._events: SimpleQueue[str] = SimpleQueue()
        self._last = -float("inf")
        self._last_word = threading.Lock()

    def listen(self) -> None:
        """Has both signals end the command from now on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def run(self, command: Callable[[], int], give_up: Callable[[], int]) -> int:
        """The exit code of the command, or of giving it up because it did not stop in time."""
        with _signals_left_alone():
            return self._run(command, give_up)

    def _run(self, command: Callable[[], int], give_up: Callable[[], int]) -> int:
        done = self._start(command)
        if self._events.get() == "signal":
            patience = TUNING.seconds_to_conclude
            if not any(display.has_estimate() for display in progress.shown()):
                patience = TUNING.seconds_to_give_up
            interruption.ask_to_end()
            for display in progress.shown():
                display.stop()
            with contextlib.suppress(Empty):
                self._events.get(timeout=patience)
            if not done.done() and self.claim_last_word():
                return (self.forced or give_up)()
        return done.result()

    def claim_last_word(self) -> bool:
        """Whether the caller may print how the command ended: told to stop, the first one only."""
        return not self.heard or self._last_word.acquire(blocking=False)

    def _start(self, command: Callable[[], int]) -> Future[int]:
        done: Future[int] = Future()

        def fill() -> None:
            try:
                done.set_result(command())
            except BaseException as error:
                done.set_exception(error)
            self._events.put("done")

        before = threading.stack_size(TUNING.stack)
        try:
            threading.Thread(target=fill, name="refti command", daemon=True).start()
        finally:
            threading.stack_size(before)
        return done

    def _hear(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        now = time.monotonic()
        before, self._last, self.heard = self._last, now, True
        if now - before > TUNING.one_signal:
            self._events.put("signal")


@contextlib.contextmanager
def _signals_left_alone() -> Iterator[None]:
    """The scope in which signal.signal changes nothing in other threads, and says so.

    Python would raise there, and a user's file that asks for signals could not be loaded.
    """
    change = signal.signal

    def change_in_main_thread(number: int, handler: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return change(number, handler)
        warnings.warn(
            f"{signal.Signals(number).name} was not passed to your program: refti handles signals "
            "itself while it runs.",
            stacklevel=2,
        )
        return signal.getsignal(number)

    signal.signal = change_in_main_thread  # type: ignore[assignment]
    try:
        yield
    finally:
        signal.signal = change


STOPPING = Stopping()


def leave(code: int) -> NoReturn:
    """Ends the process with this code; without a word of what was left behind, if something was.

    That may be work of a command that was told to stop, or a compilation that nobody waits for.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if not STOPPING.heard:
        _wait_for_threads()
        if not any(_unfinished_threads()):
            sys.exit(code)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_pools()
    _end_children()
    _wait_for_threads()
    # Not by way of Python's own end, which would wait for threads, and crash in some of them.
    os._exit(code)


def _end_pools() -> None:
    """Ends the processes of functions that are called in others, in good order."""
    ending = threading.Thread(target=_tidy_pools, daemon=True)  # a pool may be stuck
    ending.start()
    ending.join(TUNING.seconds_to_give_up)


def _tidy_pools() -> None:
    workers = sys.modules.get("refti.inputs.python.workers")
    if workers is not None:
        workers.end_all()
    # What Python would do at its end: give back semaphores, of which there would be warnings.
    processes: Any = sys.modules.get("multiprocessing.util")
    if processes is not None:
        processes._run_finalizers(0)


def _end_children() -> None:
    """Ends compilers and whatever else was begun by this process, and what they have begun."""
    for process in _descendants(os.getpid()):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGTERM)


def _descendants(parent: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # After the name, which may hold anything: state, then the parent.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(folder.name))
        except (OSError, IndexError, ValueError):
            continue
    todo = children.get(parent, [])
    while todo:
        process = todo.pop()
        yield process
        todo += children.get(process, [])


def _wait_for_threads() -> None:
    """Lets threads whose compilers are gone remove what they had begun to write."""
    until = time.monotonic() + TUNING.seconds_to_tidy
    for thread in _unfinished_threads():
        thread.join(max(0.0, until - time.monotonic()))


def _unfinished_threads() -> Iterator[threading.Thread]:
    """Those that Python would wait for at its end."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            yield thread
