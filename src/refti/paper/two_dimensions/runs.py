"""The runs of the 2-D example: the paper's recipe from its references, and refti's default."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import refti
from refti.paper.recipe import CHAINS, DRAWS, integrate_spline
from refti.paper.report.work import Work
from refti.paper.two_dimensions.exact import Case
from refti.paper.two_dimensions.expansions import Expansion, expand_at_mode
from refti.paper.two_dimensions.model import model

RUNGS = 11


@dataclass(frozen=True, eq=False)
class ReferencedTI:
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
        z = float(self.expansion.z * np.exp(integrate_spline(draws.lambdas, draws.mean())))
        return z, z * self.result.estimates["ti"].error

    @property
    def bounded(self) -> tuple[float, float]:
        """The same with the reference's share within the bound, which makes it right."""
        z, error = self.unbounded
        return self.expansion.share_within_bound() * z, self.expansion.share_within_bound() * error

    @property
    def relative_noise(self) -> float:
        """The relative Monte Carlo error of as many draws as the paper's."""
        size = self.result.draws[0].delta[0].size
        noise = self.result.estimates["ti"].monte_carlo_error
        return float(noise * np.sqrt(size / DRAWS))


@dataclass(frozen=True, eq=False)
class Runs:
    """What was run of one case: TI from both expansions, and the default both ways."""

    case: Case
    full: ReferencedTI
    diagonal: ReferencedTI
    declared: refti.Evidence
    undeclared: refti.Evidence


def runs_of_case(work: Work, case: Case) -> Runs:
    """The runs of a case."""
    expansion = expand_at_mode(case)
    declared, undeclared = (
        work.evidence(name, model(shift=case.shift, bounded=case.bounded, declared=known))
        for name, known in (("declared", True), ("undeclared", False))
    )
    return Runs(
        case,
        run_ti(work, "full", expansion),
        run_ti(work, "diagonal", expansion.diagonal()),
        declared,
        undeclared,
    )


def run_ti(work: Work, name: str, expansion: Expansion) -> ReferencedTI:
    """TI by the paper's recipe from an expansion, on a model that does not declare its bound."""
    case = expansion.case
    result = work.evidence(
        name,
        model(shift=case.shift, bounded=case.bounded, declared=False),
        reference=expansion.reference(),
        ladder=refti.uniform(RUNGS),
        estimator="ti",
        chains=CHAINS,
        kept=200 if work.quick else 1_000,
    )
    return ReferencedTI(expansion, result)
