"""Error bars of whole runs, the short version of `make calibration`."""

import numpy as np
import pytest
from scipy import stats

import refti
from targets import TARGETS

SEEDS = range(12)
SETTINGS = {"ladder": refti.power(5), "warmup": 200, "kept": 200, "search": "quick"}


@pytest.mark.long  # tests/run/test_rounds.py has twelve seeds of one target
@pytest.mark.parametrize("name", ["log_gamma"])  # `refti calibrate coverage` takes many more
def test_errors_are_the_spread_of_whole_runs(name: str):
    """The sum of z squared over seeds is chi-squared; two-sided false-alarm rate 1e-4 each."""
    (target,) = [target for target in TARGETS if target.name == name]
    model = target.model()
    results = [refti.evidence(model, **SETTINGS, seed=seed) for seed in SEEDS]
    for estimator in ("mbar", "ti", "stepping_stone"):
        estimates = [result.estimates[estimator] for result in results]
        z = np.array([(e.value - target.log_z) / e.error for e in estimates])
        low, high = stats.chi2.ppf([5e-5, 1 - 5e-5], len(z))
        assert low < np.sum(z**2) < high, (estimator, z)
        assert abs(z.mean()) * len(z) ** 0.5 < 3.9, (estimator, z)
