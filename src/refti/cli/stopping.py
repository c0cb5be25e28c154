"""Stopping: Ctrl-C and SIGTERM end a command alike, quickly, with what there is.

Python hears signals in its main thread only, and not while that computes outside of Python, which
a compilation does for half a minute. So runs go on in a thread of their own and the main thread
waits. Told to stop, a run ends at its next safe point; one that does not get there in time is left
behind, for it may not be broken off in the middle without the process crashing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

from refti import interruption
from refti.cli.tuning import TUNING

Done = TypeVar("Done")


class Signals:
    """The signals that ask a command to stop, as KeyboardInterrupt in the main thread."""

    def __init__(self) -> None:
        self.heard = False
        self.left_behind = False  # whether a run goes on that could not be waited for
        self._last = -float("inf")

    def listen(self) -> None:
        """Has both signals end the command from now on."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        now = time.monotonic()
        before, self._last, self.heard = self._last, now, True
        if now - before > TUNING.one_signal:
            raise KeyboardInterrupt


SIGNALS = Signals()


def run_stoppable(
    work: Callable[[], Done], *, has_estimate: Callable[[], bool], stopping: Callable[[], None]
) -> Done:
    """What the work returns, be it that it was told to stop and ended with what it had.

    Args:
        work: is run in a thread of its own.
        has_estimate: whether the work has something that is worth waiting for.
        stopping: is called when the work is told to stop.

    Raises:
        KeyboardInterrupt: it was told to stop, and had nothing yet or did not end in time.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    interruption.forget()
    done = _start(work)
    try:
        return done.result()
    except KeyboardInterrupt:
        if done.done():
            return done.result()
    interruption.ask_to_end()
    stopping()
    patience = TUNING.seconds_to_conclude if has_estimate() else TUNING.seconds_to_give_up
    try:
        return done.result(timeout=patience)
    except (TimeoutError, KeyboardInterrupt):
        SIGNALS.left_behind = not done.done()
        raise KeyboardInterrupt from None


def leave(code: int) -> NoReturn:
    """Ends the process with this code; without a word of what was left behind, if something was."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    if not SIGNALS.heard:
        sys.exit(code)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_pools()
    _end_children()
    _wait_for_threads()
    # Not by way of Python's own end, which would wait for threads, and crash in some of them.
    os._exit(code)


def _start(work: Callable[[], Done]) -> Future[Done]:
    done: Future[Done] = Future()

    def fill() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    before = threading.stack_size(TUNING.stack)
    try:
        threading.Thread(target=fill, name="refti run", daemon=True).start()
    finally:
        threading.stack_size(before)
    return done


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
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, until - time.monotonic()))
