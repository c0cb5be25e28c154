"""Supports: round trips, Jacobians against automatic differentiation, densities that normalise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import distributions

import refti
from refti.models.density import QUICK_COMPILE
from refti.models.supports import Support
from targets import grid

pytestmark = pytest.mark.usefixtures("x64")


@dataclass(frozen=True)
class Case:
    """A support, a normalised density on it, and how much of its value is free to vary."""

    name: str
    support: Support
    log_prob: Callable[[jax.Array], jax.Array]
    contains: Callable[[np.ndarray], bool]

    def free(self, value: jax.Array) -> jax.Array:
        """The coordinates with respect to which densities on this support are meant."""
        if self.name.startswith("simplex"):
            return value[:-1]
        if self.name.startswith("correlation"):
            return value[jnp.tril_indices(len(value), -1)]
        return jnp.ravel(value)


def _increasing(value: np.ndarray) -> bool:
    return bool(np.all(np.diff(value) > 0))


def _on_simplex(value: np.ndarray) -> bool:
    return bool(np.all(value > 0)) and abs(value.sum() - 1) < 1e-12


def _cholesky_of_correlation(value: np.ndarray) -> bool:
    square = value @ value.T
    return np.allclose(np.diag(square), 1) and np.allclose(value, np.linalg.cholesky(square))


# The distributions are made when called, that is in 64-bit mode.
CASES = (
    Case(
        "real", refti.real(), lambda v: distributions.Normal(1.0, 2.0).log_prob(v), lambda v: True
    ),
    Case(
        "positive",
        refti.positive(),
        lambda v: distributions.Gamma(2.5, 0.7).log_prob(v),
        lambda v: v > 0,
    ),
    Case(
        "lower",
        refti.lower(-3.0),
        lambda v: distributions.Gamma(2.5, 0.7).log_prob(v + 3),
        lambda v: v > -3,
    ),
    Case(
        "upper",
        refti.upper(4),
        lambda v: distributions.Gamma(1.5, 2.0).log_prob(4 - v),
        lambda v: v < 4,
    ),
    Case(
        "unit",
        refti.interval(0, 1),
        lambda v: distributions.Beta(2.0, 5.0).log_prob(v),
        lambda v: 0 < v < 1,
    ),
    Case(
        "interval",
        refti.interval(2, 5),
        lambda v: distributions.Beta(2.5, 1.5).log_prob((v - 2) / 3) - jnp.log(3.0),
        lambda v: 2 < v < 5,
    ),
    Case(
        "interval[2]",
        refti.interval(-1, 5, shape=(2,)),
        lambda v: jnp.sum(distributions.Beta(2.5, 1.5).log_prob((v + 1) / 6) - jnp.log(6.0)),
        lambda v: bool(np.all((v > -1) & (v < 5))),
    ),
    Case(
        "simplex",
        refti.simplex(3),
        lambda v: distributions.Dirichlet(jnp.array([2.0, 3.0, 4.5])).log_prob(v),
        _on_simplex,
    ),
    Case(
        "ordered",
        refti.ordered(2),
        lambda v: jnp.sum(distributions.Normal(1.0, 2.0).log_prob(v)) + jnp.log(2.0),
        _increasing,
    ),
    Case(
        "correlation",
        refti.correlation_cholesky(2),
        lambda v: distributions.LKJCholesky(2, 1.7).log_prob(v),
        _cholesky_of_correlation,
    ),
)
LARGER = (
    Case(
        "positive[2, 3]",
        refti.positive(shape=(2, 3)),
        lambda v: jnp.sum(v),
        lambda v: bool(np.all(v > 0)),
    ),
    Case("simplex(6)", refti.simplex(6), lambda v: jnp.sum(v), _on_simplex),
    Case("ordered(5)", refti.ordered(5), lambda v: jnp.sum(v), _increasing),
    Case(
        "correlation(4)",
        refti.correlation_cholesky(4),
        lambda v: jnp.sum(v),
        _cholesky_of_correlation,
    ),
)


def named(case: Case) -> str:
    return case.name


def points(case: Case) -> np.ndarray:
    """Five unconstrained points, none of them special."""
    return np.random.default_rng(1).normal(0.3, 1.2, (5, case.support.unconstrained_size))


@pytest.mark.parametrize("case", CASES + LARGER, ids=named)
def test_every_point_maps_into_the_support_and_back(case: Case):
    def there_and_back(x):
        value, _ = case.support.constrain(x)
        return value, case.support.unconstrain(value)

    x = points(case)
    values, back = jax.jit(jax.vmap(there_and_back), compiler_options=QUICK_COMPILE)(jnp.asarray(x))
    assert values.shape == (len(x), *case.support.shape)
    assert all(case.contains(value) for value in np.asarray(values))
    assert back.shape == x.shape
    np.testing.assert_allclose(back, x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES + LARGER, ids=named)
def test_jacobian_is_that_of_the_map(case: Case):
    def matrix_and_claim(x):
        matrix = jax.jacfwd(lambda x: case.free(case.support.constrain(x)[0]))(x)
        return matrix, case.support.constrain(x)[1]

    matrices, claims = jax.jit(jax.vmap(matrix_and_claim), compiler_options=QUICK_COMPILE)(
        jnp.asarray(points(case))
    )
    _, expected = np.linalg.slogdet(np.asarray(matrices))
    np.testing.assert_allclose(claims, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=named)
def test_normalised_density_integrates_to_one_in_unconstrained_space(case: Case):
    def log_density(x):
        value, log_jacobian = case.support.constrain(x)
        return case.log_prob(value) + log_jacobian

    size = case.support.unconstrained_size
    box = np.full(size, 25.0)
    found = grid(log_density, -box, box, 4001 if size == 1 else 701)
    assert found.log_integral == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize(
    ("support", "low", "high"),
    [
        (refti.real(), -np.inf, np.inf),
        (refti.positive(), 0, np.inf),
        (refti.lower(-3), -3, np.inf),
        (refti.upper(4), -np.inf, 4),
        (refti.interval(2, 5), 2, 5),
    ],
)
def test_bounds_are_known_element_by_element(support: Support, low: float, high: float):
    assert support.is_elementwise
    assert (support.lower, support.upper) == (low, high)


@pytest.mark.parametrize(
    "support", [refti.simplex(3), refti.ordered(3), refti.correlation_cholesky(3)]
)
def test_joint_supports_have_no_bounds_of_their_own(support: Support):
    assert not support.is_elementwise


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: refti.interval(2, 2), "low < high"),
        (lambda: refti.interval(5, 2), "got 5.0 and 2.0"),
        (lambda: refti.interval(0, np.inf), "finite bounds"),
        (lambda: refti.lower(np.nan), "finite bounds"),
        (lambda: refti.upper(-np.inf), "refti.real()"),
        (lambda: refti.lower("0"), "finite bounds"),
        (lambda: refti.positive(shape=(2, 0)), "positive whole numbers"),
        (lambda: refti.real(shape=(2.0,)), "positive whole numbers"),
        (lambda: refti.real(shape="3"), "positive whole numbers"),
        (lambda: refti.simplex(1), "at least 2"),
        (lambda: refti.simplex(3.0), "at least 2; got 3.0"),
        (lambda: refti.simplex("3"), "at least 2; got '3'"),
        (lambda: refti.ordered(0), "ordered(size)"),
        (lambda: refti.correlation_cholesky(1), "correlation_cholesky(size)"),
    ],
)
def test_impossible_supports_are_refused(make: Callable[[], Support], words: str):
    with pytest.raises(refti.ModelError) as caught:
        make()
    assert words in str(caught.value)


def test_supports_are_frozen():
    with pytest.raises(AttributeError):
        refti.positive().lower = 1.0
