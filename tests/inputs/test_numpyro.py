"""NumPyro models: NumPyro's own density, parted into prior and likelihood; bad input is told."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pytest
from numpyro import distributions as dist
from numpyro import handlers
from numpyro.contrib.control_flow import scan
from numpyro.distributions.transforms import AffineTransform, OrderedTransform
from numpyro.infer import util
from numpyro.infer.reparam import CircularReparam, LocScaleReparam, TransformReparam
from scipy import stats

import refti
from refti.models.density import QUICK_COMPILE
from refti.paper.radiata import model as radiata

rng = np.random.default_rng(20)
X, Y = rng.normal(size=(12, 3)), rng.normal(size=12)
COUNTS = rng.poisson(3.0, size=(4, 3))
SEEN = np.arange(12) < 5
SMALL: dict[str, Any] = {
    "chains": 4,
    "warmup": 200,
    "kept": 300,
    "search": "quick",
    "progress": False,
}
QUICK: dict[str, Any] = {"compiler_options": QUICK_COMPILE}
TOO_FAR = 4.5  # standard errors; a correct estimate passes that once in 150,000


def regression(x, y):
    a = numpyro.sample("a", dist.Normal(0, 5))
    b = numpyro.sample("b", dist.Normal(0, 2).expand([3]).to_event(1))
    s = numpyro.sample("s", dist.Exponential(1.0))
    numpyro.deterministic("mean", a + x @ b)
    numpyro.sample("y", dist.Normal(a + x @ b, s), obs=y)


def hierarchy(y):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("group", 12):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y)


def bounds_that_depend(y):
    s = numpyro.sample("s", dist.Exponential(1.0))
    u = numpyro.sample("u", dist.Uniform(0, s))
    t = numpyro.sample("t", dist.TruncatedNormal(u, s, low=u))
    numpyro.sample("y", dist.Normal(t, s), obs=y)


def vectors_and_matrices(y):
    factor = numpyro.sample("factor", dist.LKJCholesky(3, 2.0))
    shares = numpyro.sample("shares", dist.Dirichlet(np.array([1.0, 2.0, 3.0])))
    base = dist.Normal(0, 1).expand([4]).to_event(1)
    cuts = numpyro.sample("cuts", dist.TransformedDistribution(base, OrderedTransform()))
    weights = numpyro.sample(
        "weights", dist.MatrixNormal(np.zeros((2, 3)), np.eye(2), 0.5 * np.eye(3))
    )
    offsets = numpyro.sample("offsets", dist.ZeroSumNormal(1.0, (4,)))
    angle = numpyro.sample("angle", dist.VonMises(0.3, 2.0))
    mean = shares[0] + cuts[1] + weights.sum() + offsets[0] + factor[1, 0] + jnp.sin(angle)
    numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)


def plates_in_plates(counts):
    with numpyro.plate("row", 4, dim=-2):
        rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
        with numpyro.plate("column", 3, dim=-1):
            scale = numpyro.sample("scale", dist.LogNormal(0.0, 0.5))
            numpyro.sample("counts", dist.Poisson(rate * scale), obs=counts)


def masked_and_scaled(y):
    a = numpyro.sample("a", dist.Normal(0, 5))
    with handlers.scale(scale=0.5):
        numpyro.sample("b", dist.Normal(a, 1.0))
    with numpyro.plate("n", 12), handlers.mask(mask=SEEN), handlers.scale(scale=0.3):
        numpyro.sample("y", dist.Normal(a, 1.0), obs=np.where(SEEN, y, np.nan))
    numpyro.sample("again", dist.Normal(a, 1.0).expand([12]).mask(~SEEN).to_event(1), obs=y)


def time_series(y):
    s = numpyro.sample("s", dist.HalfNormal(1.0))

    def step(before, now):
        z = numpyro.sample("z", dist.Normal(before, s))
        g = numpyro.sample("g", dist.Gamma(2.0, s))
        numpyro.sample("y", dist.Normal(z, g), obs=now)
        return z, None

    scan(step, 0.0, y)


def with_factor(y):
    a = numpyro.sample("a", dist.Normal(0, 5))
    numpyro.factor("pull", -0.5 * a**2)
    numpyro.sample("y", dist.Normal(a, 1.0), obs=y)


def affine(y):
    shift = AffineTransform(-1.0, 3.0, domain=dist.constraints.positive)
    a = numpyro.sample("a", dist.TransformedDistribution(dist.Gamma(2.0, 1.0), shift))
    numpyro.sample("y", dist.StudentT(3.0, a, 1.0), obs=y)


@dataclass(frozen=True)
class Case:
    """A NumPyro model with its arguments, and its parameters' shapes."""

    model: Callable[..., Any]
    args: tuple[Any, ...]
    shapes: dict[str, tuple[int, ...]]
    kwargs: dict[str, Any] = field(default_factory=dict)
    observed: tuple[str, ...] = ("y", "again", "counts")

    def made(self) -> refti.Model:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", 'factor "pull"')
            return refti.from_numpyro(self.model, *self.args, **self.kwargs)

    def log_density(self, z: dict[str, jax.Array]) -> jax.Array:
        """NumPyro's own."""
        return -util.potential_energy(handlers.seed(self.model, 0), self.args, self.kwargs, z)


