"""refti as a program of the benchmark: by default, with two rungs, as in the paper, from Stan."""

from __future__ import annotations

from typing import Any

import numpy as np

import refti
from benchmarks.peers.problems import Problem
from benchmarks.peers.rows import Answer

PAPER = {"ladder": "uniform", "estimator": "ti", "reference": "covariance", "kept": 1000}


def default(problem: Problem, seed: int) -> Answer:
    """As a user calls it."""
    return _answer(problem.model(), seed, {})


def two_rungs(problem: Problem, seed: int) -> Answer:
    """Reference and posterior alone: bridge sampling."""
    return _answer(problem.model(), seed, {"ladder": [0.0, 1.0]})


def paper(problem: Problem, seed: int) -> Answer:
    """The paper's recipe: a Gaussian of the draws' covariance, eleven equal rungs, a spline."""
    settings = {**PAPER, "ladder": refti.uniform(11)}
    return _answer(problem.model(), seed, settings)


def from_stan(problem: Problem, seed: int) -> Answer:
    """The model as a Stan program."""
    from tests.zoo import MODELS

    assert problem.data is not None
    program = MODELS[problem.zoo or ""].stan
    return _answer(refti.from_stan(program, data=problem.data(), progress=False), seed, {})


def _answer(model: refti.Model, seed: int, settings: dict[str, Any]) -> Answer:
    result = refti.evidence(model, seed=seed, progress=False, **settings)
    rounds = [s for s in result.cost.profile if s.stage == "sampling in rounds"]
    return Answer(
        float(result.log_z),
        float(result.error),
        int(result.cost.gradient_evaluations),
        int(result.cost.density_evaluations),
        sum(max(0.0, stage.seconds - stage.compile_seconds) for stage in rounds),
        bool(result.trusted),
        path_length(result),
        sum(leg.delta.size for leg in result.draws),
    )


def path_length(result: refti.Evidence) -> float:
    """∫ sd_λ Δ dλ over all legs, from the spread of delta at every rung, by trapezoids."""
    total = 0.0
    for leg in result.draws:
        spread = leg.delta.reshape(len(leg.lambdas), -1).std(axis=1)
        total += float(np.trapezoid(spread, leg.lambdas))
    return total
