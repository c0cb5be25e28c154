"""Progress: what is said while a run goes on: one live line, or a plain line now and then.

A run tells how far it is by calling a function of (stage, done, total). The name of a stage may be
a `Stage`, which also carries the estimate so far; to whoever does not know it is a string.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

Progress = Callable[[str, int, int], None]

SECONDS_BETWEEN_DRAWINGS = 0.1  # of the live line: more often only flickers
SECONDS_BETWEEN_TICKS = 0.5  # a line whose clock stands still looks dead
SECONDS_BETWEEN_LINES = 10.0  # in a log, where every line stays
SECONDS_AFTER_A_LINE = 1.0  # before the next stage gets one: most stages of small models fly by


class Stage(str):
    """The name of a stage, with the estimate so far in words."""

    estimate: str

    def __new__(cls, name: str, estimate: str) -> Stage:
        """A string of the name."""
        stage = super().__new__(cls, name)
        stage.estimate = estimate
        return stage


@contextmanager
def reporting(progress: Progress | bool | None) -> Iterator[Progress]:
    """The function to report with: the user's, a live line, lines in a log, or silence."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not is_live(sys.stderr)):
        yield silent
    else:
        with Display() as display:
            yield display


def silent(stage: str, done: int, total: int) -> None:
    """Says nothing."""
    del stage, done, total


def is_live(stream: TextIO) -> bool:
    """Whether a line can be written over: on a terminal, and in a notebook."""
    in_notebook = type(stream).__module__.startswith("ipykernel.")
    return in_notebook or (stream.isatty() and os.environ.get("TERM") != "dumb")


class Display:
    """One live line on standard error, or plain lines where lines cannot be written over.

    It has a clock of its own, so that a stage from which nothing is heard shows that it lives.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        """Takes whether it is to show nothing, and only to know the stage."""
        self.stream = sys.stderr
        self.live = is_live(self.stream)
        self.quiet = quiet
        self.stage, self.estimate = "starting", ""
        self._counts, self._label = (0, 0), ""
        self._begun = time.monotonic()
        self._shown, self._shown_stage, self._drawn_at = "", "", -math.inf
        self._stopping = False
        self._lock, self._over = threading.RLock(), threading.Event()

    def __enter__(self) -> Display:
        """Shows itself until it is left."""
        threading.Thread(target=self._tick, name="refti progress", daemon=True).start()
        _SHOWN.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        """Leaves no trace of a live line."""
        self._over.set()
        _SHOWN.remove(self)
        self.clear()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Shows how far a stage is."""
        with self._lock:
            self.stage, self._counts = str(stage), (done, total)
            self.estimate = getattr(stage, "estimate", self.estimate)
            self._draw(SECONDS_BETWEEN_DRAWINGS)

    def begin(self, label: str) -> None:
        """Sets the clock back for what comes next; the label stands at the head of its line."""
        with self._lock:
            self._label, self._begun = label, time.monotonic()
            self.stage, self.estimate, self._counts = "starting", "", (0, 0)
            self._stopping = False

    def stop(self) -> None:
        """Says from now on that the run was told to stop."""
        with self._lock:
            self._stopping = True
            self._draw(0.0)

    def has_estimate(self) -> bool:
        """Whether the run has told of an estimate."""
        return bool(self.estimate)

    @property
    def line(self) -> str:
        """What there is to say, such as `round 4, 37 % · log z 2.847 ± 0.014 · 28 s`."""
        done, total = self._counts
        share = f", {100 * done // total} %" if total > 1 and done < total else ""
        stage = f"{self._label}: {self.stage}" if self._label else self.stage
        parts = [stage + share, self.estimate, "compiling" if _COMPILING.programs else ""]
        parts = ["stopping", *parts] if self._stopping else parts
        return " · ".join([part for part in parts if part] + [duration(self.seconds)])

    @property
    def seconds(self) -> float:
        """The time since the clock was set."""
        return time.monotonic() - self._begun

    def clear(self) -> None:
        """Takes the live line away, before something else is written."""
        with self._lock:
            if self.live and self._shown:
                self._write("\r" + " " * len(self._shown) + "\r")
                self._shown = ""

    def _tick(self) -> None:
        while not self._over.wait(SECONDS_BETWEEN_TICKS):
            with self._lock:
                if not self._over.is_set():
                    self._draw(SECONDS_BETWEEN_TICKS)

    def _draw(self, least: float) -> None:
        if self.quiet:
            return
        waited = time.monotonic() - self._drawn_at
        if self.live:
            if waited < least:
                return
            text = shorten(self.line, terminal_width(self.stream) - 1)
            self._write("\r" + text.ljust(len(self._shown)))
            self._shown = text
        else:
            is_new = self.stage != self._shown_stage and waited > SECONDS_AFTER_A_LINE
            if not is_new and waited < SECONDS_BETWEEN_LINES:
                return
            self._write(self.line + "\n")
            self._shown_stage = self.stage
        self._drawn_at = time.monotonic()

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # nobody is there to read it any more
            self._over.set()


_SHOWN: list[Display] = []


def shown() -> tuple[Display, ...]:
    """The displays that are shown at this moment."""
    return tuple(_SHOWN)


_CLEARED: list[Callable[[], None]] = []


@contextmanager
def cleared_by(clear: Callable[[], None]) -> Iterator[None]:
    """The scope of something else than a display that is shown, and how it is taken away."""
    _CLEARED.append(clear)
    try:
        yield
    finally:
        _CLEARED.remove(clear)


def clear_lines() -> None:
    """Takes live lines away, before something else is written to standard error."""
    for display in shown():
        display.clear()
    for clear in tuple(_CLEARED):
        clear()


class _Compiling:
    """How many programs are being compiled at this moment, in all threads."""

    def __init__(self) -> None:
        self.programs = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.programs += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self.programs -= 1


_COMPILING = _Compiling()


def compiling() -> Any:
    """The scope of a call that compiles, which live lines say."""
    return _COMPILING


def terminal_width(stream: TextIO) -> int:
    """The columns of the terminal that a stream is on, those that COLUMNS says, or 80."""
    try:
        return int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        pass
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


def shorten(text: str, width: int) -> str:
    """The text, cut to a width."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def duration(seconds: float) -> str:
    """A time in words: 28 s, 3 min 05 s, 2 h 10 min."""
    whole = int(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def print_lines(*, seconds: float = 10.0, each_stage: bool = True) -> Progress:
    """Prints a plain line now and then.

    Args:
        seconds: the time between two lines.
        each_stage: whether the start and the end of every stage are printed as well.
    """
    last_stage, last_time = "", -math.inf

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last_stage, last_time
        now = time.monotonic()
        turns = each_stage and (stage != last_stage or done == total)
        if turns or now - last_time > seconds:
            print(f"{stage}: {done} of {total}", file=sys.stderr, flush=True)
            last_stage, last_time = stage, now

    return report
