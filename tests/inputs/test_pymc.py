"""PyMC models keep PyMC's log density, in its own coordinates, whatever backend evaluates them."""

import os
import pickle
import warnings
from collections.abc import Callable
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import stats

import refti
from refti.inputs.pymc.agreement import evaluate_by_pytensor, find_disagreement
from refti.inputs.pymc.backends import density
from refti.inputs.pymc.graph import all_digits, read_graphs
from refti.paper.radiata.model import EXACT_LOG_Z, SPECIMENS

DATA = np.random.default_rng(5).normal(size=30)
GROUPS = np.arange(30) % 5


def hierarchical() -> None:
    group = pm.Data("group", GROUPS)
    mean = pm.Normal("mean", 0, 2)
    spread = pm.HalfNormal("spread", 2)
    shift = pm.Normal("shift", 0, 1, dims="group_name")
    pm.Deterministic("level", mean + spread * shift)
    pm.Normal("y", mean + spread * shift[group], 1.0, observed=DATA)


def simplex() -> None:
    shares = pm.Dirichlet("shares", np.array([1.0, 2.0, 3.0, 4.0]))
    pm.Multinomial("y", 10, shares, observed=[1, 2, 3, 4])


def nested_interval() -> None:
    top = pm.Uniform("top", 1, 2)
    pm.Normal("y", pm.Uniform("inside", -1, top), 1.0, observed=DATA)


def ordered() -> None:
    transform = pm.distributions.transforms.ordered
    cuts = pm.Normal("cuts", 0, 1, shape=3, transform=transform, initval=[-1, 0, 1])
    pm.Normal("y", cuts[GROUPS % 3], 1.0, observed=DATA)


def covariance() -> None:
    deviations = pm.Exponential.dist(1.0, shape=3)
    factor, _, _ = pm.LKJCholeskyCov("factor", eta=2, n=3, sd_dist=deviations)
    pm.MvNormal("y", np.zeros(3), chol=factor, observed=DATA.reshape(10, 3))


def potential() -> None:
    pm.ZeroSumNormal("effect", dims="group_name")
    scale = pm.HalfCauchy("scale", 1)
    pm.Potential("penalty", -(scale**2) + np.log(3.0))


def custom() -> None:
    def log_density(value, mean):
        return -0.5 * (value - mean) ** 2 - 0.5 * np.log(2 * np.pi)

    pm.CustomDist("y", pm.Normal("mean"), logp=log_density, observed=DATA)


def undeclared_support() -> None:
    pm.Gamma("y", pm.Normal("shape", 2, 2), 1.0, observed=np.abs(DATA))


def latent_process() -> None:
    inputs = np.linspace(0, 5, 20)[:, None]
    kernel = pm.gp.cov.Matern52(1, pm.Gamma("length", 2, 1))
    level = pm.gp.Latent(cov_func=kernel).prior("level", X=inputs)
    pm.Normal("y", level, 0.3, observed=np.sin(inputs[:, 0]))


def autoregression() -> None:
    coefficients, noise = pm.Normal("rho", 0, 0.5, shape=2), pm.HalfNormal("sigma")
    first = pm.Normal.dist(0, 1)
    pm.AR("y", rho=coefficients, sigma=noise, init_dist=first, observed=DATA)


def missing() -> None:
    gaps = np.ma.masked_invalid([1.0, np.nan, 2.0, np.nan])
    pm.Normal("y", pm.Normal("mean"), 1.0, observed=gaps)


def censored() -> None:
    inner = pm.Normal.dist(pm.Normal("mean"), pm.HalfNormal("spread"))
    pm.Censored("y", inner, lower=-0.5, upper=0.5, observed=np.clip(DATA, -0.5, 0.5))


def truncated() -> None:
    inner = pm.Normal.dist(pm.Normal("mean"), pm.HalfNormal("spread"))
    pm.Truncated("y", inner, lower=0, observed=np.abs(DATA))


