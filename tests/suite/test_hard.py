"""The hard targets: every evidence once more, by another route than the one that stated it.

Densities are set beside scipy's normalised ones, beside exact draws, or integrated: over a box, in
polar coordinates, or coordinate by coordinate where all others are independent or normal.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lgamma, log, pi

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp

from refti import suite
from refti.suite import groups, many_modes, rings, shrinkage, steps
from suite_routes import (
    POINTS,
    Route,
    at,
    by_curvature,
    by_grid,
    compared,
    compared_on_support,
    compiled,
    drawn_bananas,
    expansion,
    points,
    settled,
)

pytestmark = pytest.mark.usefixtures("x64")


def funnel_density(x: np.ndarray) -> float:
    rest = stats.norm(0, np.exp(x[0] / 2)).logpdf(x[1:]).sum()
    return float(stats.norm(0, 3).logpdf(x[0]) + rest)


def student_density(degrees: float) -> Callable[[np.ndarray], float]:
    def log_density(x: np.ndarray) -> float:
        centre, scale = np.linspace(-2, 3, len(x)), np.geomspace(0.5, 3, len(x))
        return float(stats.t(degrees, centre, scale).logpdf(x).sum())

    return log_density


def student_joint(degrees: float) -> Route:
    """log z beside scipy's density, its shape matrix from the curvature at the centre."""

    def route(target: suite.Target) -> float:
        model, dim = target.model(), target.dim
        centre = np.linspace(2, -1, dim)
        shape = np.linalg.inv(expansion(model, centre)[2]) * (degrees + dim) / degrees
        x = points(target)
        exact = stats.multivariate_t(centre, shape, df=degrees).logpdf(x)
        return settled(at(model.log_density, x) - exact)

    return route


def groups_by_conditionals(measured: np.ndarray, errors: np.ndarray, scale: float) -> Route:
    """log z over log tau of the density at a point over that of the point given tau.

    Given tau the mean and the groups are normal; their joint precision is written down whole.
    """

    def route(target: suite.Target) -> float:
        log_tau = np.linspace(-30, 11, 1641)
        rng = np.random.default_rng(3)
        place = np.concatenate([[0.3], measured + rng.normal(size=len(measured))])
        x = np.insert(np.tile(place, (len(log_tau), 1)), 1, log_tau, axis=1)
        # Near tau = 0 groups that differ have no density: close in on their mean with it.
        x[:, 2:] = 0.3 + (x[:, 2:] - 0.3) * np.minimum(1, np.exp(log_tau))[:, None]
        masses = at(target.model().log_density, x) - given(log_tau, np.delete(x, 1, axis=1))
        return float(logsumexp(masses)) + log(log_tau[1] - log_tau[0])

    def given(log_tau: np.ndarray, place: np.ndarray) -> np.ndarray:
        """The log densities of mean and groups given tau: first the mean's, then theirs."""
        inner = np.exp(-2 * log_tau)[:, None]
        weights = 1 / (errors**2 + 1 / inner)
        precision = scale**-2 + weights.sum(axis=1)
        of_mean = stats.norm((weights @ measured) / precision, precision**-0.5)
        own = errors**-2 + inner
        of_groups = stats.norm((measured * errors**-2 + inner * place[:, :1]) / own, own**-0.5)
        return of_mean.logpdf(place[:, 0]) + of_groups.logpdf(place[:, 1:]).sum(axis=1)

    return route


def eight_schools(target: suite.Target) -> float:
    return groups_by_conditionals(groups.SCHOOLS, groups.SCHOOL_ERRORS, 5)(target)


def centred_groups(count: int, spread: float) -> Route:
    return groups_by_conditionals(*groups.measurements(count, spread), 2)


def horseshoe(target: suite.Target) -> float:
    """log z one mean at a time: three values tell its normal, sums do its scale and tau."""
    means = (target.dim - 1) // 2
    model = target.model()
    grid = np.arange(-36, 36.1, 0.2)
    is_centred = target.name.endswith("centred")

    def given(log_tau: jax.Array) -> jax.Array:
        """The log integral over all but tau."""
        # The others stand at a local scale of 1 and a mean of 0, on which they do not depend.
        base = jnp.concatenate([log_tau[None], jnp.zeros(2 * means)])
        at_base = model.density.log_density(base)

        def one(i: jax.Array) -> jax.Array:
            def over_mean(log_local: jax.Array) -> jax.Array:
                # Steps of the size of the normal itself, or the differences drown in rounding.
                sign = 1 if is_centred else -1
                scale = jnp.exp(jnp.minimum(sign * (log_local + log_tau), 0))

                def value(m: jax.Array) -> jax.Array:
                    x = base.at[1 + i].set(log_local).at[1 + means + i].set(m * scale)
                    return model.density.log_density(x) - at_base

                low, mid, high = value(-1.0), value(0.0), value(1.0)
                precision, slope = 2 * mid - low - high, (high - low) / 2
                normal = 0.5 * (jnp.log(2 * pi / precision) + slope**2 / precision)
                return mid + normal + jnp.log(scale)

            return jax.nn.logsumexp(jax.vmap(over_mean)(jnp.asarray(grid))) + log(0.2)

        return at_base + jnp.sum(jax.vmap(one)(jnp.arange(means)))

    masses = compiled(lambda log_taus: jax.lax.map(given, log_taus))(jnp.asarray(grid))
    return float(logsumexp(np.asarray(masses))) + log(0.2)


