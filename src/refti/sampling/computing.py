"""The scope in which refti computes: 64 bits, one BLAS thread, kept programs; as before outside."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import jax
import threadpoolctl
from threadpoolctl import ThreadpoolController

from refti.sampling.kept_programs import KEPT_PROGRAMS


@contextmanager
def computing() -> Iterator[None]:
    """The scope of a run; global settings are as they were when it is left.

    The matrices here are small, for which BLAS threads cost more than they bring, and the bits of
    a Cholesky factor depend on their number. What is compiled within is kept for other processes.
    """
    with jax.enable_x64(True), _ONE_BLAS_THREAD, KEPT_PROGRAMS:
        yield


class _OneBlasThread:
    """One BLAS thread while anybody is inside, and as before when the last has left.

    The number of threads is one for the whole process. Runs in several threads overlap as they
    like, so none of them can put back what it found when it came: that may be another's limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._libraries: ThreadpoolController | None = None
        self._modules = 0
        self._before: Any = None  # what is to be put back

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                _take_control()
            # From everyone who comes: where OpenBLAS is built on OpenMP each thread has a limit.
            limits = self._blas().limit(limits=1, user_api="blas")
            if self._inside == 0:
                self._before = limits
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._before is not None:
                _take_control()
                self._before.restore_original_limits()
                _take_control()  # and give it away again

    def _blas(self) -> ThreadpoolController:
        """The BLAS libraries of this process, as found by the first or since another was loaded.

        To find them takes milliseconds, since each compiled program adds to the maps of memory that
        are read for it; and threads come by the hundred. Libraries are loaded with Python modules.
        """
        if self._libraries is None or self._inside == 0 or self._modules != len(sys.modules):
            self._modules = len(sys.modules)
            self._libraries = ThreadpoolController()
        return self._libraries


def _take_control() -> None:
    """Lets this thread set limits: since its version 3.8 threadpoolctl heeds the first one only."""
    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_ONE_BLAS_THREAD = _OneBlasThread()
