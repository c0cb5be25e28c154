"""Radiata pine by sampling: the paper's methods on both models, run after run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import refti
from refti.paper.radiata.model import adjusted_density, density
from refti.paper.report.work import Work

ELEVEN = refti.uniform(11)
HUNDRED = refti.power(100, 5.0)  # (i / 99)^5, the ladder of Friel and Wyse
NAMES = ("density", "adjusted_density")
CHAINS_A_RUN = 8
GOAL = 0.005  # the standard error of the Bayes factor, relative to it
SEEDS_APART = 1000


@dataclass(frozen=True)
class Plan:
    """How much is run.

    Attributes:
        runs: how often each method is run on each model.
        kept: draws of each chain in the runs with 11 rungs.
        kept_hundred: draws of each chain in the runs with 100 rungs.
        kept_long: the same in the run that is shown iteration by iteration.
        kept_switch: draws of each chain in the one run from model to model.
    """

    runs: int
    kept: int
    kept_hundred: int
    kept_long: int
    kept_switch: int


FULL = Plan(runs=15, kept=200, kept_hundred=50, kept_long=200, kept_switch=800)
QUICK = Plan(runs=2, kept=100, kept_hundred=50, kept_long=50, kept_switch=200)

Repeated = Mapping[str, Sequence[refti.Evidence]]


@dataclass(frozen=True, eq=False)
class Runs:
    """Every run, by the name of the model and in the order they were made.

    Attributes:
        referenced: referenced TI on 11 equal rungs, from a Gaussian of sampled covariance.
        eleven: power posteriors on 11 equal rungs.
        hundred: power posteriors on 100 rungs dense near the prior.
        long: one of these for each model with more draws, to be seen iteration by iteration.
        defaults: what refti does by itself for a Bayes factor to 0.5 %.
        switch: the path from the first model to the second, whose value is log BF21.
    """

    referenced: Repeated
    eleven: Repeated
    hundred: Repeated
    long: Mapping[str, refti.Evidence]
    defaults: Mapping[str, refti.Evidence]
    switch: refti.LogRatio

    @property
    def trusted(self) -> bool:
        """Whether the results that decide are trusted; the power posteriors are what is tried."""
        deciding = [run for runs in self.referenced.values() for run in runs]
        return all(run.trusted for run in [*deciding, *self.defaults.values(), self.switch])


def all_runs(work: Work, plan: Plan) -> Runs:
    """Makes every run, or reads it where it is there already."""
    models = {"density": density(), "adjusted_density": adjusted_density()}

    def run(method: str, name: str, index: int, **settings: Any) -> refti.Evidence:
        # The posteriors of the two models are one shape, stretched: with one seed for both, their
        # errors would be the same and vanish from the Bayes factor.
        seed = work.seed + SEEDS_APART * (2 * index + NAMES.index(name))
        label = f"{method}-{name}-{index + 1}"
        return work.evidence(label, models[name], seed=seed, **settings)

    def repeated(method: str, kept: int, runs: int = plan.runs, **settings: Any) -> Repeated:
        settings |= {"estimator": "ti", "chains": CHAINS_A_RUN, "kept": kept, "check_prior": False}
        label = f"{method}-{kept}"
        return {
            name: [run(label, name, index, **settings) for index in range(runs)] for name in NAMES
        }

    power: dict[str, Any] = {"path": "power", "ladder": HUNDRED}
    long = repeated("pp100", plan.kept_long, runs=1, **power)
    return Runs(
        referenced=repeated("referenced", plan.kept, reference="covariance", ladder=ELEVEN),
        eleven=repeated("pp11", plan.kept, path="power", ladder=ELEVEN),
        hundred=repeated("pp100", plan.kept_hundred, **power),
        long={name: runs[0] for name, runs in long.items()},
        defaults={name: run("defaults", name, 0, target_error=GOAL / 2**0.5) for name in NAMES},
        switch=work.log_bayes_factor(
            "switch",
            models["adjusted_density"],
            models["density"],
            ladder=ELEVEN,
            estimator="ti",
            chains=CHAINS_A_RUN,
            kept=plan.kept_switch,
        ),
    )


def draws_of(runs: Sequence[refti.Evidence | refti.LogRatio]) -> int:
    """The kept draws of all rungs and runs together."""
    return sum(leg.delta.size for run in runs for leg in run.draws)
