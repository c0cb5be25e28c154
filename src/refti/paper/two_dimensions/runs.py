"""The runs of the 2-D example: the paper's recipe from its references, and refti's default."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import refti
from refti.paper.one_dimension.cusp import integral
from refti.paper.pedagogical import model_2d
from refti.paper.report.work import Work
from refti.paper.two_dimensions.bounded import Case, Expansion, laplace

CHAINS = 4
RUNGS = 11
PAPER_DRAWS = 40_000  # a rung: 4 chains of 20,000 iterations, of which half are burn-in


@dataclass(frozen=True, eq=False)
class Sampled:
    """Referenced TI by the paper's recipe from one expansion, with no bound on its z_ref.

    Attributes:
        expansion: the reference.
        result: the run, in which the reference is restricted to where q is not zero.
    """

    expansion: Expansion
    result: refti.Evidence

    @property
    def unbounded(self) -> tuple[float, float]:
        """z_ref over the plane times the exponential of the integral, and its error."""
        draws = self.result.draws[0]
        z = float(self.expansion.z * np.exp(integral(draws.lambdas, draws.mean())))
        return z, z * self.result.estimates["ti"].error

    @property
    def bounded(self) -> tuple[float, float]:
        """The same with the reference's share within the bound, which makes it right."""
        z, error = self.unbounded
        return self.expansion.share() * z, self.expansion.share() * error

    @property
    def relative_noise(self) -> float:
        """The relative Monte Carlo error of as many draws as the paper's."""
        size = self.result.draws[0].delta[0].size
        noise = self.result.estimates["ti"].monte_carlo_error
        return float(noise * np.sqrt(size / PAPER_DRAWS))


@dataclass(frozen=True, eq=False)
class Runs:
    """What was run of one case: TI from both expansions, and the default both ways."""

    case: Case
    full: Sampled
    diagonal: Sampled
    declared: refti.Evidence
    undeclared: refti.Evidence


def run(work: Work, case: Case) -> Runs:
    """The runs of a case."""
    expansion = laplace(case)
    declared, undeclared = (
        work.evidence(name, model_2d(shift=case.shift, bounded=case.bounded, declared=known))
        for name, known in (("declared", True), ("undeclared", False))
    )
    return Runs(
        case,
        by_ti(work, "full", expansion),
        by_ti(work, "diagonal", expansion.diagonal()),
        declared,
        undeclared,
    )


def by_ti(work: Work, name: str, expansion: Expansion) -> Sampled:
    """TI by the paper's recipe from an expansion, on a model that does not declare its bound."""
    case = expansion.case
    result = work.evidence(
        name,
        model_2d(shift=case.shift, bounded=case.bounded, declared=False),
        reference=expansion.reference(),
        ladder=refti.uniform(RUNGS),
        estimator="ti",
        chains=CHAINS,
        kept=200 if work.quick else 1_000,
    )
    return Sampled(expansion, result)


def z_of(result: refti.Evidence) -> tuple[float, float]:
    """z and its error, from log z and its."""
    z = float(np.exp(result.log_z))
    return z, z * result.error
