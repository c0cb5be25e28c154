"""Fitting references: exact where the target is of the family, honest where it cannot be fitted.

z-scores with fixed seeds; a bound of 4 is a false alarm once in 16,000.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

import refti
from refti.cli.main import commands
from refti.references import registry, truncated
from refti.references.covariance import sampled_covariance
from refti.references.family import FitInputs
from refti.references.gaussian import Gaussian
from refti.references.laplace import expand_at_mode
from refti.references.variational import variational
from refti.sampling.exact_start import exact_draws
from refti.search.mode import Mode, find_mode
from targets import (
    GAUSSIAN_FACTOR,
    GAUSSIAN_MEAN,
    SHAPES,
    TARGETS,
    cut_gaussian,
    dirichlet,
    evaluate,
    gaussian,
    lkj,
    log_gamma,
    ordered,
    product,
)

pytestmark = pytest.mark.usefixtures("x64")

SETTINGS_PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
LOG_Z = {target.name: target.log_z for target in TARGETS}
GAUSSIAN_COVARIANCE = GAUSSIAN_FACTOR @ GAUSSIAN_FACTOR.T
NO_MODE = Mode(np.zeros(4), 0.0, np.eye(4), 0.0)  # for fits that do not look at it


def covariance(reference: Gaussian) -> np.ndarray:
    factor = np.asarray(reference.factor)
    return np.diag(factor**2) if factor.ndim == 1 else factor @ factor.T


def log_gamma_draws(count: int) -> np.ndarray:
    return np.log(np.random.default_rng(7).gamma(SHAPES, size=(count, 3)))


def gaussian_draws(count: int) -> np.ndarray:
    noise = np.random.default_rng(7).normal(size=(count, 3))
    return GAUSSIAN_MEAN + noise @ GAUSSIAN_FACTOR.T


class TestTaylorAtTheMode:
    """The Gaussian of the second-order expansion."""

    def test_of_a_gaussian_is_that_gaussian(self):
        reference = expand_at_mode(find_mode(evaluate(gaussian()), np.zeros(3)))
        np.testing.assert_allclose(reference.mean, GAUSSIAN_MEAN, atol=1e-6)
        np.testing.assert_allclose(covariance(reference), GAUSSIAN_COVARIANCE, rtol=1e-6)
        assert float(reference.log_z) == pytest.approx(LOG_Z["gaussian"], abs=1e-6)

    def test_of_a_skewed_density_has_its_mode_and_curvature(self):
        # At the mode exp(x) = a, where the second derivative is -a and the density a log a - a.
        reference = expand_at_mode(find_mode(evaluate(log_gamma()), np.zeros(3)))
        np.testing.assert_allclose(reference.mean, np.log(SHAPES), atol=1e-5)
        np.testing.assert_allclose(covariance(reference), np.diag(1 / SHAPES), atol=1e-5)
        height = float(np.sum(SHAPES * np.log(SHAPES) - SHAPES))
        expected = height + 1.5 * np.log(2 * np.pi) - 0.5 * np.sum(np.log(SHAPES))
        assert float(reference.log_z) == pytest.approx(expected, abs=1e-5)

    @pytest.mark.parametrize("scale", [1e-4, 1e4])
    def test_of_a_gaussian_of_any_scale(self, scale: float):
        model = refti.Model(lambda x: -0.5 * jnp.sum(((x - 3 * scale) / scale) ** 2), dim=2)
        reference = expand_at_mode(find_mode(evaluate(model), np.zeros(2)))
        assert float(reference.log_z) == pytest.approx(np.log(2 * np.pi * scale**2), abs=1e-5)

    @pytest.mark.parametrize(
        "log_density",
        [
            lambda x: -0.5 * jnp.sqrt(jnp.abs(x[0] - 4)) - 0.5 * (x[0] - 4) ** 4,
            lambda x: -jnp.abs(x[0] - 1),
        ],
        ids=["cusp", "kink"],
    )
    def test_of_a_cusp_is_refused(self, log_density):
        mode = find_mode(evaluate(refti.Model(log_density, dim=1)), np.array([0.5]))
        with pytest.raises(refti.ReferenceFitError, match="cusp") as caught:
            expand_at_mode(mode)
        assert "reference='covariance'" in str(caught.value)

    def test_of_a_saddle_is_refused(self):
        saddle = Mode(np.zeros(2), 0.0, np.diag([-1.0, 0.5]), 0.0)
        with pytest.raises(refti.ReferenceFitError, match=r"eigenvalue is 0\.5") as caught:
            expand_at_mode(saddle)
        assert "reference='covariance'" in str(caught.value)

    def test_of_a_flat_direction_is_refused(self):
        model = refti.Model(lambda x: -0.5 * (x[0] - 1) ** 2 + 0 * x[1], dim=2)
        with pytest.raises(refti.ReferenceFitError, match="eigenvalue"):
            expand_at_mode(find_mode(evaluate(model), np.zeros(2)))

    def test_of_a_mode_without_curvature_is_refused(self):
        model = refti.Model(lambda x: -jnp.sum((x - 1) ** 4), dim=2)
        with pytest.raises(refti.ReferenceFitError, match=r"second derivatives|eigenvalue"):
            expand_at_mode(find_mode(evaluate(model), np.zeros(2)))


class TestSampledCovariance:
    """The Gaussian of the draws' moments."""

    def test_has_the_moments_of_many_draws(self):
        count = 20000
        reference = sampled_covariance(gaussian_draws(count), evaluate(gaussian()))
        whitened = np.linalg.solve(GAUSSIAN_FACTOR, np.asarray(reference.mean) - GAUSSIAN_MEAN)
        assert np.abs(whitened).max() * np.sqrt(count) < 4
        inverse = np.linalg.inv(GAUSSIAN_FACTOR)
        identity = inverse @ covariance(reference) @ inverse.T
        # The largest of these has a standard error of sqrt(2 / count).
        assert np.abs(identity - np.eye(3)).max() < 4 * np.sqrt(2 / count) + 3 / count

    def test_is_as_high_as_the_density_at_the_mean(self):
        both = evaluate(log_gamma())
        reference = sampled_covariance(log_gamma_draws(500), both)
        height, _ = both(np.asarray(reference.mean)[None])
        assert float(reference.log_height) == pytest.approx(height[0], abs=1e-12)

    def test_diagonal_keeps_the_variances_alone(self):
        draws = gaussian_draws(500)
        reference = sampled_covariance(draws, evaluate(gaussian()), diagonal=True)
        assert reference.factor.ndim == 1
        np.testing.assert_allclose(covariance(reference), np.diag(draws.var(axis=0)), rtol=1e-12)

    def test_with_fewer_draws_than_dimensions_is_positive_definite(self):
        scale = 10.0 ** np.linspace(-3, 3, 50)
        draws = scale * np.random.default_rng(3).normal(size=(30, 50))

        def standard_normal(x):
            return -0.5 * np.sum((x / scale) ** 2, axis=1), -x / scale**2

        reference = sampled_covariance(draws, standard_normal)
        assert np.isfinite(covariance(reference)).all()
        correlation = covariance(reference) / np.outer(scale, scale)
        smallest = np.linalg.eigvalsh(correlation)[0]
        assert smallest > 0.1
        assert np.isfinite(float(reference.log_z))
        x = np.asarray(exact_draws(reference, jax.random.key(0), 100))
        assert np.isfinite(np.asarray(jax.vmap(reference.log_density)(x))).all()

    @pytest.mark.parametrize("constant", [0.0, 1.0, 0.1, np.pi, -1e5 / 3])
    @pytest.mark.parametrize("diagonal", [False, True])
    def test_constant_coordinate_is_refused(self, constant: float, diagonal: bool):
        draws = gaussian_draws(30)
        draws[:, 1] = constant
        with pytest.raises(refti.ReferenceFitError, match="2 of 3 coordinates varying"):
            sampled_covariance(draws, evaluate(gaussian()), diagonal=diagonal)

    def test_one_draw_is_refused(self):
        with pytest.raises(refti.ReferenceFitError, match="got 1 draws"):
            sampled_covariance(gaussian_draws(1), evaluate(gaussian()))

    def test_of_a_cut_density_whose_mean_is_outside_is_still_a_reference(self):
        draws = np.array([[0.31, 0.0], [0.31, 1.0], [-3.0, 0.3]])
        reference = sampled_covariance(draws, evaluate(cut_gaussian()))
        assert float(reference.log_height) == 0