BY_JAX = [
    hierarchical,
    simplex,
    nested_interval,
    ordered,
    pytest.param(covariance, marks=pytest.mark.long),  # test_zoo.py has it beside others
    potential,
    custom,
    undeclared_support,
    autoregression,
    missing,
]
# Numba takes seconds for each, so one is enough outside of the long tests.
BY_NUMBA = [truncated, pytest.param(censored, marks=pytest.mark.long)]
# On processors with fused multiply-add, JAX's gradients of it are off by anything.
EITHER = pytest.param(latent_process, marks=pytest.mark.long)
# What PyMC's own constants lack: five of the six orders of three draws alike, and twice the log of
# the integral of det(R) over correlation matrices of three rows, 3 pi^2 / 16, which it adds.
MISSING = {"ordered": np.log(6), "covariance": -2 * np.log(3 * np.pi**2 / 16)}
EVERY = pytest.mark.parametrize("write", [*BY_JAX, *BY_NUMBA, EITHER])


def written(write: Callable[[], object]) -> pm.Model:
    # PyMC rounds some constants to 32 bits, such as log(0.5), unless it is told not to.
    with all_digits(), pm.Model(coords={"group_name": list("abcde")}) as model:
        write()
    return model


@cache
def taken(write: Callable[[], object]) -> tuple[pm.Model, refti.Model]:
    """A PyMC model and what refti makes of it, once for all tests."""
    model = written(write)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*refti (corrects it|adds)")
        return model, refti.from_pymc(model)


def points(model: refti.Model, count: int = 20) -> np.ndarray:
    return model.start + np.random.default_rng(1).uniform(-1, 1, (count, model.dim))


@cache
def initial(source: pm.Model) -> dict[str, np.ndarray]:
    """PyMC's own initial point, for which it compiles a function each time."""
    return source.initial_point()


def point(source: pm.Model, x: np.ndarray) -> dict[str, np.ndarray]:
    """Coordinates as PyMC's own functions take them, cut by its own initial point."""
    parts, begin = {}, 0
    for value in source.value_vars:
        shape = np.shape(initial(source)[value.name])
        end = begin + int(np.prod(shape))
        parts[value.name] = x[begin:end].reshape(shape)
        begin = end
    return parts


@EVERY
def test_the_log_density_is_pymcs(write):
    source, model = taken(write)
    x = points(model)
    with all_digits(), np.errstate(all="ignore"):
        own = source.compile_logp(mode="FAST_COMPILE")
        expected = np.array([float(own(point(source, row))) for row in x])
    assert np.isfinite(expected).any()
    expected += MISSING.get(write.__name__, 0.0)
    np.testing.assert_allclose(model.log_densities(x), expected, rtol=1e-10, atol=1e-9)


@EVERY
def test_the_prior_is_that_of_the_free_variables_with_the_jacobian(write):
    source, model = taken(write)
    x = points(model, 5)
    with all_digits(), np.errstate(all="ignore"):
        prior = source.compile_logp(vars=source.free_RVs, mode="FAST_COMPILE")
        expected = np.array([float(prior(point(source, row))) for row in x])
    expected += MISSING.get(write.__name__, 0.0)
    np.testing.assert_allclose(model.prior_alone().log_densities(x), expected, rtol=1e-10)


@EVERY
def test_gradients_are_those_of_the_values(write, x64):
    _, model = taken(write)
    x = model.start + 0.1
    gradient = np.asarray(jax.jit(jax.grad(model.density.log_density))(jnp.asarray(x)))
    steps = 1e-5 * np.eye(model.dim)
    differences = (model.log_densities(x + steps) - model.log_densities(x - steps)) / 2e-5
    size = np.abs(gradient).max()
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6 * max(size, 1.0))


