"""What is read off draws and densities: curvature, followers, heavy sides; and maps fitted to it.

Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax

import refti
from refti import suite
from refti.coordinates.curvature import Curvature, Gradients, measure_curvature
from refti.coordinates.far_out import find_heavy_sides
from refti.coordinates.fit_links import fit_links
from refti.coordinates.fit_tails import fit_power_tails, fit_radial_tail, robust_standard
from refti.coordinates.followers import Followers, find_followers
from refti.coordinates.links import Links
from refti.coordinates.map import Map, to_latent
from refti.coordinates.pooling import fit_precision_sum
from refti.coordinates.power_tails import PowerTails, RadialTail
from refti.coordinates.shapes import LINKS, SHAPES, Cloud, Shape, fit_shape
from refti.suite import shrinkage
from refti.suite.groups import SCHOOL_ERRORS, SCHOOLS
from targets import evaluate

pytestmark = pytest.mark.usefixtures("x64")


def schools_draws(count: int, seed: int = 1) -> np.ndarray:
    """Independent draws (mu, log tau, theta) of the eight schools' posterior, centred."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(-12.0, 6.0, 4001)
    variances = SCHOOL_ERRORS**2 + np.exp(2 * grid)[:, None]
    precision = 1 / 25 + np.sum(1 / variances, axis=1)
    pull = np.sum(SCHOOLS / variances, axis=1)
    normals = -0.5 * np.sum(np.log(variances) + SCHOOLS**2 / variances, axis=1)
    given = normals - 0.5 * np.log(precision) + 0.5 * pull**2 / precision
    logs = given - np.log1p(np.exp(2 * grid) / 25) + grid
    at = rng.choice(len(grid), size=count, p=np.exp(log_softmax(logs)))
    tau = np.exp(grid[at])
    mu = pull[at] / precision[at] + rng.normal(size=count) / np.sqrt(precision[at])
    narrow = SCHOOL_ERRORS**-2 + tau[:, None] ** -2
    middle = (SCHOOLS / SCHOOL_ERRORS**2 + mu[:, None] / tau[:, None] ** 2) / narrow
    theta = middle + rng.normal(size=(count, 8)) / np.sqrt(narrow)
    return np.column_stack([mu, grid[at], theta])


MEASURED, ERRORS = shrinkage.measurements(5)


