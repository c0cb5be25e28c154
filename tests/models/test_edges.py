"""Functions that ask for exact distances to bounds by name."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import refti

X = np.array([[-800.0], [-40.0], [0.3], [40.0], [800.0]])
BETWEEN = {"p": refti.interval(0, 1)}


def log_sigmoid(x: np.ndarray) -> np.ndarray:
    return -np.logaddexp(0, -x)


def by_name(log_p_to_lower, log_p_to_upper):
    return 0.1 * log_p_to_lower - 0.7 * log_p_to_upper


TRUTH = 1.1 * log_sigmoid(X[:, 0]) + 0.3 * log_sigmoid(-X[:, 0])


@pytest.mark.parametrize(
    "model",
    [
        refti.Model(by_name, BETWEEN),
        refti.Model(lambda p, log_p_to_upper: 0.1 * jnp.log(p) - 0.7 * log_p_to_upper, BETWEEN),
        refti.Model(lambda v: 0.1 * jnp.log(v["p"]) - 0.7 * v["log_p_to_upper"], BETWEEN),
        refti.from_callable(by_name, BETWEEN, processes=1),
    ],
    ids=["instead", "beside", "dictionary", "any function"],
)
def test_both_ends_of_an_interval(model: refti.Model):
    np.testing.assert_allclose(model.log_densities(X), TRUTH, rtol=1e-12)


def test_distances_have_the_scale_and_shape_of_the_parameter():
    supports = {
        "a": refti.interval(2, 5, shape=(2,)),
        "b": refti.lower(1e6),
        "c": refti.upper(-1e6),
        "d": refti.positive(),
    }
    seen = refti.Model(
        lambda v: (
            jnp.sum(jnp.array([1.0, 10.0]) * v["a_to_lower"])
            + 100 * jnp.sum(v["a_to_upper"])
            + 1e8 * v["b_to_lower"]
            + 1e9 * v["c_to_upper"]
            + 1e4 * v["log_d_to_lower"]
        ),
        supports,
    )
    without = refti.Model(lambda v: 0.0 * v["b"], supports)
    x = np.array([[0.4, -1.0, -20.0, -22.0, 0.5]])
    share = 1 / (1 + np.exp(-x[0, :2]))
    truth = 3 * (share @ [1, 10]) + 300 * np.sum(1 - share)
    truth += 1e8 * np.exp(-20) + 1e9 * np.exp(-22) + 1e4 * 0.5
    found = seen.log_densities(x) - without.log_densities(x)
    np.testing.assert_allclose(found, truth, rtol=1e-12)


def test_a_parameter_of_such_a_name_goes_before():
    model = refti.Model(
        lambda v: -v["p"] + 3.0 * v["p_to_upper"] - v["p_to_upper"] ** 2,
        {"p": refti.interval(0, 1), "p_to_upper": refti.real()},
    )
    other = model.log_densities(np.array([[0.0, 2.0]])) - model.log_densities(np.zeros((1, 2)))
    assert other == pytest.approx(2.0)


def test_an_argument_with_a_value_of_its_own_keeps_it():
    model = refti.Model(lambda p, log_p=7.0: log_p * jnp.sum(p), {"p": refti.simplex(2)})
    flat = refti.Model(lambda p: 0.0 * jnp.sum(p), {"p": refti.simplex(2)})
    x = np.array([[0.3]])
    assert model.log_densities(x) - flat.log_densities(x) == pytest.approx(7.0)


@pytest.mark.parametrize("name", ["s_to_upper", "log_s", "q_to_lower"])
def test_edges_that_are_not_there_are_told(name: str):
    with pytest.raises(refti.ModelError, match=f"KeyError: '{name}'"):
        refti.Model(lambda v: v[name], {"s": refti.positive()})
