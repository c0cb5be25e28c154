"""Every family of references under the laws that hold of all: one table of members.

A new family is under them by its row in the registry; a row here is for a member that is special.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest
from scipy.special import logsumexp

import refti
from reference_laws import (
    DRAWS,
    LAWS,
    LAWS_ON_A_GRID,
    TOO_FAR,
    Member,
    log_densities,
    small_draws,
    small_inputs,
    small_model,
)
from refti.references import registry
from refti.references.base import Reference
from refti.references.flow import fit_flow
from refti.references.gaussian import gaussian
from refti.references.low_rank import low_rank
from refti.references.mixture import mixture
from refti.references.sinh_arcsinh import Bend
from refti.references.student import student
from refti.references.truncated import truncated
from refti.references.warped import warped
from refti.sampling.exact_start import exact_draws

pytestmark = pytest.mark.usefixtures("x64")


@cache
def fitted(family: str) -> Reference:
    return registry.fit(family, small_inputs())


def bounded(name: str, *supports: refti.supports.Support, mean: list[float], scale: list[float]):
    """A truncated Gaussian in the space of a model of its own."""

    @cache
    def model() -> refti.Model:
        named = {f"p{i}": support for i, support in enumerate(supports)}
        return refti.Model(lambda p: sum(-(value**2) for value in p.values()), named)

    return Member(name, lambda: truncated(model(), np.array(mean), np.array(scale), 0.6), model)


def five_dimensional(*, diagonal: bool) -> Reference:
    rng = np.random.default_rng(2)
    factor = np.tril(0.4 * rng.normal(size=(5, 5)), -1) + np.diag([0.1, 0.5, 1.0, 2.0, 0.7])
    mean = np.array([1.0, -2.0, 0.5, 30.0, 0.0])
    return gaussian(mean, np.diag(factor) if diagonal else factor, -2.0)


def bend(*coordinates: tuple[float, float, float, float]) -> Bend:
    """A bend of each coordinate's location, scale, skew and tail."""
    return Bend(*np.array(coordinates).T)


MEAN, FACTOR = np.array([3.0, -1.0]), np.array([[0.5, 0.0], [1.2, 0.4]])
BENT = bend((0.3, 1.5, -0.6, 0.8), (-1.0, 0.7, 0.4, 1.2))
MILD = bend((0.3, 1.5, -0.2, 0.95), (-1.0, 0.7, 0.2, 1.1))
TURN = np.array([[0.8, -0.6], [0.6, 0.8]])


def two_normals() -> Reference:
    means = np.array([[0.0, 1.0], [4.0, -3.0]])
    factors = np.array([[[0.6, 0.0], [0.5, 0.8]], [[1.1, 0.0], [-0.4, 0.5]]])
    return mixture(np.log([0.7, 0.3]), means, factors, 1.3)


def five_dimensional_warped() -> Reference:
    rng = np.random.default_rng(2)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0] * [0.1, 0.5, 1.0, 2.0, 0.7]
    skews, tails = np.linspace(-0.3, 0.4, 5), np.linspace(0.9, 1.2, 5)
    inner = Bend(np.zeros(5), np.ones(5), skews, tails)
    outer = Bend(np.arange(5.0), np.linspace(0.5, 2, 5), np.full(5, 0.1), np.ones(5))
    return warped(np.linspace(-1, 1, 5), turn, 0.8, inner=inner, outer=outer)


def five_dimensional_low_rank() -> Reference:
    rng = np.random.default_rng(2)
    deviations = np.array([0.1, 0.5, 1.0, 2.0, 0.7])
    return low_rank(np.arange(5.0), deviations, rng.normal(size=(5, 2)), 0.8)


def five_dimensional_mixture() -> Reference:
    rng = np.random.default_rng(2)
    factors = np.tril(0.3 * rng.normal(size=(3, 5, 5)), -1) + np.eye(5)
    return mixture(np.log([0.2, 0.3, 0.5]), rng.normal(size=(3, 5)), factors, 0.8)


