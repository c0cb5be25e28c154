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
    coarse_tolerance: float = tuned(
        2e-6, "of a solver, above which it is told: Stan's own is 1e-6 or finer"
    )
    most_cache_megabytes: float = tuned(
        3000.0, "of compiled programs, 2 to 20 each, and of the header of 800 beside them"
    )
    kept_seconds: float = tuned(
        3600.0, "for which a program is kept after its use, however large the cache is"
    )
    operations_a_number: int = tuned(
        100,
        "operations that a program is taken to make of every datum and parameter: Stan takes a "
        "tenth of a microsecond for one, gradient included",
    )
    most_derived: int = tuned(
        50_000_000,
        "numbers of transformed parameters and generated quantities in a result: 400 MB",
    )
    flat_starts: int = tuned(2, "random points, beside 0, from which a prior is followed far out")
    flat_decades: int = tuned(
        12, "powers of ten to which a prior is followed: normal(0, 1e6) falls by then"
    )
    flat_rate: float = tuned(
        1.02, "power of the distance by which a prior must fall: at 1 its integral is infinite"
    )
    flat_step: float = tuned(1e-4, "step of the differences that tell a prior's curvature")
    flat_curvature: float = tuned(
        1e-7, "curvature, relative to the largest, that counts as none: that of rounding"
    )
    farthest_oblique: float = tuned(
        1e6, "distance along directions between coordinates, beyond which their rounding shows"
    )


TUNING = StanTuning()
