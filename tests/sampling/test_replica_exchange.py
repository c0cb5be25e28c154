"""Exchange: trades leave every rung's density as it is, and their bookkeeping is right.

Seeds are fixed. A z-score beyond 4.5 is a false alarm once in 150,000.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from refti.sampling.replica_exchange import exchange

LAMBDAS = np.array([0.0, 0.3, 0.7, 1.0])
SHIFT = 1.5
CHAINS = 20_000
TOO_FAR = 4.5


def delta_of(x: np.ndarray) -> np.ndarray:
    """log N(x; SHIFT, 1) - log N(x; 0, 1) of x[rung, chain, dim] in its first coordinate."""
    return SHIFT * x[..., 0] - 0.5 * SHIFT**2


def exact(rng: np.random.Generator) -> np.ndarray:
    """Draws of every rung: normal about lambda * SHIFT, and a second coordinate, plain normal."""
    x = rng.normal(size=(len(LAMBDAS), CHAINS, 2))
    x[..., 0] += SHIFT * LAMBDAS[:, None]
    return x


def expect_marginals(x: np.ndarray) -> None:
    """Means, variances and correlations of independent draws of every rung, as z-scores."""
    white = x - SHIFT * LAMBDAS[:, None, None] * np.array([1.0, 0.0])
    scores = np.sqrt(CHAINS) * white.mean(axis=1)
    assert np.abs(scores).max() < TOO_FAR
    scores = np.sqrt(CHAINS / 2) * ((white**2).mean(axis=1) - 1)
    assert np.abs(scores).max() < TOO_FAR
    between = np.corrcoef(white[..., 0]) - np.eye(len(LAMBDAS))
    assert np.sqrt(CHAINS) * np.abs(between).max() < TOO_FAR


def test_trades_leave_the_rungs_densities_and_their_independence():
    rng = np.random.default_rng(1)
    x = exact(rng)
    for turn in range(6):
        x = exchange(LAMBDAS, x, delta_of(x), turn, rng).x
    expect_marginals(x)


def test_rungs_fed_by_trades_alone_come_to_their_densities():
    # The inner rungs never move by themselves and begin far off.
    rng = np.random.default_rng(2)
    x = exact(rng)
    x[1:3] = 4.0
    for turn in range(400):
        fresh = exact(rng)
        x[0], x[-1] = fresh[0], fresh[-1]
        x = exchange(LAMBDAS, x, delta_of(x), turn, rng).x
    expect_marginals(x)


def test_share_of_trades_made():
    # The gain is normal with mean -s^2 / 2 and variance s^2, of which min(1, exp) has the mean
    # 2 Phi(-s / 2); here s = width * SHIFT * sqrt(2).
    rng = np.random.default_rng(3)
    x = exact(rng)
    for parity in (0, 1):
        found = exchange(LAMBDAS, x, delta_of(x), parity, rng)
        for pair in np.flatnonzero(found.tried):
            width = LAMBDAS[pair + 1] - LAMBDAS[pair]
            share = 2 * stats.norm.cdf(-width * SHIFT / np.sqrt(2))
            spread = np.sqrt(share * (1 - share) * CHAINS)
            assert abs(found.accepted[pair] - share * CHAINS) < TOO_FAR * spread


def table(rungs: int = 5, chains: int = 3, dim: int = 2) -> np.ndarray:
    """Positions of which no two numbers are the same."""
    return np.arange(rungs * chains * dim, dtype=float).reshape(rungs, chains, dim)


def test_positions_are_traded_whole_within_their_chain_and_none_is_lost():
    rng = np.random.default_rng(4)
    x = table(rungs=6, chains=50)
    before = x.copy()
    found = exchange(np.linspace(0, 1, 6), x, rng.normal(size=(6, 50)), 0, rng)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(np.sort(found.x, axis=0), before)
    changed = (found.x != before).any(axis=2)
    np.testing.assert_array_equal((found.x != before).all(axis=2), changed)
    np.testing.assert_array_equal(found.moved, changed.any(axis=1))
    for pair in (0, 2, 4):
        assert 0 < found.accepted[pair] == changed[pair].sum() == changed[pair + 1].sum()
        np.testing.assert_array_equal(found.x[pair, changed[pair]], before[pair + 1, changed[pair]])


@pytest.mark.parametrize(("rungs", "parity"), [(2, 0), (2, 1), (3, 0), (3, 1), (5, 0), (5, 7)])
def test_pairs_of_one_parity_are_tried(rungs: int, parity: int):
    # Equal deltas are traded for certain.
    lambdas, x = np.linspace(0, 1, rungs), table(rungs)
    found = exchange(lambdas, x, np.zeros((rungs, 3)), parity, np.random.default_rng(0))
    tried = [3 * (pair % 2 == parity % 2) for pair in range(rungs - 1)]
    assert found.tried.tolist() == tried
    assert found.accepted.tolist() == tried
    order = np.arange(rungs)
    for pair in np.flatnonzero(tried):
        order[[pair, pair + 1]] = order[[pair + 1, pair]]
    np.testing.assert_array_equal(found.x, x[order])
    np.testing.assert_array_equal(found.moved, order != np.arange(rungs))


def test_gain_is_certain_and_great_loss_is_refused():
    x, rng = table(rungs=2), np.random.default_rng(0)
    better = exchange([0, 1], x, np.array([[900.0, 900, 900], [0, 0, 0]]), 0, rng)
    assert better.accepted.tolist() == [3]
    worse = exchange([0, 1], x, np.array([[0.0, 0, 0], [900, 900, 900]]), 0, rng)
    assert worse.accepted.tolist() == [0]
    assert worse.tried.tolist() == [3]
    assert not worse.moved.any()


def test_what_lies_outside_the_support_is_never_traded():
    # Up, a draw outside would have density zero; down, its delta says nothing of the other rung.
    delta = np.array([[-np.inf, 0.0, -np.inf, 5.0], [0.0, -np.inf, -np.inf, 0.0]])
    x = table(rungs=2, chains=4)
    found = exchange([0.0, 1.0], x, delta, 0, np.random.default_rng(0))
    np.testing.assert_array_equal(found.x[:, :3], x[:, :3])
    np.testing.assert_array_equal(found.x[:, 3], x[::-1, 3])
    assert found.accepted.tolist() == [1]


def test_same_randomness_same_trades():
    delta = np.random.default_rng(5).normal(size=(5, 3))
    first, second = (
        exchange(np.linspace(0, 1, 5), table(), delta, 1, np.random.default_rng(6))
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.x, second.x)
