"""Draws: what it refuses, what it counts, and overlap against closed forms."""

from __future__ import annotations

import dataclasses
import math
import warnings

import numpy as np
import pytest
from scipy import integrate

from refti.draws.draws import Draws
from refti.errors import LadderError, SettingsError


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def shifted(shift: float, rungs: int = 2, draws: int = 2000, seed: int = 1) -> Draws:
    """Returns exact draws of the path from N(0, 1) to N(shift, 1), both normalised."""
    lambdas = np.linspace(0, 1, rungs)
    noise = np.random.default_rng(seed).normal(size=(rungs, 4, draws))
    position = noise + shift * lambdas[:, None, None]
    return Draws(lambdas, shift * position - 0.5 * shift**2)


def test_counts_and_moments():
    draws = shifted(2.0, rungs=5, draws=300)
    assert (draws.rungs, draws.chains, draws.draws) == (5, 4, 300)
    assert draws.mean() == pytest.approx(4 * draws.lambdas - 2, abs=5 * 2 / math.sqrt(1200))
    assert draws.variance() == pytest.approx(np.full(5, 4.0), rel=5 * math.sqrt(2 / 1200))
    assert draws.r_hat().shape == (5,)
    assert np.all(draws.r_hat() < 1.03)
    assert draws.effective_sample_size() == pytest.approx(np.full(5, 1200), rel=0.35)


def test_values_are_frozen_and_apart_from_what_came_in():
    given = np.zeros((2, 1, 3))
    draws = Draws([0, 1], given)
    given[0, 0, 0] = 5.0
    assert draws.delta[0, 0, 0] == 0.0
    assert draws.delta.dtype == draws.lambdas.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        draws.delta[0, 0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        draws.delta = given


@pytest.mark.parametrize(
    "lambdas",
    [[0.02, 1], [0, 0.9], [0, 0.5, 0.5, 1], [0, 0.7, 0.6, 1], [0, np.nan, 1], [0], [], [[0, 1]]],
)
def test_refuses_a_ladder_that_does_not_run_from_0_to_1(lambdas):
    with pytest.raises(LadderError, match="Ladder must"):
        Draws(lambdas, np.zeros((len(lambdas), 2, 5)))


@pytest.mark.parametrize("shape", [(3, 2, 5), (2, 5), (2, 0, 5), (2, 2, 0), (2, 1, 1, 1)])
def test_refuses_another_shape(shape):
    with pytest.raises(SettingsError, match=r"\[rung, chain, draw\].*got shape"):
        Draws([0, 1], np.zeros(shape))


@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
def test_refuses_what_is_not_finite_and_says_where(value):
    delta = np.zeros((2, 3, 5))
    delta[1, 2, 4] = value
    with pytest.raises(SettingsError, match=r"1 of 30 .*\(1, 2, 4\).*support"):
        Draws([0, 1], delta)


def test_halves_and_chains():
    draws = Draws([0, 1], np.arange(2 * 3 * 7, dtype=float).reshape(2, 3, 7))
    first, second = draws.halves()
    assert first.delta[0, 1].tolist() == [7, 8, 9]
    assert second.delta[0, 1].tolist() == [11, 12, 13]
    assert draws.of_chains([2, 0]).delta.tolist() == draws.delta[:, [2, 0]].tolist()
    with pytest.raises(SettingsError, match="Draw more"):
        Draws([0, 1], np.zeros((2, 3, 1))).halves()


@pytest.mark.parametrize("shift", [0.5, 2.0, 4.0])
def test_overlap_of_two_gaussians(shift):
    def density(x: float) -> float:
        low, high = math.exp(-0.5 * x**2), math.exp(-0.5 * (x - shift) ** 2)
        return 2 * low * high / (low + high) / math.sqrt(2 * math.pi)

    truth = integrate.quad(density, -10, 10 + shift)[0]
    draws = shifted(shift, draws=20_000)
    assert draws.overlap() == pytest.approx([truth], rel=0.03)
    # The normalised ends have a log ratio of 0; the error of one bridge is 1/sqrt(n overlap) or so.
    assert draws.bridges() == pytest.approx([0.0], abs=4 / math.sqrt(80_000 * truth))


def test_overlap_of_one_pair_does_not_depend_on_the_others():
    draws = shifted(3.0, rungs=4)
    scaled = (draws.lambdas[2] - draws.lambdas[1]) * draws.delta[1:3]
    assert draws.overlap()[1] == pytest.approx(Draws([0, 1], scaled).overlap()[0], rel=1e-9)


def test_identical_rungs_overlap_fully():
    assert Draws([0, 1], np.full((2, 2, 50), 3.7)).overlap() == pytest.approx([1.0])
    assert Draws([0, 1], np.full((2, 2, 50), -1e6)).bridges() == pytest.approx([-1e6])


@pytest.mark.parametrize("gap", [1e2, 1e4, 1e6])
def test_disjoint_rungs_do_not_overlap(gap):
    noise = np.random.default_rng(2).normal(size=(3, 2, 200))
    draws = Draws([0, 0.3, 1], noise + gap * np.array([-1.0, 0.0, 1.0])[:, None, None])
    assert np.all(draws.overlap() < 1e-5)
    assert np.all(np.isfinite(draws.bridges()))
    # With nothing in common, the bridge lies half way between what the two rungs show.
    assert draws.bridges()[1] == pytest.approx(0.35 * gap, abs=5)


def test_bridge_balances_the_two_rungs_even_when_they_stand_the_wrong_way_round():
    delta = np.stack([np.full((1, 50), 30.0), np.full((1, 50), -20.0)])
    delta[:, :, :10] += 1.0
    root = Draws([0, 1], delta).bridges()[0]
    upper = (1 / (1 + np.exp(root - delta[0]))).mean()
    lower = (1 / (1 + np.exp(delta[1] - root))).mean()
    assert upper == pytest.approx(lower, rel=1e-9)
