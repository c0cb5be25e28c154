"""Shrunk covariances: near the truth with few draws and a good base, harmless otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from refti.errors import ReferenceFitError
from refti.references import shrinkage
from refti.references.shrinkage import make_lower, shrunk_factor


def true_factor(dim: int) -> np.ndarray:
    rng = np.random.default_rng(dim)
    factor = np.tril(rng.normal(size=(dim, dim)) / np.sqrt(dim), -1) + np.eye(dim)
    return np.exp(rng.normal(size=dim))[:, None] * factor


def jeffreys(mean: np.ndarray, factor: np.ndarray, truth: np.ndarray) -> float:
    """E_1[delta] - E_0[delta] between a fitted Gaussian and a true one about zero."""
    there, back = np.linalg.solve(factor, truth), np.linalg.solve(truth, factor)
    shifts = np.linalg.solve(factor, mean), np.linalg.solve(truth, mean)
    squares = sum(np.sum(a**2) for a in (there, back, *shifts))
    return 0.5 * (squares - 2 * len(mean))


def sampled(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return draws.mean(axis=0), np.linalg.cholesky(np.cov(draws.T, bias=True))


@pytest.mark.parametrize(("dim", "count"), [(5, 300), (50, 100), (200, 400), (300, 200)])
def test_a_right_base_leaves_hardly_more_than_the_error_of_the_mean(dim: int, count: int):
    truth = true_factor(dim)
    draws = np.random.default_rng(1).normal(size=(count, dim)) @ truth.T
    found = jeffreys(*shrunk_factor(draws, truth), truth)
    # The mean alone costs dim / count in expectation.
    assert found < 1.5 * dim / count + 0.02


@pytest.mark.parametrize("base", ["none", "wrong", "singular", "not finite"])
def test_with_plenty_of_draws_it_is_no_worse_than_the_sampled_covariance(base: str):
    truth = true_factor(5)
    draws = np.random.default_rng(1).normal(size=(2000, 5)) @ truth.T
    bases = {
        "none": None,
        "wrong": true_factor(6)[1:, 1:],
        "singular": np.ones((5, 5)),
        "not finite": np.full((5, 5), np.nan),
    }
    found = jeffreys(*shrunk_factor(draws, bases[base]), truth)
    assert found < 1.05 * jeffreys(*sampled(draws), truth) + 1e-4


def test_a_nearly_right_base_is_corrected_as_far_as_the_draws_tell():
    dim = 50
    truth = true_factor(dim)
    rng = np.random.default_rng(3)
    base = 1.3 * truth @ (np.eye(dim) + np.tril(rng.normal(size=(dim, dim)) * 0.3 / np.sqrt(dim)))
    draws = rng.normal(size=(1000, dim)) @ truth.T
    found = jeffreys(*shrunk_factor(draws, base), truth)
    assert found < 0.8 * jeffreys(*sampled(draws), truth)
    assert found < 0.5 * jeffreys(np.zeros(dim), base, truth)


@pytest.mark.parametrize("right_one_first", [True, False])
def test_of_two_bases_the_right_one_is_believed(right_one_first: bool):
    dim, count = 100, 100
    truth = true_factor(dim)
    rng = np.random.default_rng(4)
    wrong = truth @ (np.eye(dim) + np.tril(rng.normal(size=(dim, dim)) / np.sqrt(dim)))
    draws = rng.normal(size=(count, dim)) @ truth.T
    bases = (truth, wrong) if right_one_first else (wrong, truth)
    found = jeffreys(*shrunk_factor(draws, *bases), truth)
    assert found < 1.5 * dim / count + 0.02 < 0.3 * jeffreys(*shrunk_factor(draws, wrong), truth)


def test_it_does_not_depend_on_scales_or_places():
    draws = np.random.default_rng(1).normal(size=(80, 20)) @ true_factor(20).T
    mean, factor = shrunk_factor(draws)
    scales = 10.0 ** np.linspace(-8, 8, 20)
    moved_mean, moved_factor = shrunk_factor(3 * scales + scales * draws)
    np.testing.assert_allclose(moved_mean / scales - 3, mean, atol=1e-10)
    np.testing.assert_allclose(moved_factor / scales[:, None], factor, rtol=1e-5, atol=1e-8)


def test_the_factor_is_lower_triangular_with_a_positive_diagonal_for_any_base():
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(15, 10))
    turned = -np.linalg.qr(rng.normal(size=(10, 10)))[0]
    _, factor = shrunk_factor(draws, turned)
    assert not np.triu(factor, 1).any()
    assert (np.diag(factor) > 0).all()


@pytest.mark.parametrize("dim", [1, 5, 40])
def test_a_block_is_left_out_alike_by_its_rows_and_by_its_dimensions(dim: int):
    draws = np.random.default_rng(2).normal(size=(1000, dim))
    draws -= draws.mean(axis=0)
    values, axes = np.linalg.eigh(draws.T @ draws)
    rows, weights = (draws @ axes)[:50], np.array([0.1, 10.0, 1e4])
    by_rows = shrinkage._by_rows(rows, values, weights, 950, dim)
    np.testing.assert_allclose(
        shrinkage._by_dimensions(rows, values, weights, 950, dim), by_rows, rtol=1e-8
    )
    kept = draws[50:] - draws[50:].mean(axis=0)
    determinants = [
        np.linalg.slogdet(kept.T @ kept + weight * np.eye(dim))[1] for weight in weights
    ]
    np.testing.assert_allclose(by_rows[0], determinants, rtol=1e-8)


def test_lower_triangular_factor_keeps_the_covariance():
    factor = np.random.default_rng(1).normal(size=(6, 6))
    np.testing.assert_allclose(
        make_lower(factor) @ make_lower(factor).T, factor @ factor.T, atol=1e-12
    )


@pytest.mark.parametrize("count", [2, 3, 5])
def test_few_draws_still_give_a_factor(count: int):
    _, factor = shrunk_factor(np.random.default_rng(1).normal(size=(count, 4)))
    assert np.isfinite(factor).all()
    assert (np.diag(factor) > 0).all()


def test_draws_that_hang_together_still_give_a_factor():
    one = np.random.default_rng(1).normal(size=(500, 1))
    _, factor = shrunk_factor(np.concatenate([one, 2 * one, -one + 1e-9], axis=1))
    assert np.isfinite(np.linalg.inv(factor)).all()


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (np.ones((50, 2)), "0 of 2 coordinates varying"),
        (np.full((50, 2), 0.1), "0 of 2 coordinates varying"),  # whose spread is not quite zero
        (np.zeros((0, 2)), "got 0 draws"),
        (np.array([[0.0, 1.0]]), "got 1 draws"),
        (np.array([[0.0, 1.0], [1.0, np.nan]]), "1 values that are not finite"),
    ],
)
def test_draws_without_a_covariance_are_refused(draws: np.ndarray, message: str):
    with pytest.raises(ReferenceFitError, match=message):
        shrunk_factor(draws)
