"""New peaks: the end of a climb counts unless it is too narrow to hold anything."""

from __future__ import annotations

import numpy as np
import pytest

from refti.search.known_peaks import KnownPeaks
from refti.search.new_peaks import _holds_mass

HIGHEST = KnownPeaks(
    np.zeros((1, 2)), np.zeros(1), np.eye(2)[None], np.array([True]), np.array([0])
)
END = np.array([3.0, -2.0])


def canyon(width: float, height: float):
    """A ridge that rises along a slanting line and is so narrow across it."""

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        across = (x - END) @ np.array([0.8, -0.6])
        along = (x - END) @ np.array([0.6, 0.8])
        return height + 0.01 * along - 0.5 * (across / width) ** 2, np.zeros_like(x)

    return evaluate


@pytest.mark.parametrize(
    ("width", "height", "holds"),
    [
        (1e-10, -9.0, False),  # as the errors of an ARMA(1, 1) that explode
        (3e-4, -9.0, False),  # e^-9 as high and e^-8 as wide
        (1e-3, -2.0, True),
        (0.1, -9.0, True),
    ],
)
def test_a_canyon_holds_something_if_it_is_wide_and_high_enough(
    width: float, height: float, holds: bool
):
    assert _holds_mass(canyon(width, height), HIGHEST, END, height) is holds


def test_a_cusp_holds_what_it_is_wide():
    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -1 - np.abs((x - END) / 0.05).sum(axis=1), np.zeros_like(x)

    assert _holds_mass(evaluate, HIGHEST, END, -1.0)