def bound_samples(reference: Gaussian, both, key: int) -> np.ndarray:
    """log z_ref + log q - log q_ref at fresh draws, whose mean bounds log z from below."""
    x = np.asarray(exact_draws(reference, jax.random.key(key), 20000))
    own = np.asarray(jax.jit(jax.vmap(reference.log_density))(x))
    return float(reference.log_z) + both(x)[0] - own


class TestVariational:
    """The Gaussian with the highest bound on log z."""

    def test_on_a_gaussian_recovers_it(self):
        both = evaluate(gaussian())
        start = sampled_covariance(gaussian_draws(60), both)
        reference = variational(start, both)
        np.testing.assert_allclose(reference.mean, GAUSSIAN_MEAN, atol=1e-4)
        np.testing.assert_allclose(covariance(reference), GAUSSIAN_COVARIANCE, rtol=1e-3)
        assert float(reference.log_z) == pytest.approx(LOG_Z["gaussian"], abs=1e-4)

    def test_diagonal_on_a_gaussian_has_the_inverse_of_the_precisions(self):
        # The best diagonal Gaussian's variances are the inverses of the precision's diagonal.
        both = evaluate(gaussian())
        start = sampled_covariance(gaussian_draws(500), both, diagonal=True)
        reference = variational(start, both, diagonal=True)
        assert reference.factor.ndim == 1
        expected = 1 / np.diag(np.linalg.inv(GAUSSIAN_COVARIANCE))
        np.testing.assert_allclose(np.diag(covariance(reference)), expected, rtol=0.1)
        np.testing.assert_allclose(
            reference.mean, GAUSSIAN_MEAN, atol=0.3 * np.sqrt(expected).max()
        )

    @pytest.mark.parametrize("diagonal", [False, True])
    def test_on_a_skewed_density_bounds_log_z_better_than_the_covariance(self, diagonal: bool):
        both = evaluate(log_gamma())
        start = sampled_covariance(log_gamma_draws(2000), both, diagonal=diagonal)
        found = variational(start, both, diagonal=diagonal)
        bound, worse = (bound_samples(reference, both, 9) for reference in (found, start))
        error = bound.std() / np.sqrt(len(bound))
        assert error < 0.02
        assert bound.mean() < LOG_Z["log_gamma"] + 4 * error
        # The gap to log z of the best Gaussian is small, and real.
        assert LOG_Z["log_gamma"] - 0.5 < bound.mean() < LOG_Z["log_gamma"] - 0.01
        gain = bound - worse
        assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))

    def test_with_an_undeclared_edge_is_refused_with_advice(self):
        both = evaluate(cut_gaussian())
        draws = np.random.default_rng(1).normal(0.8, 0.3, (200, 2))
        start = sampled_covariance(draws, both)
        with pytest.raises(refti.ReferenceFitError) as caught:
            variational(start, both)
        assert "Declare the bound as a support" in str(caught.value)
        assert "refti.positive()" in str(caught.value)


