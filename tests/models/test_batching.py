"""Densities of large matrices neither hang nor change by being evaluated one by one."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.models.batching import (
    is_split_over_threads,
    log_densities,
    may_run_side_by_side,
    one_by_one,
)
from refti.models.density import Density, to_density, trace

# jaxlib 0.10 waits for ever on this density by itself where cores are few and it is vectorised.
TWO_PROCESSES = """
import jax.numpy as jnp, numpy as np, refti
from jax.scipy.linalg import solve_triangular

days = np.arange(60)
apart = np.abs(days[:, None] - days)
seen = np.sin(days / 20)

def process(log_scale, mean):
    covariance = jnp.exp(-apart / jnp.exp(2 + log_scale)) + 0.1 * jnp.eye(len(days))
    factor = jnp.linalg.cholesky(covariance)
    z = solve_triangular(factor, seen - mean, lower=True)
    return -0.5 * z @ z - jnp.log(jnp.diag(factor)).sum()

def log_density(x):
    return process(x[0], 0.0) + process(x[1], 0.1) - 0.5 * x @ x

model = refti.Model(log_density, dim=2)
settings = {"ladder": refti.uniform(3), "warmup": 100, "kept": 100, "search": 500}
result = refti.evidence(model, reference="laplace", progress=False, **settings)
# The two are independent, so their integrals are one-dimensional.
grid, still = np.linspace(-6, 6, 601), np.zeros(601)
along = [model.log_densities(np.stack(axes, 1)) for axes in ((grid, still), (still, grid))]
exact = sum(np.log(np.trapezoid(np.exp(v - v.max()), grid)) + v.max() for v in along)
exact -= model.log_densities(np.zeros((1, 2)))[0]
print(result.log_z, result.error, exact)
"""


def density_of(size: int, stacked: int = 1) -> Density:
    """Of as many covariances of a size, stacked."""

    def log_density(x: jax.Array) -> jax.Array:
        covariance = jnp.exp(x[0]) * jnp.eye(size) + 0.1 * jnp.outer(x[1:], x[1:]).sum()
        factors = jnp.linalg.cholesky(jnp.broadcast_to(covariance, (stacked, size, size)))
        return -jnp.log(jnp.diagonal(factors, axis1=1, axis2=2)).sum() - 0.5 * x @ x

    return to_density(trace(log_density, 3))


@pytest.mark.long  # those below see that such a density is taken one by one
@pytest.mark.slow
def test_two_gaussian_processes_do_not_hang():
    done = subprocess.run(
        [sys.executable, "-c", TWO_PROCESSES], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    log_z, error, exact = map(float, done.stdout.split())
    assert abs(log_z - exact) < 4 * error < 0.4


@pytest.mark.parametrize(
    ("size", "stacked", "batch", "is_split"),
    [
        (3, 1, 256, False),
        (10, 1, 16, False),
        (10, 1, 256, True),
        (50, 1, 1, False),
        (50, 1, 16, True),
        (50, 10, 1, True),
    ],
)
def test_what_jaxlib_splits_over_threads(size: int, stacked: int, batch: int, is_split: bool):
    with jax.enable_x64(True):
        assert is_split_over_threads(density_of(size, stacked), jnp.zeros(3), batch) == is_split


def test_values_and_gradients_are_the_same_one_by_one():
    def value_and_gradient(density: Density, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(density.log_density)(x)

    with jax.enable_x64(True):
        density, x = density_of(50), np.random.default_rng(0).normal(size=(5, 3))
        turns = jax.jit(jax.vmap(lambda one: one_by_one(value_and_gradient, density, one)))
        values, gradients = turns(x)
        single = jax.jit(lambda one: value_and_gradient(density, one))
        alone = [single(jnp.asarray(one)) for one in x]
        np.testing.assert_allclose(values, [value for value, _ in alone], rtol=1e-12)
        np.testing.assert_allclose(gradients, [slope for _, slope in alone], rtol=1e-9)
        np.testing.assert_allclose(log_densities(density, jnp.asarray(x)), values, rtol=1e-12)
        assert "while" in str(turns.lower(x).as_text())


def test_only_stacks_of_matrices_keep_rungs_from_running_side_by_side():
    with jax.enable_x64(True):
        assert may_run_side_by_side(density_of(50), np.zeros(3))
        assert not may_run_side_by_side(density_of(50, 10), np.zeros(3))
    assert may_run_side_by_side(refti.from_callable(lambda x: -x @ x, dim=2).density, np.zeros(2))
