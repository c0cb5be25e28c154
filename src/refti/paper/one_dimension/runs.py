"""The runs of the 1-D example, and what can be read off them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import refti
from refti.paper.one_dimension import cusp
from refti.paper.pedagogical import model_1d
from refti.paper.report.work import Work

LADDER = (0.0, 0.2, 0.5, 0.8, 1.0)
CHAINS = 4
PAPER_DRAWS = 40_000  # a rung: 4 chains of 20,000 iterations, of which half are burn-in
BLOCK = 50  # draws of a chain that are averaged before their spread is taken


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
    def reference(self) -> cusp.Parabola:
        """The recipe's reference."""
        return cusp.reference_of(self.recipe)

    @property
    def longest(self) -> int:
        """The iterations of a repetition."""
        return CHAINS * self.repeated.draws[0].draws

    def iterations(self, band: float) -> np.ndarray:
        """The iterations that each repetition took to stay within a band about the exact z."""
        draws, z_ref = self.repeated.draws[0], z_ref_of(self.repeated)
        groups = np.split(draws.delta, draws.delta.shape[1] // CHAINS, axis=1)
        running = [cusp.running_evidence(z_ref, draws.lambdas, delta) for delta in groups]
        exact = cusp.evidence()
        return np.array([cusp.iterations_to_stay(z, exact, band, CHAINS) for z in running])

    def iterations_expected(self, band: float) -> float:
        """The iterations at which the standard error is as large as a band."""
        size = self.repeated.draws[0].delta[0].size
        return float(size * (self.repeated.estimates["ti"].monte_carlo_error / band) ** 2)


def run(work: Work) -> Runs:
    """The runs, a twentieth as long in the short version."""
    kept, repetitions = (500, 7) if work.quick else (PAPER_DRAWS // CHAINS, 15)
    recipe = {"reference": "covariance", "ladder": LADDER, "estimator": "ti", "kept": kept}
    return Runs(
        work.evidence("recipe", model_1d(), chains=CHAINS, **recipe),
        work.evidence("repeated", model_1d(), chains=CHAINS * repetitions, **recipe),
        work.evidence("default", model_1d()),
    )


def z_of(result: refti.Evidence) -> tuple[float, float]:
    """z and its error, from log z and its."""
    z = float(np.exp(result.log_z))
    return z, z * result.error


def z_ref_of(result: refti.Evidence) -> float:
    """The integral of a run's reference."""
    return float(np.exp(result.settings["log_z_start"]))


def variance_of(result: refti.Evidence) -> tuple[float, float]:
    """The variance of the posterior draws and its error, from blocks of the chains."""
    theta = result.posterior["x"].values[..., 0]
    squares = (theta - theta.mean()) ** 2
    blocks = squares[:, : squares.shape[1] // BLOCK * BLOCK].reshape(-1, BLOCK).mean(axis=1)
    return float(squares.mean()), float(blocks.std(ddof=1) / np.sqrt(len(blocks)))
