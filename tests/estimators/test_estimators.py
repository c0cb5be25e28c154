"""The estimators: closed-form truths, laws, honest errors, and pymbar's answers.

Statistical assertions use fixed seeds. A z-score of 4 is a false alarm once in 16,000; the spread
of 200 z-scores has a standard error of 5%, so its bounds are three of those away from 1.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import lfilter

from refti import estimators
from refti.draws.draws import Draws
from refti.errors import SettingsError
from refti.estimators import Estimate, bridge, mbar, stepping_stone, thermodynamic_integration
from refti.estimators.estimate import add, monte_carlo_error
from refti.estimators.mbar import log_z_rungs

ESTIMATORS: dict[str, Callable[[Draws], Estimate]] = {
    "mbar": mbar,
    "bridge": bridge,
    "spline": lambda draws: thermodynamic_integration(draws, rule="spline"),
    "trapezoid": lambda draws: thermodynamic_integration(draws, rule="trapezoid"),
    "corrected": lambda draws: thermodynamic_integration(draws, rule="corrected"),
    "forward": lambda draws: stepping_stone(draws, direction="forward"),
    "reverse": lambda draws: stepping_stone(draws, direction="reverse"),
}
RULES = ("spline", "trapezoid", "corrected")


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


@dataclass(frozen=True)
class GaussianPath:
    """The path from N(0, 1) to `exp(-(x - centre)^2 / (2 width^2))`, in each of `dim` dimensions.

    Every rung is Gaussian, so it can be drawn exactly, alone or as a stationary AR(1) chain.
    """

    centre: float = 1.0
    width: float = 0.6
    dim: int = 1

    @property
    def truth(self) -> float:
        return self.dim * math.log(self.width * math.sqrt(2 * math.pi))

    def draws(
        self,
        lambdas: NDArray[np.float64],
        rng: np.random.Generator,
        chains: int = 4,
        count: int = 250,
        phi: float = 0.0,
    ) -> Draws:
        noise = rng.normal(size=(len(lambdas), chains, count, self.dim))
        noise[:, :, 1:] *= math.sqrt(1 - phi**2)
        standard = lfilter([1.0], [1.0, -phi], noise, axis=2)
        precision = 1 - lambdas + lambdas / self.width**2
        mean = lambdas * self.centre / self.width**2 / precision
        rung = (slice(None), None, None, None)
        position = mean[rung] + standard / np.sqrt(precision)[rung]
        log_end = -0.5 * ((position - self.centre) / self.width) ** 2
        log_start = -0.5 * position**2 - 0.5 * math.log(2 * math.pi)
        return Draws(lambdas, (log_end - log_start).sum(axis=-1))


@dataclass(frozen=True)
class GammaPath:
    """The path from Gamma(shape, 1) to `exp(-steepness theta)` times it: skewed, steep at 0."""

    shape: float
    steepness: float

    @property
    def truth(self) -> float:
        return -self.shape * math.log1p(self.steepness)

    def draws(self, lambdas: NDArray[np.float64], rng: np.random.Generator) -> Draws:
        scale = 1 / (1 + lambdas * self.steepness)
        theta = rng.gamma(self.shape, scale[:, None, None], size=(len(lambdas), 4, 500))
        return Draws(lambdas, -self.steepness * theta)


PATHS = {
    "gaussian": GaussianPath(),
    "gaussian, wider end": GaussianPath(centre=-0.7, width=1.3),
    "gaussian in 10 dimensions": GaussianPath(centre=0.4, width=0.8, dim=10),
    "gamma": GammaPath(shape=1.5, steepness=2.0),
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_truth(name, path):
    draws = path.draws(np.linspace(0, 1, 11), np.random.default_rng(1))
    estimate = ESTIMATORS[name](draws)
    assert abs(estimate.value - path.truth) < 4 * estimate.error
    assert 0 < estimate.monte_carlo_error < 0.1


@pytest.mark.parametrize(
    "phi",
    [
        pytest.param(0.0, id="independent", marks=pytest.mark.long),
        pytest.param(0.7, id="correlated"),
    ],
)
def test_errors_are_the_spread_of_the_estimates(phi):
    path, lambdas = GaussianPath(centre=0.8, width=0.7, dim=2), np.linspace(0, 1, 6)
    rng = np.random.default_rng(7)
    scores = {name: [] for name in ESTIMATORS}
    for _ in range(200):
        draws = path.draws(lambdas, rng, phi=phi, count=250)
        for name, estimator in ESTIMATORS.items():
            estimate = estimator(draws)
            scores[name].append((estimate.value - path.truth) / estimate.error)
    del scores["trapezoid"]  # its error is a bias, which is no scatter
    spread = {name: float(np.std(values)) for name, values in scores.items()}
    assert all(0.85 < value < 1.18 for value in spread.values()), spread
    centre = {name: float(np.mean(values)) for name, values in scores.items()}
    assert all(abs(value) < 0.35 for value in centre.values()), centre


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_constant_added_to_delta_is_added_to_the_value(name):
    draws = GaussianPath().draws(np.linspace(0, 1, 5) ** 2, np.random.default_rng(2))
    for constant in (-3.0, 1e6):
        one = ESTIMATORS[name](draws)
        other = ESTIMATORS[name](Draws(draws.lambdas, draws.delta + constant))
        assert other.value == pytest.approx(one.value + constant, rel=0, abs=1e-8)
        assert other.error == pytest.approx(one.error, rel=1e-4)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_path_walked_backwards_has_the_opposite_sign(name):
    draws = GaussianPath().draws(np.linspace(0, 1, 5) ** 2, np.random.default_rng(3))
    back = Draws(1 - draws.lambdas[::-1], -draws.delta[::-1])
    swapped = {"forward": "reverse", "reverse": "forward"}.get(name, name)
    one, other = ESTIMATORS[name](draws), ESTIMATORS[swapped](back)
    assert other.value == pytest.approx(-one.value, abs=1e-9)
    assert other.error == pytest.approx(one.error, rel=1e-6)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_order_of_chains_does_not_matter(name):
    draws = GaussianPath().draws(np.linspace(0, 1, 5), np.random.default_rng(4), phi=0.5)
    one, other = ESTIMATORS[name](draws), ESTIMATORS[name](draws.of_chains([2, 0, 3, 1]))
    assert other.value == pytest.approx(one.value, abs=1e-9)
    assert other.error == pytest.approx(one.error, rel=1e-9)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_perfect_reference_has_no_error(name):
    estimate = ESTIMATORS[name](Draws([0, 0.5, 1], np.full((3, 4, 100), -4.2)))
    assert estimate.value == pytest.approx(-4.2, abs=1e-12)
    assert estimate.error < 1e-12


@pytest.mark.parametrize("rungs", [2, 3, 4])
def test_spline_weights_are_those_of_scipy_and_degenerate_as_it_does(rungs):
    lambdas = np.linspace(0, 1, rungs) ** 1.5
    cubic = np.stack([np.full((2, 20), 1 + lam - 2 * lam ** (rungs - 1)) for lam in lambdas])
    truth = 1 + 0.5 - 2 / rungs
    assert thermodynamic_integration(Draws(lambdas, cubic)).value == pytest.approx(truth)


def test_corrected_rule_is_the_formula():
    draws = GaussianPath().draws(np.linspace(0, 1, 4) ** 2, np.random.default_rng(5))
    mean, variance, step = draws.mean(), draws.variance(), np.diff(draws.lambdas)
    formula = step * (mean[1:] + mean[:-1]) / 2 - step**2 / 12 * np.diff(variance)
    assert thermodynamic_integration(draws, rule="corrected").value == pytest.approx(formula.sum())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rungs", [2, 3, 11, 12])
@pytest.mark.parametrize("shape", [1.0, 300.0])
def test_quadrature_error_is_honest_where_the_integrand_is_steep(rule, rungs, shape):
    for steepness in (10.0, 100.0, 3333.0, 1e6):
        path = GammaPath(shape, steepness)
        draws = path.draws(np.linspace(0, 1, rungs), np.random.default_rng(6))
        estimate = thermodynamic_integration(draws, rule=rule)
        missed = abs(estimate.value - path.truth)
        assert missed < 3 * estimate.error
        assert estimate.error < 30 * missed or estimate.error < 0.1


def test_quadrature_error_sees_an_error_that_spline_and_corrected_rule_share():
    path, lambdas = GammaPath(300.0, 3333.0), np.linspace(0, 1, 31) ** 5
    exact_means = -path.shape * path.steepness / (1 + lambdas * path.steepness)
    missed = float(CubicSpline(lambdas, exact_means).integrate(0, 1)) - path.truth
    estimate = thermodynamic_integration(path.draws(lambdas, np.random.default_rng(6)))
    assert missed / 2 < estimate.quadrature_error < 5 * missed


def test_error_of_the_corrected_rule_includes_that_of_the_variances():
    path, rng = GaussianPath(centre=1.0, width=0.5, dim=10), np.random.default_rng(18)
    estimates = [
        thermodynamic_integration(path.draws(np.array([0.0, 1.0]), rng), rule="corrected")
        for _ in range(200)
    ]
    spread = np.std([estimate.value for estimate in estimates])
    claimed = np.mean([estimate.monte_carlo_error for estimate in estimates])
    assert spread == pytest.approx(claimed, rel=0.18)


def test_quadrature_error_stays_within_the_rectangles():
    draws = GammaPath(300.0, 3333.0).draws(np.linspace(0, 1, 11), np.random.default_rng(6))
    rectangles = 0.1 * (draws.mean()[-1] - draws.mean()[0])
    assert thermodynamic_integration(draws, rule="trapezoid").quadrature_error < 0.51 * rectangles


@pytest.mark.parametrize("rule", RULES)
def test_quadrature_error_is_small_where_the_integrand_is_smooth(rule):
    path, rng = GaussianPath(centre=0.5, width=0.9, dim=3), np.random.default_rng(8)
    estimates = [
        thermodynamic_integration(path.draws(np.linspace(0, 1, 11), rng), rule=rule)
        for _ in range(40)
    ]
    shares = [estimate.quadrature_error / estimate.monte_carlo_error for estimate in estimates]
    assert math.sqrt(np.mean(np.square(shares))) < 0.25


def test_a_rise_between_rungs_that_no_variance_shows_is_an_error():
    noise = np.random.default_rng(9).normal(size=(5, 4, 200))
    jump = np.array([0, 0, 40.0, 40.0, 40.0])[:, None, None]
    estimate = thermodynamic_integration(Draws(np.linspace(0, 1, 5), noise + jump))
    assert estimate.error > 0.25 * 40 / 4


@pytest.fixture
def pymbar(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """pymbar in NumPy: with JAX it compiles, and turns 64-bit mode on for everyone."""
    with monkeypatch.context() as without, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        without.setitem(sys.modules, "jax", None)
        return pytest.importorskip("pymbar")


def test_mbar_agrees_with_pymbar(pymbar: ModuleType):
    for seed, lambdas in enumerate([[0, 1], np.linspace(0, 1, 8) ** 2]):
        path = GaussianPath(centre=1.5, width=0.5)
        draws = path.draws(np.asarray(lambdas, dtype=float), np.random.default_rng(seed))
        counts = np.full(draws.rungs, 1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = pymbar.MBAR(-np.outer(draws.lambdas, draws.delta.ravel()), counts)
            theirs = solver.compute_free_energy_differences()
        ours = mbar(draws, weights=counts)
        assert ours.value == pytest.approx(-theirs["Delta_f"][0, -1], abs=1e-6)
        assert ours.error == pytest.approx(theirs["dDelta_f"][0, -1], rel=0.1)
        assert log_z_rungs(draws, weights=counts) == pytest.approx(-theirs["Delta_f"][0], abs=1e-6)


def test_bridge_is_mbar_on_two_rungs_and_solves_bennett():
    draws = GaussianPath().draws(np.array([0, 0.4, 1]), np.random.default_rng(10), phi=0.5)
    ends = Draws([0, 1], draws.delta[[0, -1]])
    assert bridge(draws) == mbar(ends)
    equal = mbar(ends, weights=[500, 500])
    assert equal.value == pytest.approx(ends.bridges()[0], abs=1e-9)


def test_rungs_weigh_what_they_are_worth():
    path, lambdas, rng = GaussianPath(), np.array([0, 0.5, 1]), np.random.default_rng(11)
    good, stuck = path.draws(lambdas, rng), path.draws(lambdas, rng, phi=0.98)
    mixed = Draws(lambdas, np.stack([good.delta[0], stuck.delta[1], good.delta[2]]))
    sizes = np.minimum(mixed.effective_sample_size(), 1000)
    assert sizes[1] < 200
    assert mbar(mixed).value == pytest.approx(mbar(mixed, weights=sizes).value, abs=1e-12)
    assert mbar(mixed).error < mbar(mixed, weights=np.full(3, 1000)).error


def test_weights_that_cannot_be_counts_are_refused():
    draws = GaussianPath().draws(np.array([0, 0.5, 1]), np.random.default_rng(12))
    for weights in ([1, 2], [1, 0, 1], [1, np.nan, 1]):
        with pytest.raises(SettingsError, match="3 positive numbers"):
            mbar(draws, weights=weights)


def test_log_z_at_every_rung():
    path, lambdas = GaussianPath(), np.linspace(0, 1, 6)
    draws = path.draws(lambdas, np.random.default_rng(13), count=2000)
    precision = 1 - lambdas + lambdas / path.width**2
    mean = lambdas * path.centre / path.width**2 / precision
    exponent = 0.5 * precision * mean**2 - 0.5 * lambdas * (path.centre / path.width) ** 2
    truth = exponent - 0.5 * np.log(precision) + 0.5 * lambdas * math.log(2 * math.pi)
    assert truth[-1] == pytest.approx(path.truth)
    assert log_z_rungs(draws) == pytest.approx(truth, abs=0.05)
    assert log_z_rungs(draws)[-1] == pytest.approx(mbar(draws).value, abs=1e-12)


def test_broken_draws_end_in_numbers_and_not_in_warnings():
    rng = np.random.default_rng(19)
    for _ in range(30):
        rungs, chains, count = rng.integers(2, 9), rng.integers(1, 4), rng.integers(1, 40)
        size, drift = 10 ** rng.uniform(-3, 6, size=2)
        delta = size * rng.standard_t(2, size=(rungs, chains, count))
        delta += drift * rng.normal(size=(rungs, 1, 1))
        delta[0] = delta[0].mean()
        draws = Draws(np.linspace(0, 1, rungs) ** 3, delta)
        for name, estimator in ESTIMATORS.items():
            estimate = estimator(draws)
            assert math.isfinite(estimate.value), name
            assert estimate.error >= 0, name


@pytest.mark.parametrize("gap", [1e2, 1e4, 1e6])
def test_a_ladder_in_two_parts_has_infinite_error(gap):
    noise = np.random.default_rng(14).normal(size=(4, 2, 100))
    draws = Draws([0, 0.1, 0.9, 1], noise + gap * np.array([0, 0, 1.0, 1.0])[:, None, None])
    estimate = mbar(draws)
    assert math.isfinite(estimate.value)
    assert estimate.error == math.inf


def test_barely_linked_rungs_are_not_confident():
    # One step of 6 to 16 standard deviations: the draws that would tell were not made.
    for shift in (6.0, 8.0, 11.0, 16.0):
        for seed in range(20):
            path = GaussianPath(centre=shift, width=1.0)
            draws = path.draws(np.array([0.0, 1.0]), np.random.default_rng(seed))
            estimate = mbar(draws)
            assert abs(estimate.value - path.truth) < 4 * estimate.error
    assert estimate.error > 100


def test_steep_power_posterior_is_solved_by_mbar_on_a_close_ladder():
    path = GammaPath(shape=2.0, steepness=1e6)
    lambdas = np.append(0.0, np.geomspace(1e-7, 1.0, 25))
    estimate = mbar(path.draws(lambdas, np.random.default_rng(15)))
    assert abs(estimate.value - path.truth) < 4 * estimate.error < 0.5


def test_legs_add():
    total = add([Estimate(1.0, 0.3, 0.1), Estimate(-2.0, 0.4), Estimate(0.5, 0.0, 0.1)])
    assert total.value == pytest.approx(-0.5)
    assert total.monte_carlo_error == pytest.approx(0.5)
    assert total.quadrature_error == pytest.approx(math.sqrt(0.02))
    assert total.error == pytest.approx(math.sqrt(0.27))


def test_monte_carlo_error_adds_the_variances_of_rungs():
    series = np.random.default_rng(16).normal(size=(3, 4, 2000)) * [[[1.0]], [[2.0]], [[0.0]]]
    assert monte_carlo_error(series) == pytest.approx(math.sqrt(5 / 8000), rel=0.15)


def test_monte_carlo_error_of_rungs_that_move_together_is_that_of_their_sum():
    one, other = np.random.default_rng(17).normal(size=(2, 1, 4, 2000))
    alone = monte_carlo_error(one)
    assert monte_carlo_error(np.concatenate([one, one])) == pytest.approx(2 * alone)
    apart = monte_carlo_error(np.concatenate([one, other]))
    assert apart == pytest.approx(math.sqrt(2) * alone, rel=0.1)
    # Rungs that undo each other's deviations are not believed to.
    opposed = monte_carlo_error(np.concatenate([one, -one]))
    assert opposed == pytest.approx(math.sqrt(2) * alone)


def test_options_that_do_not_exist_are_refused():
    draws = GaussianPath().draws(np.array([0.0, 1.0]), np.random.default_rng(17))
    with pytest.raises(SettingsError, match="simpson"):
        thermodynamic_integration(draws, rule="simpson")
    with pytest.raises(SettingsError, match="sideways"):
        stepping_stone(draws, direction="sideways")


def test_public_names_are_complete_and_sorted():
    assert estimators.__all__ == sorted(estimators.__all__)
    assert all(hasattr(estimators, name) for name in estimators.__all__)