GROUPS: dict[str, tuple[int, ...]] = {"mu": (), "tau": (), "theta": (12,)}
CASES = {
    "regression": Case(regression, (X,), {"a": (), "b": (3,), "s": ()}, {"y": Y}),
    "hierarchy": Case(hierarchy, (Y,), GROUPS),
    "decentred": Case(
        handlers.reparam(hierarchy, config={"theta": LocScaleReparam(0)}),
        (Y,),
        {"mu": (), "tau": (), "theta_decentered": (12,)},
    ),
    "conditioned": Case(
        handlers.condition(hierarchy, data={"mu": 1.0}),
        (Y,),
        {"tau": (), "theta": (12,)},
        observed=("mu", "y"),
    ),
    "seeded": Case(handlers.seed(hierarchy, 3), (Y,), GROUPS),
    "bounds": Case(bounds_that_depend, (Y,), {"s": (), "u": (), "t": ()}),
    "matrices": Case(
        vectors_and_matrices,
        (Y,),
        {
            "factor": (3, 3),
            "shares": (3,),
            "cuts": (4,),
            "weights": (2, 3),
            "offsets": (4,),
            "angle": (),
        },
    ),
    "plates": Case(plates_in_plates, (COUNTS,), {"rate": (4, 1), "scale": (4, 3)}),
    "masked": Case(masked_and_scaled, (Y,), {"a": (), "b": ()}),
    "scan": Case(time_series, (Y,), {"s": (), "z": (12,), "g": (12,)}),
    "factor": Case(with_factor, (Y,), {"a": ()}),
    "affine": Case(affine, (Y,), {"a": ()}),
    "transform_reparam": Case(
        handlers.reparam(affine, config={"a": TransformReparam()}), (Y,), {"a_base": ()}
    ),
}


@pytest.fixture(params=list(CASES), scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def model(case: Case) -> refti.Model:
    return case.made()


@pytest.fixture
def points(model: refti.Model) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(20, model.dim))


def coordinates(model: refti.Model, x: np.ndarray) -> dict[str, jax.Array]:
    """Unconstrained coordinates by name, cut by their labels and not by the space."""
    owners = [label.partition("[")[0] for label in model.space.coordinates]
    free = {name: x[[owner == name for owner in owners]] for name in model.parameters}
    last = {name: model.space.coordinates[::-1][owners[::-1].index(name)] for name in free}
    shapes = {
        name: tuple(int(i) + 1 for i in label[len(name) + 1 : -1].split(",") if i)
        for name, label in last.items()
    }
    return {name: jnp.asarray(z.reshape(shapes[name])) for name, z in free.items()}