@EVERY
def test_values_are_pymcs_own_and_go_back_to_where_they_came_from(write):
    source, model = taken(write)
    assert list(model.parameters) == [rv.name for rv in source.free_RVs]
    x = points(model, 4)
    values = model.space.constrain_all(x)
    own = pytensor.function(
        source.value_vars,
        source.replace_rvs_by_values(source.free_RVs),
        mode="FAST_COMPILE",
        on_unused_input="ignore",
    )
    for i, row in enumerate(x):
        inputs = point(source, row)
        expected = own(*(inputs[value.name] for value in source.value_vars))
        for name, value in zip(model.parameters, expected, strict=True):
            np.testing.assert_allclose(values[name][i], value, rtol=1e-12)
            assert values[name].shape[1:] == model.parameters[name].shape
    np.testing.assert_allclose(model.space.unconstrain_all(values), x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("write", BY_JAX)
def test_jax_is_taken_where_it_has_all_that_the_model_needs(write):
    assert taken(write)[1].source == f"PyMC {pm.__version__} by JAX"


@pytest.mark.parametrize("write", BY_NUMBA)
def test_numba_is_taken_where_jax_lacks_an_operation_and_the_source_says_which(write):
    source = taken(write)[1].source
    assert source.startswith(f"PyMC {pm.__version__} by Numba (JAX cannot: ")
    assert "erfcx" in source


def normal_prior(x: np.ndarray) -> float:
    """The log density of the mean and the spread that truncated and censored data have."""
    return stats.norm.logpdf(x[0]) + stats.halfnorm.logpdf(np.exp(x[1])) + x[1]


def test_the_truncated_likelihood_is_scipys():
    _, model = taken(truncated)
    x = np.array([0.3, -0.2])
    normal = stats.norm(x[0], np.exp(x[1]))
    likelihood = normal.logpdf(np.abs(DATA)) - normal.logsf(0)
    expected = normal_prior(x) + likelihood.sum()
    assert float(model.log_density(x)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.long
def test_the_censored_likelihood_is_scipys():
    _, model = taken(censored)
    x = np.array([0.3, -0.2])
    normal = stats.norm(x[0], np.exp(x[1]))
    expected = (
        normal_prior(x)
        + np.sum(DATA <= -0.5) * normal.logcdf(-0.5)
        + np.sum(DATA >= 0.5) * normal.logsf(0.5)
        + normal.logpdf(DATA[np.abs(DATA) < 0.5]).sum()
    )
    assert float(model.log_density(x)) == pytest.approx(expected, rel=1e-12)


def test_coordinates_bear_pymcs_names():
    _, model = taken(hierarchical)
    assert model.space.coordinates[:3] == ("mean", "spread_log__", "shift[0]")
    assert model.parameters["shift"].shape == (5,)


def test_data_are_those_of_the_moment():
    with pm.Model() as source:
        data = pm.Data("data", DATA)
        pm.Normal("y", pm.Normal("mean"), 1.0, observed=data)
    model = refti.from_pymc(source)
    before = model.log_densities(np.zeros((1, 1)))
    with source:
        pm.set_data({"data": DATA + 1})
    assert model.log_densities(np.zeros((1, 1))) == before
    assert refti.from_pymc(source).log_densities(np.zeros((1, 1))) != before


def test_potentials_are_counted_with_the_likelihood():
    _, model = taken(potential)
    x = points(model, 3)
    scale = np.exp(x[:, -1])
    rest = model.log_densities(x) - model.prior_alone().log_densities(x)
    np.testing.assert_allclose(rest, -(scale**2) + np.log(3.0), rtol=1e-10)


def test_parameters_out_of_bounds_have_no_density():
    _, model = taken(undeclared_support)
    assert model.log_densities(np.array([[-1.0]])) == -np.inf


def test_a_model_taken_inside_its_own_context_stays_as_it_was():
    with pm.Model() as source:
        pm.Normal("y", pm.Normal("mean"), 1.0, observed=DATA)
        refti.from_pymc(source)
    assert list(source.named_vars) == ["mean", "y"]


def test_named_dimensions_are_taken():
    import pymc.dims as pmd

    with pm.Model(coords={"group_name": list("abc")}) as source:
        level, noise = pmd.Normal("level", dims="group_name"), pmd.HalfNormal("noise")
        data = pmd.as_xtensor(np.arange(3.0), dims=("group_name",))
        pmd.Normal("y", level, noise, observed=data)
    model = refti.from_pymc(source)
    x = np.array([0.1, 0.2, 0.3, 0.4])
    expected = (
        stats.norm.logpdf(x[:3]).sum()
        + stats.halfnorm.logpdf(np.exp(x[3]))
        + x[3]
        + stats.norm.logpdf(np.arange(3.0), x[:3], np.exp(x[3])).sum()
    )
    assert float(model.log_density(x)) == pytest.approx(expected, rel=1e-12)
    assert model.parameters["level"].shape == (3,)


@pytest.mark.parametrize(
    ("write", "name", "value"),
    [
        (hierarchical, "spread", -1.0),
        (hierarchical, "mean", np.nan),
        (simplex, "shares", np.array([0.2, 0.2, 0.2, 0.2])),
        (nested_interval, "inside", 1.99),
        (ordered, "cuts", np.array([1.0, 0.0, 2.0])),
        (potential, "effect", np.array([1.0, 0.0, 0.0, 0.0, 0.0])),
    ],
)
def test_a_value_outside_the_support_is_named(write, name, value):
    _, model = taken(write)
    values = model.constrain(model.start)
    if name == "inside":
        values["top"] = 1.5
    with pytest.raises(refti.ModelError, match=rf"'{name}' has values outside"):
        model.unconstrain(values | {name: value})


def test_global_settings_stay_as_they_are():
    taken(hierarchical)
    assert "xla_force_host_platform" not in os.environ.get("XLA_FLAGS", "")
    assert not jax.config.jax_enable_x64


def test_a_numba_density_serves_many_chains_and_both_passes(x64):
    source, model = taken(truncated)
    x = jnp.asarray(points(model, 6).reshape(2, 3, model.dim))
    one = jax.value_and_grad(model.density.log_density)
    values, gradients = jax.jit(jax.vmap(jax.vmap(one)))(x)
    for i in range(2):
        for j in range(3):
            value, gradient = one(x[i, j])
            assert values[i, j] == value
            np.testing.assert_array_equal(gradients[i, j], gradient)
    looped = jax.lax.map(model.density.log_density, x.reshape(6, -1))
    np.testing.assert_array_equal(looped, values.ravel())


def test_a_numba_density_does_not_leave_its_process():
    _, model = taken(truncated)
    with pytest.raises(TypeError, match="make the model again"):
        pickle.dumps(model.density.factors[0])


def test_pytensor_evaluates_what_neither_jax_nor_numba_can(x64):
    source, model = taken(custom)
    said = read_graphs(source)
    slow = density(said, said.likelihood, "pytensor")
    fast = density(said, said.likelihood, "jax")
    x = jnp.asarray(points(model, 3))
    for found, expected in zip(*(_both(d, x) for d in (slow, fast)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def _both(of, x):
    return jax.jit(jax.vmap(jax.value_and_grad(of.log_density)))(x)


def test_a_wrong_gradient_and_a_wrong_value_are_noticed(x64):
    source, model = taken(custom)
    truth = evaluate_by_pytensor(read_graphs(source))
    assert find_disagreement(model.density, truth) is None

    class Wrong:
        def __init__(self, value: float, slope: float):
            self.value, self.slope = value, slope

        def log_density(self, x):
            right = model.density.log_density(x)
            rest = jnp.sum(x - jax.lax.stop_gradient(x))
            return right + self.value + self.slope * rest

    jax.tree_util.register_pytree_node(
        Wrong, lambda d: ((), (d.value, d.slope)), lambda a, _: Wrong(*a)
    )
    assert "values differ" in str(find_disagreement(Wrong(1e-6, 0.0), truth))
    assert "gradients differ" in str(find_disagreement(Wrong(0.0, 0.1), truth))


@pytest.mark.parametrize("write", [EITHER])
def test_wrong_gradients_of_jax_are_a_reason_to_take_numba(write):
    source = taken(write)[1].source
    assert source.endswith("by JAX") or "by Numba (JAX's gradients differ" in source


def minibatch() -> None:
    batch = pm.Minibatch(DATA, batch_size=10)
    pm.Normal("y", pm.Normal("mean"), 1.0, observed=batch, total_size=len(DATA))


def simulator() -> None:
    def draw(rng, mean, size):
        return rng.normal(mean, size=size)

    pm.Simulator("y", draw, pm.Normal("mean"), observed=np.zeros(4))


BAD = {
    "discrete": (lambda: (pm.Poisson("k", 3), pm.Normal("mean")), 'infinitely many values: "k"'),
    "flat": (lambda: (pm.Flat("a"), pm.HalfFlat("b")), 'flat priors: "a", "b".*does not exist'),
    "empty": (lambda: pm.Normal("y", 0, 1, observed=DATA), "no free variables"),
    "wishart": (
        lambda: pm.MvNormal(
            "y", np.zeros(2), tau=pm.Wishart("w", 5, np.eye(2)), observed=np.eye(2)
        ),
        'Free Wishart variables: "w".*LKJCholeskyCov',
    ),
    "minibatch": (minibatch, 'Minibatches.*"y".*observe all of them'),
    "simulator": (simulator, 'Simulators: "y"'),
    "counts missing": (
        lambda: pm.Poisson("y", pm.HalfNormal("m"), observed=np.ma.masked_values([1, -1, 2], -1)),
        'infinitely many values: "y_unobserved"',
    ),
    "random": (
        lambda: (pm.Normal("mean"), pm.Potential("noise", 1.0 * pm.Normal.dist())),
        'draw random numbers: "noise"',
    ),
    "circular": (lambda: pm.VonMises("angle", 0, 1), 'Circular.*"angle".*Interval'),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_model_without_an_evidence_is_refused(kind):
    write, message = BAD[kind]
    with pytest.raises(refti.ModelError, match=f"(?s){message}"):
        refti.from_pymc(written(write))


def test_the_advice_for_circular_variables_works():
    interval = pm.distributions.transforms.Interval(-np.pi, np.pi)
    with pm.Model() as source:
        pm.VonMises("angle", 0, 1, default_transform=None, transform=interval)
    model = refti.from_pymc(source)
    x = np.linspace(-30, 30, 20001)
    density = np.exp(model.log_densities(x[:, None]))
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=1e-6)


def test_faults_are_told_together():
    with pytest.raises(refti.ModelError) as told:
        refti.from_pymc(written(lambda: (pm.Flat("a"), pm.Poisson("k", 1))))
    assert '"a"' in str(told.value)
    assert '"k"' in str(told.value)


@pytest.mark.parametrize("given", [None, {"mean": 0.0}, refti.Model])
def test_what_is_no_model_is_refused(given):
    with pytest.raises(refti.ModelError, match=r"Expected a pymc\.Model; got"):
        refti.from_pymc(given)


def test_a_model_of_32_bits_is_refused():
    with pytensor.config.change_flags(floatX="float32"):
        source = written(custom)
    with pytest.raises(refti.ModelError, match=r'32-bit variables: "mean".*floatX'):
        refti.from_pymc(source)


def test_an_unknown_backend_and_one_that_cannot_are_refused():
    with pytest.raises(refti.ModelError, match=r'backend= must be .* got "?\'?rust'):
        refti.from_pymc(written(custom), backend="rust")
    with pytest.raises(refti.ModelError, match=r"erfcx.*Leave out backend="):
        refti.from_pymc(written(truncated), backend="jax")


def regression(column: int) -> pm.Model:
    strength, covariate = SPECIMENS[:, 0], SPECIMENS[:, column]
    with pm.Model() as source:
        tau = pm.Gamma("tau", 3, 2 * 300.0**2)
        alpha = pm.Normal("alpha", 3000, tau=0.06 * tau)
        beta = pm.Normal("beta", 185, tau=6 * tau)
        mean = alpha + beta * (covariate - covariate.mean())
        pm.Normal("strength", mean, tau=tau, observed=strength)
    return source


@pytest.mark.long
@pytest.mark.parametrize(("column", "name"), [(1, "density"), (2, "adjusted_density")])
def test_the_radiata_models_have_their_evidence(column, name):
    result = refti.evidence(refti.from_pymc(regression(column)), seed=3)
    assert result.trusted, [check for check in result.checks if not check.ok]
    assert abs(result.log_z - EXACT_LOG_Z[name]) < 4 * result.error


def test_a_model_by_numba_has_its_evidence_from_many_threads():
    # Truth by quadrature of PyMC's own density.
    source, model = taken(truncated)
    grid = np.stack(np.meshgrid(np.linspace(-12, 8, 200), np.linspace(-4, 3, 200)), -1)
    heights = np.exp(model.log_densities(grid.reshape(-1, 2))).reshape(200, 200)
    truth = np.log(np.trapezoid(np.trapezoid(heights, grid[0, :, 0], axis=1), grid[:, 0, 1]))
    result = refti.evidence(model, search="quick", check_prior=False, target_error=0.1)
    assert result.trusted, [check for check in result.checks if not check.ok]
    assert abs(result.log_z - truth) < 4 * result.error
