"""Warped references: bends that come back from draws, and nothing bent without need."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from refti.errors import ReferenceFitError
from refti.references.bends import straighten, straighten_quickly
from refti.references.sinh_arcsinh import Bend, condense, fit_bends
from refti.references.warped import Warped, bend_at, fit_warped, log_densities, warped
from refti.sampling.computing import computing
from refti.sampling.exact_start import exact_draws


def log_gamma(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Shapes and the triangular mix of correlated log-gamma variables."""
    rng = np.random.default_rng(20)
    mix = np.eye(dim) + np.tril(rng.normal(scale=0.3, size=(dim, dim)), -1)
    return np.linspace(0.5, 5, dim), mix * np.linspace(0.5, 2.0, dim)[:, None]


def log_gamma_draws(dim: int, count: int, seed: int) -> np.ndarray:
    shapes, mix = log_gamma(dim)
    y = np.log(np.random.default_rng(seed).gamma(shapes, size=(count, dim)))
    return np.linalg.solve(mix, y.T).T


def jeffreys(reference: Warped, dim: int, count: int = 8000) -> float:
    """E_1[delta] - E_0[delta] against the log-gamma variables, by exact draws of both."""
    shapes, mix = log_gamma(dim)

    def delta(x: np.ndarray) -> float:
        y = x @ mix.T
        return float(np.mean(np.sum(shapes * y - np.exp(y), axis=1) - log_densities(reference, x)))

    with jax.enable_x64(True):
        own = np.asarray(exact_draws(reference, jax.random.key(3), count))
    return delta(log_gamma_draws(dim, count, 99)) - delta(own)


@pytest.mark.parametrize(("dim", "count"), [(5, 300), (5, 1000), (20, 1000)])
def test_skewed_posteriors_are_several_times_nearer_than_to_a_gaussian(dim: int, count: int):
    draws = log_gamma_draws(dim, count, 1)
    assert jeffreys(fit_warped(draws), dim) < 0.2 * jeffreys(bend_at("none", draws), dim)


def test_the_curvature_at_the_mode_is_a_base_that_many_dimensions_are_bent_in():
    dim = 100
    draws = log_gamma_draws(dim, 400, 1)
    shapes, mix = log_gamma(dim)
    curved = np.linalg.inv(mix) / np.sqrt(shapes)
    noise = np.tril(np.random.default_rng(5).normal(size=(dim, dim)), -1)
    by_few_draws = curved @ (np.eye(dim) + 0.05 * noise)
    with_it = jeffreys(fit_warped(draws, by_few_draws, curved), dim, 1000)
    assert with_it < 0.5 * jeffreys(fit_warped(draws, by_few_draws), dim, 1000)


@pytest.mark.parametrize("count", [300, 2000])
def test_draws_of_a_gaussian_stay_nearly_unbent(count: int):
    draws = np.random.default_rng(2).normal(size=(count, 200))
    bends = fit_bends(draws)
    is_bent = (bends.skew != 0) | (bends.tail != 1)
    assert is_bent.mean() < 0.03
    found = fit_warped(draws[:, :20])
    assert (np.asarray(found.inner_tail) != 1).sum() + (
        np.asarray(found.outer_tail) != 1
    ).sum() <= 1


def test_bends_come_back():
    true = Bend(*np.array([[3.0, 0.5, -0.6, 0.7], [-1.0, 2.0, 0.5, 1.2], [0.0, 1.0, 0.0, 0.6]]).T)
    v = np.random.default_rng(1).normal(size=(20000, 3))
    draws = true.location + true.scale * np.sinh((np.arcsinh(v) + true.skew) / true.tail)
    found = fit_bends(draws)
    np.testing.assert_allclose(found.skew, true.skew, atol=0.1)
    np.testing.assert_allclose(found.tail, true.tail, rtol=0.06)
    back, slopes = found.straighten(draws)
    truth, true_slopes = true.straighten(draws)
    # The straightened draws tell more than the four numbers, which trade off against each other.
    np.testing.assert_allclose(np.quantile(back - truth, [0.001, 0.999]), 0, atol=0.15)
    lost = np.mean((-0.5 * truth**2 + true_slopes) - (-0.5 * back**2 + slopes), axis=0)
    assert np.abs(lost).max() < 5 * 4 / (2 * 20000)


