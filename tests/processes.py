"""The processes that run the tests: what they compile, in which order, and how large they get."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import resource
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

MOST_MEGABYTES = 2000  # of any process that runs tests
MANY_MEGABYTES = 1000  # after a file of tests, at which what it compiled is let go

# What JAX is told about compiling; docs/conf.py says the same, and so shares what is compiled. The
# last, since the other core has programs of its own to compile.
PLAINLY = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": "false",
    "xla_cpu_parallel_codegen_split_count": 1,
}

# Files that take longest, so that two processes end at about the same time. Update it from the
# seconds that `make tests` prints; a name that is no longer there fails a test. Those of Stan come
# after two others: its header is compiled in the meantime.
DEAREST_FIRST = (
    "test_evidence",
    "test_pymc",
    "test_stan",
    "test_docs",
    "test_python",
    "test_archive",
    "test_resume",
    "test_numpyro",
    "test_trouble",
    "test_rounds",
    "test_study",
    "test_shapes",
    "test_choose_reference",
    "test_zoo",
    "test_large",
    "test_kept_programs",
    "test_browser",
    "test_taylor",
    "test_suite",
    "test_rounding",
    "test_examples",
    "test_batching",
    "test_replicate",
    "test_recipe",
    "test_witness",
    "test_covid",
    "test_references",
    "test_calibration",
    "test_cli",
    "test_flow",
)

# Tests that run in one process, where what they share is compiled once: those of a file, and those
# whose names these patterns find.
TOGETHER = {
    "stan": re.compile(r"inputs/test_stan|test_zoo\.py.*\[shapes-stan\]|test_examples.*\[stan\]"),
    "pymc": re.compile(r"inputs/test_pymc|test_examples.*\[pymc\]"),
}


def group(test: str) -> str:
    """The group whose tests run in one process, of a test given by its name with its file."""
    shared = (name for name, pattern in TOGETHER.items() if pattern.search(test))
    return next(shared, test.split("::")[0])


def scheduler(config: pytest.Config, log: Any) -> Any:
    """Deals groups out to the processes of pytest-xdist, in the order in which they are collected.

    Its own `--dist loadgroup` has no effect with pytest 9.2 (pytest-xdist issue 1386): tests of
    one file then run, and compile what they share, in all processes.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    config.option.loadscopereorder = False  # which is by the number of tests, not by their cost
    return Groups(config, log)


def share_compiled_programs(folder: Path) -> None:
    """Lets this process and those it starts read what others have compiled; before JAX is."""
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(private_folder(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def compile_plainly() -> None:
    """Lets JAX spend less on making programs fast, here and in processes begun here; before JAX is.

    Tests compile far more than they run: this takes a third off the time of most. The last digits
    are then others than a user's, whose programs have QUICK_COMPILE. Those are run for the pages on
    the paper and in test_kept_programs.py, by `make long`, and wherever XLA_FLAGS is set, be it to
    nothing. In one process all must be of one kind: a test may compare its bits with another's.
    """
    flags = " ".join(f"--{name}={value}" for name, value in PLAINLY.items())
    os.environ.setdefault("XLA_FLAGS", flags)
    os.environ.setdefault("NUMBA_OPT", "0")  # which halves what Numba takes for a PyMC model
    # Where in the source each operation of a program was written, which nobody reads here.
    os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")


def use_one_blas_thread() -> None:
    """Lets BLAS run in one thread here and in processes begun here, as in refti's own calls.

    On small matrices, beside other processes of tests, two threads take a hundred times as long.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    threadpool_limits(1, user_api="blas")  # for libraries that are loaded already


def private_folder(folder: Path) -> Path:
    """The folder, made for this user alone with the one above it.

    Raises UsageError if others can write in either: a program that is read from there is run.
    """
    for part in (folder.parent, folder):
        if not part.exists():
            part.mkdir(exist_ok=True)
            part.chmod(0o700)
        found = part.stat()
        if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise pytest.UsageError(
                f"Programs are compiled into {part}, which others own or can write. Remove it, or "
                f"say chmod go-w {part}."
            )
    return folder


def turn(item: Any) -> int:
    """When a test's file has its turn: the dearest first, the others as they come."""
    stem = item.path.stem
    return DEAREST_FIRST.index(stem) if stem in DEAREST_FIRST else len(DEAREST_FIRST)


def fail_if_skipped_in_ci(report: Any) -> None:
    """Makes a skip a failure where all optional packages must be there."""
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        why = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"Nothing may be skipped in continuous integration: {why}"


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)  # bytes there, else kilobytes


def release_memory() -> None:
    """Lets go what JAX has compiled, if it is much: about 20 MB for every model that was run.

    The C library keeps what is freed unless it is told to hand it back. What another file uses
    again is read from the folder of compiled programs.
    """
    if resident_megabytes() > MANY_MEGABYTES and "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
        gc.collect()
        if hasattr(ctypes.CDLL(None), "malloc_trim"):
            ctypes.CDLL(None).malloc_trim(0)


def resident_megabytes() -> float:
    """The memory that this process has now, or the most it has had where that is not told."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_megabytes()
    return pages * resource.getpagesize() / 1e6
