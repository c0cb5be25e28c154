"""The cores that this process may keep busy: all of its machine, or its share beside others."""

from __future__ import annotations

import os

VARIABLE = "REFTI_CORES"

# Linear algebra of several threads gives other bits than that of one, and processes that run side
# by side share the cores already. Must be set before NumPy and JAX are imported.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def cores() -> int:
    """The cores for this process: those it is told of by REFTI_CORES, or all it may run on."""
    told = os.environ.get(VARIABLE, "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def environment_of_worker(workers: int) -> dict[str, str]:
    """The variables of one of several workers: one thread for algebra, and its share of cores."""
    return {**ONE_THREAD, VARIABLE: str(max(1, cores() // workers))}
