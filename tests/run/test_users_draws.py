"""Posterior draws that exist: what they save, and what is told of those that are no good."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti.run.users_draws import beside_fresh_ones, judge_alone

MEAN, SPREAD = np.array([1.0, -2.0, 0.5]), np.array([0.5, 2.0, 1.0])
LOG_Z = float(np.sum(np.log(SPREAD)) + 1.5 * np.log(2 * np.pi))
NAMES = ("x[0]", "x[1]", "x[2]")


@pytest.fixture(scope="module")
def model() -> refti.Model:
    return refti.Model(lambda x: -0.5 * jnp.sum(((x - MEAN) / SPREAD) ** 2), dim=3)


def posterior(chains: int, draws: int, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=(chains, draws, 3))
    return MEAN + SPREAD * noise


def evidence(model: refti.Model, draws: np.ndarray | None = None) -> refti.Evidence:
    given = None if draws is None else {"x": draws}
    return refti.evidence(model, draws=given, seed=2, progress=False)


def test_draws_save_more_than_half_of_the_cost_and_change_nothing_else(model) -> None:
    without, with_draws = evidence(model), evidence(model, posterior(4, 500))
    assert with_draws.trusted, with_draws.checks
    assert abs(with_draws.log_z - LOG_Z) < 4 * with_draws.error + 1e-3
    assert 2 * with_draws.cost.evaluations < without.cost.evaluations
    assert with_draws.found["draws"]["faults"] == []
    assert with_draws.found["draws"]["chains"] == 4


def correlated(chains: int, draws: int) -> np.ndarray:
    """An autoregression so slow that a chain is worth a few draws."""
    rng, x = np.random.default_rng(3), np.zeros((chains, draws, 3))
    for i in range(1, draws):
        x[:, i] = 0.99 * x[:, i - 1] + np.sqrt(1 - 0.99**2) * rng.normal(size=(chains, 3))
    return MEAN + SPREAD * x


def with_warm_up(chains: int, draws: int) -> np.ndarray:
    x = posterior(chains, draws)
    x[:, : draws // 5, 1] += np.linspace(15, 0, draws // 5)
    return x


BAD = {
    "worth only": correlated(2, 300),
    "warm-up": with_warm_up(4, 300),
    "too narrow": MEAN + 0.3 * (posterior(4, 300) - MEAN),
    "too wide": MEAN + 1.7 * (posterior(4, 300) - MEAN),
}


@pytest.mark.parametrize("said", BAD)
def test_draws_that_are_no_good_are_told_and_do_no_harm(model, said: str) -> None:
    result = evidence(model, BAD[said])
    assert [said in fault for fault in result.found["draws"]["faults"]] == [True]
    assert said in str(result)
    assert result.trusted, result.checks
    assert abs(result.log_z - LOG_Z) < 4 * result.error + 1e-3


def test_independent_draws_of_any_form_raise_no_alarm() -> None:
    # Two hundred sets of draws: each alarm needs six errors in some coordinate.
    for seed in range(200):
        chains = 1 + seed % 4
        x, fresh = posterior(chains, 400, seed), posterior(8, 50, seed + 1000)
        assert judge_alone(x, NAMES).faults == ()
        assert list(beside_fresh_ones(x, fresh, NAMES)) == []


def test_chains_that_disagree_are_told() -> None:
    x = posterior(4, 300)
    x[0, :, 2] += 2.0
    (fault,) = judge_alone(x, NAMES).faults
    assert "R-hat" in fault
    assert "'x[2]'" in fault
