"""PyMC models that take another way: wrong constants, black boxes, and evidence() by itself."""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.graph.op import Op
from scipy import integrate, stats

import refti
from refti.inputs.as_model import as_model
from refti.inputs.pymc.constants import log_lkj_integral
from refti.inputs.pymc.discrete import discrete_names


def test_the_integral_of_lkj_is_that_of_its_density() -> None:
    exact, _ = integrate.quad(lambda r: (1 - r**2) ** 1.7, -1, 1)
    assert np.isclose(log_lkj_integral(2, 2.7), np.log(exact))
    # The volume of correlation matrices of three rows, known since 1980 (Rousseeuw and Molenberghs
    # give it too).
    assert np.isclose(log_lkj_integral(3, 1.0), np.log(np.pi**2 / 2))


@pytest.mark.long  # tests/inputs/test_zoo.py has that prior too
def test_a_prior_by_lkj_integrates_to_one_and_the_wrong_constant_is_told() -> None:
    with pm.Model() as model:
        pm.LKJCorr("r", n=2, eta=2.5)
    with pytest.warns(UserWarning, match='LKJ prior of "r" wrong, by'):
        made = refti.from_pymc(model)
    grid = np.linspace(-14, 14, 401)
    total = np.exp(made.log_densities(grid[:, None])).sum() * (grid[1] - grid[0])
    assert np.isclose(total, 1.0, atol=1e-6)


def test_ordered_draws_alike_are_divided_by_their_share() -> None:
    with pm.Model() as model:
        pm.Normal("cut", 0, 1, shape=2, transform=pm.distributions.transforms.ordered)
    with pytest.warns(UserWarning, match=r'"cut" is ordered.*1 in 2!'):
        made = refti.from_pymc(model)
    grid = np.linspace(-9, 9, 241)
    x = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    total = np.exp(made.log_densities(x)).sum() * (grid[1] - grid[0]) ** 2
    assert np.isclose(total, 1.0, atol=1e-4)


class BlackBox(Op):
    """A log likelihood of which PyTensor knows nothing but the value."""

    itypes = (pt.dvector,)
    otypes = (pt.dscalar,)

    def perform(self, node, inputs, outputs) -> None:
        (x,) = inputs
        if x[0] > 30:
            raise ValueError("beyond the table")
        outputs[0][0] = np.array(-2 * np.sum((x - 1) ** 2))


def test_a_black_box_goes_by_its_values() -> None:
    with pm.Model() as model:
        x = pm.Normal("x", 0, 1, shape=2)
        pm.Potential("likelihood", BlackBox()(x))
    made = refti.from_pymc(model)
    assert not made.has_gradient
    assert "values alone" in made.source
    assert np.isnan(made.log_densities(np.array([[40.0, 0.0]]))[0])
    assert made.rejections().message == "ValueError: beyond the table"
    quick = {"search": "quick", "target_error": 0.1, "check_prior": False}
    result = refti.evidence(model, **quick, progress=False)
    exact = -np.log(5) - 0.8  # (1 + 4)^(-1/2) exp(-2 / 5) for each of the two
    assert result.trusted, result.checks
    assert abs(result.log_z - exact) < 4 * result.error + 1e-3


def test_discrete_variables_are_named_by_what_can_be_done_about_them() -> None:
    with pm.Model() as model:
        pm.Bernoulli("finite", 0.5)
        pm.Poisson("infinite", 3)
        pm.Normal("mean")
    assert discrete_names(model, finite=True) == ["finite"]
    assert discrete_names(model, finite=False) == ["infinite"]


def _bambi_model(built: bool, formula_model: pm.Model) -> object:
    """An object as Bambi's Model is to whoever takes one: built late, its PyMC model inside."""

    class Backend:
        model = formula_model

    class Model:
        __module__ = "bambi.models"
        backend: Backend | None = Backend() if built else None

        def __init__(self) -> None:
            self.built = built

        def build(self) -> None:
            self.built, self.backend = True, Backend()

    return Model()


@pytest.mark.parametrize("built", [True, False])
def test_a_bambi_model_is_taken_by_the_pymc_model_inside_it(built: bool) -> None:
    with pm.Model(coords={"g__factor_dim": list("abc")}) as inside:
        spread = pm.HalfNormal("1|g_sigma", 1.0)
        offset = pm.Normal("1|g_offset", 0.0, 1.0, dims="g__factor_dim")
        effect = pm.Deterministic("1|g", spread * offset, dims="g__factor_dim")
        pm.Normal("y", pm.Normal("Intercept", 0.0, 2.0) + effect, 1.0, observed=[0.1, 0.9, 2.0])
    made, direct = as_model(_bambi_model(built, inside)), refti.from_pymc(inside)
    assert set(made.parameters) == {"1|g_sigma", "1|g_offset", "Intercept"}
    x = np.random.default_rng(0).normal(size=(5, made.dim))
    np.testing.assert_array_equal(made.log_densities(x), direct.log_densities(x))


@pytest.mark.long  # where pymc-extras is installed, which refti does not ask for
def test_a_discrete_variable_is_summed_out_by_pymc_extras() -> None:
    pytest.importorskip("pymc_extras")
    with pm.Model() as model:
        which = pm.Bernoulli("z", 0.3)
        pm.Normal("y", pm.Normal("x", 3.0 * which, 1.0), 1.0, observed=2.0)
    made = refti.from_pymc(model)
    assert list(made.parameters) == ["x"]
    grid = np.linspace(-12, 15, 801)
    total = np.exp(made.log_densities(grid[:, None])).sum() * (grid[1] - grid[0])
    # y is normal about 0 or 3 with a variance of 2.
    exact = 0.7 * stats.norm.pdf(2.0, 0.0, np.sqrt(2)) + 0.3 * stats.norm.pdf(2.0, 3.0, np.sqrt(2))
    assert np.isclose(total, exact, rtol=1e-8)
