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
    fetches: int = tuned(3, "tries to fetch from Dask what a task gave, before it is sent again")
    fetch_seconds: float = tuned(20.0, "for each of them: what died with its worker takes as long")
    growth_bytes: float = tuned(
        2e9, "by which a process may grow before it is replaced; loky's 3e8 is what JAX alone takes"
    )
    parent_seconds: float = tuned(
        0.5, "between two looks of a worker at whether the process that started it still lives"
    )
    starts_in_a_row: int = tuned(
        8, "workers lost one after the other before any began a task: then none can begin here"
    )
    ending_seconds: float = tuned(
        10.0, "that an interrupted driver waits for a pool of killed processes to be put away"
    )
    beat_seconds: float = tuned(
        5.0, "between two signs of life of whoever works on a model or a block that others see"
    )
    stale_seconds: float = tuned(
        60.0, "without a sign of life after which work is taken over: network disks lag"
    )
    probes: int = tuned(20, "empty tasks by which the cost of sending is measured")


TUNING = ExecutorsTuning()
