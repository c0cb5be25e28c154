"""Broad mixtures: two Gaussians a mode, fitted to their own weighted draws, that reach flanks."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

import refti
from refti.references import registry
from refti.references.broad_mixture import TUNING, Parts, learn, two_a_mode
from refti.references.clusters import log_normals
from refti.references.family import FitInputs
from refti.references.mixture import Mixture
from refti.search.mode import Mode

PLACES = np.array([-20.0, 20.0])
MASSES = np.array([1.0, 3.0])
CURVED = np.sqrt(0.5)  # the deviation by the curvature at the mode of a flank


def log_flank(u: np.ndarray) -> np.ndarray:
    """The log density of the logarithm of a half-normal, whose left flank is exponential."""
    return 0.5 * np.log(2 / np.pi) + u - 0.5 * np.exp(2 * u)


def both_flanks(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two of them, 40 apart, the second with three times the mass."""
    return logsumexp(log_flank(x - PLACES) + np.log(MASSES), axis=1), np.zeros_like(x)


def inputs(**changes: np.ndarray | None) -> FitInputs:
    """What a fit is given: masses that the curvature has wrong, and draws of the first mode."""
    known: dict[str, np.ndarray | None] = {
        "peaks": PLACES[:, None],
        "peak_factors": np.full((2, 1, 1), CURVED),
        "peak_masses": np.zeros(2),
    }
    mode = Mode(PLACES[:1], 0.0, np.array([[-2.0]]), 0.0)
    model = refti.Model(lambda x: 0.0 * x[0], dim=1)
    draws = PLACES[0] + np.random.default_rng(0).normal(size=(100, 1))
    return FitInputs(model, both_flanks, mode, draws, **(known | changes))


def fitted(given: FitInputs) -> Mixture:
    found = registry.fit("broad_mixture", given)
    assert isinstance(found, Mixture)
    return found


def log_density(found: Mixture, x: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(jax.vmap(found.log_density)(x)) - float(found.log_z)


def test_it_reaches_into_flanks_where_the_curvature_alone_does_not():
    found = fitted(inputs())
    for place, mass in zip(PLACES, MASSES / MASSES.sum(), strict=True):
        deep = np.array([[-5.0], [-6.0]])  # beyond -5 lies 0.5 % of the mass
        exact = log_flank(deep[:, 0]) + np.log(mass)
        assert (exact - log_density(found, place + deep) < 4).all()
    assert (log_flank(deep[:, 0]) - norm.logpdf(deep[:, 0], scale=CURVED) > 18).all()


def test_it_is_near_the_density_and_has_the_masses_that_the_curvature_has_wrong():
    found = fitted(inputs())
    shares = np.exp(np.asarray(found.log_weights)).reshape(2, 2).sum(axis=0)
    assert shares == pytest.approx([0.25, 0.75], abs=0.1)
    rng = np.random.default_rng(1)
    x = (rng.choice(PLACES, p=MASSES / 4, size=4000) + np.log(np.abs(rng.normal(size=4000))))[
        :, None
    ]
    divergence = np.mean(both_flanks(x)[0] - np.log(4) - log_density(found, x))
    assert 0 < divergence < 0.1  # from the Gaussians of the curvature it is 0.8


def test_draws_of_chains_have_no_part_in_it_where_the_curvature_is_known():
    one, other = fitted(inputs()), fitted(replace(inputs(), draws=inputs().draws + 3.0))
    for name in ("log_weights", "means", "factors"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_normal_modes_leave_the_wide_ones_little():
    start = two_a_mode(PLACES[:, None], np.ones((2, 1, 1)), np.zeros(2))

    def normals(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return log_normals(x, PLACES[:, None], np.ones((2, 1, 1))).max(axis=1), x

    parts = learn(start, start, normals, np.random.default_rng(2))
    parts = learn(parts, start, normals, np.random.default_rng(3))
    wide = np.exp(parts.log_weights[2:]).sum()
    # A wide one that has come to be like the narrow one beside it may share its mass.
    assert wide < TUNING.wide_share or (parts.factors[2:] < 1.5).all()
    mean, deviation = _moments(parts)
    assert mean == pytest.approx(0.0, abs=3.0)
    assert deviation == pytest.approx(np.sqrt(401), rel=0.02)


def _moments(parts: Parts) -> tuple[float, float]:
    shares, means = np.exp(parts.log_weights), parts.means[:, 0]
    mean = float(shares @ means)
    square = float(shares @ (means**2 + parts.factors[:, 0, 0] ** 2))
    return mean, float(np.sqrt(square - mean**2))


def test_where_no_draw_is_inside_it_stays_what_it_was():
    start = two_a_mode(PLACES[:, None], np.ones((2, 1, 1)), np.zeros(2))
    nowhere = learn(start, start, lambda x: (np.full(len(x), -np.inf), x), np.random.default_rng(4))
    assert nowhere is start


@pytest.mark.parametrize("unknown", ["peaks", "peak_factors"])
def test_without_modes_or_their_curvature_it_begins_with_the_draws(unknown: str):
    draws = np.concatenate([inputs().draws, inputs().draws + PLACES[1] - PLACES[0]])
    found = fitted(replace(inputs(**{unknown: None}), draws=draws))
    assert found.means.shape == (4, 1)
    shares = np.exp(np.asarray(found.log_weights))[np.argsort(found.means[:, 0])]
    assert shares.reshape(2, 2).sum(axis=1) == pytest.approx([0.25, 0.75], abs=0.1)
