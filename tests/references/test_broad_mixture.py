"""Broad mixtures: two Gaussians a mode, the second of which reaches into its flanks."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import refti
from refti.errors import ReferenceFitError
from refti.references import registry
from refti.references.broad_mixture import TUNING, fit_mode
from refti.references.clusters import log_normals
from refti.references.family import FitInputs
from refti.search.mode import Mode

PLACES = np.array([-20.0, 20.0])


def log_flank(u: np.ndarray) -> np.ndarray:
    """The log density of the logarithm of a half-normal, whose left flank is exponential."""
    return 0.5 * np.log(2 / np.pi) + u - 0.5 * np.exp(2 * u)


def draws_with_a_flank(count: int, seed: int) -> np.ndarray:
    return np.log(np.abs(np.random.default_rng(seed).normal(size=(count, 1))))


def log_density_of_mode(parts: tuple[np.ndarray, ...], x: np.ndarray) -> np.ndarray:
    log_shares, means, factors = parts
    return logsumexp(log_normals(x, means, factors) + log_shares, axis=1)


def test_it_reaches_into_a_flank_where_the_curvature_alone_does_not():
    factor = np.array([[np.sqrt(0.5)]])  # of the curvature at the mode, 0
    parts = fit_mode(draws_with_a_flank(100, 1), np.zeros(1), factor)
    deep = np.array([[-5.0], [-6.0]])  # beyond -5 lies 0.5 % of the mass
    missed = log_flank(deep[:, 0]) - log_density_of_mode(parts, deep)
    assert (missed < 3).all()
    assert (log_flank(deep[:, 0]) - norm.logpdf(deep[:, 0], scale=factor[0, 0]) > 18).all()
    # And it is no worse where the mass is: the divergence to it is that of a good reference.
    fresh = draws_with_a_flank(20_000, 2)
    delta = log_flank(fresh[:, 0]) - log_density_of_mode(parts, fresh)
    assert 0 < delta.mean() < 0.1


def test_normal_draws_leave_the_second_gaussian_small():
    rng = np.random.default_rng(3)
    factor = np.array([[1.0, 0.0], [0.4, 0.5]])
    log_shares, means, factors = fit_mode(
        2.0 + rng.normal(size=(400, 2)) @ factor.T, np.full(2, 2.0), factor
    )
    assert np.exp(log_shares[1]) < TUNING.wide_share
    assert means[0] == pytest.approx([2.0, 2.0], abs=0.2)
    assert factors[0] == pytest.approx(factor, abs=0.1)


def test_without_a_draw_it_is_what_was_known_before():
    factor = np.array([[1.0, 0.0], [0.4, 0.5]])
    log_shares, means, factors = fit_mode(np.zeros((0, 2)), np.ones(2), factor)
    assert np.exp(log_shares) == pytest.approx([1 - TUNING.wide_share, TUNING.wide_share])
    assert means == pytest.approx(np.ones((2, 2)))
    assert factors == pytest.approx(np.stack([factor, TUNING.wider * factor]))


def two_flanked(**changes: np.ndarray | None) -> FitInputs:
    """What a fit is given of two modes with flanks, the second with three times the mass.

    The second has no draw: chains have left it.
    """
    draws = PLACES[0] + draws_with_a_flank(200, 4)

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = log_flank(x - PLACES) + np.log([1.0, 3.0])
        return logsumexp(parts, axis=1), np.zeros_like(x)

    known: dict[str, np.ndarray | None] = {
        "peaks": PLACES[:, None],
        "peak_factors": np.full((2, 1, 1), np.sqrt(0.5)),
        "peak_masses": log_flank(np.zeros(2)) + np.log([1.0, 3.0]) + 0.5 * np.log(np.pi),
    }
    mode = Mode(PLACES[:1], 0.0, np.array([[-2.0]]), 0.0)
    model = refti.Model(lambda x: 0.0 * x[0], dim=1)
    return FitInputs(model, evaluate, mode, draws, **(known | changes))


def test_modes_weigh_what_they_hold_whether_or_not_they_have_draws():
    found = registry.fit("broad_mixture", two_flanked())
    shares = np.exp(np.asarray(found.log_weights)).reshape(2, 2).sum(axis=1)
    # The second by its curvature alone, which knows a half-normal's mass to a tenth or so.
    assert shares == pytest.approx([0.25, 0.75], abs=0.05)
    with jax.enable_x64(True):
        x = np.asarray(jax.vmap(found.sample)(jax.random.split(jax.random.key(5), 4000)))
    assert np.mean(x > 0) == pytest.approx(shares[1], abs=0.03)


def test_one_mode_is_enough():
    found = registry.fit("broad_mixture", two_flanked(peaks=None))
    assert found.means.shape == (2, 1)


def test_a_mode_without_curvature_is_told():
    with pytest.raises(ReferenceFitError, match="2 modes, not all of which have one"):
        registry.fit("broad_mixture", two_flanked(peak_factors=None))
