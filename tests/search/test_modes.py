"""Modes: every mode of mixtures is found from anywhere, with gradients and by values alone."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from mixtures import Mixture, starts_about
from refti.models.model import ValueAndGradient
from refti.run.pilot import find_posterior
from refti.run.problem import Problem
from refti.run.settings import Settings
from refti.sampling.computing import computing
from refti.sampling.engine import open_engine
from refti.sampling.metering import Meter
from refti.search.modes import find_modes
from refti.search.modes_by_values import find_modes_by_values
from refti.search.peaks import Modes
from refti.search.rounded import round_off
from refti.search.tuning import TUNING


def two_modes(dim: int, distance: float) -> Mixture:
    """Two normals; the first, of nine tenths, has the unit covariance."""
    direction = np.linspace(1.0, 2.0, dim)
    direction /= np.linalg.norm(direction)
    means = distance * np.array([[-0.4], [0.6]]) * direction
    return Mixture(means, np.stack([np.ones(dim), np.geomspace(0.8, 1.4, dim)]), (0.9, 0.1))


def with_gradient(mixture: Mixture, start: np.ndarray, seed: int = 0) -> Modes:
    rng = np.random.default_rng(seed)
    return find_modes(mixture.evaluate, starts_about(start, seed), rng, evaluations=8000)


def by_values(mixture: Mixture, start: np.ndarray, seed: int = 0) -> Modes:
    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return mixture.evaluate(x)[0], np.full(x.shape, np.nan)

    return find_modes_by_values(evaluate, starts_about(start, seed), mixture.explore)


def by_chains(mixture: Mixture, start: np.ndarray, seed: int = 0) -> Modes:
    """The modes as a run comes to them."""
    means, scales = mixture.means, mixture.scales
    heights = np.log(mixture.weights) - np.log(scales).sum(axis=1)

    def log_density(x):
        return jax.nn.logsumexp(heights - 0.5 * jnp.sum(((x - means) / scales) ** 2, axis=1))

    model = refti.Model(log_density, dim=means.shape[1], start=start)
    problem = Problem(refti.Evidence, (model,), Settings(seed=seed))
    with (
        computing(),
        open_engine(chains=8, kernel="hmc", block_length=25, seed=seed, meter=Meter()) as engine,
    ):
        return find_posterior(problem, problem.ends[0], engine).modes


def check_two_modes(find: Callable[..., Modes], dim: int, distance: float, where: float) -> None:
    mixture = two_modes(dim, distance)
    start = mixture.means[0] + where * (mixture.means[1] - mixture.means[0])
    found = find(mixture, start, seed=int(10 * where))
    assert found.peaks.shape == (2, dim)
    assert found.peaks == pytest.approx(mixture.means, abs=0.05)
    # The higher mode is the mode, wherever the first climb ended.
    assert found.mode.x == pytest.approx(mixture.means[0], abs=1e-3)
    assert found.mode.log_density == pytest.approx(np.log(0.9), abs=1e-6)
    assert found.factor @ found.factor.T == pytest.approx(np.eye(dim), abs=1e-2)


@pytest.mark.parametrize("where", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("distance", [10.0, 30.0])
@pytest.mark.parametrize("dim", [2, 10])
@pytest.mark.parametrize("find", [with_gradient, by_values])
def test_both_modes_are_found_from_either_and_from_between(find, dim, distance, where):
    check_two_modes(find, dim, distance, where)


@pytest.mark.parametrize("dim", [2, 7])
def test_every_mode_has_its_spread_and_its_mass(dim: int):
    mixture = two_modes(dim, 25.0)
    found = with_gradient(mixture, mixture.means[1])
    assert found.factors is not None
    assert found.log_masses is not None
    for factor, scales in zip(found.factors, mixture.scales, strict=True):
        assert factor @ factor.T == pytest.approx(np.diag(scales**2), abs=1e-2)
    exact = np.log(mixture.weights) + 0.5 * dim * np.log(2 * np.pi)
    assert found.log_masses == pytest.approx(exact, abs=1e-2)


@pytest.mark.parametrize(
    "where", [0.5, *(pytest.param(w, marks=pytest.mark.long) for w in (0.0, 1.0))]
)
def test_both_modes_are_found_by_chains_in_ten_dimensions(where: float):
    check_two_modes(by_chains, 10, 30.0, where)


@pytest.mark.parametrize("find", [with_gradient, by_values])
@pytest.mark.parametrize("at", [0, 1], ids=["from the wide one", "from the narrow one"])
def test_a_narrow_mode_far_from_a_wide_one(at: int, find):
    means, scales = np.array([[0.0, 0.0], [14.0, -6.0]]), np.array([[1.0, 1.0], [0.3, 0.3]])
    found = find(Mixture(means, scales, (0.7, 0.3)), means[at])
    # Three tenths of the mass are the higher peak, for it is eleven times narrower.
    assert found.peaks.shape == (2, 2)
    assert found.peaks == pytest.approx(means[::-1], abs=0.05)


@pytest.mark.parametrize("find", [with_gradient, by_values])
def test_four_modes(find):
    means = np.array([[-12.0, -10.0], [-9.0, 11.0], [10.0, 8.0], [12.0, -13.0]])
    found = find(Mixture(means, np.ones((4, 2)), (0.05, 0.1, 0.25, 0.6)), np.zeros(2))
    assert found.peaks.shape == (4, 2)
    assert found.peaks == pytest.approx(means[::-1], abs=0.05)


@pytest.mark.parametrize("find", [with_gradient, by_values])
def test_a_mode_with_next_to_nothing_of_the_mass_is_left_out(find):
    means = np.array([[0.0, 0.0], [20.0, 0.0]])
    for weight, count in ((1e-3, 2), (1e-12, 1)):
        found = find(Mixture(means, np.ones((2, 2)), (1 - weight, weight)), means[0])
        assert len(found.peaks) == count


def log_gamma(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shapes = np.array([0.5, 2.0, 7.0])
    return np.sum(shapes * x - np.exp(x), axis=1), shapes - np.exp(x)


def student(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shifted = x - np.array([1.0, -2.0, 0.5])
    squares = np.sum(shifted**2, axis=1)
    return -4 * np.log1p(squares / 5), -8 * shifted / (5 + squares)[:, None]


@pytest.mark.parametrize("evaluate", [log_gamma, student])
def test_one_mode_is_one_peak(evaluate: ValueAndGradient):
    for seed in range(3):
        rng, starts = np.random.default_rng(seed), starts_about(np.zeros(3), seed)
        found = find_modes(evaluate, starts, rng, evaluations=8000)
        assert found.peaks.shape == (1, 3)
        np.testing.assert_array_equal(found.peaks[0], found.mode.x)
        slope = evaluate(found.mode.x[None])[1][0]
        assert np.abs(slope @ found.factor).max() < 1e-4


def test_where_there_is_no_curvature_starts_stand_in_for_peaks():
    def laplace(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -np.sum(np.abs(x), axis=1), -np.sign(x)

    starts = starts_about(np.array([0.5, -0.7]), seed=0)
    rng = np.random.default_rng(0)
    found = find_modes(laplace, starts, rng, evaluations=8000)
    assert found.searched.wanderers > 20
    np.testing.assert_array_equal(found.peaks, starts)
    np.testing.assert_array_equal(found.factor, np.eye(2))


def between(power: float, apart: float = 12.0) -> ValueAndGradient:
    """exp(-Σ|x ± 12|^power): two cusps, or two flat tops."""

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = np.stack([-np.sum(np.abs(x - at) ** power, axis=1) for at in (-apart, apart)])
        values = np.logaddexp(*parts)
        slopes = [
            -power * np.abs(x - at) ** (power - 1) * np.sign(x - at) for at in (-apart, apart)
        ]
        weights = np.exp(parts - values)
        return values, weights[0][:, None] * slopes[0] + weights[1][:, None] * slopes[1]

    return evaluate


@pytest.mark.parametrize("power", [1.0, 4.0])
def test_modes_without_curvature_are_found(power: float):
    starts = starts_about(np.full(3, -11.0), seed=0)
    found = find_modes(between(power), starts, np.random.default_rng(0), evaluations=20000)
    assert found.are_separate
    np.testing.assert_allclose(np.sort(found.peaks[:, 0]), [-12, 12], atol=0.2)
    assert found.log_masses[0] == pytest.approx(found.log_masses[1], abs=0.1)


def test_flat_tops_are_found_in_many_dimensions():
    dim = 60
    starts = starts_about(np.full(dim, -1.1), seed=0)
    found = find_modes(between(4.0, 1.0), starts, np.random.default_rng(1), evaluations=30_000)
    assert found.are_separate
    np.testing.assert_allclose(np.sort(found.peaks[:, 0]), [-1, 1], atol=0.2)


@pytest.mark.parametrize(("power", "longer"), [(1.0, True), (4.0, True), (2.0, False)])
def test_tops_are_found_by_values(power: float, longer: bool):
    mixture = Mixture(np.array([[-12.0], [12.0]]) * np.ones(3), np.ones((2, 3)), (0.5, 0.5))
    starts = starts_about(np.full(3, -11.0), seed=0)
    made = []

    def explore(mode: np.ndarray, factor: np.ndarray, times: int) -> np.ndarray:
        made.append(times)
        return mixture.explore(mode, factor, times)

    found = find_modes_by_values(between(power), starts, explore)
    assert found.are_separate
    np.testing.assert_allclose(np.sort(found.peaks[:, 0]), [-12, 12], atol=0.5)
    assert found.searched.sentence.startswith("Little was searched")
    # Off a flat top chains come far more slowly.
    assert made == [TUNING.longer_off_flat_tops if longer else 1]


def test_it_is_said_where_nothing_was_searched():
    def cusp(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -np.sum(np.abs(x), axis=1), -np.sign(x)

    starts = starts_about(np.zeros(60), seed=0)
    found = find_modes(cusp, starts, np.random.default_rng(0), evaluations=8000)
    assert found.searched.sentence.startswith("Other modes were not searched for, so nothing")


def test_an_edge_is_not_rounded_off():
    def exponential(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where((x > 0).all(axis=1), -x.sum(axis=1), -np.inf), -np.ones(x.shape)

    assert round_off(exponential, np.full(2, 1e-9), -2e-9) is None
