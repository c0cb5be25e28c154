"""Densities keep their digits next to bounds, and are the same as before everywhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from jax.scipy.special import logit, xlog1py, xlogy
from jax.scipy.stats import beta as scipy_beta
from numpyro import distributions
from scipy.special import betaln, gammaln

import refti
from refti import suite
from refti.models import user_functions
from refti.models.batching import log_densities

A, B = 0.05, 0.3
INTERVAL = {"p": refti.interval(0, 1)}
COORDINATES = np.array([-900.0, -300.0, -36.0, -1.0, 0.3, 5.0, 36.0, 40.0, 300.0, 900.0])


def log_sigmoid(x: np.ndarray) -> np.ndarray:
    return -np.logaddexp(0, -x)


def log_beta(x: np.ndarray) -> np.ndarray:
    """p^(A - 1) (1 - p)^(B - 1) of p = sigmoid(x), Jacobian included."""
    return A * log_sigmoid(x) + B * log_sigmoid(-x)


def split_bernoulli(p: Any) -> Any:
    one, zero = (distributions.Bernoulli(p).log_prob(jnp.array(y)) for y in (1.0, 0.0))
    return (A - 1) * one + (B - 1) * zero


WRITTEN = {
    "log(1 - p)": lambda p: (A - 1) * jnp.log(p) + (B - 1) * jnp.log(1 - p),
    "log1p(-p)": lambda p: (A - 1) * jnp.log(p) + (B - 1) * jnp.log1p(-p),
    "xlogy": lambda p: xlogy(A - 1, p) + xlog1py(B - 1, -p),
    "product": lambda p: (A - B) * jnp.log(p) + (B - 1) * jnp.log(p * (1 - p)),
    "quotient": lambda p: (A - 1) * jnp.log(p / (1 - p)) + (A + B - 2) * jnp.log(1 - p),
    "logit": lambda p: (A - 1) * logit(p) + (A + B - 2) * jnp.log(1 - p),
    "powers": lambda p: jnp.log(p ** (A - 1)) + 2 * (B - 1) * jnp.log(jnp.sqrt(1 - p)),
    "NumPyro": lambda p: distributions.Beta(A, B).log_prob(p) + betaln(A, B),
    "SciPy": lambda p: scipy_beta.logpdf(p, A, B) + betaln(A, B),
    "Bernoulli": split_bernoulli,
    "jit": lambda p: jax.jit(lambda q: (A - 1) * jnp.log(q) + (B - 1) * jnp.log(1 - q))(p),
    "where": lambda p: jnp.where(
        p < 1, (A - 1) * jnp.log(p) + (B - 1) * jnp.log(jnp.where(p < 1, 1 - p, 1.0)), -jnp.inf
    ),
    "stack": lambda p: jnp.dot(np.array([A - 1, B - 1]), jnp.log(jnp.stack([p, 1 - p]))),
    "concatenate": lambda p: jnp.dot(
        np.array([A - 1, B - 1]), jnp.log(jnp.concatenate([p[None], jnp.ones(1) - p]))
    ),
}


@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN.keys())
def test_a_beta_is_exact_at_both_ends_however_it_is_written(write: Callable[[Any], Any]):
    model = refti.Model(write, INTERVAL)
    np.testing.assert_allclose(
        model.log_densities(COORDINATES[:, None]), log_beta(COORDINATES), rtol=1e-13
    )
    with jax.enable_x64(True):
        gradients = jax.vmap(jax.grad(model.density.log_density))(jnp.asarray(COORDINATES)[:, None])
    p = np.exp(log_sigmoid(COORDINATES))
    np.testing.assert_allclose(gradients[:, 0], A - (A + B) * p, atol=1e-13)


@pytest.mark.parametrize(("low", "high"), [(2.0, 5.0), (0.1, 0.3), (-1e6, 7.0)])
def test_other_bounds_and_rescaled_values(low: float, high: float):
    x = np.array([[-30.0, 2.0], [80.0, -60.0], [0.4, 500.0]])
    truth = log_beta(x).sum(axis=1)
    plain = refti.Model(
        lambda u: jnp.sum((A - 1) * jnp.log(u - low) + (B - 1) * jnp.log(high - u)),
        {"u": refti.interval(low, high, shape=(2,))},
    )
    scale = 2 * (A + B - 1) * np.log(high - low)
    np.testing.assert_allclose(plain.log_densities(x), truth + scale, rtol=1e-12)

    def rescaled(u: Any) -> Any:
        share = (u - low) / (high - low)
        return jnp.sum((A - 1) * jnp.log(share) + (B - 1) * jnp.log1p(-share))

    model = refti.Model(rescaled, {"u": refti.interval(low, high, shape=(2,))})
    np.testing.assert_allclose(model.log_densities(x), truth + 2 * np.log(high - low), rtol=1e-12)


def test_one_bound():
    """Gammas beyond what exp() can tell from zero, and beside a bound of many digits."""
    x = np.array([[-800.0, -60.0, -45.0], [1.0, 2.0, 0.5]])
    model = refti.Model(
        lambda s, a, b: -0.9 * (jnp.log(s) + jnp.log(a - 3) + jnp.log(1e6 - b)),
        {"s": refti.positive(), "a": refti.lower(3), "b": refti.upper(1e6)},
    )
    np.testing.assert_allclose(model.log_densities(x), 0.1 * x.sum(axis=1), rtol=1e-13)


def log_shares(x: np.ndarray) -> np.ndarray:
    z = x - np.log(np.arange(x.shape[1], 0, -1))
    zeros = np.zeros((len(x), 1))
    left = np.concatenate([zeros, np.cumsum(log_sigmoid(-z), axis=1)], axis=1)
    return np.concatenate([log_sigmoid(z), zeros], axis=1) + left


FAR = np.random.default_rng(0).normal(size=(6, 3)) * [[1], [10], [40], [100], [300], [600]]
C = np.array([0.05, 0.4, 0.1, 0.02])
DIRICHLET_CONSTANT = float(gammaln(C).sum() - gammaln(C.sum()))
SIMPLICES = {
    "log": lambda p: jnp.sum((C - 1) * jnp.log(p)),
    "NumPyro": lambda p: distributions.Dirichlet(C).log_prob(p) + DIRICHLET_CONSTANT,
    "one by one": lambda p: sum((C[i] - 1) * jnp.log(p[i]) for i in range(4)),
    "by name": lambda log_p: jnp.sum((C - 1) * log_p),
}


@pytest.mark.parametrize("write", SIMPLICES.values(), ids=SIMPLICES.keys())
def test_a_simplex(write: Callable[..., Any]):
    model = refti.Model(write, {"p": refti.simplex(4)})
    z = FAR - np.log([3, 2, 1])
    jacobian = log_shares(FAR)[:, :3].sum(axis=1) + log_sigmoid(-z).sum(axis=1)
    truth = log_shares(FAR) @ (C - 1) + jacobian
    np.testing.assert_allclose(model.log_densities(FAR), truth, rtol=1e-12)


def test_what_is_left_of_a_simplex_by_one_share():
    of_rest = refti.Model(lambda p: jnp.sum(jnp.log(1 - p)), {"p": refti.simplex(4)})
    alone = refti.Model(lambda p: 0 * jnp.sum(p), {"p": refti.simplex(4)})
    found = of_rest.log_densities(FAR) - alone.log_densities(FAR)
    logs = log_shares(FAR)
    rests = [np.logaddexp.reduce(np.delete(logs, k, axis=1), axis=1) for k in range(4)]
    np.testing.assert_allclose(found, np.sum(rests, axis=0), rtol=1e-11)


def test_a_numpyro_model():
    def coin(y: np.ndarray) -> None:
        p = numpyro.sample("p", distributions.Beta(A, B))
        numpyro.sample("y", distributions.Bernoulli(p), obs=y)

    model = refti.from_numpyro(coin, np.array([1.0, 1.0, 0.0]))
    x = COORDINATES
    truth = log_beta(x) - betaln(A, B) + 2 * log_sigmoid(x) + log_sigmoid(-x)
    np.testing.assert_allclose(model.log_densities(x[:, None]), truth, rtol=1e-13)


def plainly(make: Callable[[], refti.Model], monkeypatch: pytest.MonkeyPatch) -> refti.Model:
    """The model as it is without the rewriting."""
    with monkeypatch.context() as patched:
        patched.setattr(user_functions, "keep_edges", lambda program: program)
        return make()


@pytest.mark.parametrize("name", ["beta_half", "bounded", "dirichlet", "lkj", "ordered"])
def test_inside_nothing_changes_but_the_last_digits(name: str, monkeypatch: pytest.MonkeyPatch):
    target = getattr(suite, name)(4) if name == "dirichlet" else getattr(suite, name)()
    x = np.random.default_rng(1).uniform(-3, 3, (20, target.dim))
    before = plainly(target.model, monkeypatch).log_densities(x)
    np.testing.assert_allclose(target.model().log_densities(x), before, rtol=1e-12, atol=1e-12)


MASK = np.array([0.0, -np.inf, 1.0])
MASKED = {
    "is zero": lambda w: jnp.sum(jnp.where(w == 0, 2.0, jnp.log(jnp.where(w == 0, 1.0, w)))),
    "is positive": lambda w: jnp.sum(jnp.where(w > 0, 3.0, 4.0)) + jnp.log(w[0]),
    "is kept from zero": lambda w: jnp.sum(jnp.log(jnp.maximum(w, 1e-300))),
}


@pytest.mark.parametrize("write", MASKED.values(), ids=MASKED.keys())
def test_a_zero_that_was_meant_is_still_one(
    write: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
):
    def make() -> refti.Model:
        return refti.Model(lambda x: write(jnp.exp(x[0] + MASK)) - x[0] ** 2, dim=1)

    x = np.array([[0.7], [-1.2]])
    rewritten = make()
    assert str(rewritten.density.program.jaxpr) != str(
        plainly(make, monkeypatch).density.program.jaxpr
    )
    before = plainly(make, monkeypatch).log_densities(x)
    assert np.isfinite(before).all()
    np.testing.assert_allclose(rewritten.log_densities(x), before, rtol=1e-12)


def test_a_zero_to_the_power_zero_is_one():
    powers = np.array([1.0, 0.0, 2.0])
    model = refti.Model(lambda x: jnp.sum(jnp.log(jnp.exp(x[0] + MASK) ** powers)), dim=1)
    assert model.log_densities(np.array([[0.7]])) == pytest.approx(0.7 + 2 * 1.7)


def scanned(p: Any) -> Any:
    total, _ = jax.lax.scan(lambda sum_, q: (sum_ + jnp.log(1 - q), None), 0.0, p)
    return total + jnp.sum(jnp.log(p))


HIDING = {
    "scan": scanned,
    "while": lambda p: jnp.log(p[0]) + jax.lax.fori_loop(0, 2, lambda i, s: s + p[i], 0.0),
    "checkpoint": lambda p: jnp.sum(jax.checkpoint(lambda q: jnp.log(1 - q))(p)) + jnp.log(p[0]),
}


@pytest.mark.parametrize("write", HIDING.values(), ids=HIDING.keys())
def test_what_is_not_looked_into_is_computed_as_before(
    write: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
):
    def make() -> refti.Model:
        return refti.Model(write, {"p": refti.interval(0, 1, shape=(2,))})

    x = np.array([[0.3, -2.0], [1.0, 4.0]])
    model = make()
    before = plainly(make, monkeypatch).log_densities(x)
    np.testing.assert_allclose(model.log_densities(x), before, rtol=1e-13)


def test_a_function_without_bounds_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch):
    def make() -> refti.Model:
        return refti.Model(lambda x: -jnp.sum(jnp.cosh(x)) + jnp.sum(jnp.exp(-(x**2))), dim=2)

    assert str(make().density.program.jaxpr) == str(
        plainly(make, monkeypatch).density.program.jaxpr
    )


def test_models_that_differ_in_their_data_alone_share_a_program():
    def make(data: np.ndarray) -> refti.Model:
        return refti.Model(
            lambda p: jnp.sum(data * jnp.log(p) + (1 - data) * jnp.log1p(-p)), INTERVAL
        )

    first, second = make(np.array([0.2, 0.9])), make(np.array([1.0, 3.0]))
    x = np.array([[0.5]])
    one = first.log_densities(x)
    built = log_densities._cache_size()
    assert second.log_densities(x) != one
    assert log_densities._cache_size() == built
    assert first.density.program == second.density.program
