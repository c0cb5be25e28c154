"""The way from coordinates to parameters and back, and what rounding loses on it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpyro
from numpyro import distributions

import refti
from refti.errors import ModelError
from refti.models.space import Parameter, Space, SupportedSpace


class Strict(Space):
    """A share and a number beside it; refuses all values if one lies at a bound, as Stan may."""

    def __init__(self) -> None:
        self.parameters = {"mu": Parameter(()), "share": Parameter((2,))}
        self.coordinates = ("mu", "share[0]", "share[1]")

    def constrain_all(self, x: np.ndarray) -> dict[str, np.ndarray]:
        return {"mu": x[:, 0], "share": 1 / (1 + np.exp(-x[:, 1:]))}

    def unconstrain_all(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        share = values["share"]
        if np.any((share <= 0) | (share >= 1)):
            raise ModelError("a share at its bound.")
        return np.column_stack([values["mu"], np.log(share) - np.log1p(-share)])


def test_each_coordinate_has_its_parameter():
    supports = {"p": refti.simplex(3), "p2": refti.real(), "q": refti.positive(shape=(2,))}
    assert SupportedSpace(supports).owners == ("p", "p", "p2", "q", "q")
    assert Strict().owners == ("mu", "share", "share")


def test_values_that_kept_their_digits_come_back():
    x = np.array([[0.3, -4.0, 2.0], [-9.0, 0.1, 20.0]])
    for space in (Strict(), SupportedSpace({"a": refti.interval(-1, 1, shape=(3,))})):
        np.testing.assert_allclose(space.round_trip(x), x, atol=1e-6)


def test_one_value_at_its_bound_does_not_cost_the_others():
    x = np.array([[0.3, -4.0, 2.0], [-9.0, 50.0, 1.0], [1.0, 2.0, 3.0]])
    back = Strict().round_trip(x)
    np.testing.assert_allclose(back[:, 0], x[:, 0])
    np.testing.assert_allclose(back[[0, 2]], x[[0, 2]])
    assert np.isnan(back[1, 1:]).all()


def test_values_at_their_bounds_do_not_come_back():
    x = np.array([[40.0, -40.0, 800.0, 0.5], [1.0, -1.0, 1.0, -0.5]])
    supports = {
        "between": refti.interval(0, 1),
        "above": refti.lower(1.0),
        "positive": refti.positive(),
        "free": refti.real(),
    }
    with np.errstate(all="ignore"):
        change = np.abs(SupportedSpace(supports).round_trip(x) - x)
    assert not np.any(change[0, :3] < 0.1)
    np.testing.assert_allclose(change[0, 3], 0)
    np.testing.assert_allclose(change[1], 0, atol=1e-12)


def test_of_a_numpyro_model():
    def shares() -> None:
        numpyro.sample("p", distributions.Beta(2.0, 3.0))
        numpyro.sample("q", distributions.Uniform(2.0, 5.0), obs=3.0)

    back = refti.from_numpyro(shares).space.round_trip(np.array([[0.4], [-20.0], [60.0]]))
    np.testing.assert_allclose(back[:2, 0], [0.4, -20.0], atol=1e-6)
    assert abs(back[2, 0] - 60) > 1
