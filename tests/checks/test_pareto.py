"""Tails: the Pareto shape of importance weights whose tail is known.

Seeds are fixed. A z-score beyond 4 is a false alarm once in 16,000.
"""

from __future__ import annotations

import numpy as np
import pytest

from refti.checks.pareto import pareto_shape

REPEATS = 40


def pareto(shape: float, count: int, seed: int) -> np.ndarray:
    """Logarithms of Pareto draws: exponential ones with the shape as their mean."""
    return shape * np.random.default_rng(seed).exponential(size=count)


@pytest.mark.parametrize("shape", [0.7, 1.0, 1.5])
@pytest.mark.parametrize("count", [4000, 50_000])
def test_shape_of_pareto_draws(shape: float, count: int):
    found = np.array([pareto_shape(pareto(shape, count, seed)) for seed in range(REPEATS)])
    tail = int(3 * np.sqrt(count))
    # The estimate is the average of the tail's shape and ten times 0.5, and a shape k from m
    # draws has the asymptotic standard deviation (1 + k) / sqrt(m).
    expected = (tail * shape + 10 * 0.5) / (tail + 10)
    spread = (1 + shape) / np.sqrt(tail) * tail / (tail + 10)
    assert abs(found.mean() - expected) < 4 * spread / np.sqrt(REPEATS)
    # The sampled standard deviation is known to 11 %; the asymptotic one is its upper end.
    assert 0.55 * spread < found.std(ddof=1) < 1.4 * spread


def test_heavier_tails_have_larger_shapes():
    found = [pareto_shape(pareto(shape, 20_000, seed=1)) for shape in (0.5, 1.0, 2.0, 4.0)]
    assert np.all(np.diff(found) > 0.3)


@pytest.mark.parametrize(
    "log_weights",
    [
        np.zeros(1000),
        1e-9 * np.random.default_rng(0).normal(size=1000),
        np.log(np.random.default_rng(0).uniform(size=1000)),  # bounded weights
        0.5 * np.random.default_rng(0).normal(size=1000),
        np.zeros(3),
    ],
    ids=["equal", "nearly equal", "bounded", "nearly bounded", "three equal"],
)
def test_weights_without_a_tail(log_weights: np.ndarray):
    assert pareto_shape(log_weights) == 0


def test_weights_that_are_nearly_all_zero_but_equal_are_judged_by_those_that_are_not():
    # A tenth has all the weight: no single draw dominates.
    assert pareto_shape(np.repeat([-np.inf, 0.0], [890, 110])) == 0


def test_one_draw_that_has_it_all():
    assert pareto_shape(np.append(np.zeros(999), 50.0)) > 2
    assert pareto_shape(np.append(np.full(999, -np.inf), 0.0)) > 2


@pytest.mark.parametrize("count", [11, 24])
def test_too_few_of_which_one_dominates(count: int):
    assert pareto_shape(np.append(np.zeros(count - 1), 20.0)) == np.inf


@pytest.mark.parametrize("shift", [1e3, -1e4, 1e6])
def test_weights_times_a_constant_have_the_same_shape(shift: float):
    log_weights = pareto(0.9, 2000, seed=3)
    assert pareto_shape(log_weights + shift) == pytest.approx(pareto_shape(log_weights), rel=1e-6)


def test_order_and_shape_of_the_array_do_not_matter():
    log_weights = pareto(0.9, 2000, seed=3)
    assert pareto_shape(log_weights[::-1].reshape(8, -1)) == pareto_shape(log_weights)


def test_input_is_left_as_it_is():
    log_weights = pareto(0.9, 500, seed=3)
    before = log_weights.copy()
    pareto_shape(log_weights)
    np.testing.assert_array_equal(log_weights, before)
