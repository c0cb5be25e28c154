"""Replicate: the runs of many jobs, over processes, kept in a file from which a study goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import refti
from refti.calibrate.runs import Build, Job, Run, run_job, suite_target

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def replicate(
    jobs: Iterable[Job],
    *,
    workers: int = 1,
    out: Path | None = None,
    build: Build = suite_target,
    report: Callable[[str, int, int], None] | None = None,
    finished: Callable[[Run], None] | None = None,
) -> list[Run]:
    """The runs of all jobs, in the jobs' order.

    Args:
        jobs: what to run; jobs of one target are run one after the other, so that each process
            compiles a target once.
        workers: processes; with 1 everything is run in this one. A script that asks for more
            needs the usual `if __name__ == "__main__":`.
        out: a file to which each finished run is added as a line of JSON; runs that it holds
            already are not made again.
        build: makes a job's target.
        report: called with (stage, done, total), the total being of runs still to make.
        finished: called with every run, those read from the file first.
    """
    jobs = list(jobs)
    done = {} if out is None else {run.job.key: run for run in read_runs(out)}
    wanted = {job.key for job in jobs}
    for run in done.values():
        if finished is not None and run.job.key in wanted:
            finished(run)
    todo = _by_target(job for job in {job.key: job for job in jobs}.values() if job.key not in done)
    for number, run in enumerate(_made(todo, workers, build), start=1):
        if out is not None:
            _append(out, run)
        done[run.job.key] = run
        if report is not None:
            report(run.job.study, number, len(todo))
        if finished is not None:
            finished(run)
    return [done[job.key] for job in jobs]


def read_runs(path: Path) -> list[Run]:
    """The runs that a file holds; a last line that was not written to its end is cut off."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    runs = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            runs.append(Run.from_dict(json.loads(line)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise refti.StoreError(
                f"Line {number} of {path} is no run of a study ({type(error).__name__}: {error}). "
                "Give a file that refti calibrate wrote, or another directory."
            ) from error
    return runs


def _made(jobs: Sequence[Job], workers: int, build: Build) -> Iterator[Run]:
    """The runs of the jobs, each as soon as it is there."""
    if workers == 1 or len(jobs) <= 1:
        yield from (run_job(job, build) for job in jobs)
        return
    with _environment(ONE_THREAD):
        pool = ProcessPoolExecutor(min(workers, len(jobs)), mp_context=get_context("spawn"))
        try:
            for future in as_completed([pool.submit(run_job, job, build) for job in jobs]):
                yield future.result()
        except BrokenProcessPool as error:
            raise refti.SamplingError(
                "A process of the study was ended from outside, perhaps for want of memory. "
                "Finished runs are kept if an output was given; try again with fewer workers."
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """These variables of the environment, which new processes inherit before they import."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _by_target(jobs: Iterable[Job]) -> list[Job]:
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.target, []).append(job)
    return [job for group in groups.values() for job in group]


def _append(path: Path, run: Run) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(run.to_dict(), sort_keys=True, allow_nan=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
