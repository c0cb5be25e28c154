"""Results that are made up of exact draws: a Gaussian path whose means are known, no sampling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray

from refti.checks.check import Check
from refti.checks.of_draws import check_estimates, check_legs
from refti.draws.cost import Cost, StageCost
from refti.draws.draws import Draws
from refti.estimators import Estimate, estimate_path
from refti.results.result import Evidence
from refti.results.rungs import summarise_rungs
from refti.run.settings import Settings

SCALE = 2.0  # of the posterior, beside a standard normal as the reference
LOG_Z_START = -3.0
LOG_Z = LOG_Z_START + float(np.log(SCALE))


def made_up_result(
    rungs: int = 5,
    *,
    seed: int = 0,
    log_z_start: float = LOG_Z_START,
    names: tuple[str, ...] = ("a", "b"),
    failed: tuple[Check, ...] = (),
    found: Mapping[str, Any] | None = None,
) -> Evidence:
    """A result of the path from N(0, 1) to exp(-x² / 2 SCALE²), drawn exactly at every rung.

    log z is log z_start + log SCALE.
    """
    rng = np.random.default_rng(seed)
    lambdas = np.linspace(0, 1, rungs)
    precision = (1 - lambdas) + lambdas / SCALE**2
    x = rng.standard_normal((rungs, 4, 300)) / np.sqrt(precision)[:, None, None]
    draws = Draws(lambdas, 0.5 * x**2 * (1 - 1 / SCALE**2))
    known = Estimate(log_z_start, 0.0)
    estimates = estimate_path([draws], known)
    chosen = estimates["mbar"]
    exchanges = np.full(rungs - 1, 0.5)
    checks = check_legs([draws], np.zeros(rungs - 1), [exchanges])
    checks += check_estimates(estimates, "mbar", max(0.05, chosen.error))
    return Evidence(
        value=chosen.value,
        error=chosen.error,
        estimates=estimates,
        checks=(*checks, *failed),
        draws=(draws,),
        posterior=_posterior(rng, names, chains=4, count=300),
        cost=COST,
        settings=Settings(seed=seed).record(),
        found={**FOUND, "peaks": [{"share": None, "at": dict.fromkeys(names, 0.1)}]}
        | (dict(found) if found else {}),
        rungs=summarise_rungs(0, draws, divergences=np.zeros(rungs - 1), exchanges=exchanges),
        reference=_posterior(rng, names, chains=1, count=200).isel(chain=0),
    )


def with_value(result: Evidence, value: float, error: float) -> Evidence:
    """The same result with another number."""
    return replace(result, value=value, error=error)


def _posterior(
    rng: np.random.Generator, names: tuple[str, ...], *, chains: int, count: int
) -> xarray.Dataset:
    return xarray.Dataset(
        {name: (("chain", "draw"), rng.standard_normal((chains, count))) for name in names}
    )


COST = Cost(
    10_000,
    200,
    3.5,
    1.5,
    4,
    trace_seconds=0.25,
    import_seconds=2.0,
    stages=(
        StageCost("finding the modes", 0, 100, 1.0, 0.5, 0.25, 2),
        StageCost("round 1", 400, 0, 0.5, 0.0, 0.0, 0),
        StageCost("round 2, leg 1", 9600, 100, 2.0, 1.0, 0.0, 2),
    ),
)

FOUND: dict[str, Any] = {
    "path": "referenced",
    "source": "made up",
    "modes": 1,
    "rounds": 2,
    "kernel": "hmc",
    "chosen_reference": "covariance",
    "chosen_because": "it was asked for",
    "search": {
        "since_new": 500,
        "from_prior": 300,
        "sentence": "800 wanderers: nothing else was found.",
    },
    "versions": {"refti": "0.1.0"},
    "ended": None,
}