def ring(target: suite.Target) -> float:
    """log z in polar coordinates, over the scipy density of the other coordinates at a place."""
    angles, radii = np.arange(0, 2 * pi, pi / 8), np.linspace(3, 7, 401)
    rest = np.array([0.2, -0.4, 0.9])
    x = np.array(
        [
            [1 + r * np.cos(a), -0.5 + r * np.sin(a), *rest]
            for a in angles
            for r in radii
        ]
    )  # fmt: skip
    values = at(_of_box_or_model(target), x).reshape(len(angles), len(radii))
    normal = stats.norm(rings.REST_MEAN, rings.REST_SCALE).logpdf(rest).sum()
    area = np.exp(values - normal) * radii * 0.01 * pi / 8
    return log(area.sum()) - _log_volume(target)


def shell(target: suite.Target) -> float:
    """log z along rays from the centre, the same in every direction."""
    dim = target.dim
    radii = np.linspace(1, 7, 601)
    rays = np.random.default_rng(2).normal(size=(POINTS, dim))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    x = np.linspace(0.8, -0.5, dim) + radii[:, None] * rays[:, None, :]
    values = at(jax.vmap(_of_box_or_model(target)), x)
    sphere = log(2) + dim / 2 * log(pi) - lgamma(dim / 2)
    along = logsumexp(values + (dim - 1) * np.log(radii), axis=1) + log(0.01)
    return settled(along) + sphere - _log_volume(target)


def turned_about_an_axis(target: suite.Target) -> float:
    """log z of what is round about the first axis: over the place on it and the distance to it."""
    dim = target.dim
    along, away = np.linspace(-6, 6, 961), np.arange(0.5, 260) * 0.0125
    a, b = np.meshgrid(along, away, indexing="ij")
    x = np.zeros((a.size, dim))
    x[:, 0], x[:, 1] = a.ravel(), b.ravel()
    values = at(_of_box_or_model(target), x) + (dim - 2) * np.log(b.ravel())
    sphere = log(2) + (dim - 1) / 2 * log(pi) - lgamma((dim - 1) / 2)
    return float(logsumexp(values)) + 2 * log(0.0125) + sphere - _log_volume(target)


def over_the_box(nodes: int) -> Route:
    """log z of two parameters by Gauss-Legendre nodes over the box."""

    def route(target: suite.Target) -> float:
        u, weights = np.polynomial.legendre.leggauss(nodes)
        a, b = np.meshgrid((u + 1) / 2, (u + 1) / 2)
        x = target.box.from_cube(np.stack([a.ravel(), b.ravel()], axis=1))
        values = at(target.box.log_likelihood, x)
        return float(logsumexp(values, b=np.outer(weights, weights).ravel() / 4))

    return route


def drawn_spirals(target: suite.Target) -> float:
    """log z from exact draws: normals, wound up."""
    rng = np.random.default_rng(4)
    u = rng.normal(0, [2, 0.3], (POINTS, 2))
    r, angle = np.hypot(*u.T), np.arctan2(u[:, 1], u[:, 0])
    wound = angle + r**2 / 4
    rise = rng.normal(0.2 * r**2, 0.4)
    x = np.stack([r * np.cos(wound), r * np.sin(wound), rise], axis=1)[:, : target.dim]
    drawn = stats.norm(0, [2, 0.3]).logpdf(u).sum(axis=1)
    if target.dim == 3:
        drawn += stats.norm(0.2 * r**2, 0.4).logpdf(rise)
    return settled(at(target.model().log_density, x) - drawn)


