"""Mixture references: modes far apart with their right masses, and as many as there are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import refti
from refti.errors import ReferenceFitError
from refti.references import registry
from refti.references.family import FitInputs
from refti.references.mixture import Mixture, fit_at_peaks, fit_mixture, mixture
from refti.search.mode import Mode, find_mode
from targets import evaluate

DIM = 10
RNG = np.random.default_rng(1)
FACTORS = np.tril(0.2 * RNG.normal(size=(2, DIM, DIM)), -1) + np.eye(DIM) * [[[1.0]], [[0.5]]]
MASSES = np.array([0.9, 0.1])


def two_modes(distance: float, counts: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """Centres, draws with counts of their own, and log q at the draws, of the masses 9:1."""
    rng = np.random.default_rng(2)
    centres = np.stack([np.zeros(DIM), np.full(DIM, distance / np.sqrt(DIM))])
    draws = np.concatenate(
        [
            c + rng.normal(size=(n, DIM)) @ f.T
            for c, n, f in zip(centres, counts, FACTORS, strict=True)
        ]
    )
    parts = [
        stats.multivariate_normal(c, f @ f.T).logpdf(draws)
        for c, f in zip(centres, FACTORS, strict=True)
    ]
    return centres, draws, 7 + np.logaddexp(*(np.log(MASSES)[:, None] + np.stack(parts)))


@pytest.mark.parametrize("distance", [10, 30, 1e4])
def test_heights_give_the_weights_that_counts_cannot(distance: float):
    centres, draws, log_density = two_modes(distance, (500, 500))
    found = fit_mixture(draws, centres, log_density)
    # The covariances' 55 numbers come from 500 draws, which moves a log mass by 55 / 2 / 500.
    np.testing.assert_allclose(np.exp(found.log_weights), MASSES, atol=5 * 0.1 * 0.055)
    assert np.exp(fit_mixture(draws, centres).log_weights) == pytest.approx([0.5, 0.5])
    for mean, centre, factor in zip(found.means, centres, FACTORS, strict=True):
        z = np.linalg.solve(factor, mean - centre) * np.sqrt(500)
        assert np.abs(z).max() < 5


def test_centres_that_are_not_quite_the_modes_will_do():
    centres, draws, log_density = two_modes(30, (500, 500))
    found = fit_mixture(draws, centres + 2, log_density)
    np.testing.assert_array_equal(found.means, fit_mixture(draws, centres, log_density).means)


def test_scales_do_not_decide_which_centre_is_nearest():
    rng = np.random.default_rng(3)
    scales = np.array([1.0, 1e6])
    centres = np.array([[0.0, 0.0], [20.0, 0.0]])
    draws = np.concatenate([c + scales * rng.normal(size=(300, 2)) for c in centres])
    found = fit_mixture(draws, centres)
    np.testing.assert_allclose(found.means[:, 0], [0, 20], atol=0.3)
    assert np.exp(found.log_weights) == pytest.approx([0.5, 0.5])


def test_a_centre_without_enough_draws_is_dropped_with_them():
    centres, draws, log_density = two_modes(30, (500, 4))
    found = fit_mixture(draws, centres, log_density)
    assert found.means.shape == (1, DIM)
    assert np.abs(found.means).max() < 5 / np.sqrt(500) * 2
    empty = np.concatenate([centres[:1] + 500, centres])
    _, draws, log_density = two_modes(30, (500, 500))
    assert fit_mixture(draws, empty, log_density).means.shape == (2, DIM)


def test_heights_that_are_not_numbers_are_left_out():
    centres, draws, log_density = two_modes(30, (500, 500))
    log_density[::7] = -np.inf
    found = fit_mixture(draws, centres, log_density)
    np.testing.assert_allclose(np.exp(found.log_weights), MASSES, atol=0.03)
    nothing = fit_mixture(draws, centres, np.full(1000, np.nan))
    assert np.exp(nothing.log_weights) == pytest.approx([0.5, 0.5])


def test_without_centres_modes_are_found_and_weighed_by_heights():
    _, draws, log_density = two_modes(12, (500, 500))
    found = fit_mixture(draws, log_density=log_density)
    np.testing.assert_allclose(np.sort(np.exp(found.log_weights)), MASSES[::-1], atol=0.03)


@pytest.mark.parametrize(("dim", "count"), [(1, 1000), (5, 300), (50, 500)])
def test_draws_of_one_gaussian_give_one_component(dim: int, count: int):
    draws = np.random.default_rng(1).normal(size=(count, dim))
    assert fit_mixture(draws).means.shape == (1, dim)


@pytest.mark.parametrize(("dim", "count"), [(1, 1000), (5, 300), (50, 1000)])
def test_draws_of_two_give_two(dim: int, count: int):
    draws = np.random.default_rng(1).normal(size=(count, dim))
    draws[: count // 4] += 8 / np.sqrt(dim)
    found = fit_mixture(draws)
    np.testing.assert_allclose(np.sort(np.exp(found.log_weights)), [0.25, 0.75], atol=0.01)


def test_overlapping_components_keep_the_weights_of_their_draws():
    rng = np.random.default_rng(1)
    draws = np.where(rng.random((4000, 1)) < 0.3, 3.0, 0.0) + rng.normal(size=(4000, 1))
    found = fit_mixture(draws, log_density=np.zeros(4000))
    np.testing.assert_allclose(np.sort(np.exp(found.log_weights)), [0.3, 0.7], atol=0.05)
    np.testing.assert_allclose(np.sort(found.means[:, 0]), [0, 3], atol=0.25)


@pytest.mark.usefixtures("x64")
def test_density_is_that_of_scipy_and_finite_between_far_modes():
    centres, _, _ = two_modes(1e3, (10, 10))
    reference = mixture(np.log(MASSES), centres, FACTORS, 2.0)
    x = centres[0] + np.linspace(0, 1, 30)[:, None] * (centres[1] - centres[0])
    parts = [
        stats.multivariate_normal(c, f @ f.T).logpdf(x)
        for c, f in zip(centres, FACTORS, strict=True)
    ]
    known = 2 + np.logaddexp(*(np.log(MASSES)[:, None] + np.stack(parts)))
    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(reference.log_density)))(x)
    np.testing.assert_allclose(values, known, rtol=1e-9)
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("make", ["few", "integers", "repeated", "cauchy", "wide"])
def test_odd_draws_still_fit(make: str):
    rng = np.random.default_rng(1)
    draws = {
        "few": rng.normal(size=(3, 2)),
        "integers": rng.integers(0, 2, size=(200, 3)).astype(float),
        "repeated": np.repeat(rng.normal(size=(2, 3)), 100, axis=0),
        "cauchy": rng.standard_cauchy(size=(300, 3)) ** 3,
        "wide": rng.normal(size=(60, 100)),
    }[make]
    found = fit_mixture(draws)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


def test_constant_draws_are_refused():
    with pytest.raises(ReferenceFitError, match="differ in every coordinate"):
        fit_mixture(np.ones((50, 2)))


class TestAtPeaks:
    """The family "laplace_mixture": the Gaussians of the curvatures at the modes."""

    def inputs(self) -> tuple[FitInputs, np.ndarray]:
        """A mixture of two Gaussians 30 apart, its modes with their curvatures, and points."""
        centres, draws, _ = two_modes(30, (40, 8))
        truth = mixture(np.log(MASSES), centres, FACTORS, 7.0)
        with jax.enable_x64(True):
            both = evaluate(refti.Model(truth.log_density, dim=DIM))
        modes = [find_mode(both, centre + 0.1) for centre in centres]
        factors = [mode.factor() for mode in modes]
        assert all(factor is not None for factor in factors)
        known = FitInputs(
            model=None,  # type: ignore[arg-type]
            evaluate=both,
            mode=modes[0],
            draws=draws,
            peaks=np.stack([mode.x for mode in modes]),
            peak_factors=np.stack(factors),  # type: ignore[arg-type]
            peak_masses=np.array([mode.log_mass for mode in modes]),
        )
        return known, both(draws)[0]

    def test_it_is_a_mixture_of_gaussians_itself(self):
        known, heights = self.inputs()
        found = registry.fit("laplace_mixture", known)
        assert isinstance(found, Mixture)
        assert np.exp(found.log_weights) == pytest.approx(MASSES, abs=1e-4)
        with jax.enable_x64(True):
            told = np.asarray(jax.vmap(found.log_density)(jnp.asarray(known.draws)))
        delta = heights - told
        # The same everywhere, though the draws are few and in the wrong shares: then log z is
        # that of the reference plus it, without any error.
        assert np.ptp(delta) < 0.01
        assert float(found.log_z) + delta.mean() == pytest.approx(7.0, abs=0.01)


def at_peaks(**known: np.ndarray | None) -> FitInputs:
    """What a fit is given of two modes far apart."""
    centres, draws, _ = two_modes(30, (300, 300))
    mode = Mode(centres[0], 0.0, -np.linalg.inv(FACTORS[0] @ FACTORS[0].T), 0.0)
    model = refti.Model(lambda x: 0.0 * x[0], dim=DIM)
    return FitInputs(model, lambda x: (np.zeros(len(x)), 0 * x), mode, draws, **known)


def test_expansions_at_the_modes_have_the_masses_that_they_hold():
    centres, _, _ = two_modes(30, (300, 300))
    found = fit_at_peaks(
        at_peaks(peaks=centres, peak_factors=FACTORS, peak_masses=3 + np.log(MASSES))
    )
    np.testing.assert_allclose(np.exp(found.log_weights), MASSES, rtol=1e-12)
    np.testing.assert_array_equal(found.means, centres)
    np.testing.assert_array_equal(found.factors, FACTORS)


def test_one_mode_is_a_mixture_of_one_expansion():
    found = fit_at_peaks(at_peaks())
    assert found.means.shape == (1, DIM)
    covariance = found.factors[0] @ found.factors[0].T
    np.testing.assert_allclose(covariance, FACTORS[0] @ FACTORS[0].T, rtol=1e-8, atol=1e-10)


def test_modes_without_curvatures_are_refused_with_advice():
    with pytest.raises(ReferenceFitError, match=r"got 2 modes.*reference='mixture'"):
        fit_at_peaks(at_peaks(peaks=np.zeros((2, DIM))))
