"""Whitening by draws and scores: exact for normals however few the draws, and steady otherwise."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.special import polygamma

from refti.sampling.kernels.gradient_kernel import on_leg
from refti.sampling.rung import lengthened
from refti.sampling.score_whitening import (
    between,
    refit_by_scores,
    wants_scores,
    weight_of_identity,
)
from refti.sampling.tuning import TUNING
from refti.sampling.whitening import Whitening, refit

DIM = 30


def normal_draws(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws of a normal of widely different scales, their scores, and its covariance."""
    rng = np.random.default_rng(seed)
    places = np.arange(DIM)
    correlation = 0.8 ** np.abs(places[:, None] - places)
    factor = np.geomspace(0.01, 100, DIM)[:, None] * np.linalg.cholesky(correlation)
    x = 3.0 + rng.normal(size=(count, DIM)) @ factor.T
    covariance = factor @ factor.T
    scores = -np.linalg.solve(covariance, (x - 3.0).T).T
    return x, scores, covariance


def condition(covariance: np.ndarray, found: Whitening) -> float:
    """The ratio of the widest to the narrowest direction of a normal in whitened coordinates."""
    inner = np.linalg.solve(np.asarray(found.factor), np.linalg.cholesky(covariance))
    return float(np.linalg.cond(inner))


def test_the_middle_of_a_covariance_and_a_precision():
    rng = np.random.default_rng(1)
    covariance, precision = (a @ a.T + np.eye(6) for a in rng.normal(size=(2, 6, 6)))
    middle = between(covariance, precision)
    np.testing.assert_allclose(middle @ precision @ middle, covariance, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(between(covariance, np.linalg.inv(covariance)), covariance)


@jax.enable_x64(True)
def test_a_normal_is_round_after_few_draws():
    x, scores, covariance = normal_draws(4 * DIM)
    start = Whitening(x.mean(axis=0), np.diag(x.std(axis=0)))
    by_scores = refit_by_scores(start, x[None], scores[None])
    by_draws = refit(start, x[None], on_separate_modes=False)
    assert by_scores is not None
    # What is left is the identity that counts as a draw; draws alone leave much more.
    assert condition(covariance, by_scores) < 1.3 < 2 < condition(covariance, by_draws)
    np.testing.assert_allclose(by_scores.location, x.mean(axis=0))


@jax.enable_x64(True)
@pytest.mark.parametrize("count", [2, DIM // 2])
def test_fewer_draws_than_dimensions_do_no_harm(count: int):
    x, scores, covariance = normal_draws(count)
    start = Whitening(np.full(DIM, 3.0), np.linalg.cholesky(covariance))
    found = refit_by_scores(start, x[None], scores[None])
    assert found is not None
    assert condition(covariance, found) < 1.5


def skewed_draws(count: int, dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws of independent logarithms of Gamma variables, their scores, and the covariance."""
    shapes = np.linspace(1.0, 5.0, dim)
    x = np.log(np.random.default_rng(2).gamma(shapes, size=(count, dim)))
    return x, shapes - np.exp(x), np.diag(polygamma(1, shapes))


@jax.enable_x64(True)
def test_few_draws_of_a_skewed_density_do_not_spoil_good_coordinates():
    dim = 80
    x, scores, covariance = skewed_draws(dim, dim)
    start = Whitening(x.mean(axis=0), np.sqrt(covariance))
    found = refit_by_scores(start, x[None], scores[None])
    assert found is not None
    # As many draws as dimensions, the identity counted as one of them, would make it 2.8.
    assert condition(covariance, found) < 1.3


@jax.enable_x64(True)
def test_coordinates_that_are_wrong_are_given_up_for_what_the_draws_tell():
    x, scores, covariance = normal_draws(4 * DIM)
    wrong = np.linalg.cholesky(covariance) @ np.diag(np.geomspace(0.2, 5, DIM))
    u = np.linalg.solve(wrong, (x - x.mean(axis=0)).T).T
    assert weight_of_identity(u, (scores - scores.mean(axis=0)) @ wrong) == 1.0
    x, scores, covariance = skewed_draws(4 * DIM, DIM)
    right = np.sqrt(covariance)
    u = np.linalg.solve(right, (x - x.mean(axis=0)).T).T
    assert weight_of_identity(u, (scores - scores.mean(axis=0)) @ right) >= DIM


@jax.enable_x64(True)
def test_chains_that_sit_apart_are_as_wide_as_each_of_them():
    x, scores, covariance = normal_draws(8 * DIM)
    factor = np.linalg.cholesky(covariance)
    apart = x.reshape(2, -1, DIM) + np.stack([np.zeros((1, DIM)), 100 * factor[:, :1].T])
    start = Whitening(np.zeros(DIM), factor)
    chains = scores.reshape(2, -1, DIM)
    together, each = (
        refit_by_scores(start, apart, chains, on_separate_modes=separate)
        for separate in (False, True)
    )
    assert together is not None
    assert each is not None
    assert condition(covariance, each) < 1.3 < 5 < condition(covariance, together)


@jax.enable_x64(True)
@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e200, 1e8])
def test_a_draw_beside_an_edge_does_not_squeeze_the_coordinates(broken: float):
    x, scores, covariance = normal_draws(4 * DIM)
    scores[5, 3] = broken
    start = Whitening(x.mean(axis=0), np.diag(x.std(axis=0)))
    found = refit_by_scores(start, x[None], scores[None])
    assert found is not None
    assert condition(covariance, found) < 1.3


@jax.enable_x64(True)
def test_scores_that_are_no_numbers_are_not_used():
    x, scores, _ = normal_draws(4 * DIM)
    start = Whitening(np.zeros(DIM), np.eye(DIM))
    assert refit_by_scores(start, x[None], np.full_like(scores, np.nan)[None]) is None


def test_only_where_draws_are_few_for_the_dimension():
    assert not wants_scores(TUNING.scores_from - 1)
    assert wants_scores(208)
    assert not wants_scores(TUNING.scores_up_to + 1)


def test_trajectories_grow_with_the_root_of_the_time_to_forget():
    assert lengthened(1.0, TUNING.forgotten_after) == 1.0
    assert lengthened(1.0, 4 * TUNING.forgotten_after) == pytest.approx(2.0)
    assert lengthened(2.0, 0.01) == 1.0
    assert lengthened(1.0, 1e9) == TUNING.most_lengthened


@jax.enable_x64(True)
def test_one_program_serves_every_lambda_whoever_made_the_number():
    kinds = {jax.typeof(on_leg(lam)) for lam in (1.0, np.float64(0.3), float(np.float64(0.5)))}
    assert len(kinds) == 1
