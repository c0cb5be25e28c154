"""What a user may say about where work runs, and what is said where it cannot."""

from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import worker_tasks
from refti.errors import ExecutorError
from refti.executors.cores import cores
from refti.executors.resolve import resolve_executor
from refti.executors.supervisor import Supervisor
from refti.executors.task import Task


@pytest.mark.parametrize("executor", ["lokey", "", 0, -1, True, 2.5, [], ThreadPoolExecutor])
def test_anything_else_is_refused(executor: Any):
    with pytest.raises(ExecutorError, match="executor= must be None"):
        resolve_executor(executor)


@pytest.mark.parametrize("workers", [0, -3, 1.5, "2", True])
def test_a_number_of_workers_is_a_whole_one(workers: Any):
    with pytest.raises(ExecutorError, match="whole number of at least 1"):
        resolve_executor("loky", workers)


def test_numbers_and_names_of_processes():
    assert resolve_executor(None) is None
    assert [resolve_executor(3).workers, resolve_executor("loky").workers] == [3, cores()]  # type: ignore[union-attr]


def test_an_executor_of_the_users_is_used_and_left_open():
    with ThreadPoolExecutor(3) as pool:
        with Supervisor(pool) as supervisor:
            assert supervisor.workers == 3
            assert supervisor.submit(Task("", worker_tasks.square, (4,))).result() == 16
        assert pool.submit(worker_tasks.square, 5).result() == 25


def test_a_scheduler_that_does_not_answer_is_told_within_ten_seconds():
    with socket.socket() as silent:  # it takes calls and never says a word
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        with pytest.raises(ExecutorError, match="No Dask scheduler answers at tcp://127"):
            resolve_executor(f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - began < 10  # a promise to users, not a speed


def test_dask_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ExecutorError, match=r"pip install 'refti\[dask\]'"):
        resolve_executor("dask")