def drawn_valleys(target: suite.Target) -> float:
    """log z from exact draws, one coordinate after the other."""
    rng = np.random.default_rng(6)
    widths = np.geomspace(0.6, 0.3, target.dim - 1)
    x = np.zeros((POINTS, target.dim))
    x[:, 0] = rng.normal(1, 1, POINTS)
    drawn = stats.norm(1, 1).logpdf(x[:, 0])
    for i in range(1, target.dim):
        parent = x[:, 0] if i % 2 else x[:, i - 1]
        law = stats.norm(0.5 * parent**2, widths[i - 1])
        x[:, i] = law.rvs(random_state=rng)
        drawn += law.logpdf(x[:, i])
    if "slanting" in target.name:
        x = x @ np.linalg.qr(np.random.default_rng(3).normal(size=(target.dim, target.dim)))[0]
    return settled(at(target.model().log_density, x) - drawn)


def normals(parts: many_modes.Normals) -> Route:
    """log z beside scipy's mixture at draws from it."""

    def route(target: suite.Target) -> float:
        rng = np.random.default_rng(7)
        count, dim = len(parts.means), parts.means.shape[1]
        which = rng.choice(count, size=12, p=parts.weights)
        x = rng.normal(parts.means[which], parts.widths[which, None])
        each = [
            stats.multivariate_normal(mean, width**2 * np.eye(dim)).logpdf(x) + log(weight)
            for mean, width, weight in zip(parts.means, parts.widths, parts.weights, strict=True)
        ]
        exact = logsumexp(each, axis=0)
        return settled(at(_of_box_or_model(target), x) - exact) - _log_volume(target)

    return route


def scattered(modes: int, dim: int) -> Route:
    return normals(many_modes.scattered(modes, dim))


def two_widths(dim: int) -> Route:
    direction = np.linspace(1, 2, dim) / np.linalg.norm(np.linspace(1, 2, dim))
    parts = many_modes.Normals(np.outer([-6, 9], direction), np.array([1, 0.5]), np.full(2, 0.5))
    return normals(parts)


def two_widths_box(target: suite.Target) -> float:
    means = np.array([[-2.5, -2, -3, -2.5, -2], [3.5, 3, 3.5, 4, 3]])
    return normals(many_modes.Normals(means, np.array([1, 0.3]), np.full(2, 0.5)))(target)


def nested(dim: int, middle: float, widths: list[float], weights: list[float]) -> Route:
    means = np.full((len(widths), dim), middle)
    return normals(many_modes.Normals(means, np.array(widths), np.array(weights)))


def spike_in_slab_and_far(target: suite.Target) -> float:
    direction = np.linspace(1, 2, 5) / np.linalg.norm(np.linspace(1, 2, 5))
    means = 0.5 + np.outer([0, 0, -25], direction)
    return normals(many_modes.Normals(means, np.array([1, 0.1, 0.5]), np.array([0.4, 0.3, 0.3])))(
        target
    )


def needle(dim: int) -> Route:
    off = np.linspace(1, 2, dim)
    means = np.stack([np.full(dim, -0.5), 2 * off / np.linalg.norm(off) - 0.5])
    return normals(many_modes.Normals(means, np.array([1, 0.05]), np.array([0.7, 0.3])))


def change_point(target: suite.Target) -> float:
    """log z by sums over the logarithms of both rates, within each of forty intervals."""
    model, rates = target.model(), np.linspace(-16, 4, 201)
    when = (np.arange(40) + 0.37) / 40
    a, b = np.meshgrid(rates, rates)
    total = -np.inf
    # The density of the time has a Jacobian in unconstrained coordinates, taken off here.
    for share in when:
        x = np.stack([a.ravel(), b.ravel(), np.full(a.size, np.log(share / (1 - share)))], axis=1)
        jacobian = log(40) + log(share * (1 - share))
        total = np.logaddexp(total, logsumexp(at(model.log_density, x)) - jacobian)
    return float(total) + 2 * log(rates[1] - rates[0])


def cell_by_cell(edges: list[np.ndarray]) -> Route:
    """log z in the plane by Gauss-Legendre nodes between the edges of the steps."""

    def route(target: suite.Target) -> float:
        u, weights = np.polynomial.legendre.leggauss(8)
        axes = [(e[:-1, None] + (u + 1) / 2 * np.diff(e)[:, None]).ravel() for e in edges]
        parts = [(weights / 2 * np.diff(e)[:, None]).ravel() for e in edges]
        a, b = np.meshgrid(*axes, indexing="ij")
        values = at(target.model().log_density, np.stack([a.ravel(), b.ravel()], axis=1))
        return float(logsumexp(values, b=np.outer(*parts).ravel()))

    return route


