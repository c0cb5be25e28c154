"""The prior's own integral, which should be one: the evidence of a run without the data."""

from __future__ import annotations

from refti.errors import RefTIError
from refti.estimators import Estimate
from refti.results.result import Evidence
from refti.run.beside import RunAlone, evaluations_left, run_beside, seconds_left
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.suitability import adapted_to_models
from refti.run.tuning import ROUNDS
from refti.sampling.metering import Meter


def integrate_prior(problem: Problem, meter: Meter, run: RunAlone) -> tuple[Estimate, str]:
    """The log of the prior's own integral, which should be 0; NaN and why, where it was not found.

    It should cost no more than the run. Where every factor of the prior is known to be normalised,
    a run of it that is not trusted tells of its chains and not of the prior, and is not counted.
    Raises KeyboardInterrupt if it was interrupted.
    """
    settings = problem.settings
    alone = Settings(
        target_error=max(settings.target_error, ROUNDS.prior_target_error),
        seed=settings.seed,
        chains=settings.chains,
        max_seconds=seconds_left(settings, meter),
        max_evaluations=evaluations_left(settings, meter, *ROUNDS.prior_evaluations),
        check_prior=False,
        search="quick",
    )
    try:
        found = run_beside(problem_of_prior(problem, alone), meter, run)
    except RefTIError as error:  # may not cost the result that is there already
        return Estimate(float("nan"), 0.0), str(error)
    if problem.given[0].prior_parts and not found.trusted:
        return Estimate(float("nan"), 0.0), "the run that integrates it is not trusted"
    return found.estimates["mbar"], ""


def problem_of_prior(problem: Problem, settings: Settings) -> Problem:
    """The problem of the prior alone.

    By sampling alone: what is known of its factors is held against it afterwards. A ridge without
    end is refused then, since it would cost much and tell little.
    """
    prior = problem.model.prior_alone().with_prior_parts("")
    return Problem(Evidence, (prior,), adapted_to_models(settings, [prior]))
