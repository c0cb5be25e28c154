"""The numbers of calibration: what counts as right, wrong and enough, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from refti.studies import tuned


@dataclass(frozen=True)
class CalibrationTuning:
    """What decides the verdicts of `refti calibrate`."""

    rounding: float = tuned(1e-8, "nats below which a difference is rounding, whatever the error")
    good_errors: float = tuned(3.0, "errors from the truth within which a run is good")
    wrong_errors: float = tuned(3.5, "errors from the truth beyond which a trusted run is wrong")
    wrong_of_many_errors: float = tuned(
        4.0, "the same where targets have many seeds: by chance once in 16,000 runs"
    )
    near_nats: float = tuned(0.2, "nats from the truth that decide no choice between models")
    most_trusted_bad: float = tuned(0.01, "share of trusted runs that may be bad")
    levels: tuple[float, ...] = tuned((0.50, 0.68, 0.90, 0.95), "intervals whose cover is counted")
    variance: tuple[float, float] = tuned(
        (0.7, 1.4), "of z: an error too small by 1.25 is found with power 0.97 in 200 runs"
    )
    coverage_95: tuple[float, float] = tuned((0.92, 0.98), "shares that 95 % intervals may cover")
    least_coverage: float = tuned(0.90, "lower Wilson bound of it, for errors proved right")
    mean_z: float = tuned(0.3, "mean of z on hard targets: three errors of it in 100 runs")
    enough_hard_runs: int = tuned(50, "trusted runs of a hard target for its figures to decide")
    enough_runs: int = tuned(100, "runs below which a figure can only contradict")
    false_alarm: float = tuned(0.01, "of all tests of model probabilities together")
    extreme: float = tuned(1e-12, "probabilities nearer to 0 or 1 count as this near")
    control_bias: float = tuned(log(2), "nats of a prior without its factor 2, the usual mistake")
    search_evaluations: int = tuned(
        100, "of a search whose power is measured: few, so that shares of 0.1 % to 30 % tell"
    )
    search_distance: float = tuned(15.0, "spreads of the first mode to the second one searched for")
    search_widths: tuple[float, float] = tuned(
        (0.01, 30.0), "of the second in those of the first, among which its share is looked for"
    )
    search_points: int = tuned(200_000, "by which the share of a mode is counted")
    search_alarm: float = tuned(
        1e-3, "chance of so few found, below which the search finds less than it says"
    )
    control_noise: float = tuned(1.0, "nats of noise that a careless estimate has")


TUNING = CalibrationTuning()