def horseshoe_given(scales: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Points of a centred horseshoe with these log scales, its means u[n, 5] deviations off theirs.

    The scales are those of all and of each mean, [n, 6].
    """
    data, prior = ERRORS**-2, np.exp(-2 * (scales[:, :1] + scales[:, 1:]))
    middle = MEASURED * data / (data + prior)
    return np.column_stack([scales, middle + u / np.sqrt(data + prior)])


def horseshoe_draws(count: int, seed: int = 2) -> np.ndarray:
    """Draws about as a short run has them: no scale of a mean that data hold is ever small."""
    rng = np.random.default_rng(seed)
    scales = rng.normal([-0.8, -0.5, 2.5, -0.5, -0.5, 0.0], 0.9, size=(count, 6))
    return horseshoe_given(scales, rng.normal(size=(count, 5)))


def in_neck(count: int, dim: int, seed: int = 0) -> np.ndarray:
    """Draws of chains that are deep in the neck of Neal's funnel, and saw nothing else."""
    rng = np.random.default_rng(seed)
    v = rng.normal(-6.0, 0.8, size=count)
    return np.column_stack([v, np.exp(v / 2)[:, None] * rng.normal(size=(count, dim - 1))])


def standardised(
    evaluate: Gradients, draws: np.ndarray
) -> tuple[np.ndarray, Curvature | None, np.ndarray]:
    """Draws and the density's curvature in coordinates in which the draws have spread one."""
    location, scale = robust_standard(draws)

    def standard(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, gradients = evaluate(location + scale * y)
        return values, gradients * scale

    y = (draws - location) / scale
    return y, measure_curvature(standard, y), scale


def followers_of(evaluate: Gradients, draws: np.ndarray) -> Followers:
    y, curvature, _ = standardised(evaluate, draws)
    return find_followers(y, curvature, float(len(draws)))


class TestCurvature:
    """It is exact where a coordinate is normal given the others."""

    def test_of_a_hierarchy(self):
        draws = schools_draws(200)
        found = measure_curvature(evaluate(suite.eight_schools().model()), draws)
        assert found is not None
        assert np.isin(found.x, draws).all()
        mu, t, theta = found.x[:, 0], found.x[:, 1], found.x[:, 2:]
        tight = np.exp(-2 * t)
        precision = SCHOOL_ERRORS**-2 + tight[:, None]
        mean = (SCHOOLS / SCHOOL_ERRORS**2 + (mu * tight)[:, None]) / precision
        np.testing.assert_allclose(found.scale[:, 2:], precision**-0.5, rtol=1e-6)
        np.testing.assert_allclose(found.mean[:, 2:], mean, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.slopes[:, 2:, 0], tight[:, None] / precision, rtol=1e-5)
        np.testing.assert_allclose(
            found.slopes[:, 2:, 1],
            2 * (theta - mu[:, None]) * tight[:, None] / precision,
            rtol=1e-3,
            atol=1e-4,
        )
        # Groups do not go with each other, nor anything with itself.
        np.testing.assert_allclose(found.slopes[:, 2:, 2:], 0.0, atol=1e-6)
        of_mu = 1 / 25 + 8 * tight
        np.testing.assert_allclose(found.scale[:, 0], of_mu**-0.5, rtol=1e-6)
        np.testing.assert_allclose(
            found.slopes[:, 0, 2:], np.tile(tight / of_mu, (8, 1)).T, rtol=1e-5
        )

    def test_scales_that_differ_by_a_trillion(self):
        factor = np.array([[1e6, 0.0, 0.0], [3e-7, 1e-6, 0.0], [-0.4, 0.3, 0.5]])
        precision = np.linalg.inv(factor @ factor.T)
        draws = np.random.default_rng(0).normal(size=(100, 3)) @ factor.T + [1e5, 0.0, -3.0]

        def normal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            slope = -(x - [1e5, 0.0, -3.0]) @ precision
            return np.zeros(len(x)), slope

        found = measure_curvature(normal, draws)
        assert found is not None
        np.testing.assert_allclose(found.scale, np.diag(precision) ** -0.5 * np.ones((24, 1)), 1e-6)
        slopes = -precision / np.diag(precision)[:, None]
        np.fill_diagonal(slopes, 0.0)
        np.testing.assert_allclose(
            found.slopes[0] * np.diag(factor) / np.diag(factor)[:, None],
            slopes * np.diag(factor) / np.diag(factor)[:, None],
            rtol=1e-5,
            atol=1e-6,
        )

    def test_a_coordinate_with_no_width_has_none(self):
        def saddle(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return 0.5 * (x[:, 0] ** 2 - x[:, 1] ** 2), x * [1.0, -1.0]

        found = measure_curvature(saddle, np.random.default_rng(0).normal(size=(50, 2)))
        assert found is not None
        assert np.isnan(found.scale[:, 0]).all()
        np.testing.assert_allclose(found.scale[:, 1], 1.0, rtol=1e-6)

    def test_none_where_it_costs_too_much_or_nothing_is_inside(self):
        rng = np.random.default_rng(0)

        def outside(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.full(len(x), -np.inf), np.zeros_like(x)

        assert measure_curvature(outside, rng.normal(size=(50, 2))) is None

        def never(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            raise AssertionError("evaluated")

        assert measure_curvature(never, rng.normal(size=(50, 400))) is None


class TestFollowers:
    """Who follows whom, and who does not."""

    def test_a_funnel_from_its_neck(self):
        found = followers_of(evaluate(suite.funnel(6).model()), in_neck(300, 6))
        assert set(found) == {1, 2, 3, 4, 5}
        for follower in found.values():
            assert follower.scale_by == [0]
            assert follower.bent_by == []

    def test_a_funnel_whose_log_scale_is_a_sum(self):
        # In its neck the two vary alike, so neither of them alone explains much.
        rng = np.random.default_rng(3)
        pair = rng.normal(-3.0, 0.8, size=(300, 2))
        scale = np.exp(pair.sum(axis=1))[:, None]

        def two_scales(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            log_scale = x[:, 0] + x[:, 1]
            squares = (x[:, 2:] * np.exp(-log_scale)[:, None]) ** 2
            values = -0.5 * (x[:, :2] ** 2).sum(axis=1) - 0.5 * squares.sum(axis=1) - 4 * log_scale
            of_scales = -x[:, :2] + (squares.sum(axis=1) - 4)[:, None]
            return values, np.hstack([of_scales, -squares / x[:, 2:]])

        draws = np.hstack([pair, scale * rng.normal(size=(300, 4))])
        found = followers_of(two_scales, draws)
        assert {k: set(one.scale_by) for k, one in found.items()} == {
            k: {0, 1} for k in range(2, 6)
        }

    def test_the_groups_of_a_hierarchy_follow_its_scale_and_lie_about_its_mean(self):
        found = followers_of(evaluate(suite.eight_schools().model()), schools_draws(800))
        assert set(found) == set(range(2, 10))
        for follower in found.values():
            assert follower.scale_by == [1]
            assert follower.about == [0]
            # Squares of the scale would lead away from groups that are narrow.
            assert follower.bent_by == []

    def test_groups_within_groups_lie_each_about_its_own(self):
        # Given its sites a region is as narrow as they are, and yet stands before them.
        rng, region = np.random.default_rng(11), np.repeat(np.arange(4), 5)
        log_scale, regions = rng.normal(-1.0, 0.8, size=(400, 1)), rng.normal(size=(400, 4))
        sites = regions[:, region] + np.exp(log_scale) * rng.normal(size=(400, 20))

        def nested(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            log_scale, regions, sites = x[:, :1], x[:, 1:5], x[:, 5:]
            precision = np.exp(-2 * log_scale)
            off = sites - regions[:, region]
            squares = (precision * off**2).sum(axis=1, keepdims=True)
            pull = precision * np.stack([off[:, region == r].sum(axis=1) for r in range(4)], axis=1)
            values = -0.5 * ((log_scale + 1) ** 2 + squares) - 20 * log_scale
            values -= 0.5 * (regions**2).sum(axis=1, keepdims=True)
            slopes = [-(log_scale + 1) - 20 + squares, pull - regions, -precision * off]
            return values[:, 0], np.hstack(slopes)

        found = followers_of(nested, np.hstack([log_scale, regions, sites]))
        assert {k: (one.scale_by, one.about) for k, one in found.items()} == {
            5 + k: ([0], [1 + region[k]]) for k in range(20)
        }

    @pytest.mark.parametrize("seed", range(6))
    def test_none_on_a_correlated_gaussian(self, seed: int):
        rng = np.random.default_rng(seed)
        factor = np.tril(rng.normal(size=(7, 7))) + 0.3 * np.eye(7)
        precision, centre = np.linalg.inv(factor @ factor.T), 10 * rng.normal(size=7)
        draws = centre + rng.normal(size=(400, 7)) @ factor.T

        def normal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            slope = -(x - centre) @ precision
            return 0.5 * np.einsum("nd,nd->n", x - centre, slope), slope

        assert followers_of(normal, draws) == {}

    @pytest.mark.parametrize("seed", range(3))
    def test_a_banana_is_bent_one_way(self, seed: int):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=(600, 3)) * [1.0, 0.5, 1.0]
        y[:, 1] += 0.7 * (y[:, 2] ** 2 - 1) - 0.3 * y[:, 2]
        (found,) = find_followers(y, None, 600.0).items()
        assert (found[0], found[1].bent_by, found[1].scale_by) == (1, [2], [])
        # Draws that are worth few tell nothing.
        assert find_followers(y, None, 20.0) == {}

    def test_skew_is_no_link(self):
        # The curvature of the log of a gamma variable changes with its own value.
        rng = np.random.default_rng(4)
        shapes = np.array([0.7, 2.0, 5.0])

        def log_gamma(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.sum(shapes * x - np.exp(x), axis=1), shapes - np.exp(x)

        assert followers_of(log_gamma, np.log(rng.gamma(shapes, size=(500, 3)))) == {}


HORSESHOE = evaluate(suite.find("horseshoe_5_centred").model())


class TestLaws:
    """Precisions that are a sum of two."""

    x = np.random.default_rng(8).normal(size=(24, 2)) * [2.0, 1.0] + [0.0, 0.5]
    precision = 0.4 + 1.7 * np.exp(-1.5 * x[:, 0] + 0.8 * x[:, 1])

    def test_both_are_found(self):
        found = fit_precision_sum(self.x, np.log(self.precision))
        assert found is not None
        assert [found.first, found.second] == pytest.approx(np.log([0.4, 1.7]), abs=1e-5)
        np.testing.assert_allclose(found.slopes, [-1.5, 0.8], atol=1e-5)
        np.testing.assert_allclose(found.shares(self.x), 1 - 0.4 / self.precision, atol=1e-5)
        assert found.deviation < 1e-5

    def test_one_alone_is_no_sum(self):
        assert fit_precision_sum(self.x, np.log(self.precision - 0.4)) is None

    def test_a_step_is_fitted_though_equations_become_singular(self):
        # One of the two is all there is at a point, and nothing at all others.
        x = np.linspace(-1.0, 1.0, 24)[:, None]
        logs = np.where(x[:, 0] > 0.99, 800.0, 0.0)
        found = fit_precision_sum(x, logs)
        assert found is not None
        assert found.deviation < 1e-3

    def test_all_means_of_a_horseshoe_follow_both_of_their_scales(self):
        # The second is held by its data so firmly that its scales hardly show at any draw.
        followers = followers_of(HORSESHOE, horseshoe_draws(400))
        assert {k: set(one.scale_by) for k, one in followers.items() if one.scale_by} == {
            6 + k: {0, 1 + k} for k in range(5)
        }


class TestLinksFitted:
    """The map that is fitted, where its family has the density itself."""

    def test_a_funnel_is_standard_far_beyond_the_draws(self):
        draws = in_neck(300, 5)
        curvature = measure_curvature(evaluate(suite.funnel(5).model()), draws)
        layers = fit_links(draws, curvature, 300.0)
        assert layers is not None
        assert isinstance(layers[0], Links)
        assert layers[0].depth == 1
        # From seven deviations of the draws below them to fifteen above.
        v = np.array([-12.0, -6.0, 0.0, 6.0])
        u = np.random.default_rng(5).normal(size=(4, 4))
        x = np.column_stack([v, np.exp(v / 2)[:, None] * u])
        np.testing.assert_allclose(to_latent(Map(layers, ""), x)[:, 1:], u, rtol=0.02, atol=0.02)

    def test_a_hierarchy_is_rounder_in_it(self):
        draws, beyond = schools_draws(800), schools_draws(4000, seed=9)
        curvature = measure_curvature(evaluate(suite.eight_schools().model()), draws)
        way = fit_shape(LINKS, Cloud(draws, 800.0, curvature, (np.zeros(10, bool),) * 2))
        assert way is not None
        # Given the others a group is about standard normal: as wide where tau is small as where
        # it is large. In the model's own coordinates it is many times wider there.
        low, high = np.quantile(beyond[:, 1], [0.2, 0.8])
        small, large = beyond[beyond[:, 1] < low], beyond[beyond[:, 1] > high]
        inner, outer = (robust_standard(to_latent(way, x))[1][2:] for x in (small, large))
        assert (np.abs(np.log(inner / outer)) < np.log(1.3)).all()
        inner, outer = (robust_standard(x[:, 2:] - x[:, :1])[1] for x in (small, large))
        assert (np.log(outer / inner) > np.log(5)).all()

    def test_a_horseshoe_is_standard_in_necks_where_no_draw_has_been(self):
        draws = horseshoe_draws(400)
        curvature = measure_curvature(HORSESHOE, draws)
        layers = fit_links(draws, curvature, 400.0)
        assert layers is not None
        u = np.random.default_rng(6).normal(size=(3, 5))
        scales = np.array(
            [[-6.0] + [0.5] * 5, [0.5] + [-6.0] * 5, [-5.0, 6.0, -4.0, 5.0, 3.0, 9.0]]
        )
        latent = to_latent(Map(layers, ""), horseshoe_given(scales, u))
        np.testing.assert_allclose(latent[:, 6:], u, atol=0.03)

    def test_a_banana_is_unbent(self):
        rng = np.random.default_rng(7)
        x = rng.normal(size=(2000, 2)) * [3.0, 0.5]
        x[:, 1] += 0.2 * x[:, 0] ** 2 - 1
        layers = fit_links(x, None, 2000.0)
        assert layers is not None
        latent = to_latent(Map(layers, ""), x)
        assert stats.kstest(latent[:, 1], "norm").pvalue > 1e-3
        assert abs(np.corrcoef(latent[:, 1], latent[:, 0] ** 2)[0, 1]) < 4.5 / np.sqrt(2000)

    def test_too_few_draws_or_one_coordinate_tell_nothing(self):
        assert fit_links(in_neck(99, 5), None, 99.0) is None
        assert fit_links(np.random.default_rng(0).normal(size=(500, 1)), None, 500.0) is None


def along(one: Callable[[jnp.ndarray], jnp.ndarray], dim: int = 1) -> Gradients:
    """The density whose coordinates are independent, each with this log density."""
    return evaluate(refti.Model(lambda x: jnp.sum(one(x)), dim=dim))


SIDES = {
    "Cauchy": (lambda x: -jnp.log1p(x**2), True, True),
    "Student-t of 3": (lambda x: -2 * jnp.log1p(x**2 / 3), True, True),
    "normal": (lambda x: -0.5 * x**2, False, False),
    "Laplace": (lambda x: -jnp.sqrt(1 + x**2), False, False),
    "log gamma": (lambda x: 1.5 * x - jnp.exp(x), False, False),
    "Cauchy to the left": (
        lambda x: jnp.where(x < 0, -jnp.log1p(x**2), -0.5 * x**2),
        True,
        False,
    ),
    "log-normal to the right": (
        lambda x: jnp.where(x > 0, -0.5 * jnp.log1p(jnp.abs(x)) ** 2, -0.5 * x**2),
        False,
        True,
    ),
}


@pytest.mark.parametrize(("one", "left", "right"), SIDES.values(), ids=SIDES)
def test_heavy_sides(one, left: bool, right: bool):
    found = find_heavy_sides(along(one), np.array([0.3]), np.array([1.4]))
    assert [bool(side[0]) for side in found] == [left, right]


def test_heavy_sides_of_one_coordinate_are_not_those_of_another():
    centre, spread = np.array([100.0, -3.0, 0.0]), np.array([20.0, 0.1, 1.0])

    def log_density(x):
        y = (x - centre) / spread
        return -jnp.log1p(y[1] ** 2) - 0.5 * y[0] ** 2 + 1.2 * y[2] - jnp.exp(y[2])

    left, right = find_heavy_sides(evaluate(refti.Model(log_density, dim=3)), centre, spread)
    assert left.tolist() == right.tolist() == [False, True, False]


BOTH = np.ones(1, bool), np.ones(1, bool)


@pytest.mark.parametrize(("nu", "error"), [(1.0, 0.45), (2.0, 0.2), (4.0, 0.1)])
def test_the_heaviness_of_students_is_one_over_their_degrees(nu: float, error: float):
    # The factor like the root of a logarithm makes a Cauchy look heavier than it is by a third,
    # and one of two degrees by a fifth.
    draws = 50 + 7 * stats.t(nu).rvs(size=(4000, 1), random_state=int(nu))
    layers = fit_power_tails(draws, BOTH)
    assert layers is not None
    tails = layers[0]
    assert isinstance(tails, PowerTails)
    np.testing.assert_allclose([tails.left[0], tails.right[0]], 1 / nu, atol=error)
    latent = to_latent(Map(layers, ""), draws)[:, 0]
    # Up to one in a hundred off a normal, and 4,000 draws by chance up to one in forty.
    assert stats.kstest(latent, "norm").statistic < 0.03


def test_only_sides_that_are_heavy_get_tails():
    rng = np.random.default_rng(2)
    cauchy, normal = np.abs(rng.standard_cauchy(3000)), -np.abs(rng.normal(size=3000))
    draws = np.where(rng.random(3000) < 0.5, cauchy, normal)[:, None]
    layers = fit_power_tails(draws, (np.array([False]), np.array([True])))
    assert layers is not None
    tails = layers[0]
    assert isinstance(tails, PowerTails)
    assert tails.left[0] == 0
    assert tails.right[0] > 0.5
    assert fit_power_tails(draws, (np.array([False]), np.array([False]))) is None


def test_a_normal_gets_no_tails_though_its_sides_were_called_heavy():
    draws = np.random.default_rng(3).normal(3.0, 2.0, size=(2000, 3))
    heavy = np.ones(3, bool)
    assert fit_power_tails(draws, (heavy, heavy)) is None
    assert fit_radial_tail(draws) is None


@pytest.mark.parametrize(("nu", "error"), [(1.0, 0.2), (3.0, 0.1)])
def test_the_radial_heaviness_of_a_multivariate_student(nu: float, error: float):
    factor, centre = np.array([[2.0, 0, 0], [-1.0, 0.1, 0], [3.0, 0.4, 5.0]]), [4.0, 0.0, -9.0]
    rng = np.random.default_rng(int(nu))
    round_ = rng.normal(size=(4000, 3)) / np.sqrt(rng.chisquare(nu, size=(4000, 1)) / nu)
    draws = centre + round_ @ factor.T
    layers = fit_radial_tail(draws)
    assert layers is not None
    tail = layers[0]
    assert isinstance(tail, RadialTail)
    assert float(tail.heaviness) == pytest.approx(1 / nu, abs=error)
    latent = to_latent(Map(layers, ""), draws)
    for column in latent.T:
        assert stats.kstest(column, "norm").statistic < 0.04
    np.testing.assert_allclose(np.corrcoef(latent.T), np.eye(3), atol=4.5 / np.sqrt(4000))


class TestShapes:
    """The table of shapes."""

    def test_none_where_equations_are_singular(self, monkeypatch: pytest.MonkeyPatch):
        def fit(cloud: Cloud) -> None:
            np.linalg.solve(np.zeros((2, 2)), np.ones(2))

        monkeypatch.setitem(SHAPES, LINKS, Shape(LINKS, fit))
        draws = np.random.default_rng(1).normal(size=(400, 2))
        assert fit_shape(LINKS, Cloud(draws, 400.0, None, (np.zeros(2, bool),) * 2)) is None

    def test_a_radial_tail_is_for_densities_that_are_heavy_on_every_side(self):
        rng = np.random.default_rng(1)
        draws = rng.normal(size=(1000, 2)) / np.sqrt(rng.chisquare(1.5, size=(1000, 1)) / 1.5)
        every = np.ones(2, bool)
        cloud = Cloud(draws, 1000.0, None, (every, every))
        way = fit_shape("a heavy radial tail", cloud)
        assert way is not None
        assert way.name == "a heavy radial tail"
        but_one = np.array([True, False])
        assert fit_shape("a heavy radial tail", Cloud(draws, 1e3, None, (every, but_one))) is None

    @pytest.mark.parametrize("name", SHAPES)
    def test_none_for_draws_that_are_few_stuck_or_no_numbers(self, name: str):
        heavy = np.ones(2, bool), np.ones(2, bool)
        draws = np.random.default_rng(1).standard_cauchy(size=(400, 2))
        stuck, none = draws.copy(), draws.copy()
        stuck[:, 1], none[3, 0] = 2.5, np.nan
        for bad in (draws[:50], stuck, none):
            assert fit_shape(name, Cloud(bad, 400.0, None, heavy)) is None