@pytest.mark.usefixtures("x64")
class TestDensity:
    """That of NumPyro, of which prior and likelihood are the parts."""

    def test_is_numpyros_and_the_prior_that_without_data(self, case: Case, model, points):
        blocked = handlers.block(case.model, hide=[*case.observed])
        prior = Case(blocked, case.args, case.shapes, case.kwargs)
        both = jax.jit(lambda z: (case.log_density(z), prior.log_density(z)), **QUICK)
        theirs = np.array([both(coordinates(model, x)) for x in points])
        whole, alone = model.log_densities(points), model.prior_alone().log_densities(points)
        np.testing.assert_allclose(np.stack([whole, alone], axis=1), theirs, rtol=1e-12)
        assert np.all(np.abs(whole - alone) > 1e-3)

    def test_it_is_finite_at_the_start(self, model: refti.Model):
        assert np.isfinite(model.log_densities(model.start[None]))


@pytest.mark.usefixtures("x64")
class TestSpace:
    """The latent sites, mapped as NumPyro maps them."""

    def test_parameters_are_the_latents_in_the_order_of_the_model(self, case, model):
        assert {name: p.shape for name, p in model.parameters.items()} == case.shapes
        assert list(model.parameters) == list(case.shapes)

    def test_constrains_as_numpyro_does(self, case: Case, model: refti.Model, points):
        values = model.space.constrain_all(points)
        seeded = handlers.seed(case.model, 0)
        constrained = jax.jit(
            lambda z: util.constrain_fn(seeded, case.args, case.kwargs, z), **QUICK
        )
        for row, x in enumerate(points):
            for name, value in constrained(coordinates(model, x)).items():
                np.testing.assert_allclose(
                    values[name][row], value.reshape(case.shapes[name]), rtol=1e-12, atol=1e-14
                )

    def test_there_and_back_is_where_one_was(self, model: refti.Model, points):
        values = model.space.constrain_all(points)
        assert values.keys() == model.parameters.keys()
        back = model.space.unconstrain_all(values)
        np.testing.assert_allclose(back, points, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(model.unconstrain(model.constrain(points[0])), points[0])


def test_missing_data_under_a_mask_leave_the_gradient_finite():
    model = CASES["masked"].made()
    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(model.density.log_density), **QUICK)(jnp.ones(model.dim))
    assert np.all(np.isfinite(gradient))


def test_values_outside_are_told_by_name():
    space = CASES["bounds"].made().space
    inside = {"s": np.array([1.0, 2.0]), "u": np.array([0.5, 1.5]), "t": np.array([0.7, 3.0])}
    assert space.unconstrain_all(inside).shape == (2, 3)
    # 1.5 lies between 0 and s of the second draw, but not of the first.
    with pytest.raises(refti.ModelError, match=r"^'u' has values outside its support\.$"):
        space.unconstrain_all(inside | {"u": np.array([1.5, 0.5]), "t": np.array([1.7, 3.0])})
    with pytest.raises(refti.ModelError, match="'s' has values outside"):
        space.unconstrain_all(inside | {"s": np.array([-1.0, np.nan])})
    with pytest.raises(refti.ModelError, match="'u' has values outside"):  # at the edge
        space.unconstrain_all(inside | {"u": np.array([0.0, 1.5])})


def test_the_jacobian_of_a_scaled_site_is_not_scaled():
    # The integral of p(s)^(1/2) is the same in all coordinates.
    def halved():
        with handlers.scale(scale=0.5):
            numpyro.sample("s", dist.Exponential(1.0))

    with pytest.warns(UserWarning, match="no observed site"):
        model = refti.from_numpyro(halved)
    for x in (-1.0, 0.3):
        assert float(model.log_density(np.array([x]))) == pytest.approx(-0.5 * np.exp(x) + x)


