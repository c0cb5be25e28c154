"""Progress: what is said while a run goes on, on a terminal or as plain lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def reporting(progress: Progress | bool | None) -> Iterator[Progress]:
    """The function to report with: the user's, a bar on a terminal, lines in a log, or silence."""
    on_terminal = sys.stderr.isatty()
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not on_terminal):
        yield _silent
    elif on_terminal:
        with _bar() as report:
            yield report
    else:
        yield _lines()


def _silent(stage: str, done: int, total: int) -> None:
    del stage, done, total


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, int] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total)
            bar.update(tasks[stage], completed=done, total=total)  # type: ignore[arg-type]

        yield report


def _lines() -> Progress:
    """A plain line at the start and the end of a stage, and now and then in between."""
    last_stage, last_time = "", 0.0

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last_stage, last_time
        now = time.monotonic()
        if stage != last_stage or done == total or now - last_time > SECONDS_BETWEEN_LINES:
            print(f"{stage}: {done} of {total}", file=sys.stderr, flush=True)
            last_stage, last_time = stage, now

    return report
