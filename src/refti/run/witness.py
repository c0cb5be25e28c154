"""The second witness: the estimate repeated along an independent way, to hold the first against.

From the prior by tempering where the prior is apart; otherwise from a wide and heavy-tailed
Student-t. Nothing is taken over from the first run but how far its draws spread: the posterior is
searched for again, with other random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from refti.checks.check import Check
from refti.checks.ended import Ended
from refti.checks.of_run import check_witness
from refti.errors import RefTIError, SettingsError
from refti.estimators import Estimate
from refti.factors.tuning import TUNING as FACTORS
from refti.models.model import Model
from refti.references.student import Student, fit_student, student
from refti.results.result import Evidence
from refti.run.beside import RunAlone, evaluations_left, run_beside, seconds_left
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.suitability import adapted_to_models
from refti.run.tuning import WITNESS
from refti.sampling.metering import Meter

NO_ESTIMATE = Estimate(float("nan"), 0.0)


@dataclass(frozen=True)
class Witness:
    """What the second way gave.

    Attributes:
        way: along which it was made, in words.
        estimate: NaN where there is none.
        evaluations: what it cost.
        trusted: whether it would be trusted by itself.
        why_not: why there is no estimate, in words.
    """

    way: str
    estimate: Estimate = NO_ESTIMATE
    evaluations: int = 0
    trusted: bool = False
    why_not: str = ""

    def check(self, first: Estimate) -> Check:
        """Whether the two agree."""
        return check_witness(first, self.estimate, self.way, self.why_not)

    def record(self) -> dict[str, Any]:
        """As plain values."""
        told: dict[str, Any] = {"way": self.way, "evaluations": self.evaluations}
        if self.why_not:
            return told | {"why_not": self.why_not}
        found = {"log_z": self.estimate.value, "error": self.estimate.error}
        return told | found | {"trusted": self.trusted}


def require_witness(model: Model, settings: Settings) -> None:
    """Raises SettingsError if a second witness is wanted and the model cannot have one."""
    if settings.witness and _way(model, settings) == WIDE and model.dim > FACTORS.densest:
        raise SettingsError(
            "witness= needs a second way to the posterior: from the prior, which this model does "
            "not give separately, or from a full covariance, which is used up to "
            f"{FACTORS.densest:,} parameters; got {model.dim:,}. Give log_prior= and "
            "log_likelihood= separately, or leave out witness=."
        )


def second_estimate(
    problem: Problem, points: np.ndarray, ended: Ended | None, meter: Meter, run: RunAlone
) -> Witness:
    """The evidence along another way than the problem's.

    It should cost no more than the run. Raises KeyboardInterrupt if it was interrupted.

    Args:
        problem: what the first run was to find.
        points: its draws of the posterior, x[chain, draw, dim].
        ended: why the first run ended early, if it did.
        meter: of the first run, which pays for the second.
        run: runs a problem.
    """
    settings, model = problem.settings, problem.model
    way = _way(model, settings)
    if ended is not None:
        return Witness(way, why_not=f"the run was ended early: {ended.sentence}")
    spent = meter.spent.evaluations
    other = Settings(
        path="power" if way == POWER else "referenced",
        target_error=settings.target_error,
        seed=(settings.seed + WITNESS.other_seed) % 2**63,
        chains=settings.chains,
        kernel=settings.kernel,
        max_seconds=seconds_left(settings, meter),
        max_evaluations=evaluations_left(settings, meter, WITNESS.least_evaluations, np.inf),
        check_prior=False,
    )
    try:
        if way == WIDE:
            other = replace(other, reference=wide_student(points.reshape(-1, model.dim)))
        beside = Problem(Evidence, (model,), adapted_to_models(other, [model]))
        found = run_beside(beside, meter, run)
    except RefTIError as error:  # may not cost the result that is there already
        return Witness(way, evaluations=meter.spent.evaluations - spent, why_not=str(error))
    estimate = found.estimates["mbar"]
    witness = Witness(way, estimate, found.cost.evaluations, found.trusted)
    if not estimate.error <= WITNESS.largest_error:
        came_to = f"{estimate.value:.3f} ± {estimate.error:.3f}"
        return replace(witness, why_not=f"it came to {came_to}, which is too imprecise to decide")
    return witness


def wide_student(draws: np.ndarray) -> Student:
    """The Student-t about draws x[draw, dim] that is wider than they are, with heavy tails."""
    fitted = fit_student(draws[:: -(-len(draws) // WITNESS.most_draws)])
    wider = np.sqrt(WITNESS.covariance) * np.asarray(fitted.factor)
    return student(np.asarray(fitted.mean), wider, WITNESS.degrees, 0.0)


def _way(model: Model, settings: Settings) -> str:
    if settings.path == "power":
        return REFERENCED
    return WIDE if model.prior is None else POWER


POWER = "power posteriors, from the prior"
REFERENCED = "the referenced path"
WIDE = "a wide Student-t reference"
