"""Elliptical slices and leaps leave their density as it is, and waste no evaluation."""

import jax
import numpy as np
import pytest
from scipy import stats

import refti
from refti.draws.cost import Budget
from refti.models.density import ValueOnlyDensity
from refti.paths.path import Leg
from refti.references.gaussian import gaussian
from refti.sampling.block import positions
from refti.sampling.engine import open_engine
from refti.sampling.evaluation import values_on_rung
from refti.sampling.kernels.elliptical import Base, State
from refti.sampling.kernels.elliptical import advance as advance_chains
from refti.sampling.metering import Meter, OutOfBudgetError
from refti.sampling.rung import advance, move_chains, place_chains, warm_up
from refti.sampling.whitening import whitening

SHAPES = np.array([1.5, 4.0])


def log_gammas(x: np.ndarray) -> np.ndarray:
    """Independent logs of gamma variables, skewed to the left, the first far."""
    return np.sum(SHAPES * x - np.exp(x), axis=1)


class Counted(ValueOnlyDensity):
    """A density that counts its points and remembers them."""

    def __init__(self, function):
        self.function, self.points = function, []

    def log_densities(self, x, deadline=None):
        self.points += [row.tobytes() for row in x]
        return self.function(x)


def log_gamma_draws(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.log(rng.gamma(SHAPES, size=(*shape, 2)))


@pytest.mark.parametrize("freedom", [5.0, 1e6])
@pytest.mark.parametrize("moves", [1, 2, 5])
def test_exact_draws_are_exact_draws_after_moves(freedom: float, moves: int):
    # Begun at exact draws, whatever the number of moves: any fault of a move shows as a drift.
    rng = np.random.default_rng(1)
    x = log_gamma_draws(rng, 4000)
    base = Base(np.array([0.3, 1.0]), np.array([[1.2, 0.0], [0.3, 0.8]]), freedom)
    moved = advance_chains(log_gammas, State(x, log_gammas(x)), base, moves, rng)
    for i, shape in enumerate(SHAPES):
        # Six tests at one in ten thousand each.
        assert stats.kstest(np.exp(moved.x[:, -1, i]), stats.gamma(shape).cdf).pvalue > 1e-4
    assert np.array_equal(moved.log_density[:, -1], log_gammas(moved.x[:, -1]))


def test_chains_forget_where_they_began():
    rng = np.random.default_rng(2)
    x = np.full((8, 2), -6.0)
    base = Base(np.zeros(2), np.eye(2), 5.0)
    moved = advance_chains(log_gammas, State(x, log_gammas(x)), base, 2000, rng)
    values = np.exp(moved.x[:, 50:]).mean(axis=(0, 1))
    error = np.sqrt(SHAPES / (16000 / 12))  # draws are worth a twelfth of independent ones or more
    assert np.all(np.abs(values - SHAPES) < 4 * error)


def test_a_wrong_rule_of_acceptance_would_be_seen():
    rng = np.random.default_rng(3)
    x = log_gamma_draws(rng, 4000)
    base = Base(np.array([0.3, 1.0]), np.eye(2), 5.0)

    def tempered(points: np.ndarray) -> np.ndarray:
        return 0.7 * log_gammas(points)

    moved = advance_chains(tempered, State(x, tempered(x)), base, 5, rng)
    assert stats.kstest(np.exp(moved.x[:, -1, 0]), stats.gamma(SHAPES[0]).cdf).pvalue < 1e-4


def test_every_evaluation_is_of_a_chain_on_its_way():
    density = Counted(log_gammas)
    rng = np.random.default_rng(4)
    x = log_gamma_draws(rng, 8)
    base = Base(np.zeros(2), np.eye(2), 5.0)
    moved = advance_chains(density.log_densities, State(x, log_gammas(x)), base, 40, rng)
    assert moved.evaluations.sum() == len(density.points)
    assert moved.evaluations.min() == 1
    assert np.all(moved.evaluations[:, 1::2] == 1)  # leaps are one evaluation each
    assert moved.evaluations.mean() < 2.5


def test_a_rung_between_a_reference_and_a_black_box_has_the_moments_of_both(x64):
    # Between two Gaussians every rung is one: precisions and their means add.
    density = Counted(lambda x: -0.5 * np.sum((x - 2.0) ** 2 / 0.25, axis=1))
    leg, lam = Leg(gaussian(np.zeros(2), np.eye(2), 0.0), density), 0.3
    precision = 0.7 + 0.3 / 0.25
    with open_engine(
        chains=8, kernel="elliptical", block_length=25, seed=0, meter=Meter()
    ) as means:
        rung = place_chains(leg, lam, np.ones((8, 2)), whitening(np.zeros(2), np.eye(2)), means)
        rung = warm_up(leg, rung, 100, jax.random.key(1), means)
        traces = []
        for index in range(40):
            rung, trace, _ = advance(leg, rung, jax.random.key(2 + index), means)
            traces.append(trace)
        x = np.concatenate([trace.x for trace in traces], axis=1)
        delta = np.concatenate([trace.delta for trace in traces], axis=1)
        assert means.meter.spent.gradient_evaluations == 0
        assert means.meter.spent.density_evaluations == len(density.points)
    assert np.all(np.abs(x.mean(axis=(0, 1)) - 0.3 * 8 / precision) < 0.05)
    assert np.all(np.abs(x.var(axis=(0, 1)) * precision - 1) < 0.1)
    expected = density.function(x.reshape(-1, 2)) + 0.5 * np.sum(x.reshape(-1, 2) ** 2, axis=1)
    assert np.allclose(delta.ravel(), expected)


def test_no_point_is_paid_for_twice(x64):
    density = Counted(log_gammas)
    leg = Leg(gaussian(np.zeros(2), np.eye(2), 0.0), density)
    with open_engine(
        chains=4, kernel="elliptical", block_length=10, seed=0, meter=Meter()
    ) as means:
        rung = place_chains(leg, 0.5, np.zeros((4, 2)), whitening(np.zeros(2), np.eye(2)), means)
        rung, trace, _ = advance(leg, rung, jax.random.key(0), means)
        before = len(density.points)
        rung = move_chains(leg, rung, positions(leg, rung)[::-1], means)
        values_on_rung(leg, 1.0, trace.x.reshape(-1, 2), means.meter)
    assert len(density.points) == before == means.meter.spent.density_evaluations
    # The four chains begin at one point, which is asked for in one batch.
    assert len(set(density.points)) >= before - 3


def test_the_budget_is_never_overdrawn(x64):
    density = Counted(log_gammas)
    leg = Leg(gaussian(np.zeros(2), np.eye(2), 0.0), density)
    meter = Meter(Budget(evaluations=100))
    with open_engine(chains=4, kernel="elliptical", block_length=200, seed=0, meter=meter) as means:
        rung = place_chains(leg, 0.5, np.zeros((4, 2)), whitening(np.zeros(2), np.eye(2)), means)
        with pytest.raises(OutOfBudgetError):
            advance(leg, rung, jax.random.key(0), means)
    assert 96 <= len(density.points) <= 100


def test_a_model_in_jax_can_be_sampled_by_ellipses_too():
    target = refti.suite.find("log_gamma")
    result = refti.evidence(target.model(), kernel="elliptical", seed=1, progress=False)
    assert result.trusted, result.checks
    assert abs(result.log_z - target.log_z) < 4 * result.error
    assert result.settings["kernel"] == "elliptical"
