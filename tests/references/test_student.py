"""Student-t references: the density of SciPy's, and degrees that come back from draws."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from reference_laws import log_densities
from refti.errors import ReferenceFitError
from refti.references.student import fit_student, student
from refti.sampling.exact_start import exact_draws

MEAN = np.array([1.0, -2.0, 30.0])
FACTOR = np.array([[0.5, 0.0, 0.0], [1.2, 2.0, 0.0], [-0.3, 0.4, 0.1]])


def student_draws(count: int, dim: int, degrees: float, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    factor = np.eye(dim) + np.tril(rng.normal(size=(dim, dim)) * 0.5 / np.sqrt(dim), -1)
    shares = rng.chisquare(degrees, size=(count, 1)) / degrees
    return 3 + rng.normal(size=(count, dim)) @ factor.T / np.sqrt(shares)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("degrees", [0.7, 2.1, 5.0, 200.0])
def test_density_is_that_of_scipy(degrees: float):
    known = stats.multivariate_t(MEAN, FACTOR @ FACTOR.T, degrees)
    x = MEAN + np.random.default_rng(1).normal(size=(20, 3)) * 10.0 ** np.arange(-5, 15)[:, None]
    found = log_densities(student(MEAN, FACTOR, degrees, 1.5), x)
    np.testing.assert_allclose(found, 1.5 + known.logpdf(x), rtol=1e-10)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("degrees", [2.1, 5.0])
def test_heavy_tailed_draws_have_the_right_distances(degrees: float):
    reference = student(MEAN, FACTOR, degrees, 0.0)
    draws = exact_draws(reference, jax.random.key(1), 5000)
    white = np.linalg.solve(FACTOR, (np.asarray(draws) - MEAN).T)
    squares = np.sum(white**2, axis=0) / 3
    assert stats.kstest(squares, stats.f(3, degrees).cdf).pvalue > 1e-6


@pytest.mark.parametrize(("dim", "count"), [(1, 4000), (5, 1000), (50, 1000), (200, 300)])
@pytest.mark.parametrize("degrees", [3.0, 8.0])
def test_degrees_come_back(dim: int, count: int, degrees: float):
    found = fit_student(student_draws(count, dim, degrees))
    # In many dimensions every draw tells its own share nearly exactly, and the spread of the log
    # shares of a chi-square about the degrees is what is left; in few dimensions it is wider.
    assert abs(np.log(float(found.degrees) / degrees)) < 5 * 1.5 * np.sqrt(2 / count) * 2


def test_draws_of_a_gaussian_give_as_good_as_a_gaussian():
    draws = np.random.default_rng(1).normal(size=(1000, 20))
    assert float(fit_student(draws).degrees) > 100


def test_location_and_scale_come_back():
    rng = np.random.default_rng(2)
    shares = rng.chisquare(3, size=(8000, 1)) / 3
    draws = MEAN + rng.normal(size=(8000, 3)) @ FACTOR.T / np.sqrt(shares)
    found = fit_student(draws)
    shift = np.linalg.solve(FACTOR, np.asarray(found.mean) - MEAN)
    # Weights bound by the heavy tails lose at most a factor (degrees + dim + 2) / (degrees + dim).
    assert np.abs(shift).max() < 5 * np.sqrt(8 / 6 / 8000)
    ratio = np.linalg.solve(FACTOR, np.asarray(found.factor))
    assert np.abs(ratio - np.eye(3)).max() < 5 * 1.5 / np.sqrt(8000)


def test_a_base_helps_where_draws_are_few():
    rng = np.random.default_rng(1)
    base = np.eye(100) + np.tril(rng.normal(size=(100, 100)) * 0.05, -1)
    draws = rng.normal(size=(100, 100)) @ base.T / np.sqrt(rng.chisquare(5, size=(100, 1)) / 5)
    found = fit_student(draws, base)
    ratio = np.linalg.solve(base, np.asarray(found.factor))
    assert np.abs(ratio - np.eye(100) * np.exp(np.linalg.slogdet(ratio)[1] / 100)).max() < 0.05


@pytest.mark.parametrize("count", [2, 7, 9])
def test_few_draws_still_fit(count: int):
    found = fit_student(np.random.default_rng(1).normal(size=(count, 3)))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


def test_wild_draws_still_fit():
    draws = np.random.default_rng(1).standard_cauchy(size=(500, 4)) ** 3
    found = fit_student(draws)
    assert float(found.degrees) == pytest.approx(2.1, abs=0.1)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


def test_two_values_only_still_fit():
    draws = np.random.default_rng(1).integers(0, 2, size=(100, 3)).astype(float)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(fit_student(draws)))


def test_constant_draws_are_refused():
    with pytest.raises(ReferenceFitError, match="differ in every coordinate"):
        fit_student(np.ones((50, 2)))
