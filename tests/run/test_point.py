"""Models without parameters: their evidence is one evaluation."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.inputs.stan.density import PointDensity
from refti.models.space import SupportedSpace


def point(value: float) -> refti.Model:
    space = SupportedSpace({})
    return refti.Model.assembled(space, PointDensity(jnp.asarray(value)), source="a point")


def test_the_evidence_is_the_density_and_exact(tmp_path: Path):
    result = refti.evidence(point(-3.25), progress=False)
    assert (result.log_z, result.error, result.trusted) == (-3.25, 0.0, True)
    assert result.cost.evaluations == 1
    result.save(tmp_path / "kept")
    assert refti.load(tmp_path / "kept").value == -3.25
    again = refti.evidence(point(-3.25), store=tmp_path / "run", progress=False)
    assert refti.evidence(point(-3.25), store=tmp_path / "run").value == again.value
    assert refti.log_bayes_factor(point(-3.25), point(-4.5), progress=False).value == 1.25


def test_it_stands_beside_models_with_parameters():
    other = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=1)
    results = {
        "point": refti.evidence(point(0.0), progress=False),
        "other": refti.evidence(other, seed=1, search="quick", reference="laplace", progress=False),
    }
    rows = {row.name: row for row in refti.compare(results).rows}
    assert rows["other"].log_z == pytest.approx(0.5 * np.log(2 * np.pi), abs=0.05)
    with pytest.raises(refti.RefTIError):
        refti.log_bayes_factor(point(0.0), other, progress=False)


def test_data_of_probability_zero_are_not_trusted():
    result = refti.evidence(point(-np.inf), progress=False)
    assert not result.trusted
    assert "probability of zero" in str(result)
