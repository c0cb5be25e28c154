"""Whether jumps of a density are told from bends and edges."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.search.jumps import has_jumps
from targets import evaluate

pytestmark = pytest.mark.usefixtures("x64")
DRAWS = np.random.default_rng(0).normal(size=(400, 3))


def found(log_density) -> bool:
    density = evaluate(refti.Model(log_density, dim=3))
    return has_jumps(density, DRAWS, np.random.default_rng(1))


def smooth(x):
    return -0.5 * jnp.sum(x**2)


@pytest.mark.parametrize("height", [0.5, 3.0])
def test_a_staircase_jumps(height):
    assert found(lambda x: smooth(x) + height * jnp.floor(2 * x[1]))


@pytest.mark.parametrize(
    "log_density",
    [
        smooth,
        lambda x: smooth(x) - 2 * jnp.abs(x[0]),  # a kink
        lambda x: -0.5 * x[0] ** 2 - 0.5 * (x[1] ** 2 + x[2] ** 2) * jnp.exp(-3 * x[0]) - 3 * x[0],
        lambda x: smooth(x) + 5 * jnp.cos(6 * x[2]),
        lambda x: smooth(x) + 0.01 * jnp.floor(2 * x[1]),  # too little to matter
    ],
)
def test_what_bends_does_not_jump(log_density):
    assert not found(log_density)


def test_one_jump_far_from_most_draws_is_no_matter():
    assert not found(lambda x: smooth(x) + 3.0 * (x[0] > 3.5))
