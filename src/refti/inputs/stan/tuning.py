"""The numbers by which Stan programs are compiled and evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from refti.tuning import tuned


@dataclass(frozen=True)
class StanTuning:
    """When a precompiled header is made, and when a solver is stopped."""

    programs_before_header: int = tuned(
        3,
        "programs compiled without a precompiled header: it costs as much time as three of them "
        "save by it, 2.2 GB of memory while it is made and 0.8 GB of disk, in vain for one model",
    )
    solver_limit: int = tuned(
        20_000,
        "right-hand sides of differential equations that one density may ask for: tens of times "
        "what solvers take near most data, and some hundredths of a second",
    )


TUNING = StanTuning()
