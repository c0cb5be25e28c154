"""Laplace's approximation with the sampled covariance."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import xarray

import refti
from refti.paper.laplace import laplace


def posterior(values: np.ndarray) -> xarray.Dataset:
    return xarray.Dataset({"a": (("chain", "draw", "k"), values)})


@pytest.fixture
def normal() -> np.ndarray:
    """Draws of four chains of two normal numbers, means 8 and 9, scales 1 and 2."""
    rng = np.random.default_rng(1)
    return np.array([8.0, 9.0]) + np.array([1.0, 2.0]) * rng.normal(size=(4, 5000, 2))


@pytest.mark.parametrize("support", [refti.real(shape=(2,)), refti.positive(shape=(2,))])
def test_it_is_exact_for_a_gaussian_of_the_models_own_parameters(support, normal: np.ndarray):
    """The zero below is over four scales away, so a bound there cuts off nothing."""

    def log_density(values):
        off = (values["a"] - jnp.array([8.0, 9.0])) / jnp.array([1.0, 2.0])
        return 5.0 - 0.5 * jnp.sum(off**2)

    model = refti.Model(log_density=log_density, parameters={"a": support})
    found = laplace(model, posterior(normal))
    assert abs(found.log_z - (5.0 + np.log(2 * np.pi * 2.0))) < 4 * found.error
    assert found.error < 0.02


def test_its_noise_is_that_of_the_chains(normal: np.ndarray):
    model = refti.Model(
        log_density=lambda values: -0.5 * jnp.sum((values["a"] - 8.0) ** 2),
        parameters={"a": refti.real(shape=(2,))},
    )
    shifted = normal + np.array([0.0, 0.0, 0.0, 2.0])[:, None, None]
    assert laplace(model, posterior(shifted)).error > 10 * laplace(model, posterior(normal)).error
