"""Paths: which densities they join, and which paths do not exist."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.paths import path
from refti.references.gaussian import gaussian
from targets import regression


def narrow() -> refti.Model:
    return refti.Model(lambda x: -2 * jnp.sum(x**2), dim=2)


def wide() -> refti.Model:
    return refti.Model(lambda x: 3 - 0.5 * jnp.sum(x**2), dim=2)


@pytest.mark.usefixtures("x64")
class TestEnds:
    """Every leg's two ends are the densities they should be, the right way round."""

    x = np.array([0.3, -0.7])

    def test_power_posteriors_run_from_the_prior_to_the_posterior(self):
        model = regression()
        found = path.power_posteriors(model)
        assert found.log_z_start == 0
        (leg,) = found.legs
        x = jnp.asarray(self.x)
        likelihood = float(leg.end.log_density(x) - leg.start.log_density(x))
        residual = np.array([-0.9, 0.3, 1.9, 2.2, 3.1, 6.0]) - (
            self.x[0] + self.x[1] * np.array([-1.4, -0.6, 0.1, 0.5, 1.1, 2.3])
        )
        expected = np.sum(-0.5 * (residual / 0.4) ** 2 - np.log(0.4 * np.sqrt(2 * np.pi)))
        assert likelihood == pytest.approx(expected, rel=1e-12)

    def test_model_switch_runs_from_the_denominator_to_the_numerator(self):
        found = path.model_switch(wide(), narrow())
        assert found.log_z_start is None
        (leg,) = found.legs
        x = jnp.asarray(self.x)
        assert float(leg.end.log_density(x)) == pytest.approx(3 - 0.5 * np.sum(self.x**2))
        assert float(leg.start.log_density(x)) == pytest.approx(-2 * np.sum(self.x**2))

    def test_telescopic_path_passes_every_station_in_order(self):
        reference = gaussian(np.zeros(2), np.ones(2), 1.5)
        found = path.telescopic(reference, [narrow().density], wide())
        assert found.log_z_start == pytest.approx(1.5 + np.log(2 * np.pi))
        first, second = found.legs
        x = jnp.asarray(self.x)
        heights = [1.5 - 0.5 * np.sum(self.x**2), -2 * np.sum(self.x**2)]
        heights.append(3 - 0.5 * np.sum(self.x**2))
        ends = [first.start, first.end, second.start, second.end]
        values = [float(end.log_density(x)) for end in ends]
        np.testing.assert_allclose(values, [heights[0], heights[1], heights[1], heights[2]])


def test_power_posteriors_need_the_split():
    with pytest.raises(refti.PathError, match="prior and the likelihood separately"):
        refti.evidence(narrow(), path="power", progress=_must_not_run)


def test_model_switch_needs_one_dimension():
    other = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=3)
    with pytest.raises(refti.PathError) as caught:
        refti.log_bayes_factor(narrow(), other, progress=_must_not_run)
    assert "2 and 3 unconstrained coordinates" in str(caught.value)
    assert "refti.compare" in str(caught.value)


def _must_not_run(stage: str, done: int, total: int) -> None:
    raise AssertionError("sampling began")