def test_the_user_is_told_of_factors_and_of_how_the_model_is_evaluated():
    with pytest.warns(UserWarning, match='factor "pull" counts as part of the prior') as caught:
        model = refti.from_numpyro(with_factor, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.source == f"NumPyro {numpyro.__version__}"


def test_a_model_may_be_used_in_either_precision_mode():
    model = CASES["bounds"].made()
    assert not jax.config.jax_enable_x64
    x = np.array([0.1, -0.2, 0.3])
    assert model.log_density(x).dtype == np.float64
    assert model.constrain(x)["u"].dtype == np.float64
    assert not jax.config.jax_enable_x64


def test_data_of_32_bits_is_told_where_the_model_is_made():
    data = jnp.asarray(Y.copy())
    assert data.dtype == jnp.float32
    with pytest.warns(UserWarning, match="likelihood of the NumPyro model uses .* 32-bit") as seen:
        refti.from_numpyro(hierarchy, data)
    assert [warning.filename for warning in seen] == [__file__]


def test_the_users_arrays_serve_in_32_bit_mode_after_that():
    y = Y.copy()
    refti.from_numpyro(hierarchy, y)
    assert jnp.asarray(y).dtype == jnp.float32
    assert float(jnp.sum(1.0 + jnp.asarray(y))) == pytest.approx(12 + Y.sum(), rel=1e-5)


def test_the_start_is_moved_to_where_the_density_is_finite():
    def cut(y):
        a = numpyro.sample("a", dist.Normal(0, 1))
        numpyro.sample("y", dist.Normal(jnp.where(a < 0.5, jnp.nan, a), 1.0), obs=y)

    model = refti.from_numpyro(cut, Y)
    assert model.start[0] > 0.5


class TestEvidence:
    """The same numbers as by hand or in closed form."""

    @pytest.mark.long  # both parts of the density are compared with NumPyro's above
    def test_by_power_posteriors(self):
        def one_parameter(y):
            a = numpyro.sample("a", dist.Normal(0.0, 2.0))
            numpyro.sample("y", dist.Normal(a, 1.0), obs=y)

        spread = 4.0 + np.eye(12)
        exact = stats.multivariate_normal(np.zeros(12), spread).logpdf(Y)
        model = refti.from_numpyro(one_parameter, Y)
        result = refti.evidence(model, path="power", check_prior=False, progress=False)
        assert result.trusted, str(result)
        assert abs(result.log_z - exact) < TOO_FAR * result.error

    @pytest.mark.long
    def test_of_a_conjugate_regression(self):
        def conjugate(x, y):
            b = numpyro.sample("b", dist.Normal(0.5, 2.0).expand([3]).to_event(1))
            numpyro.sample("y", dist.Normal(x @ b, 0.7), obs=y)

        spread = 4.0 * X @ X.T + 0.49 * np.eye(12)
        exact = stats.multivariate_normal(X @ np.full(3, 0.5), spread).logpdf(Y)
        result = refti.evidence(refti.from_numpyro(conjugate, X, Y), progress=False)
        assert result.trusted, str(result)
        assert abs(result.log_z - exact) < max(TOO_FAR * result.error, 1e-5)
        assert [check.ok for check in result.checks if check.name == "prior"] == [True]

    @pytest.mark.long
    def test_a_factor_that_spoils_the_prior_is_found_by_its_check(self):
        result = refti.evidence(CASES["factor"].made(), **SMALL)
        assert [check.ok for check in result.checks if check.name == "prior"] == [False]

    @pytest.mark.long
    def test_draws_of_numpyros_own_sampler_take_the_pilots_place(self):
        kernel = numpyro.infer.NUTS(radiata_pine)
        sampler = numpyro.infer.MCMC(kernel, num_warmup=500, num_samples=500, progress_bar=False)
        with jax.enable_x64(True):
            sampler.run(jax.random.key(0), *radiata_data(1))
            draws = {name: np.asarray(v) for name, v in sampler.get_samples().items()}
        model = refti.from_numpyro(radiata_pine, *radiata_data(1))
        result = refti.evidence(model, draws=draws, progress=False)
        assert abs(result.log_z - radiata.EXACT_LOG_Z["density"]) < TOO_FAR * result.error

    @pytest.mark.long
    @pytest.mark.parametrize(("name", "column"), [("density", 1), ("adjusted_density", 2)])
    def test_of_the_radiata_models(self, name: str, column: int):
        model = refti.from_numpyro(radiata_pine, *radiata_data(column))
        result = refti.evidence(model, seed=2, progress=False)
        assert result.trusted, str(result)
        assert abs(result.log_z - radiata.EXACT_LOG_Z[name]) < TOO_FAR * result.error
        assert [check.ok for check in result.checks if check.name == "prior"] == [True]

    def test_models_that_differ_only_in_data_share_their_programs(self):
        refti.evidence(refti.from_numpyro(radiata_pine, *radiata_data(1)), **SMALL)
        other = refti.evidence(refti.from_numpyro(radiata_pine, *radiata_data(2)), **SMALL)
        assert other.cost.programs == 0
        away = other.log_z - radiata.EXACT_LOG_Z["adjusted_density"]
        assert abs(away) < TOO_FAR * other.error
        assert [check.ok for check in other.checks if check.name == "prior"] == [True]

    def test_draws_by_the_names_of_the_sites_take_the_pilots_place(self):
        x, y = radiata_data(1)
        draws = radiata_posterior(x, y, 1000)
        result = refti.evidence(refti.from_numpyro(radiata_pine, x, y), draws=draws, **SMALL)
        assert abs(result.log_z - radiata.EXACT_LOG_Z["density"]) < TOO_FAR * result.error
        other = refti.from_numpyro(radiata_pine, x, y[::-1])
        with pytest.raises(refti.ModelError, match="not draws of this model"):
            refti.evidence(other, draws=draws, **SMALL)


def radiata_posterior(x: np.ndarray, y: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Exact draws: the priors are conjugate."""
    rng = np.random.default_rng(4)
    prior, centre = np.diag([0.06, 6.0]), np.array([3000.0, 185.0])
    design = np.stack([np.ones_like(x), x], axis=1)
    precision = prior + design.T @ design
    mean = np.linalg.solve(precision, prior @ centre + design.T @ y)
    squares = y @ y + centre @ prior @ centre - mean @ precision @ mean
    tau = rng.gamma(3.0 + len(y) / 2, size=count) / (2 * 300.0**2 + squares / 2)
    spread = np.linalg.cholesky(np.linalg.inv(precision))
    both = mean + rng.normal(size=(count, 2)) @ spread.T / np.sqrt(tau)[:, None]
    return {"tau": tau, "alpha": both[:, 0], "beta": both[:, 1]}


def radiata_pine(x, y):
    tau = numpyro.sample("tau", dist.Gamma(3.0, 2 * 300.0**2))
    alpha = numpyro.sample("alpha", dist.Normal(3000.0, 1 / jnp.sqrt(0.06 * tau)))
    beta = numpyro.sample("beta", dist.Normal(185.0, 1 / jnp.sqrt(6.0 * tau)))
    numpyro.sample("y", dist.Normal(alpha + beta * x, 1 / jnp.sqrt(tau)), obs=y)


def radiata_data(column: int) -> tuple[np.ndarray, np.ndarray]:
    strength, covariate = radiata.SPECIMENS[:, 0], radiata.SPECIMENS[:, column]
    return covariate - covariate.mean(), strength


def a_normal() -> Any:
    return numpyro.sample("a", dist.Normal(0, 1))


def discrete():
    k = numpyro.sample("k", dist.Poisson(3.0))
    j = numpyro.sample("j", dist.Bernoulli(0.5), infer={"enumerate": "parallel"})
    numpyro.sample("y", dist.Normal(a_normal() + k + j, 1.0), obs=Y)


def param():
    s = numpyro.param("s", 1.0)
    numpyro.sample("y", dist.Normal(a_normal(), s), obs=Y)


def subsampled():
    a = a_normal()
    with numpyro.plate("data", 12, subsample_size=4) as index:
        numpyro.sample("y", dist.Normal(a, 1.0), obs=jnp.asarray(Y)[index])


def improper():
    a = numpyro.sample("a", dist.ImproperUniform(dist.constraints.positive, (), (2,)))
    numpyro.sample("y", dist.Normal(a[0], 1.0), obs=Y)


def unwrapped():
    angle = numpyro.sample("angle", dist.VonMises(0.0, 1.0))
    numpyro.sample("y", dist.Normal(angle, 1.0), obs=Y)


def no_latents():
    numpyro.sample("y", dist.Normal(0, 1.0), obs=Y)


def own_keys():
    noise = jax.random.normal(numpyro.prng_key(), (12,))
    numpyro.sample("y", dist.Normal(a_normal(), 1.0), obs=Y + noise)


def own_numpy():
    noise = np.random.default_rng().normal(size=12)
    numpyro.sample("y", dist.Normal(a_normal(), 1.0), obs=Y + noise)


@jax.jit
def with_noise(mean):
    return mean + np.random.default_rng().normal()


def own_jitted():
    numpyro.sample("y", dist.Normal(with_noise(a_normal()), 1.0), obs=Y)


def hidden():
    with handlers.block():
        noise = numpyro.sample("noise", dist.Normal(0, 1))
    numpyro.sample("y", dist.Normal(a_normal() + noise, 1.0), obs=Y)


def raises():
    raise ValueError("no such column")


def branches():
    if a_normal() > 0:
        numpyro.sample("b", dist.Normal(0, 1))


def changing_data():
    a = a_normal()
    CALLS.append(1)
    numpyro.sample("y", dist.Normal(a, 1), obs=Y[: len(CALLS)])


def changing_latents():
    a = a_normal()
    CALLS.append(1)
    numpyro.sample(f"b{len(CALLS)}", dist.Normal(a, 1))


def missing_data():
    numpyro.sample("y", dist.Normal(a_normal(), 1.0), obs=np.where(SEEN, Y, np.nan))


def point_mass():
    numpyro.sample("y", dist.Normal(numpyro.sample("d", dist.Delta(1.0)), 1.0), obs=Y)


def masked_latent():
    with numpyro.plate("n", 12), handlers.mask(mask=SEEN):
        numpyro.sample("z", dist.Normal(0, 1))


def partly_observed():
    numpyro.sample("y", dist.Normal(a_normal(), 1.0).expand([12]), obs=Y, obs_mask=SEEN)


def twice():
    a_normal()
    a_normal()


def on_a_sphere():
    numpyro.sample("v", dist.ProjectedNormal(np.ones(3)))


CALLS: list[int] = []


class TestBadInput:
    """Each told before any sampling, with what to do."""

    @pytest.mark.parametrize(
        ("bad", "words"),
        [
            (discrete, [r'"k" is discrete \(Poisson\)', "sum .k. out of the model"]),
            (param, ['"s" is a numpyro.param', "numpyro.sample"]),
            (subsampled, ['plate "data" takes 4 of 12', "subsample_size"]),
            (improper, ['"a" has an improper prior', "proper prior"]),
            (
                handlers.reparam(unwrapped, config={"angle": CircularReparam()}),
                ['"angle_unwrapped" has an improper prior'],
            ),
            (no_latents, ["no latent site", "nothing to integrate"]),
            (own_keys, ['"y" changes from run to run', "pass them as arguments"]),
            (own_numpy, ['"y" changes from run to run']),
            (own_jitted, ['"y" changes from run to run', "numpy.random"]),
            (hidden, ['"y" changes from run to run', "handlers.block"]),
            (raises, ["ValueError: no such column", "line [0-9]+ of raises"]),
            (branches, ["cannot be traced", "of branches", "without Python branches"]),
            (changing_data, [r'"y" is observed of shape \(1,\) in one run .* \(2,\) in another']),
            (changing_latents, ['"b1" is latent of shape .* in one run .* absent in another']),
            (missing_data, ['observed site "y" has 7 NaN', "mask"]),
            (point_mass, ['"d" is a point mass', "numpyro.deterministic"]),
            (masked_latent, ['"z" has elements that are masked out', "improper"]),
            (partly_observed, ['"y_unobserved" has elements that are masked out']),
            (twice, ["unique names", "`a`"]),
            (on_a_sphere, ['"v"', "cannot map"]),
            (3, ["takes a function", "got int"]),
            (handlers.mask(mask=True), ["failed when it was run"]),
        ],
    )
    def test_is_a_model_error(self, bad: Any, words: list[str]):
        CALLS.clear()
        with pytest.raises(refti.ModelError) as caught:
            refti.from_numpyro(bad)
        for part in words:
            assert re.search(part, str(caught.value)), str(caught.value)

    def test_several_faults_are_told_together(self):
        def two_counts():
            k = numpyro.sample("k", dist.Poisson(3.0))
            j = numpyro.sample("j", dist.Geometric(0.5))
            numpyro.sample("y", dist.Normal(a_normal() + k + j, 1.0), obs=Y)

        with pytest.raises(refti.ModelError) as caught:
            refti.from_numpyro(two_counts)
        assert len(str(caught.value).splitlines()) == 2

    @pytest.mark.parametrize(
        ("args", "kwargs", "words"),
        [
            ((), {}, "missing a required argument: 'x'"),
            ((X,), {}, "missing a required argument: 'y'"),
            ((X, Y, 3), {}, "too many positional arguments"),
            ((X, Y), {"z": 3}, "unexpected keyword argument 'z'"),
        ],
    )
    def test_arguments_that_do_not_fit(self, args, kwargs, words: str):
        with pytest.raises(refti.ModelError, match=words) as caught:
            refti.from_numpyro(regression, *args, **kwargs)
        assert "regression(x, y)" in str(caught.value)

    def test_a_model_of_refti(self):
        with pytest.raises(refti.ModelError, match=r"already a refti\.Model"):
            refti.from_numpyro(refti.Model(lambda x: -jnp.sum(x**2), dim=1))

    def test_nothing_of_a_failed_model_stays_behind(self):
        with pytest.raises(refti.ModelError):
            refti.from_numpyro(raises)
        assert numpyro.primitives._PYRO_STACK == []


class TestDoubts:
    """What can be used, but is hardly meant."""

    def test_data_left_out(self):
        def unobserved(y=None):
            numpyro.sample("y", dist.Normal(a_normal(), 1.0), obs=y)

        with pytest.warns(UserWarning, match="no observed site"):
            model = refti.from_numpyro(unobserved)
        assert list(model.parameters) == ["a", "y"]
        assert model.prior is None

    def test_data_that_count_several_times(self):
        def outer(y):
            numpyro.sample("y", dist.Normal(a_normal() + np.zeros((12, 1)), 1.0), obs=y)

        with pytest.warns(UserWarning, match=r'"y" has data of shape \(12,\) .* 144 log prob'):
            refti.from_numpyro(outer, Y)

    def test_data_outside_the_support(self):
        def positive(y):
            numpyro.sample("y", dist.HalfNormal(jnp.exp(a_normal())), obs=y)

        words = rf'"y" has {int(np.sum(Y < 0))} values outside .*\(HalfNormal\)'
        with pytest.raises(refti.ModelError, match=f"{words}, so its evidence is zero"):
            refti.from_numpyro(positive, Y)
        with (
            numpyro.validation_enabled(False),
            pytest.warns(UserWarning, match=f"{words}, where .* mean nothing"),
        ):
            refti.from_numpyro(positive, Y)

    def test_a_support_that_depends_on_the_parameters_is_no_doubt(self):
        def bounded(y):
            top = numpyro.sample("top", dist.Pareto(0.1, 1.0))
            numpyro.sample("y", dist.Uniform(0, top), obs=y)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            refti.from_numpyro(bounded, 50 * np.abs(Y))
