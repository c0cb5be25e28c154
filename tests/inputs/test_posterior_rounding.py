"""Draws that lost digits get their joint constraints back; others stay as they are."""

from collections.abc import Callable

import numpy as np
import pytest

import refti
from refti.inputs.posterior.rounding import undo_rounding
from refti.inputs.posterior.unconstrain import unconstrain_draws

RNG = np.random.default_rng(3)


def rounded(values: np.ndarray) -> np.ndarray:
    """As CmdStan writes them: six significant digits."""
    return np.array([float(f"{value:.6g}") for value in values.ravel()]).reshape(values.shape)


def factors(count: int) -> np.ndarray:
    made = np.tril(RNG.normal(size=(count, 3, 3)), -1) + np.eye(3)
    return made / np.linalg.norm(made, axis=-1, keepdims=True)


SIMPLEX, FACTORS = RNG.dirichlet(np.ones(5), (40, 2)), factors(100)


@pytest.mark.parametrize(
    ("values", "constraint"),
    [
        (SIMPLEX, lambda values: values.sum(axis=-1) - 1),
        (FACTORS, lambda values: np.linalg.norm(values, axis=-1) - 1),
        (
            FACTORS @ np.swapaxes(FACTORS, 1, 2) * 3,
            lambda values: values - np.swapaxes(values, 1, 2),
        ),
    ],
    ids=["simplex", "correlation factor", "covariance"],
)
def test_what_rounding_took_is_given_back(values: np.ndarray, constraint: Callable):
    lossy = rounded(values) + 1e-7 * RNG.normal(size=values.shape) * (values != 0)
    assert np.abs(constraint(lossy)).max() > 1e-8
    found = undo_rounding(lossy)
    assert np.abs(constraint(found)).max() < 1e-14
    np.testing.assert_allclose(found, values, atol=2e-5)


@pytest.mark.parametrize(
    "values",
    [RNG.normal(size=100), RNG.normal(size=(100, 3)), RNG.normal(size=(100, 3, 3))],
    ids=["scalar", "vector", "matrix"],
)
def test_values_without_a_joint_constraint_stay_as_they_are(values: np.ndarray):
    assert undo_rounding(values) is values


def test_rounded_draws_of_simplex_and_correlation_are_taken():
    model = refti.Model(
        lambda p, c: 0.0 * p[0] + 0.0 * c[0, 0],
        {"p": refti.simplex(5), "c": refti.correlation_cholesky(3)},
    )
    draws = {"p": RNG.dirichlet(np.ones(5), 100), "c": factors(100)}
    exact, _ = unconstrain_draws(model, draws)
    found, _ = unconstrain_draws(model, {name: rounded(values) for name, values in draws.items()})
    np.testing.assert_allclose(found, exact, atol=1e-2)
