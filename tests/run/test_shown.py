"""What a run keeps for its figures: draws of the reference, places of modes, stages, versions."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.draws.cost import Cost
from refti.run.stages import StageClock
from refti.sampling.metering import Meter

QUICK = {"kept": 100, "warmup": 100, "seed": 1, "progress": False}


@pytest.fixture(scope="module")
def two_modes() -> refti.Evidence:
    def log_density(x):
        left, right = (-0.5 * jnp.sum((x - m) ** 2) for m in (-4.0, 4.0))
        return jnp.logaddexp(left, jnp.log(0.25) + right)

    return refti.evidence(refti.Model(log_density, dim=2), **QUICK)


def test_the_draws_of_the_reference_are_those_of_its_density():
    model = refti.Model(
        lambda a, b: -0.5 * ((a - 3) / 2) ** 2 - 0.5 * (jnp.log(b) + 1) ** 2 - jnp.log(b),
        {"a": refti.real(), "b": refti.positive()},
    )
    result = refti.evidence(model, reference="laplace", **QUICK)
    a, b = (result.reference[name].values for name in ("a", "b"))
    assert len(a) >= 100
    # The density is its own Laplace approximation: N(3, 2) and exp of N(-1, 1). z-scores of 4.
    assert abs(a.mean() - 3) < 4 * 2 / np.sqrt(len(a))
    assert abs(np.log(b).mean() + 1) < 4 / np.sqrt(len(a))
    assert a.std() == pytest.approx(2, rel=4 / np.sqrt(2 * len(a)))


def test_the_places_and_shares_of_modes_are_kept(two_modes: refti.Evidence, tmp_path: Path):
    peaks = two_modes.found["peaks"]
    places = sorted(float(peak["at"]["x"][0]) for peak in peaks)
    assert places == pytest.approx([-4, 4], abs=0.01)
    shares = {round(peak["at"]["x"][0]): peak["share"] for peak in peaks}
    assert shares[-4] == pytest.approx(0.8, abs=0.01)  # 1 to 1/4
    two_modes.save(tmp_path / "run")
    assert refti.load(tmp_path / "run").found["peaks"] == peaks


def test_stages_add_up_to_the_run(two_modes: refti.Evidence, tmp_path: Path):
    stages = two_modes.found["stages"]
    names = [stage["stage"] for stage in stages]
    assert "finding the modes" in names
    assert "round 1" in names
    evaluations = sum(stage["evaluations"] for stage in stages)
    assert evaluations == two_modes.cost.evaluations
    assert sum(s["seconds"] for s in stages) <= two_modes.cost.seconds
    cost = two_modes.cost
    assert [stage.stage for stage in cost.stages] == names
    assert sum(stage.gradient_evaluations for stage in cost.stages) == cost.gradient_evaluations
    assert sum(stage.programs for stage in cost.stages) == cost.programs > 0
    assert 0 < cost.trace_seconds < cost.compile_seconds < cost.seconds
    assert cost.import_seconds > 0
    merged = [stage.stage for stage in cost.profile]
    assert len(set(merged)) == len(merged)
    assert {"choosing the reference", "sampling in rounds", "checking"} < {*merged}
    two_modes.save(tmp_path / "run")
    assert refti.load(tmp_path / "run").cost == cost
    assert two_modes.found["versions"]["refti"] == refti.__version__


def test_a_path_from_the_prior_has_no_draws_of_a_reference():
    model = refti.Model(
        log_prior=lambda a: -0.5 * a**2 - 0.5 * jnp.log(2 * jnp.pi),
        log_likelihood=lambda a: -0.5 * (a - 1) ** 2,
        parameters={"a": refti.real()},
    )
    result = refti.evidence(model, path="power", check_prior=False, **QUICK)
    assert result.reference.sizes["draw"] == 0
    with pytest.raises(refti.SettingsError, match="no draws of its reference"):
        refti.plots.reference(result)


def test_what_happens_between_two_reports_belongs_to_the_later_one():
    meter, told = Meter(), []
    clock = StageClock(lambda *report: told.append(report), meter)
    meter.count(densities=1)
    clock("a", 0, 2)  # a begins: the one before was for getting ready
    meter.count(densities=10)
    clock("a", 2, 2)
    meter.count(gradients=100)
    clock("b", 1, 1)  # b is done as soon as it is heard of
    meter.count(densities=1000)
    found = {stage.stage: stage.evaluations for stage in clock.costs()}
    assert found == {"getting ready": 1, "a": 10, "b": 100, "checking": 1000}
    assert told == [("a", 0, 2), ("a", 2, 2), ("b", 1, 1)]
    assert isinstance(clock.stages["a"], Cost)
