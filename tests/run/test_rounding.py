"""Densities that diverge at their bounds, and those that rounding cuts off there.

Seeds are fixed. A z-score beyond 4 is a false alarm once in 16,000.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import betaln, gammaln, xlog1py, xlogy

import refti
from refti.checks.check import Check
from refti.models import user_functions
from refti.run.rounding import rounded_shares
from refti.sampling.metering import Meter

TOO_FAR = 4.0


def check(found: refti.Evidence, name: str) -> Check:
    return next(check for check in found.checks if check.name == name)


def z(found: refti.Evidence, truth: float) -> float:
    return abs(found.log_z - truth) / found.error


SHAPES = {
    "Beta(0.05, 0.05)": (1, 0.05, 0.05),
    "three of them": (3, 0.05, 0.05),
    "Beta(0.3, 0.02)": (1, 0.3, 0.02),
}


def betas(count: int, a: float, b: float) -> refti.Model:
    return refti.Model(
        lambda p: jnp.sum((a - 1) * jnp.log(p) + (b - 1) * jnp.log1p(-p)),
        {"p": refti.interval(0, 1, shape=(count,))},
    )


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, id=name, marks=[] if name == "three of them" else pytest.mark.long)
        for name, shape in SHAPES.items()
    ],
)
def test_densities_that_diverge_at_both_ends(shape):
    found = refti.evidence(betas(*shape), progress=False)
    assert z(found, shape[0] * float(betaln(*shape[1:]))) < TOO_FAR
    assert check(found, "rounding").ok
    assert found.trusted


@pytest.mark.long  # tests/models/test_exact_edges.py has its density
def test_a_simplex_that_diverges_at_its_corners():
    model = refti.Model(lambda p: jnp.sum(-0.95 * jnp.log(p)), {"p": refti.simplex(4)})
    found = refti.evidence(model, progress=False)
    assert z(found, float(4 * gammaln(0.05) - gammaln(0.2))) < TOO_FAR
    assert check(found, "rounding").ok


def test_without_exact_edges_the_rounding_is_seen(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(user_functions, "keep_edges", lambda program: program)
    found = refti.evidence(betas(1, 0.05, 0.05), progress=False)
    assert not check(found, "rounding").ok
    assert "p_to_upper" in check(found, "rounding").advice
    assert found.log_z < float(betaln(0.05, 0.05)) - 0.05  # and it matters


BETWEEN = {"s": refti.positive(), "p": refti.interval(0, 1)}


def by_value(s, p):
    return -float(s) + float(xlogy(-0.95, p) + xlog1py(-0.95, -p))


def by_name(s, log_p_to_lower, log_p_to_upper):
    return -float(s) - 0.95 * float(log_p_to_lower + log_p_to_upper)


@pytest.mark.parametrize(("function", "share"), [(by_value, 0.25), (by_name, 0.0)])
def test_a_density_that_goes_on_beyond_rounding_is_not_cut_off(function, share):
    """Whatever it is written in, it is asked how it goes on."""
    x = np.array([[0.3, 34.0], [0.1, -34.0], [-2.0, 0.5], [1.0, 20.0]])
    meter = Meter()
    model = refti.from_callable(function, BETWEEN, processes=1)
    assert rounded_shares(model, x, meter) == {"s": 0.0, "p": share}
    assert meter.spent.density_evaluations == 2


def test_a_density_beyond_any_value_is_cut_off():
    """A lognormal so wide that exp() gives infinity, by its value and by its logarithm."""
    x = np.array([[800.0], [3.0], [-4.0], [705.0]])
    supports = {"s": refti.positive()}
    plain = refti.from_callable(lambda s: -(1 + 1e-3) * float(np.log(s)), supports, processes=1)
    exact = refti.Model(lambda s: -(1 + 1e-3) * jnp.log(s), supports)
    with np.errstate(all="ignore"):
        assert rounded_shares(plain, x, Meter()) == {"s": 0.25}
    assert rounded_shares(exact, x, Meter()) == {"s": 0.0}
