"""The numbers of executors: how much is sent ahead, and when a worker or a task is given up."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class ExecutorsTuning:
    """What decides how tasks are spread over workers."""

    attempts: int = tuned(
        4, "starts of a task whose workers are lost, after which it is given up: Dask's number too"
    )
    ahead: int = tuned(
        2, "tasks sent to each worker: one that runs and one that waits, so that none stands idle"
    )
    connect_seconds: float = tuned(
        8.0, "a scheduler that has not answered by then is not there; users are told within 10 s"
    )
    parent_seconds: float = tuned(
        0.5, "between two looks of a worker at whether the process that started it still lives"
    )
    starts_in_a_row: int = tuned(
        8, "workers lost one after the other before any began a task: then none can begin here"
    )
    probes: int = tuned(20, "empty tasks by which the cost of sending is measured")


TUNING = ExecutorsTuning()
