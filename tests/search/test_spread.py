"""The spread about a mode: as its curvature says, unless the density does not reach so far."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from refti.search.mode import Mode
from refti.search.spread import curb_spread
from refti.search.tuning import TUNING

RADIUS, WIDTH = 5.0, 0.2


def rotation(dim: int) -> np.ndarray:
    return stats.special_ortho_group.rvs(dim, random_state=3)


@pytest.mark.parametrize("dim", [2, 5])
@pytest.mark.parametrize("flatness", [1e-2, 1e-5])
def test_a_ring_is_drawn_in_to_where_it_bends_away(dim: int, flatness: float):
    def ring(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -0.5 * ((np.linalg.norm(x, axis=1) - RADIUS) / WIDTH) ** 2, np.zeros_like(x)

    turn = rotation(dim)
    bends = np.array([WIDTH**-2.0, *[flatness] * (dim - 1)])
    mode = Mode(RADIUS * turn[:, 0], 0.0, -(turn * bends) @ turn.T, 0.0)
    factor = mode.factor()
    assert factor is not None
    found = curb_spread(ring, mode, factor)
    np.testing.assert_array_equal(found, np.tril(found))
    spread = turn.T @ found @ found.T @ turn
    assert np.sqrt(spread[0, 0]) == pytest.approx(WIDTH, rel=1e-4)
    # Along the ring sqrt(R^2 + d^2) - R is so many widths that the density falls by 4 nats.
    away = RADIUS + np.sqrt(2 * TUNING.most_fall) * WIDTH
    most = np.sqrt(away**2 - RADIUS**2)
    along = np.sqrt(np.diag(spread)[1:])
    assert (along <= most * (1 + 1e-9)).all()
    assert (along > 0.5 * most).all()


def test_a_gaussian_and_a_cusp_keep_theirs():
    factor = np.array([[2.0, 0.0, 0.0], [50.0, 20.0, 0.0], [0.001, -0.002, 0.01]])
    precision = np.linalg.inv(factor @ factor.T)

    def normal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -0.5 * np.einsum("ni,ij,nj->n", x, precision, x), -x @ precision

    assert curb_spread(normal, Mode(np.zeros(3), 0.0, -precision, 0.0), factor) is factor

    def never(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise AssertionError("evaluated")

    assert curb_spread(never, Mode(np.zeros(3), 0.0, -precision, 2.0), factor) is factor


def test_one_side_that_reaches_is_enough():
    # Skewed: to the left it falls at once, to the right as a normal.
    def skewed(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.where(x[:, 0] < 0, -np.inf, -0.5 * x[:, 0] ** 2), np.zeros_like(x)

    factor = np.eye(1)
    assert curb_spread(skewed, Mode(np.zeros(1), 0.0, -np.eye(1), 0.0), factor) is factor
