"""Factors of banded and bordered precisions against dense linear algebra."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse

from refti.factors.banded import factor_precision
from refti.factors.factor import Factor, factor_of, learn
from refti.sampling.computing import computing


def precision(dim: int = 83, band: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A precision with a band and two bordering rows, its coordinates shuffled."""
    rng = np.random.default_rng(seed)
    matrix = np.diag(rng.uniform(3.0, 4.0, dim))
    for off in range(1, band + 1):
        beside = rng.normal(scale=0.4, size=dim - off)
        matrix += np.diag(beside, off) + np.diag(beside, -off)
    for row in (5, 40):
        wide = rng.normal(scale=0.1, size=dim)
        matrix[row] += wide
        matrix[:, row] += wide
    shuffled = rng.permutation(dim)
    return matrix[shuffled][:, shuffled], np.argsort(shuffled)[[5, 40]]


def factor(reverse: bool = False, **options: int) -> tuple[Factor, np.ndarray]:
    matrix, bordering = precision(**options)
    banded = factor_precision(sparse.csr_array(matrix), bordering, reverse=reverse)
    assert banded is not None
    return factor_of(len(matrix), banded), matrix


@pytest.mark.parametrize("reverse", [False, True])
class TestAgainstDense:
    def test_its_square_is_the_covariance(self, reverse: bool):
        found, matrix = factor(reverse)
        dense = found.out_rows(np.eye(len(matrix))).T
        np.testing.assert_allclose(dense @ dense.T, np.linalg.inv(matrix), atol=1e-13)
        assert float(found.log_determinant) == pytest.approx(-0.5 * np.linalg.slogdet(matrix)[1])

    def test_into_undoes_out(self, reverse: bool):
        found, matrix = factor(reverse)
        u = np.random.default_rng(1).normal(size=(3, len(matrix)))
        np.testing.assert_allclose(found.into_rows(found.out_rows(u)), u, atol=1e-12)

    def test_gradients_are_pulled_by_the_transpose(self, reverse: bool):
        found, matrix = factor(reverse)
        dense = found.out_rows(np.eye(len(matrix))).T
        g = np.random.default_rng(2).normal(size=(3, len(matrix)))
        np.testing.assert_allclose(found.pull_rows(g), g @ dense, atol=1e-12)

    def test_jax_and_numpy_agree(self, reverse: bool):
        found, matrix = factor(reverse)
        u = np.random.default_rng(3).normal(size=len(matrix))
        with computing():
            x = found.out(jnp.asarray(u))
            slopes = jax.grad(lambda u: jnp.sum(jnp.sin(found.out(u))))(jnp.asarray(u))
            back = found.into(x)
        np.testing.assert_allclose(x, found.out_rows(u[None])[0], atol=1e-12)
        np.testing.assert_allclose(back, u, atol=1e-12)
        np.testing.assert_allclose(slopes, found.pull_rows(np.cos(x)[None])[0], atol=1e-12)


def test_memory_is_linear_in_the_dimension():
    small, _ = factor(dim=300)
    large, _ = factor(dim=600)
    sizes = [sum(leaf.size for leaf in jax.tree.leaves(one)) for one in (small, large)]
    assert sizes[1] < 2.2 * sizes[0]


def test_what_is_not_positive_definite_has_no_factor():
    matrix, bordering = precision()
    matrix[7, 7] = -1.0
    assert factor_precision(sparse.csr_array(matrix), bordering) is None


def test_what_has_no_narrow_band_has_no_factor():
    rng = np.random.default_rng(4)
    dense = rng.normal(size=(400, 400))
    assert factor_precision(sparse.csr_array(dense @ dense.T), np.zeros(0, int)) is None


class TestLearning:
    """Draws change widths and directions of a factor where they stand out, and nothing else."""

    def test_noise_teaches_no_directions(self):
        found, matrix = factor(dim=200)
        u = np.random.default_rng(5).normal(size=(150, len(matrix)))
        learned = learn(found, found.out_rows(u)).learned
        assert not learned.lengthened.any()
        assert np.abs(np.log(learned.scales)).max() < 4 / np.sqrt(2 * 150)

    def test_neighbouring_draws_that_hang_together_teach_no_directions(self):
        rng = np.random.default_rng(6)
        steps = [rng.normal(size=200)]
        for _ in range(399):  # trajectories of one length, of which some turn back
            turn = rng.uniform(0.25, 0.75) * np.pi
            steps.append(np.cos(turn) * steps[-1] + np.sin(turn) * rng.normal(size=200))
        assert not learn(factor_of(200), np.stack(steps)).learned.lengthened.any()

    def test_a_direction_that_stands_out_is_learned(self):
        rng = np.random.default_rng(7)
        along = rng.normal(size=200)
        along /= np.linalg.norm(along)
        draws = rng.normal(size=(2000, 200))
        draws += 9 * rng.normal(size=(2000, 1)) * along
        whitened = learn(factor_of(200), draws).into_rows(along[None])
        assert np.linalg.norm(whitened) == pytest.approx(1 / np.sqrt(82), rel=0.2)

    def test_widths_are_learned(self):
        rng = np.random.default_rng(8)
        widths = np.linspace(0.5, 3.0, 100)
        learned = learn(factor_of(100), widths * rng.normal(size=(4000, 100)))
        np.testing.assert_allclose(learned.out_rows(np.ones((1, 100)))[0], widths, rtol=0.1)