class TestTruncated:
    """The diagonal Gaussian cut at the parameters' bounds."""

    def test_has_the_moments_of_the_constrained_draws(self):
        model = product()
        x = np.random.default_rng(2).normal(0.2, 0.5, (400, 4))
        both = evaluate(model)
        reference = truncated.fit(FitInputs(model, both, NO_MODE, x))
        theta = np.stack(
            [np.exp(x[:, 0]), *(2 + 3 / (1 + np.exp(-x[:, i])) for i in (1, 2)), x[:, 3]], axis=1
        )
        np.testing.assert_allclose(reference.mean, theta.mean(axis=0), rtol=1e-9)
        np.testing.assert_allclose(reference.scale, theta.std(axis=0), rtol=1e-9)
        np.testing.assert_array_equal(reference.lower, [0, 2, 2, -np.inf])
        np.testing.assert_array_equal(reference.upper, [np.inf, 5, 5, np.inf])

    def test_is_as_high_as_the_density_at_the_mean(self):
        model = product()
        both = evaluate(model)
        x = np.random.default_rng(2).normal(size=(400, 4))
        reference = truncated.fit(FitInputs(model, both, NO_MODE, x))
        centre = np.asarray(model.supported_space.unconstrain_flat(reference.mean))
        height, _ = both(centre[None])
        assert float(reference.log_density(jnp.asarray(centre))) == pytest.approx(height[0])

    def test_of_draws_that_do_not_differ_is_refused(self):
        x = np.random.default_rng(2).normal(size=(40, 4))
        x[:, 2] = 0.1
        with pytest.raises(refti.ReferenceFitError, match="3 of 4 coordinates varying"):
            truncated.fit(FitInputs(product(), evaluate(product()), NO_MODE, x))

    @pytest.mark.parametrize("make", [dirichlet, ordered, lkj])
    def test_refuses_joint_supports_before_any_compute(self, make):
        model = make()
        (name,) = model.parameters
        with pytest.raises(refti.ReferenceFitError) as caught:
            refti.evidence(model, reference="truncated", progress=_must_not_run)
        assert f"got {name} with a joint support" in str(caught.value)
        assert "reference='covariance'" in str(caught.value)


