"""Jobs over processes: all are done, neighbours by one process, and what fails is told."""

from __future__ import annotations

import os

import pytest
from loky import process_executor

import refti
from refti.studies import run_in_processes


def process_of(job: int) -> int:
    """The process that does a job."""
    return os.getpid()


def process_and_growth_allowed(job: int) -> tuple[int, int]:
    """That process, and by how much it may grow before loky replaces it."""
    return os.getpid(), process_executor._MAX_MEMORY_LEAK_SIZE


def end_process(job: int) -> None:
    if job == 2:
        os._exit(1)


def fail(job: int) -> None:
    raise refti.SettingsError("no such setting")


def test_one_worker_does_all_jobs_here_and_in_order():
    done = list(run_in_processes(process_of, range(5), 1))
    assert done == [(job, os.getpid()) for job in range(5)]


def test_two_processes_take_from_both_ends_and_meet():
    told = dict(run_in_processes(process_and_growth_allowed, range(8), 2))
    assert set(told) == set(range(8))
    # They may grow by what JAX takes.
    assert min(allowed for _, allowed in told.values()) >= 1e9
    done = {job: process for job, (process, _) in told.items()}
    assert len(set(done.values())) == 2
    assert os.getpid() not in done.values()
    first = [job for job in range(8) if done[job] == done[0]]
    assert first == list(range(len(first)))


@pytest.mark.long  # starts two processes, as the test before does
def test_jobs_in_order_are_shared_as_they_come():
    done = list(run_in_processes(process_of, range(8), 2, both_ends=False))
    assert sorted(job for job, _ in done) == list(range(8))
    # Whoever is free takes the next, so neither has them all, and each has its own in order.
    for process in {process for _, process in done}:
        own = [job for job, taken_by in done if taken_by == process]
        assert own == sorted(own)


@pytest.mark.long  # starts two processes, as the test after it does
def test_an_error_of_a_job_is_raised_as_it_is():
    with pytest.raises(refti.SettingsError, match="no such setting"):
        list(run_in_processes(fail, range(3), 2))


def test_a_process_that_is_ended_is_told_of():
    with pytest.raises(refti.SamplingError, match="ended from outside"):
        list(run_in_processes(end_process, range(4), 2))
