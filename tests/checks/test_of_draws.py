"""The checks of a leg's draws: good draws pass them, and each can fail, on draws made by hand.

Seeds are fixed.
"""

from __future__ import annotations

import numpy as np
import pytest

from refti.checks.check import Check
from refti.checks.of_draws import check_estimates, check_legs, check_positions, check_share
from refti.draws.draws import Draws
from refti.draws.support_share import SupportShare
from refti.estimators import Estimate

CHAINS, DRAWS = 8, 500
OFTEN = 0.4  # the share of exchanges that are made where rungs are close


def shifted_normals(rungs: int) -> Draws:
    """The leg from a standard normal to one whose mean is 1, where delta = x - 1/2."""
    lambdas = np.linspace(0, 1, rungs)
    x = np.random.default_rng(1).normal(lambdas[:, None, None], size=(rungs, CHAINS, DRAWS))
    return Draws(lambdas, x - 0.5)


def widening_gammas(rungs: int) -> Draws:
    """The leg from a Gamma variable of shape 3 to one 20 times as wide, where delta = 0.95 x.

    Without rungs between, a few draws of the wide end, those near 0, have all the weight there.
    The start comes off better: the exponential tail of its draws reaches into the end.
    """
    lambdas = np.linspace(0, 1, rungs)
    scales = 1 / (1 - 0.95 * lambdas)
    x = np.random.default_rng(2).gamma(3.0, scales[:, None, None], size=(rungs, CHAINS, DRAWS))
    return Draws(lambdas, 0.95 * x)


def backwards(leg: Draws) -> Draws:
    return Draws(1 - leg.lambdas[::-1], -leg.delta[::-1])


def checks(
    *legs: Draws, divergences: tuple[float, ...] = (0.0,), exchanges: tuple[float, ...] = (OFTEN,)
) -> dict[str, Check]:
    found = check_legs(legs, np.array(divergences), [np.array(exchanges)])
    return {check.name: check for check in found}


def failed(found: dict[str, Check]) -> set[str]:
    return {name for name, check in found.items() if not check.ok}


class TestGoodDraws:
    """Nothing is found where there is nothing."""

    @pytest.mark.parametrize("rungs", [2, 3, 11])
    def test_of_one_leg(self, rungs: int):
        assert failed(checks(shifted_normals(rungs))) == set()

    def test_of_several_legs(self):
        assert failed(checks(shifted_normals(3), backwards(shifted_normals(4)))) == set()

    @pytest.mark.long
    def test_of_ends_far_apart_with_rungs_between(self):
        assert failed(checks(widening_gammas(21))) == set()


class TestChains:
    """Chains that give different estimates."""

    def test_that_differ_a_little_at_every_rung(self):
        leg = shifted_normals(11)
        higher = np.where(np.arange(CHAINS) % 2, 0.3, 0.0)
        # No rung alone shows it, but together they shift the estimate.
        assert failed(checks(Draws(leg.lambdas, leg.delta + higher[:, None]))) == {"chains"}

    def test_on_one_of_several_legs(self):
        leg = shifted_normals(11)
        delta = leg.delta + np.where(np.arange(CHAINS) % 2, 0.3, 0.0)[:, None]
        short = shifted_normals(2)
        assert failed(checks(short, Draws(leg.lambdas, delta), short)) == {"chains"}


class TestExchange:
    """Neighbours that keep their positions."""

    def test_one_pair_that_hardly_ever_exchanges(self):
        found = checks(shifted_normals(4), exchanges=(OFTEN, 0.005, OFTEN))
        assert failed(found) == {"exchange"}
        assert found["exchange"].value == 0.005

    def test_a_pair_that_was_never_tried_says_nothing(self):
        assert failed(checks(shifted_normals(3), exchanges=(np.nan, OFTEN))) == set()
        assert failed(checks(shifted_normals(2), exchanges=(np.nan,))) == set()
        assert failed(checks(shifted_normals(3), exchanges=(np.nan, 0.0))) == {"exchange"}


class TestTails:
    """Weights of which a few dominate."""

    def test_of_the_end(self):
        tails = failed(checks(widening_gammas(2))) & {"tail of the start", "tail of the end"}
        assert tails == {"tail of the end"}

    def test_of_the_start(self):
        leg = backwards(widening_gammas(2))
        tails = failed(checks(leg)) & {"tail of the start", "tail of the end"}
        assert tails == {"tail of the start"}

    def test_on_one_of_several_legs(self):
        found = checks(shifted_normals(3), widening_gammas(2), shifted_normals(3))
        assert not found["tail of the end"].ok
        assert found["tail of the start"].ok


def test_trajectories_that_diverge_at_one_rung():
    assert failed(checks(shifted_normals(3), divergences=(0.0, 0.02))) == {"divergences"}
    assert failed(checks(shifted_normals(3), divergences=())) == set()


def test_more_draws_mend_what_is_noise_and_not_what_is_wrong():
    mended = {name for name, check in checks(shifted_normals(3)).items() if check.mended_by_draws}
    every = set(checks(shifted_normals(3)))
    assert every - mended == {"divergences", "overlap"}
    estimates = dict.fromkeys(("mbar", "ti", "stepping_stone"), Estimate(0.0, 0.1))
    assert all(check.mended_by_draws for check in check_estimates(estimates, "mbar", 0.05))
    share = SupportShare(inside=1, drawn=1000, not_a_number=900, log_error=0.1, infinite=1)
    found = check_share([share])
    assert not any(check.ok or check.mended_by_draws for check in found)


def to_a_wide_normal() -> Draws:
    """The leg from a standard normal to one three times as wide: its weights have no variance."""
    x = np.random.default_rng(3).normal(scale=[[[1.0]], [[3.0]]], size=(2, CHAINS, DRAWS))
    return Draws(np.array([0.0, 1.0]), x**2 * 4 / 9)


@pytest.mark.parametrize(
    ("leg", "forward", "back", "ok"),
    [
        (to_a_wide_normal(), -0.5, 0.0, True),  # as such weights are: too low, and too sure of it
        (to_a_wide_normal(), 0.5, 0.0, False),
        (to_a_wide_normal(), -0.5, -0.5, False),
        (shifted_normals(11), -0.5, 0.0, False),
    ],
)
def test_stepping_stones_with_heavy_tails_are_compared_on_the_way_back(
    leg: Draws, forward: float, back: float, *, ok: bool
):
    values = {"mbar": 0.0, "ti": 0.0, "stepping_stone": forward, "stepping_stone_reverse": back}
    estimates = {name: Estimate(value, 0.05) for name, value in values.items()}
    agreement, _ = check_estimates(estimates, "mbar", 0.1, [leg])
    assert agreement.name == "agreement"
    assert agreement.ok == ok


class TestPositions:
    """Whether chains of the posterior are in the same places."""

    def points(self, apart: float) -> np.ndarray:
        """Draws of eight chains, one of which is elsewhere in one of three coordinates."""
        x = np.random.default_rng(0).normal(size=(8, 1000, 3))
        x[0, :, 1] += apart
        return x

    def test_where_they_are_not(self):
        assert check_positions(self.points(0.0)).ok
        check = check_positions(self.points(3.0))
        assert not check.ok
        assert check.mended_by_draws
        assert "hardly move" in check.advice

    def test_a_density_that_jumps_must_agree_more_closely(self):
        x = self.points(0.8)
        lenient, strict = check_positions(x), check_positions(x, jumps=True)
        assert strict.value == lenient.value
        assert strict.threshold < lenient.value < lenient.threshold
        assert lenient.ok
        assert not strict.ok
