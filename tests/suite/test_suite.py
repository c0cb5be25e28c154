"""The suite: every evidence once more by another route, and every model fit to start from.

Most targets are normalised by another program: log density minus the log density of the same
distribution in scipy (with the Jacobian by automatic differentiation) is log z at every point.
"""

from __future__ import annotations

from math import log

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import distributions
from scipy import integrate, stats
from scipy.special import logsumexp

import refti
from refti import suite
from refti.suite import bent, conjugate, gaussians, hierarchies, tails
from suite_routes import (
    Route,
    at,
    by_curvature,
    by_grid,
    compared,
    compared_on_support,
    compiled,
    drawn_bananas,
    expansion,
    points,
    settled,
)
from targets import LOG_2_PI, grid

pytestmark = pytest.mark.usefixtures("x64")


def hierarchy_over_tau(target: suite.Target) -> float:
    """log z by curvature of all but tau, and quadrature over log tau."""
    model = target.model()

    def given(log_tau: jax.Array) -> jax.Array:
        def log_density(rest: jax.Array) -> jax.Array:
            return model.density.log_density(jnp.concatenate([rest[:1], log_tau[None], rest[1:]]))

        zero = jnp.zeros(target.dim - 1)
        value, slope = jax.value_and_grad(log_density)(zero)
        precision = -jax.hessian(log_density)(zero)
        volume = 0.5 * ((target.dim - 1) * LOG_2_PI - jnp.linalg.slogdet(precision)[1])
        return value + 0.5 * slope @ jnp.linalg.solve(precision, slope) + volume

    log_tau = np.linspace(-30.0, 5.0, 1501)
    masses = compiled(jax.vmap(given))(jnp.asarray(log_tau))
    return float(logsumexp(np.asarray(masses))) + log(log_tau[1] - log_tau[0])


def one_by_one(target: suite.Target) -> float:
    """log z of independent coordinates, each by quadrature with the others at 0."""
    model = target.model()
    (at_zero,) = at(model.log_density, np.zeros((1, target.dim)))
    t = np.linspace(-12.0, 12.0, 4001)
    rows = np.zeros((target.dim, len(t), target.dim))
    rows[np.arange(target.dim), :, np.arange(target.dim)] = t
    values = at(jax.vmap(model.log_density), rows)
    masses = logsumexp(values - at_zero, axis=1) + log(t[1] - t[0])
    return at_zero + float(masses.sum())


def log_gamma_density(x: np.ndarray) -> float:
    return float(stats.loggamma(tails.SHAPES).logpdf(x).sum())


def skewed_route(target: suite.Target) -> float:
    """log z by y = mix @ x: at x = 0 the curvature is mix.T @ mix, so it tells the volume."""
    model = target.model()
    value, _, gram = expansion(model, np.zeros(target.dim))
    normalised = stats.loggamma(np.linspace(1.0, 5.0, target.dim)).logpdf(0.0).sum()
    return value - float(normalised) - 0.5 * float(np.linalg.slogdet(gram)[1])


def student_independent_density(x: np.ndarray) -> float:
    centre, scale = np.linspace(-2.0, 3.0, 5), np.geomspace(0.3, 4.0, 5)
    return float(stats.t(3, centre, scale).logpdf(x).sum())


def student_multivariate_route(target: suite.Target) -> float:
    """log z beside scipy's density, its shape matrix from the curvature at the centre."""
    model = target.model()
    centre = np.linspace(2.0, -1.0, target.dim)
    # -(3 + dim) / 2 log(1 + u' S^-1 u / 3) has the curvature (3 + dim) / 3 S^-1 at its centre.
    shape = np.linalg.inv(expansion(model, centre)[2]) * (3 + target.dim) / 3
    x = points(target)
    return settled(at(model.log_density, x) - stats.multivariate_t(centre, shape, df=3).logpdf(x))


def cut_density(x: np.ndarray) -> float:
    """A truncated normal of x[0], and the others given it from the joint covariance."""
    covariance = bent.CUT_FACTOR @ bent.CUT_FACTOR.T
    scale = covariance[0, 0] ** 0.5
    first = stats.truncnorm(bent.CUT / scale, np.inf, 0, scale).logpdf(x[0])
    slope = covariance[1:, 0] / covariance[0, 0]
    rest = covariance[1:, 1:] - np.outer(slope, covariance[0, 1:])
    return float(first + stats.multivariate_normal(slope * x[0], rest).logpdf(x[1:]))