def stairs(dim: int) -> Callable[[suite.Target], float]:
    """log z one coordinate at a time, the others at 0, by scipy between the edges of the steps."""

    def route(target: suite.Target) -> float:
        centre, scale = np.linspace(-0.7, 1.1, dim), np.geomspace(0.5, 3, dim)
        u, weights = np.polynomial.legendre.leggauss(8)
        edges = 0.5 * (np.arange(-30, 32) - 0.5)
        t = (edges[:-1, None] + (u + 1) / 4).ravel()
        model = target.model()
        at_zero = at(model.log_density, np.zeros((1, dim)))[0]
        total = at_zero
        for i in range(dim):
            x = np.zeros((len(t), dim))
            x[:, i] = centre[i] + scale[i] * t
            values = at(model.log_density, x) - at_zero
            total += logsumexp(values, b=np.tile(weights / 4, len(edges) - 1) * scale[i])
        return float(total)

    return route


def beta_density(first: float, second: float) -> Route:
    return compared_on_support(
        lambda v: float(stats.beta(first, second).logpdf(v["p"]).sum()), lambda v: v["p"]
    )


def _of_box_or_model(target: suite.Target) -> Callable[[jax.Array], jax.Array]:
    """The likelihood where there is a box, the density where there is none."""
    return target.model().log_density if target.box is None else target.box.log_likelihood


def _log_volume(target: suite.Target) -> float:
    return 0.0 if target.box is None else target.box.log_volume


CHECKS = 0.7 * np.arange(-24, 25)
ROUTES: dict[str, Route] = {
    "funnel_10": compared(funnel_density),
    "funnel_50": compared(funnel_density),
    "eight_schools": eight_schools,
    "centred_30": centred_groups(30, 0.1),
    "centred_100": centred_groups(100, 0.5),
    "centred_200": centred_groups(200, 2.0),
    "horseshoe_5": horseshoe,
    "horseshoe_5_centred": horseshoe,
    "horseshoe_20": horseshoe,
    "cauchy_1": compared(student_density(1)),
    "cauchy_2": compared(student_density(1)),
    "cauchy_5": compared(student_density(1)),
    "cauchy_10": compared(student_density(1)),
    "cauchy_20": compared(student_density(1)),
    "student_1d_1.5df": compared(student_density(1.5)),
    "student_20d_1.5df": compared(student_density(1.5)),
    "student_10d_2df": compared(student_density(2)),
    "student_20d_3df": compared(student_density(3)),
    "student_joint_5d_1df": student_joint(1),
    "student_joint_20d_2df": student_joint(2),
    "stretched_0.3": compared(lambda x: float(stats.gennorm(0.3, 1, 2).logpdf(x[0]))),
    "normal_1e9": by_curvature,
    "normal_1e12": by_curvature,
    "ring_2_box": over_the_box(600),
    "ring_5": ring,
    "ring_5_box": ring,
    "shell_3": shell,
    "shell_5_box": shell,
    "double_shell_2_box": over_the_box(600),
    "double_shell_5_box": turned_about_an_axis,
    "spiral_2": drawn_spirals,
    "spiral_3": drawn_spirals,
    "banana_20": drawn_bananas,
    "rosenbrock_2": by_grid([-8.0, -4.0], [10.0, 54.0], 901),
    "rosenbrock_5": drawn_valleys,
    "rosenbrock_20": drawn_valleys,
    "rosenbrock_20_slanting": drawn_valleys,
    "eggbox": over_the_box(500),
    "grid_25_box": over_the_box(500),
    "two_widths_5": two_widths(5),
    "two_widths_10": two_widths(10),
    "two_widths_5_box": two_widths_box,
    "mixture_3_2d": by_grid([-20.0, -20.0], [24.0, 24.0], 601),
    "mixture_3_10d": scattered(3, 10),
    "mixture_10_2d": scattered(10, 2),
    "mixture_10_5d_box": scattered(10, 5),
    "mixture_10_10d": scattered(10, 10),
    "mixture_40_2d_box": scattered(40, 2),
    "mixture_40_5d": scattered(40, 5),
    "mixture_100_2d_box": scattered(100, 2),
    "mixture_100_10d": scattered(100, 10),
    "needle_2": needle(2),
    "needle_5": needle(5),
    "spike_in_slab_5": nested(5, 0.5, [1, 0.1], [0.7, 0.3]),
    "spike_in_slab_20": nested(20, 0.5, [1, 0.1], [0.7, 0.3]),
    "spike_in_slab_and_far_5": spike_in_slab_and_far,
    "nested_normals_10": nested(10, 0.0, [1, 0.1, 0.01], [0.5, 0.3, 0.2]),
    "change_point": change_point,
    "checkerboard_2": cell_by_cell([CHECKS, CHECKS]),
    "staircase_2": stairs(2),
    "staircase_5": stairs(5),
    "beta_0.05_0.05": beta_density(0.05, 0.05),
    "beta_0.05_0.05_times_3": beta_density(0.05, 0.05),
    "beta_0.5_0.3": beta_density(0.5, 0.3),
    "dirichlet_0.05_times_4": compared_on_support(
        lambda v: float(stats.dirichlet(np.full(4, 0.05)).logpdf(v["p"] / v["p"].sum())),
        lambda v: v["p"][:-1],
    ),
    "gamma_0.1": compared_on_support(
        lambda v: float(stats.gamma(0.1, scale=0.5).logpdf(v["value"])),
        lambda v: v["value"][None],
    ),
}


