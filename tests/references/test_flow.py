"""Flow references: trained on a banana, exact whatever the training; refused without flowjax."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from functools import cache

import flowjax  # noqa: F401  (the tests of flows must fail without it, not skip)
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reference_laws import DRAWS, LAWS, Member, log_densities
from refti.errors import ReferenceFitError
from refti.references import flow
from refti.references.flow import Flow, architecture, fit_flow
from refti.references.gaussian import gaussian
from refti.references.shrinkage import shrunk_factor
from refti.sampling.exact_start import exact_draws


def banana(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=count)
    return np.stack([first, first**2 + 0.5 * rng.normal(size=count)], axis=1)


def log_banana(x: np.ndarray) -> np.ndarray:
    return -0.5 * x[:, 0] ** 2 - 0.5 * ((x[:, 1] - x[:, 0] ** 2) / 0.5) ** 2 - np.log(np.pi)


@cache
def trained() -> Flow:
    return fit_flow(banana(1500, 0), 0)


@pytest.fixture
def short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two epochs; the program of training is that of the long one."""
    monkeypatch.setattr(flow, "TUNING", replace(flow.TUNING, epochs=2))


@jax.jit
def slopes(reference, x):
    return jax.vmap(jax.value_and_grad(reference.log_density))(x)


MEMBER = Member("flow", lambda: replace(trained(), log_z=np.asarray(1.3)))


def log_density(reference, x: np.ndarray) -> np.ndarray:
    return np.asarray(log_densities(reference, jnp.asarray(x)))


def jeffreys(reference) -> float:
    log_z = float(reference.log_z)

    def delta(x: np.ndarray) -> float:
        return float(np.mean(log_banana(x) - log_density(reference, x) + log_z))

    own = np.asarray(exact_draws(reference, jax.random.key(3), DRAWS))
    return delta(banana(DRAWS, 99)) - delta(own)


@pytest.mark.long
@pytest.mark.usefixtures("x64")
def test_a_banana_is_many_times_nearer_than_to_a_gaussian():
    found = jeffreys(trained())
    assert 0 < found < 0.1 * jeffreys(gaussian(*shrunk_factor(banana(1500, 0)), 0.0))


@pytest.mark.long
@pytest.mark.usefixtures("x64", "short_training")
def test_another_fit_runs_the_same_program():
    first, second = trained(), fit_flow(banana(1500, 1), 1)
    assert jax.tree.structure(first) == jax.tree.structure(second)
    known = exact_draws._cache_size()
    exact_draws(first, jax.random.key(0), DRAWS)
    exact_draws(second, jax.random.key(0), DRAWS)
    assert exact_draws._cache_size() <= known + 1


@pytest.mark.usefixtures("short_training")
def test_the_same_seed_trains_the_same_flow():
    first, again, other = (fit_flow(banana(1500, 0), seed) for seed in (0, 0, 1))
    for here, there in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(here, there)
    assert any((a != b).any() for a, b in zip(first.weights, other.weights, strict=True))


def test_comes_back_from_a_pickle():
    found = pickle.loads(pickle.dumps(trained()))
    assert jax.tree.structure(found) == jax.tree.structure(trained())


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_is_under_the_laws_of_all_references(law):
    law(MEMBER)


@pytest.mark.usefixtures("x64")
def test_tails_are_a_gaussians():
    reference = trained()
    for sign in (-1, 1):
        steps = np.asarray(reference.mean) + sign * np.array([1e4, 2e4])[:, None] * np.ones(2)
        values, slope = slopes(reference, jnp.asarray(steps))
        assert values[1] / values[0] == pytest.approx(4, rel=0.01)
        assert np.isfinite(slope).all()


@pytest.mark.long
@pytest.mark.usefixtures("x64")
def test_one_dimension():
    draws = np.log(np.random.default_rng(1).gamma(0.7, size=(1000, 1)))
    reference = fit_flow(draws)
    x = np.linspace(-60, 20, 200001)[:, None]
    mass = np.exp(log_density(reference, x)).sum() * (x[1, 0] - x[0, 0])
    assert mass == pytest.approx(1, abs=1e-5)


def test_few_draws_are_refused():
    with pytest.raises(ReferenceFitError, match="at least 50 draws; got 20"):
        fit_flow(np.random.default_rng(1).normal(size=(20, 2)))


def test_without_flowjax_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "flowjax.flows", None)
    with pytest.raises(ReferenceFitError, match=r'pip install "refti\[flow\]"'):
        architecture.__wrapped__(7)
