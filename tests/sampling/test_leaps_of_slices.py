"""Leaps of kernels that need no gradient: the exact draws of a scan, tried one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from refti.sampling.leg import _leap


def leap(
    lam: float, x: np.ndarray, draws: np.ndarray, shift: float = 1.0, seed: int = 0
) -> np.ndarray:
    """Where chains at x[chain, 1] are, with a standard normal for reference and one shifted."""

    def delta(at: np.ndarray) -> np.ndarray:
        return shift * at[..., 0] - 0.5 * shift**2

    rng = np.random.default_rng(seed)
    at, there = _leap(lam, x, delta(x), draws, delta(draws), rng)
    assert np.allclose(there, delta(at))
    return at[:, 0]


@pytest.mark.parametrize("lam", [1.0, 0.3])
def test_they_lead_to_the_rungs_density_from_anywhere(lam: float):
    chains = 4000
    draws = np.random.default_rng(1).normal(size=(chains, 150, 1))
    after = leap(lam, np.full((chains, 1), 2.0), draws)
    # Between N(0, 1) and N(1, 1) lies N(lam, 1).
    assert after.mean() == pytest.approx(lam, abs=4 / np.sqrt(chains))
    assert after.var() == pytest.approx(1.0, abs=4 * np.sqrt(2 / chains))


def test_the_first_draw_is_left_for_the_exchange():
    draws = np.full((3, 1, 1), 50.0)  # far better than where chains are
    x = np.zeros((3, 1))
    assert np.array_equal(leap(1.0, x, draws), x[:, 0])
    assert np.array_equal(leap(1.0, x, np.concatenate([draws, draws + 1], axis=1)), [51.0] * 3)


def test_nothing_leaps_outside_the_support_and_the_chains_given_are_left_as_they_were():
    x, delta = np.zeros((2, 1)), np.zeros(2)
    draws, there = np.ones((2, 5, 1)), np.full((2, 5), -np.inf)
    there[1, 3] = 9.0
    at, delta_at = _leap(1.0, x, delta, draws, there, np.random.default_rng(0))
    assert np.array_equal(at[:, 0], [0.0, 1.0])
    assert np.array_equal(delta_at, [0.0, 9.0])
    assert not x.any()
    assert not delta.any()