# Their evidence takes a second or two by another route, and they are written as others are.
DEAR = ("horseshoe_20", "change_point")


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(target, id=str(target), marks=pytest.mark.long if str(target) in DEAR else ())
        for target in suite.HARD
    ],
)
def test_evidence_by_another_route(target: suite.Target):
    assert ROUTES[target.name](target) == pytest.approx(target.log_z, abs=1e-7, rel=1e-12)


def test_every_hard_target_has_a_route():
    assert list(ROUTES) == [target.name for target in suite.HARD]


BOXED = [target for target in suite.HARD if target.box is not None]


@pytest.mark.parametrize(
    "target",  # one of each way to make a box
    [
        pytest.param(target, id=str(target), marks=pytest.mark.long if number % 4 else ())
        for number, target in enumerate(BOXED)
    ],
)
def test_a_model_in_a_box_is_its_likelihood_times_the_uniform_prior(target: suite.Target):
    model, x = target.model(), points(target)
    theta = at(lambda u: jnp.stack(list(model.constrain(u).values())), x)
    low, high = np.array(target.box.bounds).T
    jacobian = np.log((theta - low) * (high - theta) / (high - low)).sum(axis=1)
    expected = at(target.box.log_likelihood, theta) - target.box.log_volume + jacobian
    np.testing.assert_allclose(at(model.log_density, x), expected, atol=1e-9, rtol=1e-11)
    np.testing.assert_allclose(target.box.from_cube((theta - low) / (high - low)), theta)
    assert target.box.log_volume == pytest.approx(float(np.log(high - low).sum()))


def test_eight_schools_by_plain_quadrature():
    """The evidence by scipy over tau, the schools' effects one multivariate normal given it."""

    def integrand(tau: float) -> float:
        spread = np.diag(groups.SCHOOL_ERRORS**2 + tau**2) + 25 * np.ones((8, 8))
        exact = stats.multivariate_normal(np.zeros(8), spread).logpdf(groups.SCHOOLS)
        return stats.halfcauchy(scale=5).pdf(tau) * np.exp(exact + 31)

    value = integrate.quad(integrand, 0, 50)[0] + integrate.quad(integrand, 50, np.inf)[0]
    found = suite.find("eight_schools").log_z
    assert found == pytest.approx(log(value) - 31, abs=1e-7)
    assert found == pytest.approx(-31.311, abs=5e-4)


def test_one_evidence_for_a_horseshoe_however_it_is_written():
    assert suite.find("horseshoe_5").log_z == suite.find("horseshoe_5_centred").log_z
    measured, errors = shrinkage.measurements(5)
    assert np.sum(np.abs(measured) > 3 * errors) >= 1


@pytest.mark.parametrize(("modes", "dim"), [(3, 2), (10, 5), (40, 5), (100, 2), (100, 10)])
def test_scattered_modes_are_apart_and_unlike(modes: int, dim: int):
    parts = many_modes.scattered(modes, dim)
    assert parts.weights.sum() == pytest.approx(1)
    assert parts.weights.max() / parts.weights.min() == pytest.approx(5)
    distances = np.linalg.norm(parts.means[:, None] - parts.means, axis=2)
    sums = 4 * np.add.outer(parts.widths, parts.widths)
    assert np.all((distances > sums)[~np.eye(modes, dtype=bool)])


def test_modes_keep_off_the_sides_of_their_box():
    for name in ("mixture_10_5d_box", "mixture_40_2d_box", "mixture_100_2d_box"):
        modes, dim = (int(word.rstrip("d")) for word in name.split("_")[1:3])
        parts, (low, high) = many_modes.scattered(modes, dim), suite.find(name).box.bounds[0]
        reach = 6 * parts.widths[:, None]
        assert np.all((parts.means - reach > low) & (parts.means + reach < high))


def test_the_counts_jump_where_they_were_made_to():
    counts = steps.change_point_counts()
    assert len(counts) == 40
    assert counts[:17].mean() > 1.5 * counts[17:].mean()
