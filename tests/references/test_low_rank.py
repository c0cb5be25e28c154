"""Low-rank references: as near as the number of draws allows, at thousands of dimensions."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

from refti.errors import ReferenceFitError
from refti.factors import standing_out as module
from refti.references.low_rank import LowRank, fit_low_rank, low_rank
from refti.references.shrinkage import shrunk_factor


def spiked(dim: int, rank: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The true covariance's factor and draws: own deviations, and a few shared directions."""
    rng = np.random.default_rng(1)
    deviations = np.exp(0.5 * rng.normal(size=dim))
    loadings = deviations[:, None] * rng.normal(size=(dim, rank)) * np.linspace(0.3, 3, rank)
    noise, shared = rng.normal(size=(count, dim)), rng.normal(size=(count, rank))
    return (
        np.linalg.cholesky(np.diag(deviations**2) + loadings @ loadings.T),
        deviations * noise + shared @ loadings.T,
    )


def covariance(reference: LowRank) -> np.ndarray:
    deviations, loadings = np.asarray(reference.deviations), np.asarray(reference.loadings)
    return np.diag(deviations**2) + loadings @ loadings.T


def jeffreys(mean: np.ndarray, factor: np.ndarray, truth: np.ndarray) -> float:
    there, back = np.linalg.solve(factor, truth), np.linalg.solve(truth, factor)
    shifts = np.linalg.solve(factor, mean), np.linalg.solve(truth, mean)
    return 0.5 * (sum(np.sum(a**2) for a in (there, back, *shifts)) - 2 * len(mean))


def rank_of(reference: LowRank) -> int:
    return int((np.abs(reference.loadings).max(axis=0) > 0).sum())


@pytest.mark.parametrize(("dim", "rank", "count"), [(200, 5, 1000), (200, 5, 300), (400, 10, 200)])
def test_the_covariance_comes_back_as_far_as_its_numbers_are_known(dim, rank, count):
    truth, draws = spiked(dim, rank, count)
    found = fit_low_rank(draws)
    assert rank_of(found) == rank
    distance = jeffreys(np.asarray(found.mean), np.linalg.cholesky(covariance(found)), truth)
    # Mean, deviations and loadings are (2 + rank) dim numbers, each of which costs 1 / count.
    assert distance < 1.5 * (2 + rank) * dim / count
    assert distance < 0.5 * jeffreys(*shrunk_factor(draws), truth)


def test_noise_alone_shows_no_direction():
    found = fit_low_rank(np.random.default_rng(1).normal(size=(300, 200)) * np.arange(1, 201))
    assert rank_of(found) == 0
    z = (np.asarray(found.deviations) / np.arange(1, 201) - 1) * np.sqrt(2 * 300)
    assert np.abs(z).max() < 5


def test_one_shared_direction_in_equal_correlation():
    dim = 20
    truth = np.linalg.cholesky(np.full((dim, dim), 0.95) + 0.05 * np.eye(dim))
    draws = np.random.default_rng(1).normal(size=(1000, dim)) @ truth.T
    found = fit_low_rank(draws)
    assert rank_of(found) == 1
    assert jeffreys(np.asarray(found.mean), np.linalg.cholesky(covariance(found)), truth) < 0.15


def test_thousands_of_dimensions():
    rng = np.random.default_rng(1)
    loadings = rng.normal(size=(3000, 20)) * np.linspace(0.3, 3, 20)
    draws = rng.normal(size=(500, 3000)) + rng.normal(size=(500, 20)) @ loadings.T
    found = fit_low_rank(draws)
    assert rank_of(found) == 20
    new = rng.normal(size=(200, 3000)) + rng.normal(size=(200, 20)) @ loadings.T
    white = (new - found.mean) / found.deviations
    squares = np.sum(white**2, axis=1)
    squares -= np.sum(((new - found.mean) @ np.asarray(found.projection).T) ** 2, axis=1)
    # Fresh draws lie as far out as the noise's 3000 coordinates, and a little for what is fitted.
    assert 1 < squares.mean() / 3000 < 1.08


def test_more_draws_and_dimensions_than_are_decomposed_in_full(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TUNING", replace(module.TUNING, decomposed_in_full=300))
    truth, draws = spiked(301, 3, 301)
    found = fit_low_rank(draws)
    assert rank_of(found) == 3
    distance = jeffreys(np.asarray(found.mean), np.linalg.cholesky(covariance(found)), truth)
    assert distance < 1.5 * 5


@pytest.mark.parametrize("dim", [1, 2, 3, 60])
def test_every_fit_of_a_dimension_has_the_same_shapes(dim: int):
    rng = np.random.default_rng(1)
    plain = fit_low_rank(rng.normal(size=(100, dim)))
    tied = fit_low_rank(rng.normal(size=(20, dim)) + 3 * rng.normal(size=(20, 1)))
    assert [a.shape for a in jax.tree.leaves(plain)] == [a.shape for a in jax.tree.leaves(tied)]


@pytest.mark.usefixtures("x64")
def test_density_is_that_of_scipy():
    rng = np.random.default_rng(1)
    reference = low_rank(np.arange(6.0), rng.uniform(0.1, 2, 6), rng.normal(size=(6, 2)), 1.5)
    known = stats.multivariate_normal(np.arange(6.0), covariance(reference))
    x = 3 * rng.normal(size=(20, 6))
    found = jax.jit(jax.vmap(reference.log_density))(x)
    np.testing.assert_allclose(found, 1.5 + known.logpdf(x), rtol=1e-10)


@pytest.mark.parametrize("make", ["few", "integers", "repeated", "cauchy", "collinear"])
def test_odd_draws_still_fit(make: str):
    rng = np.random.default_rng(1)
    one = rng.normal(size=(100, 1))
    draws = {
        "few": rng.normal(size=(2, 5)),
        "integers": rng.integers(0, 2, size=(200, 3)).astype(float),
        "repeated": np.repeat(rng.normal(size=(2, 3)), 100, axis=0),
        "cauchy": rng.standard_cauchy(size=(300, 3)) ** 3,
        "collinear": one * [1.0, -2.0, 3.0],
    }[make]
    found = fit_low_rank(draws)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
    assert (np.asarray(found.deviations) > 0).all()


def test_constant_draws_are_refused():
    with pytest.raises(ReferenceFitError, match="differ in every coordinate"):
        fit_low_rank(np.ones((50, 2)))
