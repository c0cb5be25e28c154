"""Radiata pine: what each method gives for log z and log BF21 over its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import refti
from refti.paper.laplace import laplace
from refti.paper.radiata.exact import MODELS
from refti.paper.radiata.model import adjusted_density, density
from refti.paper.radiata.runs import ELEVEN, HUNDRED, NAMES, Runs, draws_of


@dataclass(frozen=True, eq=False)
class Sample:
    """A number of nats, measured again and again.

    Attributes:
        values: one a run.
        errors: the Monte Carlo error that each run states.
        draws: kept by one run, over all rungs.
        expected: what the method is off by when nothing is left to chance, where known.
    """

    values: np.ndarray
    errors: np.ndarray
    draws: int
    expected: float | None = None

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def spread(self) -> float:
        """The standard deviation over the runs; what one run states if there is only one."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else self.stated

    @property
    def stated(self) -> float:
        """The error of one run as the runs themselves state it."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def error(self) -> float:
        """The standard error of the mean, by spread or by statement, whichever is larger."""
        return max(self.spread, self.stated) / math.sqrt(len(self.values))

    def minus(self, other: Sample) -> Sample:
        """The difference of two such numbers, run by run."""
        known = self.expected is not None and other.expected is not None
        return Sample(
            self.values - other.values,
            np.hypot(self.errors, other.errors),
            self.draws + other.draws,
            self.expected - other.expected if known else None,  # type: ignore[operator]
        )

    def draws_to(self, error: float) -> float:
        """The kept draws after which the Monte Carlo error of one run is no larger than this."""
        return self.draws * (self.stated / error) ** 2


def samples(runs: Runs) -> dict[str, dict[str, Sample]]:
    """log z by method and model."""
    eleven = {name: MODELS[name].spline_error(ELEVEN) for name in NAMES}
    hundred = {name: MODELS[name].spline_error(HUNDRED) for name in NAMES}
    return {
        "Laplace, sampled covariance": {name: _laplace(runs, name, True) for name in NAMES},
        "Laplace on the scale of τ": {name: _laplace(runs, name, False) for name in NAMES},
        "Referenced TI": {name: _by(runs.referenced[name], "ti") for name in NAMES},
        "PP11": {name: _by(runs.eleven[name], "ti", eleven[name]) for name in NAMES},
        "PP100": {name: _by(runs.hundred[name], "ti", hundred[name]) for name in NAMES},
        "Defaults (MBAR)": {name: _by([runs.defaults[name]], "mbar", 0.0) for name in NAMES},
    }


def log_bayes_factors(runs: Runs) -> dict[str, Sample]:
    """log BF21 by method."""
    found = {
        method: by_model["adjusted_density"].minus(by_model["density"])
        for method, by_model in samples(runs).items()
    }
    return found | {"Model switch TI": _by([runs.switch], "ti")}


def _by(
    runs: Sequence[refti.Evidence | refti.LogRatio], estimator: str, expected: float | None = None
) -> Sample:
    estimates = [run.estimates[estimator] for run in runs]
    return Sample(
        np.array([estimate.value for estimate in estimates]),
        np.array([estimate.monte_carlo_error for estimate in estimates]),
        draws_of(runs[:1]),
        expected,
    )


def _laplace(runs: Runs, name: str, log_scale: bool) -> Sample:
    model = density() if name == "density" else adjusted_density()
    found = [
        laplace(model, run.posterior, unconstrained=log_scale) for run in runs.referenced[name]
    ]
    values, errors = np.array([(each.log_z, each.error) for each in found]).T
    draws = runs.referenced[name][0].posterior["tau"].size
    return Sample(values, errors, draws, MODELS[name].laplace_error(log_scale=log_scale))