def cut_route(target: suite.Target) -> float:
    """log z inside the cut, beyond which the density is what the target's name says."""
    model, x = target.model(), points(target)
    inside = x[x[:, 0] > bent.CUT]
    assert len(inside) > 3
    (beyond,) = at(model.log_density, np.array([[bent.CUT - 1e-6, 0, 0, 0, 0]]))
    assert np.isnan(beyond) if target.name.endswith("nan") else beyond == -np.inf
    return settled(at(model.log_density, inside) - [cut_density(one) for one in inside])


def mixture_density(x: np.ndarray) -> float:
    """The equal mixture in ten dimensions, 30 apart."""
    direction = np.linspace(1, 2, 10) / np.linalg.norm(np.linspace(1, 2, 10))
    first = stats.multivariate_normal(-12 * direction, np.eye(10)).logpdf(x)
    second = stats.multivariate_normal(18 * direction, np.diag(np.geomspace(0.7, 1.4, 10) ** 2))
    return float(np.logaddexp(first, second.logpdf(x))) + log(0.5)


def bounded_density(values: dict[str, np.ndarray]) -> float:
    return float(
        stats.halfnorm(scale=0.8).logpdf(values["scale"])
        + stats.gamma(3, scale=2).logpdf(values["above"] - 1)
        + stats.gamma(2.5, scale=0.5).logpdf(3 - values["below"])
        + stats.beta(2.5, 1.5, 2, 3).logpdf(values["share"]).sum()
    )


def dirichlet_density(values: dict[str, np.ndarray]) -> float:
    p = np.asarray(values["p"], dtype=np.float64)
    return float(stats.dirichlet(np.linspace(0.7, 5.0, len(p))).logpdf(p / p.sum()))


def below_diagonal(values: dict[str, jax.Array]) -> jax.Array:
    return values["factor"][np.tril_indices(3, -1)]


def responses_as_student(target: suite.Target) -> float:
    """The responses of a regression with unknown noise are a multivariate Student-t."""
    design, responses = conjugate._data(4, 25)
    scale = np.array([2.0, 1.0, 0.5, 3.0])
    shape = conjugate.RATE / conjugate.SHAPE * (np.eye(25) + (design * scale**2) @ design.T)
    return float(
        stats.multivariate_t(np.zeros(25), shape, df=2 * conjugate.SHAPE).logpdf(responses)
    )


def negative_binomial(target: suite.Target) -> float:
    """Counts whose rates are Gamma are negative binomial."""
    chance = conjugate.RATES / (conjugate.RATES + conjugate.EXPOSURES)
    return float(stats.nbinom(conjugate.SHAPES, chance).logpmf(conjugate.COUNTS).sum())


ROUTES: dict[str, Route] = {
    "gaussian": by_curvature,
    "gaussian_scales": by_curvature,
    "ar1_50": by_curvature,
    "ar1_200": by_curvature,
    "ar1_500": by_curvature,
    "regression_6": by_curvature,
    "regression_60": by_curvature,
    "regression_noise": responses_as_student,
    "poisson_gamma": negative_binomial,
    "log_gamma": compared(log_gamma_density),
    "log_gamma_plus_1000000": compared(log_gamma_density),
    "log_gamma_minus_1000000": compared(log_gamma_density),
    "skewed_20": skewed_route,
    "skewed_100": skewed_route,
    "quartic_20": one_by_one,
    "quartic_60": one_by_one,
    "student_independent": compared(student_independent_density),
    "student_multivariate": student_multivariate_route,
    "beta_on_2_5": by_grid([-60.0], [60.0], 60_001),
    "beta_half": by_grid([-80.0], [80.0], 80_001),
    "bounded": compared_on_support(
        bounded_density, lambda v: jnp.concatenate([jnp.ravel(value) for value in v.values()])
    ),
    "dirichlet_4": compared_on_support(dirichlet_density, lambda v: v["p"][:-1]),
    "dirichlet_20": compared_on_support(dirichlet_density, lambda v: v["p"][:-1]),
    "ordered": compared_on_support(
        lambda v: float(stats.norm(1, 2).logpdf(v["c"]).sum()) + log(6), lambda v: v["c"]
    ),
    "lkj": compared_on_support(
        lambda v: float(distributions.LKJCholesky(3, 1.7).log_prob(jnp.asarray(v["factor"]))),
        below_diagonal,
    ),
    "cut_gaussian": cut_route,
    "cut_gaussian_nan": cut_route,
    "hierarchy_centred": by_curvature,
    "hierarchy_non_centred": by_curvature,
    "hierarchy_scale": hierarchy_over_tau,
    "banana_2": by_grid([-70.0, -70.0], [70.0, 70.0], 701),
    "banana_10": drawn_bananas,
    "bimodal_2d_3sd_50": by_grid([-12.0, -12.0], [12.0, 12.0], 401),
    "bimodal_2d_10sd_90": by_grid([-14.0, -14.0], [16.0, 16.0], 601),
    "bimodal_10d_30sd_50": compared(mixture_density),
}


