"""Replicate: the runs of many jobs, over processes, kept in a file from which a study goes on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from refti.calibrate.runs import Build, Job, Run, run_job, suite_target
from refti.studies import Progress, append_record, read_records, run_in_processes


def replicate(
    jobs: Iterable[Job],
    *,
    workers: int = 1,
    out: Path | None = None,
    build: Build = suite_target,
    report: Progress | None = None,
) -> list[Run]:
    """The runs of all jobs, in the jobs' order.

    Args:
        jobs: what to run; jobs of one target are run one after the other, so that each process
            compiles a target once.
        workers: processes; with 1 everything is run in this one.
        out: a file to which each finished run is added as a line of JSON; runs that it holds
            already are not made again.
        build: makes a job's target.
        report: called with (stage, done, total), the total being of runs still to make.
    """
    jobs = list(jobs)
    done = {} if out is None else {run.job.key: run for run in read_runs(out)}
    todo = _by_target(job for job in {job.key: job for job in jobs}.values() if job.key not in done)
    # Where no target is run twice nothing is shared, and the order of the suite reads better.
    repeated = len({job.target for job in todo}) < len(todo)
    made = run_in_processes(partial(run_job, build=build), todo, workers, both_ends=repeated)
    for number, (_, run) in enumerate(made, start=1):
        if out is not None:
            append_record(out, run.to_dict())
        done[run.job.key] = run
        if report is not None:
            report(run.job.study, number, len(todo))
    return [done[job.key] for job in jobs]


def read_runs(path: Path) -> list[Run]:
    """The runs that a file holds; a last line that was not written to its end is cut off."""
    return read_records(path, Run.from_dict)


def _by_target(jobs: Iterable[Job]) -> list[Job]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.target, []).append(job)
    return [job for group in groups.values() for job in group]
