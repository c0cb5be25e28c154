"""The share of a density inside a support: counted points, counted draws, and their errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from refti.draws.support_share import NONE_YET, count_draws, count_points


def test_points_are_added_to_those_before():
    x = np.arange(8.0).reshape(4, 2)
    first = count_points(NONE_YET, x, np.array([0.5, -np.inf, -3.0, 1.0]))
    assert (first.inside, first.drawn, first.not_a_number) == (3, 4, 0)
    second = count_points(first, x, np.array([np.nan, np.inf, -np.inf, 0.0]))
    assert (second.inside, second.drawn) == (4, 8)
    assert (second.not_a_number, second.infinite) == (2, 1)
    assert second.example == (0.0, 1.0)
    assert second.log_share == math.log(0.5)
    third = count_points(second, x + 1, np.full(4, np.nan))
    assert third.example == second.example


def test_the_error_is_that_of_independent_points():
    rng, share = np.random.default_rng(1), 0.3
    found = [
        count_points(
            NONE_YET, np.zeros((500, 1)), np.where(rng.uniform(size=500) < share, 0, -np.inf)
        )
        for _ in range(200)
    ]
    scores = [(one.log_share - math.log(share)) / one.log_error for one in found]
    # The spread of 200 z-scores has a standard error of 5 %, their mean one of 7 %.
    assert np.std(scores) == pytest.approx(1, abs=0.15)
    assert np.mean(scores) == pytest.approx(0, abs=0.25)


def test_none_seen_outside_does_not_prove_that_there_is_none():
    found = count_points(NONE_YET, np.zeros((100, 1)), np.zeros(100))
    assert found.log_share == 0
    assert 0 < found.log_error < 0.02


def test_correlated_draws_are_worth_less():
    inside = np.random.default_rng(2).uniform(size=(4, 100)) < 0.6
    held = np.repeat(inside, 10, axis=1)
    one, other = count_draws(inside), count_draws(held)
    assert (other.inside, other.drawn) == (10 * one.inside, 10 * one.drawn)
    assert other.log_share == one.log_share
    assert other.log_error == pytest.approx(one.log_error, rel=0.3)
