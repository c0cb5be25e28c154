"""The length of the next round: as many scans as are still wanting, at the rate so far.

An error falls with the root of the draws, so what there is tells how many it takes. A round that
only doubled what was made would overshoot by up to twice the draws. The next round aims below the
target, because the error is itself known to a tenth or so and the run ends by it: one that ended
at the first dip below the target would end where the error is underrated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from refti.checks.check import Check
from refti.run.tuning import ROUNDS as TUNING


def next_length(made: int, checks: Iterable[Check]) -> int:
    """How many scans there are to be after the next round, of which some were made.

    Each check that does not hold says how many times the draws it takes; at the most twice as
    many, since the rate of the draws so far, from which that is known, is a guess.
    """
    wanted = [_times_wanted(check) for check in checks if not check.ok]
    times = float(np.clip(max(wanted, default=1.0), TUNING.least_growth, TUNING.most_growth))
    return max(made + 1, int(np.ceil(made * times)))


def length_after_refit(made: int, error: float, target_error: float) -> int:
    """How many scans it takes from a better reference, where so many gave an error from the last.

    The way from it is known to be shorter by a share at least; the draws go with its square.
    """
    times = (TUNING.refit_gain * error / (TUNING.aim * target_error)) ** 2
    times = float(np.nan_to_num(times, nan=TUNING.most_growth))
    least = TUNING.first_round / made
    return int(np.ceil(made * np.clip(times, least, TUNING.most_growth)))


def _times_wanted(check: Check) -> float:
    """How many times the draws so far it takes for a check to hold; infinity where none can say."""
    times = _TIMES.get(check.name, lambda check: float("inf"))(check)
    return times if np.isfinite(times) else float("inf")


def _of_error(check: Check) -> float:
    return (check.value / (TUNING.aim * check.threshold)) ** 2


def _of_size(check: Check) -> float:
    return check.threshold / (TUNING.aim * max(check.value, 1.0))


def _of_r_hat(check: Check) -> float:
    """What R-hat has beyond 1 falls as one over the draws, where chains are not stuck."""
    return (check.value - 1.0) / (TUNING.aim * (check.threshold - 1.0))


_TIMES: dict[str, Callable[[Check], float]] = {
    "target error": _of_error,
    "effective draws": _of_size,
    "convergence": _of_r_hat,
    "chains": _of_r_hat,
    "positions": _of_r_hat,
}
