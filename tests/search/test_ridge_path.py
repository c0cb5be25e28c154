"""Ways along ridges: bumps of one ring or shell are joined, modes with a dip between are not."""

from __future__ import annotations

import numpy as np
import pytest

from mixtures import Mixture
from refti.search.modes import find_modes
from refti.search.ridge_path import is_joined


def shell(x: np.ndarray, radius: float = 4.0, width: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """A shell about the origin that leans a little to one side."""
    distance = np.linalg.norm(x, axis=1)
    off = (distance - radius) / width**2
    lean = np.zeros(x.shape[1])
    lean[0] = 0.1
    return -0.5 * off**2 * width**2 + x @ lean, -(off / distance)[:, None] * x + lean


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_two_points_of_a_shell_are_joined_around_it(dim: int):
    a, b = np.zeros(dim), np.zeros(dim)
    a[0], b[0], b[1] = 4.0, 4 * np.cos(2.0), 4 * np.sin(2.0)
    # The way must not fall by more than the dip below its lower end.
    assert is_joined(shell, a, b, np.full(dim, 0.5))


def test_points_of_two_shells_are_not():
    def two(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        (one, slope), (other, other_slope) = shell(x), shell(x, radius=2.0)
        return np.maximum(one, other), np.where((one > other)[:, None], slope, other_slope)

    assert not is_joined(two, np.array([4.0, 0.1]), np.array([-2.0, 0.3]), np.full(2, 0.5))


@pytest.mark.parametrize("away", [5.0, 9.0])
def test_modes_with_a_dip_between_are_not_joined(away: float):
    means = np.array([[0.0, 0.0, 0.0], [away, 0.3, -0.2], [0.5 * away, away, 0.0]])
    mixture = Mixture(means, np.array([1.0, 0.5, 0.7])[:, None] * np.ones(3), (0.4, 0.3, 0.3))
    for other in (1, 2):
        assert not is_joined(mixture.evaluate, means[0], means[other], np.ones(3))


def test_the_search_on_a_wavy_ring_counts_its_bumps_as_one():
    """Eight bumps, between which the density falls by 0.4 nats."""

    def wavy(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distance, angle = np.linalg.norm(x, axis=1), np.arctan2(x[:, 1], x[:, 0])
        off = (distance - 4.0) / 0.04
        around = np.stack([-x[:, 1], x[:, 0]], axis=1) / distance[:, None] ** 2
        slope = -(off / distance)[:, None] * x - 1.6 * np.sin(8 * angle)[:, None] * around
        return -0.5 * off**2 * 0.04 + 0.2 * np.cos(8 * angle), slope

    rng = np.random.default_rng(0)
    starts = rng.normal(size=(8, 2)) + np.array([4.0, 0.0])
    found = find_modes(wavy, starts, rng, evaluations=4000)
    assert found.searched is not None
    assert found.searched.on_ridges >= 3
    assert not found.searched.still_growing
