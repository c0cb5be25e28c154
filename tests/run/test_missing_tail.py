"""The missing tail: found where draws do not get there, and nowhere else."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import refti
from refti.checks.of_run import check_missing_tail
from refti.run.missing_tail import MissingTail, find_missing_tail
from refti.sampling.metering import Meter


def cauchys(dim: int) -> refti.Model:
    return refti.Model(lambda x: -jnp.sum(jnp.log1p(x**2)), dim=dim)


def missing(model: refti.Model, points: np.ndarray) -> tuple[MissingTail, Meter]:
    meter = Meter()
    return find_missing_tail(model, points, meter), meter


def test_draws_of_the_density_lack_nothing():
    points = stats.cauchy.rvs(size=(8, 500, 2), random_state=0)
    found, meter = missing(cauchys(2), points)
    assert abs(found.share) < 4 * found.error < 0.04
    assert check_missing_tail(*found).ok
    assert meter.spent.density_evaluations > 0


@pytest.mark.parametrize("kept", [0.97, 0.95])
def test_draws_that_do_not_get_there_lack_what_was_left_out(kept: float):
    draws = stats.cauchy.rvs(size=12_000, random_state=1)
    reached = draws[np.abs(draws) < stats.cauchy.isf((1 - kept) / 2)]
    found, _ = missing(cauchys(1), reached[:8000].reshape(8, 1000, 1))
    # Beyond where one in fifty of these draws lies is all that was left out, and that much more.
    assert found.share == pytest.approx((1 - kept) * 0.98, abs=4 * found.error)
    check = check_missing_tail(*found)
    assert not check.ok
    assert "tail" in check.advice


def test_both_a_shift_and_a_scale_change_nothing():
    draws = stats.cauchy.rvs(size=12_000, random_state=1)
    reached = draws[np.abs(draws) < 20][:8000].reshape(8, 1000, 1)
    there = refti.Model(lambda x: -jnp.sum(jnp.log1p(((x - 7e3) / 50) ** 2)), dim=1)
    first, _ = missing(cauchys(1), reached)
    second, _ = missing(there, 7e3 + 50 * reached)
    assert second.share == pytest.approx(first.share, rel=1e-3)


def joint_cauchys(dim: int, seed: int) -> np.ndarray:
    """Draws [chain, draw, dim] of a multivariate Cauchy."""
    rng = np.random.default_rng(seed)
    heavy = 1 / np.sqrt(rng.gamma(0.5, 2.0, size=(8, 1500, 1)))
    return heavy * rng.normal(size=(8, 1500, dim))


def multivariate_cauchy(dim: int) -> refti.Model:
    return refti.Model(lambda x: -0.5 * (1 + dim) * jnp.log1p(jnp.sum(x**2)), dim=dim)


@pytest.mark.parametrize("seed", range(3))
def test_a_tail_of_all_coordinates_at_once_is_followed_along_rays(seed: int):
    model, draws = multivariate_cauchy(6), joint_cauchys(6, seed)
    whole, _ = missing(model, draws[:, :1000])
    assert check_missing_tail(*whole).ok
    distances = np.linalg.norm(draws.reshape(-1, 6), axis=1)
    reached = draws.reshape(-1, 6)[distances < np.quantile(distances, 0.96)]
    found, _ = missing(model, reached[:8000].reshape(8, 1000, 6))
    assert found.share == pytest.approx(0.04 * 0.98, abs=4 * found.error)
    assert not check_missing_tail(*found).ok
    # A reference that gets there itself does not need the chains to.
    assert check_missing_tail(
        *find_missing_tail(model, reached[:8000].reshape(8, 1000, 6), Meter(), rays=False)
    ).ok


def two_parts(log_part, away: float, far: float) -> refti.Model:
    """Of two alike parts the second, some way off, holds so much."""
    shares, places = np.log([1 - far, far]), np.array([0.0, away])
    return refti.Model(lambda x: jnp.logaddexp.reduce(shares + log_part(x[0] - places)), dim=1)


@pytest.mark.parametrize(("away", "far"), [(60.0, 0.01), (200.0, 0.5), (200.0, 0.49)])
def test_a_mode_far_off_is_no_tail(away: float, far: float):
    model = two_parts(lambda x: -0.5 * x**2, away, far)
    rng = np.random.default_rng(0)
    where = rng.choice([0.0, away], size=(8, 1000, 1), p=[1 - far, far])
    points, modes = where + rng.normal(size=where.shape), np.array([[0.0], [away]])
    found = find_missing_tail(model, points, Meter(), modes=modes)
    assert found == (0.0, 0.0)


def test_tails_about_several_modes_are_followed_about_each():
    model = two_parts(lambda x: -jnp.log1p(x**2), 2000.0, 0.3)
    rng = np.random.default_rng(3)
    modes = np.array([[0.0], [2000.0]])
    where = rng.choice(modes[:, 0], size=(8, 1000, 1), p=[0.7, 0.3])
    right = where + rng.standard_cauchy(size=where.shape)
    assert check_missing_tail(*find_missing_tail(model, right, Meter(), modes=modes)).ok
    short = where + np.clip(right - where, -12, 12) * rng.uniform(0.8, 1, size=where.shape)
    found = find_missing_tail(model, short, Meter(), modes=modes)
    assert not check_missing_tail(*found).ok


def test_what_is_missing_within_the_error_of_the_estimate_is_no_matter():
    assert not check_missing_tail(0.03, 0.005).ok
    assert not check_missing_tail(0.03, 0.005, 0.02).ok
    assert check_missing_tail(0.03, 0.005, 0.04).ok


def test_light_tails_cost_nothing():
    model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=3)
    found, meter = missing(model, np.random.default_rng(0).normal(size=(8, 500, 3)))
    assert found == (0.0, 0.0)
    assert meter.spent.evaluations == 0


@pytest.mark.long
def test_a_run_in_coordinates_with_heavy_tails_is_not_trusted():
    """Five Cauchys: 0.08 to 0.16 too low, and no other check noticed."""
    for seed in (0, 1):
        result = refti.evidence(cauchys(5), reference="covariance", seed=seed, progress=False)
        assert not result.trusted


def test_narrow_peaks_that_lines_cannot_resolve_are_no_tail():
    places = np.array([0.0, 1.0, 2.0, 30.0])

    def comb(x):
        return jnp.logaddexp.reduce(-0.5 * ((x[0] - places) / 0.003) ** 2)

    rng = np.random.default_rng(0)
    where = rng.choice(places, size=(8, 500, 1), p=[0.32, 0.33, 0.33, 0.02])
    found, _ = missing(refti.Model(comb, dim=1), where + 0.003 * rng.normal(size=where.shape))
    assert check_missing_tail(*found).ok
