"""Jobs over processes, each told of as soon as it is done."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from refti.errors import SamplingError
from refti.executors.cores import ONE_THREAD
from refti.executors.tuning import TUNING
from refti.interruption import end_if_asked

Job = TypeVar("Job")
Made = TypeVar("Made")

# Processes share the processors already, so their linear algebra has one thread each. They may grow
# by what JAX needs: a process that loky replaces for its size has to compile everything again.
ENVIRONMENT = {**ONE_THREAD, "LOKY_MAX_MEMORY_LEAK_SIZE": str(TUNING.growth_bytes)}
SECONDS_BETWEEN_CALLS = 5.0
SECONDS_BETWEEN_LOOKS = 0.25  # at whether the study was asked to end


def run_in_processes(
    function: Callable[[Job], Made],
    jobs: Sequence[Job],
    workers: int,
    *,
    both_ends: bool = True,
    waiting: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Job, Made]]:
    """Yields each job with what the function makes of it, as soon as it is there.

    Args:
        function: of one job; another process must be able to import it.
        jobs: what to run.
        workers: processes; with 1, or with one job, everything is run in this one.
        both_ends: whether every second process takes jobs from the back: where neighbours in the
            list are alike, they share what is compiled if they run in one process.
        waiting: called every few seconds while nothing comes.

    Raises:
        SamplingError: a process was ended from outside.
    """
    if workers == 1 or len(jobs) <= 1:
        yield from ((job, function(job)) for job in jobs)
        return
    from loky import ProcessPoolExecutor

    left = deque(jobs)
    processes = [
        ProcessPoolExecutor(1, timeout=None, env=ENVIRONMENT)
        for _ in range(min(workers, len(jobs)))
    ]
    running: dict[Future[Made], tuple[int, Job]] = {}

    def start_next(process: int) -> None:
        if left:
            job = left.pop() if both_ends and process % 2 else left.popleft()
            running[processes[process].submit(function, job)] = process, job

    try:
        for process in range(len(processes)):
            start_next(process)
        called = time.monotonic()
        while running:
            done, _ = wait(running, SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
            end_if_asked()
            if time.monotonic() - called > SECONDS_BETWEEN_CALLS:
                waiting()
                called = time.monotonic()
            for future in done:
                process, job = running.pop(future)
                made = future.result()
                start_next(process)
                yield job, made
    except BrokenProcessPool as error:
        raise SamplingError(
            "A process of the study was ended from outside, perhaps for want of memory. "
            "Finished runs are kept if an output was given; try again with fewer workers."
        ) from error
    finally:
        for pool in processes:
            pool.shutdown(kill_workers=True)
