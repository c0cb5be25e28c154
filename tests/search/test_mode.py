"""One mode: found by gradients and by values, with its curvature, on densities in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from refti.models.model import ValueAndGradient
from refti.paper.covid import model as covid
from refti.search import mode as climbing
from refti.search.climb import climb_together
from refti.search.finite_differences import find_mode_by_values
from refti.search.mode import Mode, find_mode
from refti.search.preflight import preflight
from refti.search.tuning import TUNING
from targets import evaluate

CENTRE = np.array([1.0, -30.0, 0.02])
FACTOR = np.array([[2.0, 0.0, 0.0], [50.0, 20.0, 0.0], [0.001, -0.002, 0.01]])
PRECISION = np.linalg.inv(FACTOR @ FACTOR.T)


def normal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A correlated normal of height 7 whose scales differ by a factor of thousands."""
    slope = -(x - CENTRE) @ PRECISION
    return 7.0 + 0.5 * np.sum((x - CENTRE) * slope, axis=1), slope


def by_values(density: ValueAndGradient, start: np.ndarray) -> Mode:
    """The mode of a density of which only the values are looked at."""
    return find_mode_by_values(lambda x: (density(x)[0], np.full(x.shape, np.nan)), start)[0]


@pytest.mark.parametrize("find", [find_mode, by_values])
def test_mode_curvature_and_mass_of_a_normal(find):
    found = find(normal, np.zeros(3))
    assert found.is_smooth
    assert np.linalg.solve(FACTOR, found.x - CENTRE) == pytest.approx(np.zeros(3), abs=1e-3)
    assert FACTOR.T @ found.hessian @ FACTOR == pytest.approx(-np.eye(3), abs=1e-3)
    assert found.factor() @ found.factor().T == pytest.approx(FACTOR @ FACTOR.T, rel=1e-2)
    mass = 7.0 + 1.5 * np.log(2 * np.pi) + np.log(np.diag(FACTOR)).sum()
    assert found.log_mass == pytest.approx(mass, abs=1e-3)


def test_scales_a_million_times_apart_in_no_coordinate_s_direction():
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(12, 12)))[0]
    scales = np.geomspace(1e-3, 1e3, 12)

    def turned(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = x @ turn / scales
        return -0.5 * np.sum(u**2, axis=1), -(u / scales) @ turn.T

    found = find_mode(turned, np.full(12, 0.3))
    assert found.log_mass == pytest.approx(6 * np.log(2 * np.pi) + np.log(scales).sum(), abs=1e-3)
    rounded = np.linalg.solve(found.factor(), turn * scales)
    assert rounded @ rounded.T == pytest.approx(np.eye(12), abs=1e-3)


def test_up_a_spike_without_a_top_there_is_no_spread():
    def spike(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Normals of x[1:] whose log scale is x[0], which nothing keeps from falling."""
        t, u = x[:, 0], x[:, 1:] * np.exp(-x[:, :1])
        slope = np.sum(u**2, axis=1) - u.shape[1]
        return -0.5 * np.sum(u**2, axis=1) - u.shape[1] * t, np.column_stack(
            [slope, -u * np.exp(-x[:, :1])]
        )

    with np.errstate(all="ignore"):
        assert find_mode(spike, np.array([0.0, 0.4, -0.3])).spread is None


@pytest.mark.parametrize("find", [find_mode, by_values])
def test_a_cusp_has_no_curvature(find):
    def laplace(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -np.sum(np.abs(x - 0.3), axis=1), -np.sign(x - 0.3)

    found = find(laplace, np.zeros(2))
    assert found.x == pytest.approx(np.full(2, 0.3), abs=1e-3)
    assert found.factor() is None
    assert np.isnan(found.log_mass)


class TestFreshClimbs:
    """A climb that ended without curvature is begun anew, for as long as it comes higher."""

    CURVED, FLAT = -np.eye(1), np.zeros((1, 1))

    def climbs(
        self, monkeypatch: pytest.MonkeyPatch, ends: Sequence[tuple[float, np.ndarray]]
    ) -> tuple[Mode, int]:
        """The mode, and how many climbs it took, where they end at these heights."""
        begun: list[float] = []

        def climb_whitened(evaluate: object, start: np.ndarray) -> Mode:
            height, hessian = ends[len(begun)]
            begun.append(float(start[0]))
            return Mode(np.array([height]), height, hessian, 0.0)

        monkeypatch.setattr(climbing, "_climb_whitened", climb_whitened)
        mode = find_mode(normal, np.zeros(1))
        # Each sets out from where the last one ended.
        assert begun == [0.0, *(height for height, _ in ends[: len(begun) - 1])]
        return mode, len(begun)

    def test_until_there_is_curvature(self, monkeypatch: pytest.MonkeyPatch):
        ends = [(-46.0, self.FLAT), (-3.0, self.FLAT), (0.0, self.CURVED), (9.0, self.CURVED)]
        mode, count = self.climbs(monkeypatch, ends)
        assert (mode.log_density, count) == (0.0, 3)

    def test_until_it_is_no_higher(self, monkeypatch: pytest.MonkeyPatch):
        mode, count = self.climbs(monkeypatch, [(-2.0, self.FLAT), (-2.0, self.FLAT)])
        assert (mode.log_density, count) == (-2.0, 2)

    def test_not_for_ever(self, monkeypatch: pytest.MonkeyPatch):
        ends = [(float(height), self.FLAT) for height in range(99)]
        _, count = self.climbs(monkeypatch, ends)
        assert count == TUNING.fresh_climbs + 1


def test_a_climb_does_not_end_on_a_saddle():
    """Half way between two alike modes the density has no slope across."""

    def two(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        along = x[:, 0]
        values = np.logaddexp(-0.5 * (along - 5) ** 2, -0.5 * (along + 5) ** 2)
        slope = -along + 5 * np.tanh(5 * along)
        return values - 0.5 * x[:, 1] ** 2, np.stack([slope, -x[:, 1]], axis=1)

    mode = find_mode(two, np.array([0.0, 3.0]))
    np.testing.assert_allclose(np.abs(mode.x), [5.0, 0.0], atol=1e-3)
    assert mode.factor() is not None


def test_many_climbers_come_near_the_top_from_afar_and_stay_inside():
    def half(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = normal(x)
        return np.where(x[:, 0] > 0.5, values, -np.inf), gradients

    starts = CENTRE + 20 * np.random.default_rng(0).normal(size=(16, 3)) @ FACTOR.T
    starts = starts[starts[:, 0] > 0.5]
    before = starts.copy()
    x, values, *_ = climb_together(half, starts, factor=FACTOR, iterations=60)
    np.testing.assert_array_equal(starts, before)
    assert values == pytest.approx(np.full(len(starts), 7.0), abs=0.1)
    assert (x[:, 0] > 0.5).all()


@pytest.mark.long
@pytest.mark.parametrize("seed", [17, 31])
def test_the_mode_of_a_hierarchy_is_found_from_every_start(seed: int):
    """From the start of seed 31 the first climb ends 46 nats below, led astray by curvature."""
    model = covid.model(covid.variant("AR(2)"))
    density = evaluate(model)
    mode = find_mode(density, preflight(model, density, np.random.default_rng(seed))[0])
    assert mode.factor() is not None
    assert mode.log_density == pytest.approx(-544.8548, abs=0.001)
