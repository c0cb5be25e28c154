"""Importing: how long refti and the packages it needs took to import, which a process does once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class _Clock(threading.local):
    """The imports that this thread is in: what one imports on its way is part of it."""

    depth = 0


_CLOCK = _Clock()
_SPANS: list[float] = []


@contextmanager
def importing() -> Iterator[None]:
    """The scope of an import, whose time counts."""
    begun = time.perf_counter()
    _CLOCK.depth += 1
    try:
        yield
    finally:
        _CLOCK.depth -= 1
        if _CLOCK.depth == 0:
            _SPANS.append(time.perf_counter() - begun)


def seconds_importing() -> float:
    """The seconds that imports took in this process so far."""
    return sum(_SPANS)
