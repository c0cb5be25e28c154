"""The scope in which refti computes: 64-bit numbers and one BLAS thread, and as before outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax
from threadpoolctl import threadpool_limits


@contextmanager
def computing() -> Iterator[None]:
    """The scope of a run; global settings are as they were when it is left.

    The matrices here are small, for which BLAS threads cost more than they bring, and the bits of
    a Cholesky factor depend on their number.
    """
    with jax.enable_x64(True), threadpool_limits(limits=1, user_api="blas"):
        yield
