"""The numbers by which any Python function is called."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class PythonTuning:
    """How a function is tried, and when other processes call it."""

    trials: int = tuned(16, "points tried before a function counts as failing everywhere")
    trial_radius: float = tuned(
        2.0, "how far from the start these points are, by each unconstrained coordinate"
    )
    widths: tuple[int, ...] = tuned(
        (16, 256), "numbers of points for which the map to the parameters is compiled"
    )
    slow_call: float = tuned(
        1e-3, "seconds of a call above which processes are worth their messages"
    )
    parts_each: int = tuned(
        4, "parts of a batch for each process, so that none waits long for another"
    )


TUNING = PythonTuning()
