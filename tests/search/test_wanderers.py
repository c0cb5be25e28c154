"""Wanderers: what they find, what they say they may have missed, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from mixtures import Mixture, starts_about
from refti.models.model import ValueAndGradient
from refti.search.known_peaks import KnownPeaks
from refti.search.modes import find_modes
from refti.search.peaks import Modes
from refti.search.searched import Searched, evaluations_of, narrow_evaluations_of, share_found
from refti.search.tuning import TUNING
from refti.search.wanderers import PriorChains, draw_flattened, flattenings_of


def search(
    density: ValueAndGradient,
    start: np.ndarray,
    seed: int = 0,
    prior: ValueAndGradient | None = None,
    evaluations: int = 8000,
) -> Modes:
    rng = np.random.default_rng(seed)
    starts = starts_about(np.asarray(start, dtype=float), seed)
    return find_modes(density, starts, rng, evaluations=evaluations, prior=prior)


def two_widths(dim: int, width: float, distance: float = 15.0) -> Mixture:
    """Two normals of equal mass in a direction that is no axis."""
    direction = np.linspace(1.0, 2.0, dim) / np.linalg.norm(np.linspace(1.0, 2.0, dim))
    means = np.stack([np.zeros(dim), distance * direction])
    return Mixture(means, np.stack([np.ones(dim), np.full(dim, width)]), (0.5, 0.5))


class TestFound:
    """Modes that a climb from near would not come to."""

    @pytest.mark.parametrize(("dim", "width"), [(2, 0.3), (5, 0.5), (20, 1.0), (20, 2.0)])
    def test_a_mode_of_another_width_far_away(self, dim: int, width: float):
        mixture = two_widths(dim, width)
        for seed in range(5):
            found = search(mixture.evaluate, mixture.means[0], seed)
            assert found.count == 2
            assert np.sort(found.peaks[:, 0]) == pytest.approx(mixture.means[:, 0], abs=0.05)

    def test_all_of_25_modes_on_a_grid(self):
        lines = np.arange(-10.0, 11.0, 5.0)
        means = np.array([[a, b] for a in lines for b in lines])
        mixture = Mixture(means, np.full((25, 2), 0.5), (0.04,) * 25)
        for seed in range(3):
            found = search(mixture.evaluate, means[7], seed)
            assert found.count == 25
            assert not found.searched.still_growing
            assert {tuple(peak) for peak in found.peaks.round(2) + 0.0} == set(map(tuple, means))

    @pytest.mark.parametrize("dim", [2, pytest.param(5, marks=pytest.mark.long)])
    def test_nearly_all_of_100_modes(self, dim: int):
        rng = np.random.default_rng(3)
        side, means = 10 * 100 ** (1 / dim), np.zeros((0, dim))
        while len(means) < 100:
            mean = rng.uniform(-side, side, (1, dim))
            if len(means) == 0 or np.linalg.norm(means - mean, axis=1).min() > 7:
                means = np.concatenate([means, mean])
        scales = rng.uniform(0.5, 1.5, (100, dim))
        found = search(Mixture(means, scales, (0.01,) * 100).evaluate, means[0])
        assert 97 <= found.count <= 100
        away = np.linalg.norm(found.peaks[:, None] - means, axis=2).min(axis=1)
        assert away.max() < 0.1  # none of them is made up

    def test_two_narrow_peaks_side_by_side_are_two(self):
        means = np.array([[0.0, 0.0], [9.0, 4.0], [9.4, 4.0]])
        scales = np.array([[1.0, 1.0], [0.05, 0.05], [0.05, 0.05]])
        found = search(Mixture(means, scales, (0.6, 0.2, 0.2)).evaluate, means[0])
        assert np.sort(found.peaks[:, 0]) == pytest.approx([0.0, 9.0, 9.4], abs=0.01)

    def test_a_shoulder_without_a_dip_is_no_mode(self):
        means = np.array([[0.0, 0.0], [2.4, 0.0]])  # two tops, with a dip of a tenth of a nat
        found = search(Mixture(means, np.ones((2, 2)), (0.5, 0.5)).evaluate, means[0])
        assert found.count == 1


def test_a_saddle_does_not_hide_the_mode_behind_it():
    alone = TestRecognised.KNOWN
    no_curvature = np.full((2, 2), np.nan)
    with_saddle = alone.with_top(np.array([3.0, 0.0]), -4.5, no_curvature, 0)
    assert list(with_saddle.nearest(np.array([5.0, 0.0]), 3)) == [0]
    # A higher top takes the place of what no dip parts it from, with all that belonged to that.
    higher = with_saddle.with_top(np.array([1.0, 0.0]), 2.0, np.eye(2), 0)
    assert list(higher.belongs_to) == [2, 2, 2]
    lower = with_saddle.with_top(np.array([1.0, 0.0]), -2.0, np.eye(2), 0)
    assert list(lower.belongs_to) == [0, 0, 0]


class TestMass:
    """Peaks are modes by the mass they hold, not by their height."""

    def test_a_spike_that_holds_nothing_is_no_mode_wherever_the_search_begins(self):
        means, scales = np.array([[0.0, 0.0], [6.0, -3.0]]), np.array([[1.0, 1.0], [1e-4, 1e-4]])
        spiked = Mixture(means, scales, (1 - 1e-7, 1e-7))
        heights = spiked.evaluate(means)[0]
        assert heights[1] > heights[0] + 2  # though it is the higher one
        for at in (0, 1):
            found = find_modes(
                spiked.evaluate, means[[at]], np.random.default_rng(0), evaluations=4000
            )
            assert found.count == 1
            assert found.mode.x == pytest.approx(means[0], abs=0.01)

    def test_a_low_wide_mode_is_one(self):
        dim = 20
        low = two_widths(dim, 12.0, distance=90.0)
        heights = low.evaluate(low.means)[0]
        assert heights[0] - heights[1] > 45  # of a mode of half the mass
        found = search(low.evaluate, low.means[0])
        assert found.count == 2


class TestFromPrior:
    """Wanderers that set out from the prior."""

    MEANS, WIDTH = np.array([[0.0, 0.0], [8.0, -4.0]]), 0.01

    def prior(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -0.5 * np.sum((x / 5) ** 2, axis=1), -x / 25

    def test_find_narrow_modes_far_apart_that_the_flattened_density_does_not_reach(self):
        # The better likelihood falls to a floor, as one with outliers does.
        narrow = Mixture(self.MEANS, np.full((2, 2), self.WIDTH), (0.7, 0.3))
        alone = search(narrow.evaluate, self.MEANS[0], evaluations=2000)
        assert alone.searched.from_prior == 0
        assert alone.searched.smallest_prior_share is None
        both = search(narrow.evaluate, self.MEANS[0], prior=self.prior, evaluations=2000)
        assert both.count == 2
        assert both.searched.from_prior > 50
        assert both.searched.smallest_prior_share == share_found(both.searched.from_prior)
        assert "of the prior" in both.searched.sentence

    def test_are_draws_of_the_prior(self):
        def logistic(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # a uniform box, unbounded
            return np.sum(x - 2 * np.logaddexp(0, x), axis=1), 1 - 2 / (1 + np.exp(-x))

        chains = PriorChains(logistic, np.full(3, 1.0), np.random.default_rng(0))
        uniform = 1 / (1 + np.exp(-chains.draw(4000)))
        # Chains of 62 draws each; errors as of a tenth of them.
        assert uniform.mean(axis=0) == pytest.approx(np.full(3, 0.5), abs=4 * 0.29 / 20)
        assert uniform.var(axis=0) == pytest.approx(np.full(3, 1 / 12), abs=4 * 0.0745 / 20)


class TestRecord:
    """What a search says of itself."""

    def test_power_is_that_of_independent_wanderers(self):
        searched = Searched(wanderers=950, from_prior=0, since_new=746, evaluations=8000)
        assert (1 - searched.smallest_share) ** 746 == pytest.approx(0.05)
        assert searched.sentence == (
            "950 climbs, 8,000 evaluations. Another mode would have been found with 95 % "
            "probability if at least 0.4 % of the flattened density leads up to it."
        )

    def test_nothing_searched_says_so(self):
        searched = Searched(0, 0, 0, 0)
        assert searched.smallest_share == 1
        assert "not searched" in searched.sentence

    def test_new_modes_make_what_was_sent_out_before_them_count_for_nothing(self):
        one = search(two_widths(5, 1.0).evaluate, np.zeros(5))
        assert one.count == 2
        assert one.searched.since_new < one.searched.wanderers

    def test_modes_without_end_are_said_to_be_still_growing(self):
        def lattice(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value = 5 * np.cos(3 * x).sum(axis=1) - 0.5e-6 * np.sum(x**2, axis=1)
            return value, -15 * np.sin(3 * x) - 1e-6 * x

        found = search(lattice, np.zeros(2), evaluations=2000)
        assert found.searched.still_growing
        assert found.searched.unseen_share > TUNING.unseen
        assert "still turning up" in found.searched.sentence
        assert 2000 < found.searched.evaluations < 1.2 * TUNING.while_new * 2000

    def test_a_cosine_times_a_normal_is_not(self):
        def bumpy(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            value = 3 * np.cos(3 * x).sum(axis=1) - 0.5 * np.sum((x / 4) ** 2, axis=1)
            return value, -9 * np.sin(3 * x) - x / 16

        found = search(bumpy, np.zeros(1))
        assert not found.searched.still_growing
        # Tops at about 2 pi k / 3, down to 14 nats below the first: |k| up to 10.
        assert 19 <= found.count <= 23

    @pytest.mark.parametrize("evaluations", [200, 2000, 20_000])
    def test_a_search_for_one_mode_costs_what_it_may(self, evaluations: int):
        asked = []

        def normal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            asked.append(len(x))
            return -0.5 * np.sum(x**2, axis=1), -x

        found = search(normal, np.ones(3), evaluations=evaluations)
        assert 0.7 * evaluations < found.searched.evaluations <= evaluations
        assert found.searched.evaluations <= sum(asked) < evaluations + 200

    def test_efforts(self):
        usual = evaluations_of("default", 10)
        assert usual == TUNING.search_evaluations + 10 * TUNING.search_evaluations_a_dimension
        assert evaluations_of("quick", 10) == usual / 4
        assert evaluations_of("thorough", 10) == 10 * usual
        assert evaluations_of(123, 10) == 123

    def test_only_cheap_densities_of_few_dimensions_are_searched_for_narrow_modes(self):
        most = TUNING.narrow_evaluations
        cheap, dear = TUNING.narrow_operations // most, TUNING.narrow_operations
        assert narrow_evaluations_of("default", 10, cheap) == most
        assert narrow_evaluations_of("default", 10, 2 * cheap) == most / 2
        assert narrow_evaluations_of("quick", 10, cheap) == most / 4
        assert narrow_evaluations_of("default", 10, dear) == 1
        assert narrow_evaluations_of("default", 10, None) == 0
        assert narrow_evaluations_of("default", TUNING.narrow_dimensions + 1, cheap) == 0
        assert narrow_evaluations_of(123, 10, cheap) == 0


class TestRecognised:
    """Climbers are taken to be at a known peak only on its own slope."""

    KNOWN = KnownPeaks(
        np.zeros((1, 2)), np.zeros(1), np.eye(2)[None], np.array([True]), np.array([0])
    )

    def at(self, density: ValueAndGradient, *x: tuple[float, float]) -> list[int]:
        points = np.array(x)
        return list(self.KNOWN.recognise(points, *density(points)))

    def test_on_its_slope_and_not_on_that_of_another(self):
        mixture = Mixture(np.array([[0.0, 0.0], [15.0, 0.0]]), np.ones((2, 2)), (0.5, 0.5))
        shifted = lambda x: (mixture.evaluate(x)[0] - np.log(0.5), mixture.evaluate(x)[1])  # noqa: E731
        on_the_first = self.at(shifted, (0.1, 0.0), (-40.0, 3.0), (6.0, 5.0))
        on_the_second = self.at(shifted, (9.0, 0.0), (30.0, 0.0), (60.0, 0.0), (14.0, 1.0))
        assert on_the_first == [0, 0, 0]
        assert on_the_second == [-1, -1, -1, -1]

    def test_not_on_a_needle_that_stands_on_it(self):
        means, scales = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [0.01, 0.01]])
        needle = Mixture(means, scales, (1.0, 0.1))
        assert self.at(needle.evaluate, (1.005, 0.0), (-1.0, 0.0)) == [-1, 0]


def test_the_flattened_density_is_as_wide_as_it_says():
    factor = np.array([[2.0, 0.0], [3.0, 0.5]])
    known = KnownPeaks(
        np.array([[5.0, -1.0]]), np.zeros(1), factor[None], np.array([True]), np.array([0])
    )
    x = draw_flattened(known, np.array([0]), 40_000, np.random.default_rng(0)).x
    u = np.linalg.solve(factor, (x - known.x[0]).T)
    share = TUNING.along_one_parameter
    reaches = np.array(TUNING.reaches)
    wide = np.dot(TUNING.reach_shares, flattenings_of(reaches, 2))
    along = np.dot(TUNING.reach_shares, reaches**2)
    # Three in four are wider by the root of T all over; the others as far along one parameter.
    assert np.mean(np.sum(u**2, axis=0)) == pytest.approx(
        (1 - share) * 2 * wide + share * (2 + along), rel=0.1
    )
