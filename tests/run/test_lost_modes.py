"""Lost modes: known to the search, with mass, and without a draw."""

from __future__ import annotations

import numpy as np
import pytest

from mixtures import Mixture
from refti.checks.of_run import check_lost_modes
from refti.run.lost_modes import find_lost_modes
from refti.sampling.metering import Meter
from refti.search.mode import Mode
from refti.search.peaks import Modes

DIM = 4
MIXTURE = Mixture(
    np.array([[0.0], [9.0], [-12.0]]) * np.ones(DIM),
    np.array([1.0, 0.5, 2.0])[:, None] * np.ones(DIM),
    (0.5, 0.2, 0.3),
)
HEIGHT = 0.5 * DIM * np.log(2 * np.pi)
"""That of the mixture's own log integral."""


def modes() -> Modes:
    mode = Mode(MIXTURE.means[0], 0.0, -np.eye(DIM), 0.0)
    factors = np.stack([np.diag(scale) for scale in MIXTURE.scales])
    masses = np.log(MIXTURE.weights) + HEIGHT
    return Modes(mode, MIXTURE.means, factors=factors, log_masses=masses)


def draws_of(parts: list[int], shares: list[float]) -> np.ndarray:
    rng = np.random.default_rng(1)
    which = rng.choice(parts, size=(8, 250), p=shares)
    return MIXTURE.means[which] + MIXTURE.scales[which] * rng.normal(size=(8, 250, DIM))


def lost(points: np.ndarray, log_z: float, size: float = 2000.0) -> float:
    rng = np.random.default_rng(0)

    def density(x: np.ndarray, meter: Meter) -> np.ndarray:
        return np.asarray(MIXTURE.evaluate(x)[0])

    return find_lost_modes(density, modes(), points, log_z, size, rng, Meter())


def test_no_mode_is_lost_of_right_draws():
    assert lost(draws_of([0, 1, 2], [0.5, 0.2, 0.3]), HEIGHT) == 0.0


@pytest.mark.parametrize("left_out", [1, 2])
def test_a_mode_without_draws_is_lost_with_its_share(left_out: int):
    kept = [part for part in range(3) if part != left_out]
    weights = np.array(MIXTURE.weights)[kept]
    log_z = HEIGHT + np.log(weights.sum())  # as a run finds that does not know of it
    share = lost(draws_of(kept, list(weights / weights.sum())), log_z)
    # Of its mass that within the ball, which is five sixths of it or more, as wide as the ball is.
    whole = MIXTURE.weights[left_out] / weights.sum()
    assert 0.75 * whole < share < 1.05 * whole
    assert not check_lost_modes(share).ok


def test_few_draws_may_miss_a_mode_by_chance():
    few = draws_of([0, 2], [0.625, 0.375])
    assert lost(few, HEIGHT + np.log(0.8), size=50.0) == 0.0


def test_wrong_shares_are_no_lost_mode():
    """How well chains mix between modes is judged elsewhere."""
    assert lost(draws_of([0, 1, 2], [0.6, 0.05, 0.35]), HEIGHT) == 0.0
