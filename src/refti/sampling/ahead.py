"""Ahead: programs that a run will come to are compiled on another core, while it does other things.

What a program is compiled for are the shapes and kinds of its arguments, so made-up numbers do as
well. A run that comes to a program that is being compiled waits for it instead of compiling it
again; nothing else depends on whether, and when, this was done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from refti.executors.cores import cores
from refti.models.compiled import Compiled
from refti.sampling.building import building_ahead, waiting_for_a_program
from refti.sampling.computing import computing


class Call(NamedTuple):
    """A call of a program, with arguments of the kinds that it will have."""

    program: Compiled[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@contextmanager
def compiling_ahead(foresee: Callable[[], Iterable[Call]]) -> Iterator[None]:
    """The scope of a run beside which the programs of foreseen calls are compiled, one by one.

    What is being compiled when the run ends is finished, and nothing after it is begun.
    """
    ended = Event()
    if cores() > 1:
        # No daemon, even where a daemon starts it: Python would crash at its end while it compiles.
        Thread(target=_compile, args=(foresee, ended), name="refti ahead", daemon=False).start()
    try:
        yield
    finally:
        ended.set()


def wait_for(program: Any) -> None:
    """Returns when a function of jax.jit is not being compiled by another thread."""
    with _LOCK:
        pending = _PENDING.get(id(program))
    if pending is not None:
        with waiting_for_a_program():
            pending.wait()


_LOCK = Lock()
_PENDING: dict[int, Event] = {}


def _compile(foresee: Callable[[], Iterable[Call]], ended: Event) -> None:
    # Whatever goes wrong here will go wrong again where somebody can be told of it.
    with suppress(Exception), computing(), building_ahead():
        for call in foresee():
            if ended.is_set():
                return
            program = call.program.program_within(call.arguments[0])
            with _LOCK:
                if program._cache_size() > 0 or id(program) in _PENDING:
                    continue
                done = _PENDING[id(program)] = Event()
            try:
                program.lower(*call.arguments, **call.options).compile()
            finally:
                with _LOCK:
                    del _PENDING[id(program)]
                done.set()
