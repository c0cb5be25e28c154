"""How much work an evaluation of a density is, by its program."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.inputs.stan import work as stan_work
from refti.models.operations import operations_of


def count(function, dim: int) -> int | None:
    return operations_of(refti.Model(function, dim=dim))


@pytest.mark.parametrize("data", [10, 1000])
def test_grows_with_the_data(data: int):
    y = np.linspace(0.0, 1.0, data)
    counted = count(lambda x: -0.5 * jnp.sum((y - x[0]) ** 2), 1)
    assert 3 * data <= counted <= 5 * data


def test_products_of_matrices_count_by_their_sums():
    matrix = np.eye(50)
    counted = count(lambda x: -0.5 * jnp.sum((matrix @ x) ** 2), 50)
    assert 2500 <= counted <= 2500 + 500


def test_loops_count_as_often_as_they_run():
    def walk(steps: int):
        def log_density(x):
            end, _ = jax.lax.scan(lambda c, _: (0.9 * c + x[0], None), 0.0, length=steps)
            return -0.5 * end**2 - 0.5 * x[0] ** 2

        return count(log_density, 1)

    assert 2 * 990 <= walk(1000) - walk(10) <= 5 * 990


def test_what_is_not_in_the_program_is_not_known():
    def by_callback(x):
        shape = jax.ShapeDtypeStruct((), jnp.float64)
        value = jax.pure_callback(np.sum, shape, jax.lax.stop_gradient(x), vmap_method="sequential")
        return -0.5 * jnp.sum(x**2) + 0.0 * value

    def by_loop(x):
        steps = jax.lax.while_loop(lambda n: n < x[0] ** 2, lambda n: n + 1.0, 0.0)
        return -0.5 * jnp.sum(x**2) + 0.0 * jax.lax.stop_gradient(steps)

    assert count(by_callback, 2) is None
    assert count(by_loop, 2) is None


def test_factored_matrices_count_by_the_cube_of_their_size():
    def log_density(x):
        root = jnp.linalg.cholesky(jnp.eye(30) * (1 + x[0] ** 2))
        return -0.5 * x[0] ** 2 - jnp.log(jnp.diag(root)).sum()

    assert 30**3 <= count(log_density, 1) <= 3 * 30**3


def test_of_a_stan_program_by_its_data():
    code = "parameters { real mu; } model { mu ~ normal(0, 1); y ~ normal(mu, 1); }"
    few = stan_work.operations_of(code, '{"N": 3, "y": [1, 2, 3]}', 1)
    many = stan_work.operations_of(code, '{"N": 6, "y": [[1, 2, 3], [4, 5, 6]]}', 1)
    assert few is not None
    assert many * 5 == few * 8
    for dear in (
        "ode_rk45(f, y0, t0, ts)",
        "cholesky_decompose(K)",
        "gp_exp_quad_cov(x, 1.0, 1.0)",
    ):
        assert stan_work.operations_of(code.replace("mu, 1)", f"{dear}, 1)"), "{}", 1) is None
