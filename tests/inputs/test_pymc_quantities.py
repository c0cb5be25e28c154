"""What a result keeps of a PyMC model: names, dims, coords, deterministics, data, prediction."""

from __future__ import annotations

import arviz
import numpy as np
import pymc as pm
import pytest
from scipy.stats import norm

import refti

GROUPS = ["north", "south", "far / away"]
WHICH = np.repeat([0, 1, 2], 4)
Y = np.array([2.1, 2.9, 2.4, 3.0, -1.2, -0.3, -0.8, -1.9, 0.2, 0.4, -0.3, 0.1])


def group_means() -> pm.Model:
    """Means of three groups, independent a priori, with the names that Bambi gives."""
    with pm.Model(coords={"group": GROUPS, "obs": range(len(Y))}) as model:
        offset = pm.Normal("1|group_offset", 0, 1, dims="group")
        mean = pm.Deterministic("1|group:b", 2 * offset, dims="group")
        pm.Normal("y: höhe", mean[WHICH], 1, observed=Y, dims="obs")
    return model


@pytest.fixture(scope="module")
def model() -> pm.Model:
    return group_means()


@pytest.fixture(scope="module")
def result(model: pm.Model) -> refti.Evidence:
    return refti.evidence(refti.from_pymc(model), target_error=0.1, progress=False)


def test_names_dims_coords_and_deterministics_are_kept(result: refti.Evidence) -> None:
    posterior = result.posterior
    assert set(posterior.data_vars) == {"1|group_offset", "1|group:b"}
    assert posterior["1|group_offset"].dims == ("chain", "draw", "group")
    assert list(posterior["group"].values) == GROUPS
    offset, mean = posterior["1|group_offset"].values, posterior["1|group:b"].values
    np.testing.assert_allclose(mean, 2 * offset, rtol=1e-12)


def test_the_evidence_with_such_names_is_right(result: refti.Evidence) -> None:
    exact = sum(
        float(norm.logpdf(part - part.mean()).sum())
        + 0.5 * np.log(2 * np.pi / 4)
        + float(norm.logpdf(part.mean(), 0, np.sqrt(4 + 0.25)))
        for part in Y.reshape(3, 4)
    )
    assert result.trusted
    assert abs(result.log_z - exact) < 4 * result.error


def test_log_likelihoods_and_data_stand_beside(result: refti.Evidence) -> None:
    data = result.to_inference_data()
    assert set(data.groups()) == {"posterior", "log_likelihood", "sample_stats", "observed_data"}
    np.testing.assert_array_equal(data.observed_data["y: höhe"], Y)
    each = data.log_likelihood["y: höhe"]
    assert each.dims == ("chain", "draw", "obs")
    means = data.posterior["1|group:b"].values[..., WHICH]
    np.testing.assert_allclose(each.values, norm.logpdf(Y, means, 1), rtol=1e-10)
    prior = norm.logpdf(data.posterior["1|group_offset"].values).sum(axis=-1)
    heights = prior + each.values.sum(axis=-1)
    np.testing.assert_allclose(data.sample_stats["lp"].values, heights, rtol=1e-10)


def test_arviz_takes_it_after_a_file_as_before(result: refti.Evidence, tmp_path) -> None:
    result.save(tmp_path / "run")
    read = refti.load(tmp_path / "run")
    assert read.posterior.identical(result.posterior)
    data = read.to_inference_data()
    assert arviz.loo(data).elpd_loo == arviz.loo(result.to_inference_data()).elpd_loo
    assert len(arviz.summary(data)) == 6


def test_pymc_predicts_from_the_posterior_and_not_from_the_prior(
    model: pm.Model, result: refti.Evidence
) -> None:
    with model:
        drawn = pm.sample_posterior_predictive(
            result.to_inference_data(), random_seed=3, progressbar=False
        )
    predicted = drawn.posterior_predictive["y: höhe"].values.reshape(-1, 3, 4)
    variance = 1 / (1 / 4 + 4)
    exact = variance * Y.reshape(3, 4).sum(axis=1)
    # Twelve normal draws a group share the 800 or so means, hardly correlated: z-scores below 4.5
    # in all three groups have a false alarm in 50,000.
    error = np.sqrt((variance + 1 / 4) / len(predicted))
    assert np.all(np.abs(predicted.mean(axis=(0, 2)) - exact) < 4.5 * error)
    assert np.allclose(predicted.std(axis=(0, 2)), np.sqrt(1 + variance), rtol=0.1)


def test_data_are_those_of_the_model_when_it_was_made() -> None:
    with pm.Model(coords={"obs": range(3)}) as model:
        data = pm.Data("data", [1.0, 2.0, 3.0], dims="obs")
        mu = pm.Normal("mu")
        pm.Normal("y", mu, 1, observed=data, dims="obs")
    made = refti.from_pymc(model)
    with model:
        pm.set_data({"data": [7.0, 7.0, 7.0]})
    changed = refti.from_pymc(model)
    assert made.origin["values_sha256"] != changed.origin["values_sha256"]
    known = made.quantities
    np.testing.assert_array_equal(known.observed["y"], [1.0, 2.0, 3.0])
    assert known.log_likelihoods is not None
    each = known.log_likelihoods(np.array([[0.5]]))["y"]
    np.testing.assert_allclose(each, norm.logpdf([[1.0, 2.0, 3.0]], 0.5, 1))


def test_names_of_numpy_types_and_of_axes_will_do() -> None:
    with pm.Model(coords={"axis": ["a", "b"]}) as model:
        pm.Normal("float64_mean")
        pm.HalfNormal("int32")
        pm.Normal("draw", dims="axis")
        pm.Normal("float64")
    made = refti.from_pymc(model)
    posterior = refti.evidence(
        made, kept=50, warmup=50, reference="laplace", search="quick", progress=False
    ).posterior
    assert posterior["draw_"].dims == ("chain", "draw", "axis")
    assert posterior["float64"].dims == ("chain", "draw")
    assert made.space.owners == ("float64_mean", "int32", "draw", "draw", "float64")
