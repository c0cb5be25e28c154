"""Building: the seconds JAX spends on tracing and compiling, by the events it tells of itself."""

from __future__ import annotations

import threading
import time
from functools import cache
from typing import Any, NamedTuple

import jax

TRACING = frozenset(
    {"/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/jaxpr_to_mlir_module_duration"}
)
COMPILING = "/jax/core/compile/backend_compile_duration"
LOADED = "/jax/compilation_cache/cache_hits"


class Built(NamedTuple):
    """What was built in this process so far.

    Attributes:
        seconds: spent building programs.
        compile_seconds: those of them that the compiler took, or a program to be read from disk.
        compiled: how many programs were compiled or read from disk, the smallest included.
        loaded: how many of them were read from disk.
    """

    seconds: float
    compile_seconds: float
    compiled: int
    loaded: int


def built() -> Built:
    """What was built in this process since this function was first called."""
    return _listener().so_far()


@cache
def _listener() -> _Listener:
    listener = _Listener()
    jax.monitoring.register_event_duration_secs_listener(listener.took)
    jax.monitoring.register_event_listener(listener.happened)
    return listener


class _Listener:
    """Adds up durations, each second once: a function is traced within another that calls it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = threading.local()
        self._total = Built(0.0, 0.0, 0, 0)

    def so_far(self) -> Built:
        return self._total

    def took(self, event: str, duration_secs: float, **details: Any) -> None:
        """Hears that something took so long until now, in this thread."""
        del details
        is_compiling = event == COMPILING
        if not is_compiling and event not in TRACING:
            return
        now, seconds = time.perf_counter(), duration_secs
        begun, inside = now - seconds, 0.0
        spans = self._own.__dict__.setdefault("spans", [])
        while spans and spans[-1][0] >= begun:  # was within this one, and is counted already
            first, last = spans.pop()
            inside += last - first
        spans.append((begun, now))
        del spans[:-MOST_SPANS]
        with self._lock:
            total = self._total
            self._total = Built(
                total.seconds + max(0.0, seconds - inside),
                total.compile_seconds + (seconds if is_compiling else 0.0),
                total.compiled + is_compiling,
                total.loaded,
            )

    def happened(self, event: str, **details: Any) -> None:
        """Hears that a program was read from disk."""
        del details
        if event == LOADED:
            with self._lock:
                self._total = self._total._replace(loaded=self._total.loaded + 1)


MOST_SPANS = 10_000  # functions traced within one other; those before it are over
