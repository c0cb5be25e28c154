"""Points: models without parameters, whose evidence is one evaluation."""

from __future__ import annotations

import time

import numpy as np

from refti.checks.of_run import check_point
from refti.draws.cost import Cost
from refti.errors import SettingsError
from refti.estimators import Estimate
from refti.results.result import Evidence, LogRatio
from refti.run.finish import told_by_models
from refti.run.groups import gather_groups
from refti.run.problem import Problem
from refti.sampling.metering import Meter

ESTIMATORS = ("mbar", "ti", "ti_trapezoid", "ti_corrected", "stepping_stone")


def is_point(problem: Problem) -> bool:
    """Whether the models have no parameters.

    Raises SettingsError if one has and the other has not.
    """
    sizes = {model.dim for model in problem.given}
    if 0 in sizes and len(sizes) > 1:
        raise SettingsError(
            "A direct path joins models of one dimension, and one of these has no parameters. "
            "Use refti.evidence on each, and refti.compare."
        )
    return sizes == {0}


def evaluate_point(problem: Problem) -> Evidence | LogRatio:
    """The result of models without parameters, which is exact."""
    begun = time.perf_counter()
    values = [float(model.log_densities(np.zeros((1, 0)))[0]) for model in problem.given]
    value = values[0] - sum(values[1:])
    return problem.kind(
        value=value,
        error=0.0,
        estimates={name: Estimate(value, 0.0) for name in ESTIMATORS},
        checks=(check_point(value),),
        draws=(),
        posterior=gather_groups(problem.given[0], np.zeros((1, 1, 0)), Meter()).posterior,
        cost=Cost(0, len(values), time.perf_counter() - begun, 0.0, 0),
        settings=problem.settings.record(),
        found=told_by_models(problem, None) | {"path": "a point", "ended": None},
    )
