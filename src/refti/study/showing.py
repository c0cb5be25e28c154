"""Progress of a study: a line a model on a terminal, plain lines or JSON lines in a log."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

from refti import interruption
from refti.progress import cleared_by
from refti.results.files import plain
from refti.results.text import printable
from refti.study.events import ModelState, state_in_folder
from refti.study.read import Study
from refti.study.tuning import TUNING

States = Callable[[Mapping[str, ModelState]], None]
Mode = Literal["auto", "rich", "plain", "json"]


@contextmanager
def showing(
    study: Study, over: Mapping[str, ModelState], progress: States | Mode | bool | None
) -> Iterator[None]:
    """The scope in which the states of all models are shown on standard error.

    Args:
        study: whose models.
        over: the states of those that are over, which grows while the study runs.
        progress: how: "rich", "plain", "json"; "auto" or True is rich on a terminal and else plain;
            False or None is not at all; a function is called with the states by name.
    """
    if progress is None or progress is False:
        yield
        return
    with _reporter(progress) as report:
        done = Event()

        def look() -> None:
            report(states_of(study, over))

        def watch() -> None:
            while not done.wait(TUNING.show_seconds):
                look()

        watching = Thread(target=watch, daemon=True)
        watching.start()
        try:
            yield
        finally:
            done.set()
            watching.join()
            look()


def states_of(study: Study, over: Mapping[str, ModelState]) -> dict[str, ModelState]:
    """The states of all models by name."""
    return {
        spec["name"]: over.get(spec["name"]) or state_in_folder(spec, Path(study.store))
        for spec in study.models
    }


@contextmanager
def _reporter(progress: States | Mode | bool) -> Iterator[States]:
    if callable(progress):
        yield progress
    elif progress == "json":
        yield json_lines()
    elif progress == "rich" or (progress in ("auto", True) and sys.stderr.isatty()):
        with _rich_lines() as report:
            yield report
    else:
        yield plain_lines()


def plain_lines() -> States:
    """Prints a line when a model is over, and how many are now and then."""
    told: set[str] = set()
    last = time.monotonic()

    def report(states: Mapping[str, ModelState]) -> None:
        nonlocal last
        for name, state in states.items():
            if state.is_over and name not in told:
                told.add(name)
                _print(f"{printable(name)}: {state.words()}")
        if time.monotonic() - last > TUNING.plain_seconds:
            last = time.monotonic()
            running = [s for s in states.values() if not s.is_over and s.stage != "waiting"]
            _print(f"{len(told)} of {len(states)} models are over, {len(running)} running")
            for state in running:
                _print(f"  {printable(state.name)}: {state.words()}")

    return report


def json_lines() -> States:
    """Prints an object a line whenever the state of a model has changed."""
    told: dict[str, dict[str, Any]] = {}

    def report(states: Mapping[str, ModelState]) -> None:
        for name, state in states.items():
            record = state.record()
            # Seconds change all the time, which is no news.
            news = {k: v for k, v in record.items() if not k.startswith("seconds")}
            if told.get(name) != news:
                told[name] = news
                _print(json.dumps(plain({"time": time.time(), **record}), allow_nan=False))

    return report


@contextmanager
def _rich_lines() -> Iterator[States]:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    console = Console(stderr=True)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        console.show_cursor(True)  # which a process that is ended at once could not give back

        def clear() -> None:
            live.update("", refresh=True)

        def report(states: Mapping[str, ModelState]) -> None:
            if interruption.is_asked_for():
                return  # what is told of the end stands below these lines, or in their place
            rows = Table.grid(padding=(0, 2))
            room = max(3, console.height - 2)
            # What is over matters least where there is not room for all.
            shown = sorted(
                states.values(), key=lambda state: (state.is_over, state.stage == "waiting")
            )
            for state in shown[:room]:
                rows.add_row(Text(printable(state.name)), Text(state.words()))
            if len(shown) > room:
                rows.add_row(Text("…"), Text(f"and {len(shown) - room} more"))
            live.update(rows, refresh=True)

        with cleared_by(clear):
            yield report


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