MEMBERS = (
    Member(
        "gaussian",
        lambda: gaussian(np.array([3.0, -1.0]), np.array([[0.5, 0.0], [1.2, 0.2]]), 1.7),
    ),
    Member("gaussian 1-d", lambda: gaussian(np.array([-3.0]), np.array([[0.05]]), -4.0)),
    Member("diagonal", lambda: gaussian(np.array([3.0, -1.0]), np.array([0.5, 2.0]), 1.7)),
    bounded("mean outside", refti.positive(), mean=[-1.0], scale=[0.7]),
    bounded(
        "mixed bounds",
        *(refti.interval(0, 1), refti.upper(3.0)),
        mean=[0.9, 1.0],
        scale=[0.3, 2.0],
    ),
    *(
        Member(f"fitted {family}", lambda family=family: fitted(family))
        for family in registry.FAMILIES
        if family != "flow"  # whose kinks the grid resolves less well: below
    ),
    Member("student", lambda: student(MEAN, FACTOR, 8.0, 0.6), reach=50),
    Member("warped outside", lambda: warped(np.zeros(2), FACTOR, 0.6, outer=BENT)),
    Member("warped inside", lambda: warped(MEAN, TURN * [0.5, 2.0], 0.6, inner=BENT)),
    Member("warped twice", lambda: warped(np.zeros(2), TURN, 0.6, inner=MILD, outer=MILD)),
    Member(
        "warped 1-d",
        lambda: warped(np.ones(1), np.array([[-2.0]]), 0.6, inner=bend((0.0, 1.0, 0.5, 0.7))),
    ),
    Member("mixture", two_normals, reach=10),
    Member(
        "low rank",
        lambda: low_rank(MEAN, np.array([0.3, 0.8]), np.array([[0.7, 0.0], [-1.5, 0.2]]), 0.6),
    ),
)
# Training takes half a minute.
FLOW = pytest.param(
    Member(
        "fitted flow",
        lambda: replace(fit_flow(small_draws(1000), 0), log_z=np.asarray(1.3)),
        reach=10,
        tolerance=1e-3,
    ),
    marks=pytest.mark.long,
)
HIGHER_GAUSSIANS = (
    Member("gaussian 5-d", lambda: five_dimensional(diagonal=False)),
    Member("diagonal 5-d", lambda: five_dimensional(diagonal=True)),
)
HIGHER = (
    *HIGHER_GAUSSIANS,
    Member("warped 5-d", five_dimensional_warped),
    Member("mixture 5-d", five_dimensional_mixture),
    Member("low rank 5-d", five_dimensional_low_rank),
)


def name_of(law: Callable[[Member], None]) -> str:
    return law.__name__


@pytest.mark.parametrize("law", LAWS_ON_A_GRID, ids=name_of)
@pytest.mark.parametrize("member", [*MEMBERS, FLOW], ids=str)
def test_on_a_grid(member: Member, law: Callable[[Member], None]):
    law(member)


@pytest.mark.parametrize("law", LAWS, ids=name_of)
@pytest.mark.parametrize("member", [*MEMBERS, *HIGHER, FLOW], ids=str)
def test_anywhere(member: Member, law: Callable[[Member], None]):
    law(member)


@pytest.mark.parametrize("member", HIGHER, ids=str)
def test_log_z_agrees_with_importance_from_another_reference(member: Member):
    x = member.draws
    other = gaussian(x.mean(axis=0) + 0.1 * x.std(axis=0), 1.2 * np.linalg.cholesky(np.cov(x.T)), 0)
    at = np.asarray(exact_draws(other, jax.random.key(5), DRAWS))
    log_weights = member.log_density(at) - np.asarray(log_densities(other, at))
    found = logsumexp(log_weights) - np.log(DRAWS) + float(other.log_z)
    weights = np.exp(log_weights - log_weights.max())
    error = weights.std() / weights.mean() / np.sqrt(DRAWS)
    assert error < 0.05
    assert abs(found - float(member.reference.log_z)) < TOO_FAR * error


@pytest.mark.parametrize("member", HIGHER_GAUSSIANS, ids=str)
def test_mean_and_covariance_of_draws(member: Member):
    factor = np.asarray(member.reference.factor)
    factor = np.diag(factor) if factor.ndim == 1 else factor
    white = np.linalg.solve(factor, (member.draws - np.asarray(member.reference.mean)).T)
    z_mean = white.mean(axis=1) * np.sqrt(DRAWS)
    products = white @ white.T / DRAWS - np.eye(5)
    z_products = products * np.sqrt(DRAWS) / np.where(np.eye(5), np.sqrt(2), 1)
    assert np.abs(z_mean).max() < TOO_FAR
    assert np.abs(z_products).max() < TOO_FAR


# The pilot runs the program of these before they are fitted; others have their own shapes.
COMPILED_BEFORE_FITTED = (
    *("laplace", "covariance", "diagonal", "variational", "variational_diagonal", "truncated"),
)


@pytest.mark.parametrize("family", COMPILED_BEFORE_FITTED)
def test_placeholder_compiles_what_the_fitted_member_runs(family: str):
    log_densities(registry.placeholder(family, small_model()), np.zeros((1, 2)))
    known = log_densities._cache_size()
    log_densities(fitted(family), np.zeros((1, 2)))
    assert log_densities._cache_size() == known
