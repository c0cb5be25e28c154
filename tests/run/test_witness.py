"""The second witness: the estimate along another way.

Seeds are fixed. A z-score beyond 4 is a false alarm once in 16,000.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import log, pi

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.checks.check import Check
from refti.checks.ended import Ended
from refti.estimators import Estimate
from refti.results.result import Evidence
from refti.run import witness
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.run.witness import POWER, REFERENCED, WIDE, require_witness, second_estimate
from refti.sampling.metering import Meter

TOO_FAR = 4.0
DATA = np.array([1.0, 2.0, 0.5])
# Three observations of variance 1 about a mean with a prior of variance 9.
SPLIT_LOG_Z = -1.5 * log(2 * pi) - 0.5 * log(28) - 0.5 * (DATA @ DATA - DATA.sum() ** 2 * 9 / 28)


def check(found: refti.Evidence, name: str) -> Check:
    return next(check for check in found.checks if check.name == name)


def normal(x, scale=1.0):
    return -0.5 * jnp.sum((x / scale) ** 2) - x.size * jnp.log(scale * jnp.sqrt(2 * jnp.pi))


@cache
def split_model() -> refti.Model:
    return refti.Model(
        log_prior=lambda x: normal(x, 3.0), log_likelihood=lambda x: normal(DATA - x), dim=1
    )


@pytest.mark.parametrize(
    ("path", "way"), [("referenced", POWER), ("power", REFERENCED)], ids=["referenced", "power"]
)
def test_of_a_prior_and_a_likelihood_goes_by_the_other_path(path, way):
    found = refti.evidence(
        split_model(), path=path, witness=True, check_prior=False, progress=False
    )
    second = found.found["witness"]
    assert second["way"] == way
    assert abs(second["log_z"] - SPLIT_LOG_Z) < TOO_FAR * second["error"]
    assert second["error"] > 0
    assert second["log_z"] != found.log_z
    assert check(found, "witness").ok
    assert found.trusted
    alone = refti.evidence(split_model(), path=path, check_prior=False, progress=False)
    assert alone.log_z == found.log_z
    assert found.cost.evaluations == alone.cost.evaluations + second["evaluations"]


def test_of_a_product_goes_from_a_wide_student():
    model = refti.Model(lambda x: normal(x / jnp.array([0.1, 30.0])) - jnp.log(3.0) + 2.0, dim=2)
    found = refti.evidence(model, witness=True, progress=False)
    second = found.found["witness"]
    assert second["way"] == WIDE
    assert abs(second["log_z"] - 2.0) < TOO_FAR * second["error"]
    assert found.trusted


def test_a_model_without_gradients_has_one_too():
    model = refti.from_callable(lambda x: -0.5 * float(np.sum(x**2)), dim=2, processes=1)
    found = refti.evidence(model, witness=True, target_error=0.1, progress=False)
    second = found.found["witness"]
    assert abs(second["log_z"] - log(2 * pi)) < TOO_FAR * second["error"]
    assert check(found, "witness").ok


def test_a_prior_that_does_not_integrate_to_one_makes_the_two_disagree():
    doubled = refti.Model(
        log_prior=lambda x: normal(x, 3.0) + 2.0, log_likelihood=lambda x: normal(DATA - x), dim=1
    )
    found = refti.evidence(doubled, witness=True, check_prior=False, progress=False)
    assert not found.trusted
    assert [c.name for c in found.checks if not c.ok] == ["witness"]
    assert found.found["witness"]["log_z"] == pytest.approx(SPLIT_LOG_Z, abs=0.5)
    assert found.log_z == pytest.approx(SPLIT_LOG_Z + 2, abs=0.1)


def heard(run, settings=None, ended=None) -> witness.Witness:
    problem = Problem(Evidence, (split_model(),), settings or Settings())
    return second_estimate(problem, np.zeros((2, 5, 1)), ended, Meter(), run)


def test_it_has_its_own_seed_and_may_make_so_many_evaluations():
    seen: list[Settings] = []

    def run(problem):
        seen.append(problem.settings)
        raise refti.SamplingError("no luck.")

    meter = Meter()
    meter.count(gradients=700_000)
    for settings in (Settings(seed=2**63 - 1), Settings(max_evaluations=750_000)):
        problem = Problem(Evidence, (split_model(),), settings)
        told = second_estimate(problem, np.zeros((2, 5, 1)), None, meter, run)
        assert told.why_not == "no luck."
    heard(run)
    assert [one.max_evaluations for one in seen] == [700_000, 50_000, 200_000]
    assert 0 <= seen[0].seed < 2**62
    assert not any(one.witness or one.check_prior for one in seen)


def test_where_there_is_none_the_reason_is_told():
    def must_not_run(problem):
        raise AssertionError

    told = heard(must_not_run, ended=Ended.OUT_OF_BUDGET)
    found = told.check(refti.evidence(split_model(), progress=False, kept=50).estimates["mbar"])
    assert not found.ok
    assert "no second estimate was made: the run was ended early: its budget" in found.advice
    assert "log_z" not in told.record()


@pytest.mark.parametrize(
    ("error", "why_not"), [(0.2, ""), (0.4, "-1.000 ± 0.400"), (np.nan, "nan")]
)
def test_one_that_is_too_vague_tells_nothing(error, why_not):
    found = refti.evidence(split_model(), kept=50, check_prior=False, progress=False)
    vague = replace(found, estimates={"mbar": Estimate(-1.0, error)})
    told = heard(lambda problem: vague)
    assert why_not in told.why_not
    assert bool(told.why_not) is bool(why_not)
    assert ("log_z" in told.record()) is not bool(why_not)


def test_a_model_of_too_many_parameters_is_told_so_before_any_compute():
    model = refti.Model(lambda x: -jnp.sum(x**2), dim=1501)
    with pytest.raises(refti.SettingsError, match=r"up to 1,500 parameters; got 1,501"):
        refti.evidence(model, witness=True)
    require_witness(model, Settings())


@pytest.mark.parametrize("name", ["witness", "check_prior"])
@pytest.mark.parametrize("value", ["no", 1, None])
def test_yes_or_no_is_no_text(name, value):
    with pytest.raises(refti.SettingsError, match=f"{name}= must be True or False"):
        Settings(**{name: value})
    assert Settings(**{name: np.bool_(True)}).record()[name] is True
