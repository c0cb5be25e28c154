"""A high peak far from the draws: whether the mass falls on the way to it, and what it holds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from refti import suite
from refti.run.pilot import measure_peak
from refti.search.mode import Mode, find_mode, log_mass_within
from refti.search.ridge import mass_falls_towards
from targets import evaluate

pytestmark = pytest.mark.usefixtures("x64")


def at(x: list[float] | np.ndarray, hessian: np.ndarray | None = None, height: float = 0.0) -> Mode:
    """A peak at a point."""
    place = np.asarray(x, dtype=float)
    bends = -np.eye(len(place)) if hessian is None else hessian
    return Mode(place, height, bends, 0.0)


def funnel_draws(count: int, dim: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    v = rng.normal(0.0, 3.0, size=count)
    return np.column_stack([v, np.exp(v / 2)[:, None] * rng.normal(size=(count, dim - 1))])


class TestMassFalls:
    """Towards the end of a ridge, where a density may grow as it likes."""

    def test_down_the_neck_of_a_funnel(self):
        both, draws = evaluate(suite.funnel(10).model()), funnel_draws(500, 10)
        peak = find_mode(both, draws[0])
        # The density of x[0] is that of -4.5 v - v^2 / 18, highest at -40.5.
        assert peak.x[0] == pytest.approx(-40.5, abs=0.1)
        assert mass_falls_towards(both, peak, draws)
        height = measure_peak(both, peak, draws, both(draws)[0])
        assert height.mass_falls
        assert height.height > 50

    def test_towards_the_centre_of_a_hierarchy_without_spread(self):
        both = evaluate(suite.eight_schools().model())
        rng = np.random.default_rng(2)
        mu, t = rng.normal(4.0, 3.0, size=300), rng.normal(1.0, 0.8, size=300)
        theta = mu[:, None] + np.exp(t)[:, None] * rng.normal(size=(300, 8))
        draws = np.column_stack([mu, t, theta])
        assert mass_falls_towards(both, at([4.4, -25.0, *[4.4] * 8]), draws)

    @pytest.mark.parametrize(
        ("measured", "falls"),
        [
            ([0.7], True),  # sigma shrinks as fast as the height grows, and the prior falls
            ([0.7, 0.7], False),  # mass piles up as two points are fitted exactly …
            ([0.7, 0.7, 0.7], False),  # … and without bound with three
        ],
    )
    def test_where_a_component_of_a_mixture_shrinks_onto_data(
        self, measured: list[float], falls: bool
    ):
        """Component N(m, sigma) of a mixture: its mass goes as sigma^(2 - n) with n points there.

        That is over m, with an exponential prior of sigma and its Jacobian.
        """
        y = np.array([*measured, -1.2, 2.0])

        def log_density(x):
            m, sigma = x[0], jnp.exp(x[1])
            narrow = -0.5 * ((y - m) / sigma) ** 2 - x[1]
            parts = jnp.logaddexp(narrow, -0.5 * y**2)
            return jnp.sum(parts) - 0.5 * (m / 2) ** 2 + x[1] - sigma

        draws = np.random.default_rng(3).normal(size=(300, 2)) * [1.0, 0.5]
        both = evaluate(refti.Model(log_density, dim=2))
        assert mass_falls_towards(both, at([0.7, -15.0]), draws) is falls

    @pytest.mark.parametrize("height", [-3.0, -10.0])
    def test_not_towards_a_spike_that_draws_in_ever_more(self, height: float):
        # |x - c|^-3 in two dimensions is more than can be integrated. A low one is seen only
        # at last: before that, the mass falls with that of the draws.
        centre = np.array([14.0, 0.3])

        def log_density(x):
            away = jnp.sum((x - centre) ** 2)
            spike = height - 1.5 * jnp.log(away) - 0.01 * away
            return jax.nn.logsumexp(jnp.stack([-0.5 * jnp.sum(x**2), spike]))

        draws = np.random.default_rng(4).normal(size=(300, 2))
        both = evaluate(refti.Model(log_density, dim=2))
        assert not mass_falls_towards(both, at(centre), draws)

    def test_a_spike_amidst_the_draws_is_no_ridge(self):
        def never(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            raise AssertionError("evaluated")

        draws = np.random.default_rng(5).normal(size=(300, 3)) * [1.0, 20.0, 0.01]
        assert not mass_falls_towards(never, at([0.4, -150.0, 0.05]), draws)
        # Nor is there anything across in one dimension.
        assert not mass_falls_towards(never, at([50.0]), draws[:, :1])


class TestMassWithin:
    """The mass at a peak, whatever its curvature."""

    SPREAD = np.array([0.3, 1.0, 50.0])

    def test_of_a_gaussian_is_that_of_laplace(self):
        mode = at([1.0, 2.0, 3.0], -np.diag(self.SPREAD**-2.0), 7.0)
        exact = 7 + 1.5 * np.log(2 * np.pi) + np.log(self.SPREAD).sum()
        assert mode.log_mass == pytest.approx(exact)
        assert log_mass_within(mode, self.SPREAD) == pytest.approx(exact)
        # A peak that is narrower than the draws holds what its own widths say.
        narrow = at([1.0, 2.0, 3.0], -np.diag((0.1 * self.SPREAD) ** -2.0), 7.0)
        assert log_mass_within(narrow, self.SPREAD) == pytest.approx(narrow.log_mass)

    def test_of_a_correlated_gaussian_is_no_more_and_little_less(self):
        factor = np.array([[2.0, 0, 0], [1.5, 0.7, 0], [-1.0, 0.2, 3.0]])
        covariance = factor @ factor.T
        mode, spread = at(np.zeros(3), -np.linalg.inv(covariance)), np.sqrt(np.diag(covariance))
        sizes = np.linalg.eigvalsh(covariance / np.outer(spread, spread))
        less = mode.log_mass - log_mass_within(mode, spread)
        # Directions that are wider than the coordinates' own spreads count as those.
        assert less == pytest.approx(0.5 * np.log(np.maximum(sizes, 1)).sum())
        assert 0 < less < 1

    def test_flat_directions_are_as_wide_as_the_draws(self):
        flat = at(np.zeros(3), -np.diag([1e-9, 1.0, 0.0]), 2.0)
        known = 2 + 1.5 * np.log(2 * np.pi) + np.log(self.SPREAD).sum()
        assert log_mass_within(flat, self.SPREAD) == pytest.approx(known)

    def test_a_spike_without_a_top_is_as_wide_as_its_bends(self):
        down = at(np.zeros(3), -np.diag([1e8, 1.0, 4e-4]))
        up = at(np.zeros(3), np.diag([1e8, 1.0, 4e-4]))
        found = log_mass_within(up, self.SPREAD)
        assert found == pytest.approx(log_mass_within(down, self.SPREAD))
        assert found == pytest.approx(1.5 * np.log(2 * np.pi) + np.log(1e-4 * 1.0 * 50))
        assert np.isnan(log_mass_within(at(np.zeros(3), np.full((3, 3), np.nan)), self.SPREAD))
