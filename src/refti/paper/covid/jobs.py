"""Lanes: runs in two processes, of which one takes from the front and the other from the back.

Neighbours in the list are alike and share their compiled programs where they run in one process.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from loky import ProcessPoolExecutor

import refti
from refti.paper.report.work import Report

SECONDS_BETWEEN_REPORTS = 5.0


@dataclass(frozen=True)
class Job:
    """One run: a model that `build(*arguments)` makes, in a folder, with its settings.

    Attributes:
        name: what it is called.
        folder: where it is kept.
        build: a function of a module, so that another process finds it.
        arguments: its arguments.
        settings: those of refti.evidence.
        after: the folder of an earlier run whose posterior draws take the place of the pilot's.
    """

    name: str
    folder: Path
    build: Callable[..., refti.Model]
    arguments: tuple[Any, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    after: Path | None = None


Outcome = refti.Evidence | str
"""A result, or the message with which the run was refused."""


def run(jobs: Sequence[Job], report: Report) -> dict[str, Outcome]:
    """What the jobs came to, by name; those that are finished in their folders are read."""
    waiting, messages, lock = deque(jobs), dict[str, str | None](), Lock()

    def drain(take: Callable[[], Job]) -> None:
        with ProcessPoolExecutor(max_workers=1, timeout=None) as process:
            while True:
                with lock:
                    if not waiting:
                        return
                    job = take()
                made, begun = process.submit(_made, job), time.monotonic()
                while not wait([made], timeout=SECONDS_BETWEEN_REPORTS).done:
                    stage = f"{job.name}, {time.monotonic() - begun:.0f} s; finished"
                    with lock:
                        report(stage, len(messages), len(jobs))
                with lock:
                    messages[job.name] = made.result()
                    report(f"{job.name} done; finished", len(messages), len(jobs))

    ends = [waiting.popleft, waiting.pop][: max(1, min(2, os.cpu_count() or 1))]
    with ThreadPoolExecutor(len(ends)) as lanes:
        for lane in [lanes.submit(drain, take) for take in ends]:
            lane.result()
    return {job.name: _outcome(job, messages[job.name]) for job in jobs}


def _made(job: Job) -> str | None:
    """Makes a run in this process; returns the message of a refusal."""
    try:
        given = None if job.after is None else refti.load(job.after).posterior
        refti.evidence(
            job.build(*job.arguments),
            store=job.folder,
            draws=given,
            progress=False,
            **job.settings,
        )
    except (refti.ModelError, refti.SamplingError, refti.ReferenceFitError) as error:
        return str(error)
    return None


def _outcome(job: Job, message: str | None) -> Outcome:
    if message is not None:
        return message
    result = refti.load(job.folder)
    assert isinstance(result, refti.Evidence)
    return result
