"""Interruption: how a run in another thread is asked to end with what it has.

Python hands signals to the main thread alone, wherever that stands. Whoever runs a run in a thread
of its own asks for its end here, and gets it at the next call of a compiled program, where nothing
is left half done.
"""

from __future__ import annotations

import threading

_ASKED = threading.Event()


def ask_to_end() -> None:
    """Has the run at hand end as if it had been interrupted, at its next call of a program."""
    _ASKED.set()


def is_asked_for() -> bool:
    """Whether somebody asked for the end, and no run has heard of it."""
    return _ASKED.is_set()


def forget() -> None:
    """Takes back a request that no run has heard."""
    _ASKED.clear()


def end_if_asked() -> None:
    """Raises KeyboardInterrupt, once, if somebody asked for the end."""
    if _ASKED.is_set():
        _ASKED.clear()  # a run that was told concludes, for which it calls further programs
        raise KeyboardInterrupt