def test_condensed_draws_have_the_weights_and_mean_of_all():
    draws = np.random.default_rng(1).normal(size=(3000, 2))
    points, weights = condense(draws)
    assert len(points) < 100
    assert weights.sum() == 3000
    np.testing.assert_allclose(weights @ points / 3000, draws.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(weights @ points**2 / 3000, np.mean(draws**2, axis=0), rtol=2e-3)


def test_a_copula_is_found_where_the_bends_lie_outside():
    rng = np.random.default_rng(1)
    z = rng.normal(size=(2000, 3)) @ np.linalg.cholesky(0.8 + 0.2 * np.eye(3)).T
    draws = np.sinh((np.arcsinh(z) + 0.7) / np.array([0.7, 0.9, 1.0]))
    found = fit_warped(draws)
    assert (np.asarray(found.outer_tail) != 1).any()
    assert (np.asarray(found.inner_skew) == 0).all()
    new = rng.normal(size=(2000, 3)) @ np.linalg.cholesky(0.8 + 0.2 * np.eye(3)).T
    new = np.sinh((np.arcsinh(new) + 0.7) / np.array([0.7, 0.9, 1.0]))
    others = [bend_at(place, draws) for place in ("none", "cholesky", "symmetric")]
    best = max(np.mean(log_densities(other, new)) for other in others)
    assert np.mean(log_densities(found, new)) > best


@pytest.mark.usefixtures("x64")
def test_the_numpy_density_is_the_jax_density():
    bend = Bend(
        np.array([0.3, -1.0]), np.array([1.5, 0.7]), np.array([-0.6, 0.4]), np.ones(2) * 0.8
    )
    reference = warped(np.ones(2), np.array([[1.0, 0.4], [-0.3, 0.5]]), 2.0, inner=bend, outer=bend)
    x = np.random.default_rng(1).normal(size=(50, 2)) * 5
    np.testing.assert_allclose(
        log_densities(reference, x), jax.jit(jax.vmap(reference.log_density))(x), rtol=1e-12
    )


@pytest.mark.usefixtures("x64")
def test_the_density_and_its_gradient_are_finite_far_out():
    reference = fit_warped(log_gamma_draws(5, 300, 1))
    x = np.array([1e2, 1e5])[:, None] * np.ones(5)
    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(reference.log_density)))(x)
    assert np.isfinite(values).all()
    assert np.isfinite(slopes).all()


def test_tails_stay_within_their_bounds():
    rng = np.random.default_rng(1)
    wild, flat = rng.standard_cauchy(size=(1000, 1)), rng.uniform(size=(1000, 1))
    found = fit_bends(np.concatenate([wild, flat], axis=1))
    assert found.tail[0] == pytest.approx(0.4)
    assert 1 < found.tail[1] <= 1.6


@pytest.mark.parametrize("count", [2, 30, 41])
def test_few_draws_still_fit(count: int):
    found = fit_warped(np.random.default_rng(1).normal(size=(count, 3)))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


@pytest.mark.parametrize("make", ["integers", "huge", "cauchy", "one moves late"])
def test_odd_draws_still_fit(make: str):
    rng = np.random.default_rng(1)
    draws = {
        "integers": rng.integers(0, 2, size=(200, 3)).astype(float),
        "huge": 1e100 * rng.normal(size=(200, 3)),
        "cauchy": rng.standard_cauchy(size=(200, 3)) ** 3,
        "one moves late": np.where(np.arange(200)[:, None] < 150, 0.0, rng.normal(size=(200, 3))),
    }[make]
    found = fit_warped(draws)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))


def test_constant_draws_are_refused():
    with pytest.raises(ReferenceFitError, match="differ in every coordinate"):
        fit_warped(np.ones((50, 2)))


def test_log_gamma_target_is_what_it_says():
    shapes, mix = log_gamma(5)
    y = log_gamma_draws(5, 20000, 7) @ mix.T
    z = (y.mean(axis=0) - special.digamma(shapes)) / np.sqrt(special.polygamma(1, shapes) / 20000)
    assert np.abs(z).max() < 5


def test_bends_are_straightened_quickly_to_the_same_numbers():
    """The form for thousands of coordinates, its gradient as well, at zero and far out too."""
    rng = np.random.default_rng(5)
    w = np.concatenate([[0.0, 1e-9, -40.0, 1e4], rng.normal(size=60)])
    skew, tail = rng.normal(scale=0.5, size=64), rng.uniform(0.5, 1.5, 64)
    with computing():
        plain, quick = (
            [*form(w, skew, tail), jax.grad(lambda w, f=form: jnp.sum(f(w, skew, tail)[1]))(w)]
            for form in (straighten, straighten_quickly)
        )
    for one, other in zip(plain, quick, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-12)
