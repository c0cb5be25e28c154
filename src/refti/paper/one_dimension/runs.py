"""The runs of the 1-D example, and what can be read off them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import refti
from refti.paper.one_dimension import exact
from refti.paper.one_dimension.convergence import iterations_to_stay, running_evidence
from refti.paper.one_dimension.model import model
from refti.paper.recipe import CHAINS, DRAWS
from refti.paper.report.work import Work

LADDER = (0.0, 0.2, 0.5, 0.8, 1.0)
DRAWS_A_BATCH = 50  # draws of a chain that are averaged before their spread is taken


@dataclass(frozen=True, eq=False)
class Runs:
    """What was run: the paper's recipe, many repetitions of it, and the default.

    `repeated` is one run of many chains with one reference; each four of its chains are one
    repetition of the recipe.
    """

    recipe: refti.Evidence
    repeated: refti.Evidence
    default: refti.Evidence

    @property
    def reference(self) -> exact.NormalCurve:
        """The recipe's reference."""
        return exact.read_reference(self.recipe)

    @property
    def longest(self) -> int:
        """The iterations of a repetition."""
        return CHAINS * self.repeated.draws[0].draws

    def iterations(self, band: float) -> np.ndarray:
        """The iterations that each repetition took to stay within a band about the exact z."""
        draws, z_ref = self.repeated.draws[0], reference_z(self.repeated)
        groups = np.split(draws.delta, draws.delta.shape[1] // CHAINS, axis=1)
        running = [running_evidence(z_ref, draws.lambdas, delta) for delta in groups]
        z = exact.evidence()
        return np.array([iterations_to_stay(each, z, band, CHAINS) for each in running])

    def iterations_expected(self, band: float) -> float:
        """The iterations at which the standard error is as large as a band."""
        size = self.repeated.draws[0].delta[0].size
        return float(size * (self.repeated.estimates["ti"].monte_carlo_error / band) ** 2)


def all_runs(work: Work) -> Runs:
    """The runs, a twentieth as long in the short version."""
    kept, repetitions = (500, 7) if work.quick else (DRAWS // CHAINS, 15)
    recipe = {"reference": "covariance", "ladder": LADDER, "estimator": "ti", "kept": kept}
    return Runs(
        work.evidence("recipe", model(), chains=CHAINS, **recipe),
        work.evidence("repeated", model(), chains=CHAINS * repetitions, **recipe),
        work.evidence("default", model()),
    )


def reference_z(result: refti.Evidence) -> float:
    """The integral of a run's reference."""
    return float(np.exp(result.found["log_z_start"]))


def posterior_variance(result: refti.Evidence) -> tuple[float, float]:
    """The variance of the posterior draws and its error, from batches of the chains."""
    theta = result.posterior["x"].values[..., 0]
    squares = (theta - theta.mean()) ** 2
    batches = (
        squares[:, : squares.shape[1] // DRAWS_A_BATCH * DRAWS_A_BATCH]
        .reshape(-1, DRAWS_A_BATCH)
        .mean(axis=1)
    )
    return float(squares.mean()), float(batches.std(ddof=1) / np.sqrt(len(batches)))
