"""Mass beyond narrow peaks, on densities whose parts are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from mixtures import Mixture
from refti.search.broad_parts import (
    BroadPart,
    find_broad_part,
    part_of_draws,
    with_broad_part,
)
from refti.search.mode import Mode
from refti.search.more_modes import find_more_modes
from refti.search.peaks import Modes
from refti.search.searched import Searched
from refti.search.shells import find_unreached

Density = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def nested(widths: list[np.ndarray], weights: list[float]) -> Density:
    """Normals about the origin, by their standard deviations[dim]."""

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = np.stack(
            [
                np.log(weight) - np.sum(0.5 * (x / s) ** 2 + np.log(s * np.sqrt(2 * np.pi)), axis=1)
                for s, weight in zip(widths, weights, strict=True)
            ]
        )
        shares = np.exp(parts - logsumexp(parts, axis=0))
        slopes = np.stack([-x / s**2 for s in widths])
        return logsumexp(parts, axis=0), np.einsum("kn,knd->nd", shares, slopes)

    return evaluate


def cauchys(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return -np.sum(np.log1p(x**2), axis=1), -2 * x / (1 + x**2)


def only_mode(dim: int, width: float, log_mass: float = 0.0) -> Modes:
    mode = Mode(np.zeros(dim), 0.0, -np.eye(dim) / width**2, 0.0)
    factors = width * np.eye(dim)[None]
    return Modes(mode, np.zeros((1, dim)), factors=factors, log_masses=np.array([log_mass]))


def on_the_spike(dim: int, width: float) -> np.ndarray:
    return width * np.random.default_rng(1).normal(size=(8, 50, dim))


@pytest.mark.parametrize("dim", [5, 20, 60])
def test_a_slab_is_found_with_its_mass_and_spread(dim: int):
    spreads = np.geomspace(0.5, 4, dim)
    density = nested([np.full(dim, 0.05), spreads], [0.2, 0.8])
    modes = only_mode(dim, 0.05, np.log(0.2))
    part = find_broad_part(density, modes, on_the_spike(dim, 0.05), np.random.default_rng(0))
    assert part is not None
    assert part.log_mass == pytest.approx(np.log(0.8), abs=0.05)
    np.testing.assert_allclose(np.sqrt(np.diag(part.factor @ part.factor.T)), spreads, rtol=0.5)
    both = with_broad_part(modes, part)
    assert (both.count, both.broad) == (2, 1)


def test_what_lies_between_two_known_parts_is_found_too():
    dim = 10
    density = nested([np.full(dim, s) for s in (0.01, 0.1, 1.0)], [0.2, 0.3, 0.5])
    modes = only_mode(dim, 0.01, np.log(0.2))
    chains = on_the_spike(dim, 0.01)
    for _ in range(2):
        part = find_broad_part(density, modes, chains, np.random.default_rng(0))
        assert part is not None
        modes = with_broad_part(modes, part)
        more = part.x + np.random.default_rng(2).normal(size=(4, 50, dim)) @ part.factor.T
        chains = np.concatenate([chains, more])
    assert modes.log_masses is not None
    np.testing.assert_allclose(np.sort(np.exp(modes.log_masses)), [0.2, 0.3, 0.5], atol=0.02)
    assert find_broad_part(density, modes, chains, np.random.default_rng(0)) is None


@pytest.mark.parametrize("dim", [1, 5, 30])
def test_nothing_is_found_beyond_a_single_hill_however_long_its_tails(dim: int):
    modes = only_mode(dim, np.sqrt(0.5))
    chains = on_the_spike(dim, 0.7)
    assert find_unreached(cauchys, modes, chains, np.random.default_rng(0)) == []
    alone = nested([np.full(dim, 0.7)], [1.0])
    assert find_unreached(alone, modes, chains, np.random.default_rng(0)) == []


def test_chains_that_pass_from_one_to_the_other_need_no_help():
    dim = 8
    density = nested([np.full(dim, 0.1), np.full(dim, 1.0)], [0.5, 0.5])
    modes = only_mode(dim, 0.1, np.log(0.5))
    stuck = on_the_spike(dim, 0.1)
    assert len(find_unreached(density, modes, stuck, np.random.default_rng(0))) == 1
    passing = stuck * np.where(np.arange(50) // 5 % 2, 10, 1)[:, None]
    assert find_unreached(density, modes, passing, np.random.default_rng(0)) == []


def test_chains_that_passed_once_and_stayed_there_do():
    """Each chain knows both parts, but none of them how much either holds."""
    dim = 8
    density = nested([np.full(dim, 0.1), np.full(dim, 1.0)], [0.5, 0.5])
    once = on_the_spike(dim, 0.1) * np.where(np.arange(50) < 25, 10, 1)[:, None]
    modes = only_mode(dim, 0.1, np.log(0.5))
    assert len(find_unreached(density, modes, once, np.random.default_rng(0))) == 1


def test_no_part_is_fitted_to_a_few_draws_that_happen_to_count():
    """Of two narrow normals far apart and off all rays next to nothing is met."""
    dim = 3

    def apart(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        near, far = nested([np.full(dim, 0.1)], [0.5]), nested([np.full(dim, 0.2)], [0.5])
        a, b = near(x), far(x - 9.0)
        shares = np.exp(np.stack([a[0], b[0]]) - np.logaddexp(a[0], b[0]))
        return np.logaddexp(a[0], b[0]), shares[0][:, None] * a[1] + shares[1][:, None] * b[1]

    modes = only_mode(dim, 0.1, np.log(0.5))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert find_broad_part(apart, modes, on_the_spike(dim, 0.1), rng) is None


def on_top(mixture: Mixture, modes: Modes) -> Modes:
    """The modes with the first as high as the mixture is there."""
    mode = modes.mode
    assert isinstance(mode, Mode)
    height = float(mixture.evaluate(mode.x[None])[0][0])
    return replace(modes, mode=replace(mode, log_density=height))


def slab_and_far(dim: int, away: float) -> Mixture:
    """A spike of width 0.1, a slab of width 1 about it, and a mode of 0.8 some way off."""
    means = np.zeros((3, dim))
    means[2] = away / np.sqrt(dim)
    scales = np.array([0.1, 1.0, 0.8])[:, None] * np.ones(dim)
    return Mixture(means, scales, (0.3, 0.4, 0.3))


@pytest.mark.parametrize("away", [15.0, 25.0])
def test_climbs_from_about_a_slab_come_to_a_mode_beyond(away: float):
    dim = 5
    mixture = slab_and_far(dim, away)
    log_z = 0.5 * dim * np.log(2 * np.pi)
    modes = on_top(mixture, only_mode(dim, 0.1, np.log(0.3) + log_z))
    rng = np.random.default_rng(0)
    part = BroadPart(np.zeros(dim), np.eye(dim), np.log(0.4) + log_z, 512.0)
    found = find_more_modes(mixture.evaluate, modes, part, rng, evaluations=9000)
    assert len(found.peaks) == 2
    np.testing.assert_allclose(found.peaks[1], mixture.means[2], atol=1e-2)
    assert found.log_masses is not None
    assert found.log_masses[1] == pytest.approx(np.log(0.3) + log_z, abs=0.01)
    assert found.searched is not None
    assert found.searched.about_broad
    assert not found.searched.still_growing
    # The broad part stays last, for others count the broad ones from the end.
    both = with_broad_part(found, part)
    np.testing.assert_array_equal(both.peaks[-1], part.x)


GROWING = Searched(25_000, 0, 23_000, 60_000, still_growing=True)


@pytest.mark.parametrize(
    ("first", "growing"),
    [
        (GROWING, False),  # as its one far mode was met by luck, and is met often from here
        (replace(GROWING, since_new=2_000), True),  # as new modes turned up to the end
        (replace(GROWING, unseen_share=0.02), True),
    ],
)
def test_a_mode_met_rarely_from_the_spike_and_often_from_the_slab_is_no_luck(
    first: Searched, growing: bool
):
    dim = 5
    mixture = slab_and_far(dim, 25.0)
    log_z = 0.5 * dim * np.log(2 * np.pi)
    spike = on_top(mixture, only_mode(dim, 0.1, np.log(0.3) + log_z))
    assert spike.factors is not None
    modes = replace(
        spike,
        peaks=np.stack([mixture.means[0], mixture.means[2]]),
        factors=np.concatenate([spike.factors, 0.8 * np.eye(dim)[None]]),
        log_masses=np.log([0.3, 0.3]) + log_z,
        searched=first,
    )
    part = BroadPart(np.zeros(dim), np.eye(dim), np.log(0.4) + log_z, 512.0)
    rng = np.random.default_rng(0)
    found = find_more_modes(mixture.evaluate, modes, part, rng, evaluations=9000)
    assert len(found.peaks) == 2
    assert found.searched is not None
    assert found.searched.still_growing == growing


def test_a_higher_mode_beyond_comes_first():
    dim = 3
    mixture = Mixture(
        np.array([[0.0] * dim, [0.0] * dim, [7.0] * dim]),
        np.array([0.1, 1.0, 0.08])[:, None] * np.ones(dim),
        (0.3, 0.4, 0.3),
    )
    log_z = 0.5 * dim * np.log(2 * np.pi)
    modes = on_top(mixture, only_mode(dim, 0.1, np.log(0.3) + log_z))
    rng = np.random.default_rng(0)
    part = BroadPart(np.zeros(dim), np.eye(dim), np.log(0.4) + log_z, 512.0)
    found = find_more_modes(mixture.evaluate, modes, part, rng, evaluations=9000)
    np.testing.assert_allclose(found.peaks, mixture.means[[2, 0]], atol=1e-2)
    np.testing.assert_allclose(found.mode.x, mixture.means[2], atol=1e-3)


def test_draws_far_beyond_a_peak_tell_of_what_is_broad_there():
    dim = 2
    density = nested([np.full(dim, 0.1), np.full(dim, 1.0)], [0.5, 0.5])
    modes = only_mode(dim, 0.1, np.log(0.5))
    stuck = on_the_spike(dim, 0.1)
    rng = np.random.default_rng(0)
    assert part_of_draws(density, modes, stuck, rng) is None
    passing = np.concatenate([stuck[:, ::2], 10 * stuck[:, 1::2]], axis=1)
    part = part_of_draws(density, modes, passing, rng)
    assert part is not None
    np.testing.assert_allclose(part.factor @ part.factor.T, np.eye(dim), atol=0.3)