@pytest.mark.parametrize("target", suite.EASY, ids=str)
def test_evidence_by_another_route(target: suite.Target):
    assert ROUTES[target.name](target) == pytest.approx(target.log_z, abs=1e-7, rel=1e-13)


@pytest.mark.parametrize("target", suite.TARGETS, ids=str)
def test_model_begins_where_its_density_and_slope_are_finite(target: suite.Target):
    model = target.model()
    assert isinstance(model, refti.Model)
    assert model.dim == target.dim
    value, slope = compiled(jax.value_and_grad(model.log_density))(jnp.asarray(model.start))
    assert np.isfinite(value)
    assert np.all(np.isfinite(slope))
    assert target.modes >= 1
    assert target.about


def test_the_suite_is_wide():
    names = [target.name for target in suite.TARGETS]
    assert len(set(names)) == len(names) >= 90
    dims = [target.dim for target in suite.TARGETS]
    assert min(dims) == 1
    assert max(dims) == 500
    assert suite.TARGETS == suite.EASY + suite.HARD
    assert list(ROUTES) == [target.name for target in suite.EASY]


def test_a_gaussian_has_the_evidence_of_its_covariance():
    covariance = gaussians.GAUSSIAN_FACTOR @ gaussians.GAUSSIAN_FACTOR.T
    at_mean = stats.multivariate_normal(np.zeros(3), covariance).logpdf(np.zeros(3))
    exact = gaussians.GAUSSIAN_HEIGHT - at_mean
    assert suite.find("gaussian").log_z == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_ar1_has_its_correlations(dim: int):
    target = suite.ar1(dim, 0.6)
    precision = expansion(target.model(), np.zeros(dim))[2]
    steps = np.abs(np.subtract.outer(np.arange(dim), np.arange(dim)))
    scale = np.linspace(0.5, 2.0, dim)
    expected = np.outer(scale, scale) * 0.6**steps
    np.testing.assert_allclose(np.linalg.inv(precision), expected, atol=1e-12)
    assert by_curvature(target) == pytest.approx(target.log_z, abs=1e-9)


def test_hierarchy_by_plain_quadrature():
    """The unknown scale integrated by scipy over the joint density of the measurements."""
    ones = np.ones((hierarchies.GROUPS, hierarchies.GROUPS))

    def integrand(tau: float) -> float:
        spread = np.diag(hierarchies.ERRORS**2 + tau**2) + 1e4 * ones
        density = stats.multivariate_normal(np.zeros(hierarchies.GROUPS), spread)
        return stats.halfnorm(scale=10).pdf(tau) * np.exp(density.logpdf(hierarchies.MEASURED) + 45)

    value, _ = integrate.quad(integrand, 0, 90, epsabs=1e-12, limit=200)
    assert suite.find("hierarchy_scale").log_z == pytest.approx(log(value) - 45, abs=1e-8)


def test_weights_of_a_mixture():
    target = suite.bimodal(1, 8.0, 0.9)
    whole = grid(target.model().log_density, np.array([-15.0]), np.array([17.0]), 4001)
    assert whole.log_integral == pytest.approx(target.log_z, abs=1e-9)
    left = whole.shares[whole.points[:, 0] < 0.8].sum()
    assert left == pytest.approx(0.9, abs=1e-4)


def test_an_unknown_name_is_told_with_near_ones():
    with pytest.raises(refti.ModelError, match="skewed_20"):
        suite.find("skewed_21")
    with pytest.raises(refti.ModelError, match="Known: gaussian, "):
        suite.find("zzzz")
