"""Adaptation: moves where they lower the error, and shorter steps where trajectories diverge."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from refti import suite
from refti.paths.path import Leg
from refti.references.gaussian import gaussian
from refti.run.adapt import (
    adapt_leg,
    allocate_moves,
    lengthen_trajectories,
    shorten_diverging_steps,
)
from refti.run.tuning import ROUNDS
from refti.sampling.block import Rung
from refti.sampling.kernels.step_size import fresh_step_size
from refti.sampling.leg import LegState, Scan
from refti.sampling.leg_sample import collect
from refti.sampling.metering import Meter
from refti.sampling.tuning import TUNING as SAMPLING

FAR = 12.0  # so far apart that no rung can stand in for another


def sampled_leg(
    correlations: list[float], distance: float, costs: list[float] | None = None
) -> LegState:
    """The leg between two normals some standard deviations apart, drawn with autocorrelation.

    It starts with exact draws; the correlations are those of the chains at the other rungs.
    """
    rng = np.random.default_rng(0)
    rungs, chains, draws = len(correlations), 8, 1000
    phi = np.array([0.0, *correlations])[:, None]
    lambdas = np.linspace(0, 1, rungs + 1)
    x = rng.normal(size=(rungs + 1, chains, draws))
    for t in range(1, draws):
        x[..., t] = phi * x[..., t - 1] + np.sqrt(1 - phi**2) * x[..., t]
    x += lambdas[:, None, None] * distance
    scan = Scan(
        delta=distance * x - distance**2 / 2,
        end_points=x[-1, :, :, None],
        divergences=np.zeros(rungs),
        acceptance=np.full(rungs, 0.8),
        gradients=np.array([5.0] * rungs if costs is None else costs),
        tried=np.ones(rungs),
        accepted=np.ones(rungs),
    )
    leg = Leg(gaussian(np.zeros(3), np.eye(3), 0.0), suite.log_gamma().model().density)
    # Where the chains stand has no part in how often they should move.
    standing = tuple(Rung(float(lam), "hmc", None, None, None) for lam in lambdas[1:])
    return LegState(leg, 0, standing, scans=(scan,))


def moves(state: LegState) -> list[int]:
    return [rung.moves for rung in allocate_moves(state).rungs]


def in_many_dimensions(state: LegState, dim: int = 30) -> LegState:
    """The leg as if its points had so many coordinates, its chains with steps of their own."""
    (scan,) = state.scans
    wide = replace(scan, end_points=np.repeat(scan.end_points, dim, axis=2))
    steps = fresh_step_size(0.1, Meter())
    rungs = tuple(replace(rung, step_size=steps) for rung in state.rungs)
    return replace(state, scans=(wide,), rungs=rungs)


class TestTrajectories:
    """Trajectories are longer where draws are slow, and never get shorter."""

    def test_only_slow_rungs_get_longer_ones(self):
        leg = in_many_dimensions(sampled_leg([0.0, 0.6, 0.995], FAR))
        first, second, third = (rung.lengthening for rung in lengthen_trajectories(leg).rungs)
        assert first == 1.0
        # Draws of correlation 0.6 are forgotten after (1 + 0.6) / (1 - 0.6) = 4 of them.
        assert second == pytest.approx(np.sqrt(4 / SAMPLING.forgotten_after), rel=0.15)
        assert third == SAMPLING.most_lengthened

    def test_what_is_long_stays_so(self):
        leg = in_many_dimensions(sampled_leg([0.0, 0.0], FAR))
        leg = replace(leg, rungs=tuple(replace(rung, lengthening=3.0) for rung in leg.rungs))
        assert [rung.lengthening for rung in lengthen_trajectories(leg).rungs] == [3.0, 3.0]

    def test_a_few_dimensions_are_left_to_the_moves(self):
        leg = in_many_dimensions(sampled_leg([0.3, 0.99, 0.3], FAR), 3)
        adapted = adapt_leg(leg).rungs
        assert [rung.lengthening for rung in adapted] == [1.0] * 3
        assert adapted[1].moves > 1

    def test_a_rung_gets_one_or_the_other(self):
        adapted = adapt_leg(in_many_dimensions(sampled_leg([0.3, 0.99, 0.3], FAR))).rungs
        assert adapted[1].lengthening == SAMPLING.most_lengthened
        assert adapted[1].moves == 1


class TestMoves:
    """Moves between draws are made where they lower the error."""

    def test_a_rung_of_larger_variance_and_autocorrelation_gets_more(self):
        first, second, third = moves(sampled_leg([0.3, 0.99, 0.3], FAR))
        assert first == third == 1
        assert 2 <= second <= ROUNDS.most_moves

    def test_independent_draws_get_one_even_where_they_are_cheap(self):
        assert moves(sampled_leg([0.0, 0.0, 0.0], FAR, [50.0, 0.5, 50.0])) == [1, 1, 1]
        assert moves(sampled_leg([0.0, 0.9, 0.0], FAR, [50.0, 0.5, 50.0]))[1] > 1

    def test_moves_that_cost_too_much_are_not_made(self):
        assert moves(sampled_leg([0.3, 0.99, 0.3], FAR, [5.0, 80.0, 5.0])) == [1, 1, 1]

    def test_one_rung_alone_is_left_as_it_is(self):
        assert moves(sampled_leg([0.99], 3.0)) == [1]


class TestSteps:
    """Steps become shorter where trajectories diverge, and the run goes on."""

    def test_only_where_too_many_diverge(self):
        with jax.enable_x64(True):
            step_size = fresh_step_size(0.4, Meter())
            state = sampled_leg([0.3, 0.3], FAR)
            (scan,) = state.scans
            state = replace(
                state,
                rungs=tuple(replace(rung, step_size=step_size) for rung in state.rungs),
                scans=(replace(scan, divergences=np.array([0.001, 0.006])),),
            )
            shortened = shorten_diverging_steps(state)
        before, after = ([r.step_size.value for r in s.rungs] for s in (state, shortened))
        assert after[0] == before[0]
        assert after[1] == pytest.approx(SAMPLING.step_left * before[1])


@pytest.mark.parametrize(("shares", "counted"), [((0.3, 0.0), 0.0), ((0.0, 0.3), 0.3)])
def test_divergences_are_those_since_steps_were_shortened(
    shares: tuple[float, float], counted: float
):
    state = sampled_leg([0.0], 1.0)
    (scan,) = state.scans
    scans = tuple(replace(scan, divergences=np.full(1, share)) for share in shares)
    assert collect(replace(state, scans=scans)).divergences == pytest.approx([counted])
