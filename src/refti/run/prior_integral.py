"""The prior's own integral, which should be one: the evidence of a run without the data."""

from __future__ import annotations

from collections.abc import Callable

from refti.checks.ended import Ended
from refti.errors import RefTIError
from refti.estimators import Estimate
from refti.results.result import Evidence
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.suitability import adapted_to_models
from refti.run.tuning import ROUNDS
from refti.sampling.metering import Meter


def integrate_prior(problem: Problem, meter: Meter, run: Callable[[Problem], Evidence]) -> Estimate:
    """The log of the prior's own integral, which should be 0; NaN where it was not found.

    It should cost no more than the run. Raises KeyboardInterrupt if it was interrupted.
    """
    settings, spent = problem.settings, meter.spent.evaluations
    least, most = ROUNDS.prior_evaluations
    allowed = min(settings.max_evaluations - spent, max(least, min(spent, most)))
    alone = Settings(
        target_error=max(settings.target_error, ROUNDS.prior_target_error),
        seed=settings.seed,
        chains=settings.chains,
        max_seconds=settings.max_seconds,
        max_evaluations=max(1, allowed),
        check_prior=False,
        search="quick",
    )
    try:
        prior = problem.model.prior_alone()
        found = run(Problem(Evidence, (prior,), adapted_to_models(alone, [prior])))
    except RefTIError:  # may not cost the result that is there already
        return Estimate(float("nan"), 0.0)
    cost = found.cost
    meter.count(gradients=cost.gradient_evaluations, densities=cost.density_evaluations)
    if found.found["ended"] == Ended.INTERRUPTED.value:
        raise KeyboardInterrupt
    return found.estimates["mbar"]
