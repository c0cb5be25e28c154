"""Progress: what is said while a run goes on, on a terminal or as plain lines in a log."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]


@contextmanager
def reporting(progress: Progress | bool | None) -> Iterator[Progress]:
    """The function to report with: the user's, a bar on a terminal, lines in a log, or silence."""
    on_terminal = sys.stderr.isatty()
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not on_terminal):
        yield silent
    elif on_terminal:
        with _bar() as report:
            yield report
    else:
        yield print_lines()


def silent(stage: str, done: int, total: int) -> None:
    """Says nothing."""
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
