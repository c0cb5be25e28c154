"""Scans by bare values: what known peaks explain, and needles that climbs do not meet."""

from __future__ import annotations

import numpy as np
import pytest

from mixtures import Mixture, starts_about
from refti.search.known_peaks import KnownPeaks
from refti.search.modes import find_modes
from refti.search.peaks import Modes
from refti.search.scan import draw_in_bulk, explain
from refti.search.searched import scanned_points_of, share_found
from refti.search.tuning import TUNING
from refti.search.wanderers import NOWHERE, flattenings_of

OFF = 2 * np.linspace(1.0, 2.0, 5) / np.linalg.norm(np.linspace(1.0, 2.0, 5))
HUMP_WITH_NEEDLE = Mixture(
    np.stack([np.zeros(5), OFF]), np.stack([np.ones(5), np.full(5, 0.05)]), (0.7, 0.3)
)
TWO = Mixture(np.array([[0.0, 0.0], [8.0, 1.0]]), np.array([[1.0, 2.0], [0.5, 0.5]]), (0.6, 0.4))


def known_of(mixture: Mixture) -> KnownPeaks:
    heights = np.log(mixture.weights) - np.log(mixture.scales).sum(axis=1)
    factors = np.stack([np.diag(scales) for scales in mixture.scales])
    count = len(heights)
    return KnownPeaks(mixture.means, heights, factors, np.ones(count, bool), np.arange(count))


def search(mixture: Mixture, seed: int, scanned: int) -> Modes:
    starts, rng = starts_about(mixture.means[0], seed), np.random.default_rng(seed)
    values = lambda x: mixture.evaluate(x)[0]  # noqa: E731
    return find_modes(
        mixture.evaluate, starts, rng, evaluations=3000, values=values, scanned=scanned
    )


def test_all_points_of_a_mixture_of_known_normals_are_explained():
    x = draw_in_bulk(known_of(TWO), 5000, np.random.default_rng(0), np.full(7, 1 / 7)).x
    peaks, above = explain(known_of(TWO), x, TWO.evaluate(x)[0])
    assert (peaks >= 0).all()
    assert np.abs(above).max() < 1e-8
    heights = np.log(TWO.weights) - np.log(TWO.scales).sum(axis=1)
    squares = np.sum(((x[:, None] - TWO.means) / TWO.scales) ** 2, axis=2)
    nearest = np.argmax(heights - 0.5 * squares, axis=1)
    assert (peaks == nearest).all()


def test_a_point_on_a_peak_that_is_not_known_stands_out():
    first = Mixture(TWO.means[:1], TWO.scales[:1], (0.6,))
    x = np.array([[0.5, 1.0], [8.0, 1.0], [8.3, 0.9], [-3.0, 2.0], [50.0, 0.0]])
    values = np.append(TWO.evaluate(x[:-1])[0], -np.inf)
    peaks, above = explain(known_of(first), x, values)
    assert peaks.tolist() == [0, -1, -1, 0, 0]  # outside the support there is nothing to climb
    assert (above[1:3] > 10).all()


def test_points_in_bulk_are_those_of_the_flattened_density():
    known, rng = known_of(HUMP_WITH_NEEDLE), np.random.default_rng(1)
    shares = np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5])
    starts = draw_in_bulk(known, 40_000, rng, shares)
    flattening = flattenings_of(np.array(TUNING.reaches), 5)[2]
    for reach, size in ((2, np.sqrt(flattening)), (NOWHERE, 1.0)):
        here = starts.reaches == reach
        assert here.mean() == pytest.approx(0.5, abs=0.02)
        for peak, width in ((0, 1.0), (1, 0.05)):
            about = here & (starts.about == peak)
            spread = (starts.x[about] - known.x[peak]).std(axis=0)
            assert spread == pytest.approx(np.full(5, size * width), rel=0.05)


def test_a_scan_finds_the_needle_that_climbs_miss():
    """Of its own density a share of 1.3 in 100,000 slopes up to it, of the flattened one less."""
    assert [search(HUMP_WITH_NEEDLE, seed, 0).count for seed in range(2)] == [1, 1]
    assert [search(HUMP_WITH_NEEDLE, seed, 600_000).count for seed in range(2)] == [2, 2]


def test_what_was_scanned_is_stated():
    one = Mixture(np.zeros((1, 5)), np.ones((1, 5)), (1.0,))
    searched = search(one, 0, 20_000).searched
    assert searched is not None
    assert searched.scanned + searched.scanned_near == 20_000
    assert searched.smallest_share == share_found(searched.since_new + searched.scanned)
    assert "20,000 values" in searched.sentence
    assert "of the modes found" in searched.sentence
    assert searched.evaluations > 20_000


def test_values_tell_nothing_on_a_density_that_is_not_gaussian():
    """Three units off the top of a Student-t its parabola is off by nats, and all would climb."""

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = 1 + np.sum(x**2, axis=1) / 5
        return -5 * np.log(size), -2 * x / size[:, None]

    looked_at: list[int] = []

    def values(x: np.ndarray) -> np.ndarray:
        looked_at.append(len(x))
        return evaluate(x)[0]

    starts, rng = starts_about(np.zeros(5), 0), np.random.default_rng(0)
    found = find_modes(evaluate, starts, rng, evaluations=3000, values=values, scanned=100_000)
    assert sum(looked_at) <= TUNING.first_scan
    assert found.searched is not None
    assert found.searched.scanned == 0
    assert found.count == 1


def test_only_cheap_densities_of_a_few_dimensions_are_scanned():
    assert scanned_points_of("default", 5, 100) == TUNING.scan_points
    assert scanned_points_of("quick", 5, 100) == TUNING.scan_points // 4
    assert scanned_points_of("default", 5, 40_000) == TUNING.scan_operations // 40_000
    assert scanned_points_of(5000, 5, 100) == 0
    assert scanned_points_of("default", 5, None) == 0
    assert scanned_points_of("default", TUNING.scan_dimensions + 1, 100) == 0
