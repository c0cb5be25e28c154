"""Jobs: the runs of COVID-19 variants, two at a time, each kept in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import refti
from refti.studies import Progress, run_in_processes

MOST_PROCESSES = 2  # one of them takes up to 1.6 GB


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


def run_jobs(jobs: Sequence[Job], report: Progress) -> dict[str, Outcome]:
    """What the jobs came to, by name; those that are finished in their folders are read."""
    messages: dict[str, str | None] = {}

    def tell(what: str = "finished") -> None:
        report(what, len(messages), len(jobs))

    processes = min(MOST_PROCESSES, os.cpu_count() or 1)
    for job, message in run_in_processes(_run, jobs, processes, waiting=tell):
        messages[job.name] = message
        tell(f"{job.name} done; finished")
    return {job.name: _outcome(job, messages[job.name]) for job in jobs}


def _run(job: Job) -> str | None:
    """Makes a run in this process; returns the message of a refusal."""
    try:
        refti.evidence(
            job.build(*job.arguments),
            store=job.folder,
            draws=None if job.after is None else refti.load(job.after).posterior,
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