@pytest.mark.parametrize("family", ["auto", *registry.FAMILIES])
def test_every_family_is_named_where_users_look_for_it(family: str, help_of_run: str):
    assert f'"{family}"' in refti.evidence.__doc__
    assert f'`"{family}"`' in SETTINGS_PAGE.read_text()
    assert re.search(rf"\b{family}\b", help_of_run)


@pytest.fixture(scope="module")
def help_of_run() -> str:
    return CliRunner().invoke(commands, ["run", "--help"]).stdout


@pytest.mark.parametrize("name", ["auto", "low_rank", "diagonal", "student"])
def test_placeholder_has_no_matrix_in_thousands_of_dimensions(name: str):
    model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=20_000)
    leaves = jax.tree.leaves(registry.placeholder(name, model))
    assert max(leaf.size for leaf in leaves) == 20_000


def test_unknown_family_is_refused():
    with pytest.raises(refti.ReferenceFitError, match="no reference family"):
        registry.fit(
            "spline", FitInputs(gaussian(), evaluate(gaussian()), NO_MODE, np.zeros((9, 3)))
        )


def test_what_linear_algebra_cannot_do_is_a_fit_that_failed(monkeypatch: pytest.MonkeyPatch):
    # Runs go on with another family where a fit fails.
    def fit(inputs: FitInputs) -> Gaussian:
        return Gaussian(np.zeros(3), np.linalg.cholesky(-np.eye(3)))

    row = dataclasses.replace(registry.FAMILIES["covariance"], fit=fit)
    monkeypatch.setitem(registry.FAMILIES, "covariance", row)
    inputs = FitInputs(gaussian(), evaluate(gaussian()), NO_MODE, np.zeros((9, 3)))
    with pytest.raises(refti.ReferenceFitError, match="'covariance' cannot be fitted"):
        registry.fit("covariance", inputs)


def _must_not_run(stage: str, done: int, total: int) -> None:
    raise AssertionError("sampling began")
