"""Modes of many parameters: their curvature by a few hundred gradients, never by a dense matrix."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from refti.models.model import ValueAndGradient
from refti.sampling.computing import computing
from refti.search.lanczos import extreme_directions
from refti.search.large_mode import LargeMode, find_large_mode
from refti.search.sparsity import Products, find_precision

DIM = 620  # beyond where every matrix is dense


def evaluator(log_density: Callable[[jax.Array], jax.Array]) -> tuple[ValueAndGradient, list[int]]:
    """A density as the search knows it, and the number of its evaluations."""
    with computing():
        program = jax.jit(jax.vmap(jax.value_and_grad(log_density)))
    count = [0]

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        count[0] += len(x)
        padded = np.concatenate([x, np.broadcast_to(x[-1:], (-len(x) % 64, x.shape[1]))])
        with computing():
            parts = [program(jnp.asarray(rows)) for rows in padded.reshape(-1, 64, x.shape[1])]
        values, gradients = (np.concatenate([np.asarray(p[i]) for p in parts]) for i in (0, 1))
        return values[: len(x)], gradients[: len(x)]

    return evaluate, count


def second_order_walk(x: jax.Array) -> jax.Array:
    """Two parameters a time, which stand apart from each other, and a common level and scale."""
    level, log_scale, walk, slope = x[0], x[1], x[2 : 2 + DIM // 2 - 1], x[1 + DIM // 2 :]
    data = jnp.sin(jnp.arange(DIM // 2 - 1) / 7.0)
    prior = -0.5 * (level**2 + log_scale**2 + jnp.sum(slope**2))
    steps = jnp.diff(walk) - 0.3 * slope[:-1]
    return (
        prior
        - 0.5 * jnp.sum(steps**2) / 0.2
        - jnp.sum(jnp.log1p((data - level - walk) ** 2) * jnp.exp(0.1 * log_scale))
    )


class TestSparsity:
    def test_the_hessian_of_a_series_with_common_parameters_is_found_exactly(self):
        evaluate, count = evaluator(second_order_walk)
        x = np.random.default_rng(0).normal(scale=0.3, size=DIM)
        products = Products(evaluate, x)
        products.scale(np.random.default_rng(1))
        found = find_precision(products, DIM, np.random.default_rng(2))
        assert found is not None
        assert {0, 1} <= set(found.bordering)
        with computing():
            exact = -np.asarray(jax.hessian(second_order_walk)(jnp.asarray(x)))
        scale = np.sqrt(np.abs(np.diag(exact)))
        off = np.abs(found.matrix.toarray() - exact) / np.outer(scale, scale)
        assert off.max() < 1e-5
        assert count[0] < DIM  # two for every dimension would be 1,240

    def test_what_is_not_sparse_is_said_not_to_be(self):
        mixed = np.random.default_rng(3).normal(size=(DIM, 40))
        evaluate, _ = evaluator(lambda x: -0.5 * jnp.sum(x**2) - 0.5 * jnp.sum((x @ mixed) ** 2))
        products = Products(evaluate, np.zeros(DIM))
        assert find_precision(products, DIM, np.random.default_rng(4)) is None

    def test_widths_far_apart_are_found(self):
        widths = 10.0 ** np.linspace(-6, 6, DIM)
        evaluate, _ = evaluator(lambda x: -0.5 * jnp.sum((x / widths) ** 2))
        products = Products(evaluate, np.zeros(DIM))
        products.scale(np.random.default_rng(5))
        np.testing.assert_allclose(products.widths, widths, rtol=1e-3)


class TestLargeMode:
    @pytest.mark.long  # tests/run/test_large.py has the same by a whole run
    def test_the_mass_about_a_gaussian_series_is_exact(self):
        scale = np.linspace(0.5, 2.0, DIM)

        def series(x: jax.Array) -> jax.Array:
            u = (x - 1.0) / scale
            return 3.0 - 0.5 * (u[0] ** 2 + jnp.sum((u[1:] - 0.9 * u[:-1]) ** 2) / 0.19)

        mode = found(series)
        exact = 3.0 + 0.5 * (DIM * np.log(2 * np.pi) + (DIM - 1) * np.log(0.19))
        assert mode.sparse
        assert mode.is_smooth
        assert mode.log_mass == pytest.approx(exact + np.log(scale).sum(), abs=1e-6)

    def test_independent_coordinates_need_no_solve_block_by_block(self):
        scale = 10.0 ** np.linspace(-3, 3, DIM)
        mode = found(lambda x: 2.0 - 0.5 * jnp.sum(((x - 1.0) / scale) ** 2))
        assert mode.sparse
        assert mode.other_way is None
        assert mode.spread is not None
        assert mode.spread.banded is None
        u = np.random.default_rng(6).normal(size=(3, DIM))
        np.testing.assert_allclose(mode.spread.out_rows(u), u * scale, rtol=1e-4)
        exact = 2.0 + 0.5 * DIM * np.log(2 * np.pi) + np.log(scale).sum()
        assert mode.log_mass == pytest.approx(exact, abs=1e-4)

    def test_a_saddle_has_no_factor(self):
        evaluate, _ = evaluator(lambda x: -0.5 * jnp.sum(x[1:] ** 2) + 0.5 * x[0] ** 2 - x[0] ** 4)
        # At zero, by symmetry, where a climb that starts there stays.
        mode = find_large_mode(evaluate, np.zeros(1600))
        assert mode is None or mode.factor() is None

    @pytest.mark.long  # a saddle has none either
    def test_a_kink_has_no_factor(self):
        evaluate, _ = evaluator(lambda x: -jnp.sum(jnp.abs(x - 0.5)) - 0.5 * jnp.sum(x**2))
        mode = find_large_mode(evaluate, np.full(1600, 0.1))
        assert mode is not None
        assert mode.factor() is None


def found(log_density: Callable[[jax.Array], jax.Array]) -> LargeMode:
    mode = find_large_mode(evaluator(log_density)[0], np.full(DIM, 0.1))
    assert mode is not None
    return mode


def test_lanczos_finds_both_ends_of_a_spectrum():
    rng = np.random.default_rng(6)
    turn = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    sizes = np.concatenate([[0.01, 0.02], np.full(293, 1.0), [20.0, 30.0, 50.0, 70.0, 90.0]])
    matrix = turn @ np.diag(sizes) @ turn.T
    extremes, directions, rest = extreme_directions(lambda v: matrix @ v, 300, rng)
    outside = np.abs(np.log(extremes)) > 0.5
    np.testing.assert_allclose(
        np.sort(extremes[outside]), sizes[[0, 1, *range(295, 300)]], rtol=1e-6
    )
    kept = directions[:, outside]
    np.testing.assert_allclose(matrix @ kept, kept * extremes[outside], atol=1e-4)
    assert rest == pytest.approx(1.0, rel=0.05)
