"""Taylor expansions: exact on polynomials, equal to full tensors, refused where no density."""

from __future__ import annotations

from math import factorial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun
from jax.scipy import special

from refti.errors import ReferenceFitError, SettingsError
from refti.models.density import QUICK_COMPILE
from refti.models.model import Model
from refti.models.supports import positive
from refti.references.taylor import TaylorExpansion, expand
from refti.references.taylor_arithmetic import ray_coefficients
from refti.run.evidence import evidence

MODE = np.array([0.3, 0.7, 1.1])
RAY = np.array([0.5, -0.4, 0.9])
MIXING = np.random.default_rng(3).normal(size=(20, 20)) / 20
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def quick(function):
    """The function compiled quickly, as what runs once should be."""
    return jax.jit(function, compiler_options=QUICK_COMPILE)


def coupled_quartic(x):
    return -0.5 * x @ x - 0.1 * jnp.sum(x**4) - 0.05 * jnp.sum((MIXING @ x) ** 2) ** 2


def log_gamma(x):
    return jnp.sum(x - jnp.exp(x))


def skewed(x):
    """Two dimensions, coupled, with odd derivatives of its own everywhere."""
    return -jnp.cosh(x[0] - 0.5 * x[1]) - jnp.exp(0.3 * x[0] * x[1]) - x[1] ** 2 + jnp.sin(x[0])


def coefficients_by_nested_jvp(function, order):
    """d^k/dt^k function(MODE + t RAY) / k! at 0, by differentiating forward again and again."""

    def differentiated(upto):
        if upto == 0:
            return lambda t: (function(MODE + t * RAY),)

        def once_more(t):
            lower, slopes = jax.jvp(differentiated(upto - 1), (t,), (jnp.ones_like(t),))
            return (*lower, slopes[-1])

        return once_more

    return [float(d) / factorial(k) for k, d in enumerate(quick(differentiated(order))(0.0))]


def test_log_gamma_has_its_known_polynomial():
    expansion = expand(log_gamma, jnp.zeros(1), 6)
    x = np.linspace(-3.0, 3.0, 25)
    expected = x - sum(x**k / factorial(k) for k in range(7))
    actual = quick(jax.vmap(expansion.log_density))(jnp.asarray(x)[:, None])
    np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-13)


def test_quartic_in_one_dimension_is_its_own_expansion_off_the_origin():
    def quartic(x):
        return jnp.sum(-(x**2) / 2 + x**3 / 10 - x**4 / 24)

    expansion = expand(quartic, jnp.array([0.4]), 4)
    points = jnp.array([[-7.0], [0.4], [0.41], [5.0]])
    actual = quick(jax.vmap(expansion.log_density))(points)
    np.testing.assert_allclose(actual, jax.vmap(quartic)(points), rtol=1e-12)


@pytest.mark.long  # in one dimension it is its own expansion too
def test_quartic_in_twenty_dimensions_is_its_own_expansion():
    expansion = expand(coupled_quartic, jnp.zeros(20), 4)
    points = jnp.asarray(np.random.default_rng(1).normal(size=(50, 20)) * 2)
    expected = jax.vmap(coupled_quartic)(points)
    np.testing.assert_allclose(quick(jax.vmap(expansion.log_density))(points), expected, rtol=1e-12)


def test_order_four_equals_the_sum_over_full_derivative_tensors():
    mode, x = jnp.array([0.2, -0.4]), jnp.array([0.9, 0.5])
    tensor, expected = skewed, 0.0
    for k in range(5):
        term = quick(tensor)(mode)
        for _ in range(k):
            term = term @ (x - mode)
        expected += term / factorial(k)
        tensor = jax.jacfwd(tensor)
    actual = quick(TaylorExpansion(mode, 4, skewed).log_density)(x)
    assert float(actual) == pytest.approx(float(expected), abs=1e-13)
    assert abs(float(actual - skewed(x))) > 1e-4


@pytest.mark.parametrize("order", [4, 6])
def test_gradient_agrees_with_central_differences(order):
    expansion = TaylorExpansion(jnp.array([0.2, -0.4]), order, skewed)
    x, step = np.array([0.9, 0.5]), 1e-5
    value = quick(expansion.log_density)
    expected = [(value(x + step * e) - value(x - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(quick(jax.grad(expansion.log_density))(x), expected, rtol=1e-8)


def test_expansion_is_a_pytree_that_compiles_once_and_maps():
    traces = []
    coefficients = quick(lambda mode, ray: ray_coefficients(skewed, mode, ray, 4))

    @jax.jit
    def value_and_gradient(expansion, points):
        traces.append(1)
        return jax.vmap(jax.value_and_grad(expansion.log_density))(points)

    points = jnp.asarray(np.random.default_rng(2).normal(size=(5, 2)))
    for mode in ([0.0, 0.0], [0.1, -0.2]):
        expansion = TaylorExpansion(jnp.asarray(mode), 4, skewed)
        values, gradients = value_and_gradient(expansion, points)
        assert float(values[3]) == pytest.approx(
            float(quick(expansion.log_density)(points[3])), abs=1e-12
        )
        # Degree by degree, x - mode along the gradient is k times the term of degree k.
        terms = coefficients(expansion.mode, points[3] - expansion.mode)
        along = gradients[3] @ (points[3] - expansion.mode)
        assert float(along) == pytest.approx(float(np.arange(5) @ terms), abs=1e-12)
    assert len(traces) == 1


def test_expansion_joins_the_density_at_the_mode_to_its_order():
    expansion = TaylorExpansion(jnp.array([0.2, -0.4]), 4, skewed)
    direction, value = jnp.array([0.6, -0.8]), quick(expansion.log_density)
    gaps = [
        abs(float(skewed(x) - value(x)))
        for x in (expansion.mode + h * direction for h in (0.2, 0.1))
    ]
    assert 2**4.5 < gaps[0] / gaps[1] < 2**5.5


# Operations with a rule in jax.experimental.jet, without one, with one that loses digits or is
# NaN, those that hold programs of their own, and custom derivatives.
OPERATIONS = {
    "quartic": lambda x: jnp.sum(x**4) - 2 * jnp.prod(x),
    "lgamma": lambda x: jnp.sum(special.gammaln(x)),
    "softplus": lambda x: jnp.sum(jax.nn.softplus(40 * x) + jax.nn.softplus(-40 * x)),
    "logsumexp": lambda x: special.logsumexp(x),
    "logaddexp": lambda x: jnp.sum(jnp.logaddexp(x, 2 * x)),
    "log_ndtr": lambda x: jnp.sum(special.log_ndtr(-x)),
    "erfc": lambda x: 1e20 * special.erfc(6 * x[2]),
    "log1p": lambda x: jnp.sum(1e9 * jnp.log1p(1e-9 * x)),
    "xlogy": lambda x: jnp.sum(special.xlogy(x, x)),
    "power of a negative number": lambda x: jnp.sum((-x) ** jnp.asarray(2.5 - 0.5)),
    "power": lambda x: jnp.sum(x**2.5 + 2.0**x),
    "clip": lambda x: jnp.sum(jnp.clip(x, 0.0, 1.0) ** 3),
    "where": lambda x: jnp.sum(jnp.where(x > 0.5, x**3, jnp.sin(x))),
    "cumsum": lambda x: jnp.sum(jnp.cumsum(x) ** 3),
    "scan": lambda x: jax.lax.scan(lambda c, a: (jnp.sin(c) + a * a, c), 0.0, x)[1] @ x,
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + x[i] ** 2, 0.0),
    "cond": lambda x: jax.lax.cond(x[0] > 0, lambda y: jnp.sin(y @ y), lambda y: y[0], x),
    "checkpoint": lambda x: jnp.sum(jax.checkpoint(jnp.sin)(x) ** 2),
    "nested jit": lambda x: jax.jit(lambda y: jax.jit(jnp.sin)(y) @ y)(x),
    "scatter": lambda x: jnp.sum(jnp.zeros(5).at[jnp.array([1, 2, 4])].set(x) ** 3),
    "sort": lambda x: jnp.sort(-x) @ jnp.arange(3.0) ** 2,
    "cholesky": lambda x: jnp.sum(jnp.log(jnp.diag(jnp.linalg.cholesky(jnp.outer(x, x) + MATRIX)))),
    "solve": lambda x: x @ jnp.linalg.solve(MATRIX, x) ** 2,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_coefficients_of_common_operations_equal_repeated_differentiation(name):
    function = OPERATIONS[name]
    program = jaxpr_as_fun(jax.make_jaxpr(function)(MODE))

    def coefficients(mode, ray):
        return ray_coefficients(lambda x: program(x)[0], mode, ray, 4)

    actual = quick(coefficients)(MODE, RAY)
    expected = coefficients_by_nested_jvp(function, 4)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def test_whole_power_of_zero_has_its_derivatives():
    # Repeated differentiation of x**2.0 by JAX is NaN at 0 from the third derivative on.
    def function(x):
        return jnp.sum(jax.lax.pow(x, 2.0))

    equations = jax.make_jaxpr(function)(MODE).eqns
    assert any(equation.primitive.name == "pow" for equation in equations)

    actual = quick(lambda ray: ray_coefficients(function, jnp.zeros(3), ray, 6))(RAY)
    np.testing.assert_allclose(actual, [0, 0, RAY @ RAY, 0, 0, 0, 0], atol=1e-15)


def test_model_with_supports_is_expanded():
    def log_posterior(rate):
        return 5.0 * jnp.log(rate) - 2.0 * rate

    model = Model(log_posterior, {"rate": positive()})
    mode = jnp.log(jnp.array([3.0]))
    expansion = expand(model.log_density, mode, 4)
    x = jnp.array([0.5])
    # log q = 6 x - 2 exp(x), so the ray's polynomial is that of the exponential at log 3.
    u = 0.5 - np.log(3.0)
    expected = 6 * 0.5 - 6 * sum(u**k / factorial(k) for k in range(5))
    assert float(quick(expansion.log_density)(x)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        *((order, f"even order, at least 4; got {order}") for order in (2, 3, 5, 0)),
        (12, "must be of order 4, 6, 8, 10; got 12.* twice as long for every two orders"),
    ],
)
def test_order_must_be_one_that_can_be_had_before_any_compute(order, message):
    with pytest.raises(ReferenceFitError, match=message):
        expand(log_gamma, jnp.zeros(1), order)
    model = Model(log_gamma, dim=1)
    with pytest.raises(SettingsError, match=message):
        evidence(model, reference=["laplace", order], max_seconds=1, progress=_must_not_run)


def _must_not_run(stage, done, total):
    raise AssertionError("sampling began")


@pytest.mark.parametrize(
    ("log_density", "mode"),
    [
        (lambda x: -0.5 * jnp.sqrt(jnp.abs(x[0] - 4)), [4.0]),
        (lambda x: -0.5 * x @ x - jnp.abs(x[0]) - x[1] ** 4, [0.0, 0.0]),
        (lambda x: -(jnp.abs(x[0]) ** 3) - 0.5 * x[0] ** 2, [0.0]),
        (lambda x: jnp.where(x[0] < 0, -jnp.inf, -x[0] - x[0] ** 2), [0.0]),
    ],
    ids=["cusp", "kink", "kink in the third derivative", "edge"],
)
def test_density_without_derivatives_is_refused(log_density, mode):
    with pytest.raises(ReferenceFitError, match=r"no derivatives .* parameter 0: .*covariance"):
        expand(log_density, jnp.asarray(mode), 4)


def test_mode_outside_the_support_is_refused():
    with pytest.raises(ReferenceFitError, match="at the mode must be finite; got nan"):
        expand(lambda x: jnp.sum(jnp.log(x)), jnp.array([-1.0]), 4)


def test_operation_without_derivative_is_named():
    def callback(x):
        return jax.pure_callback(lambda v: -np.sum(v**2), jax.ShapeDtypeStruct((), x.dtype), x)

    with pytest.raises(ReferenceFitError, match='operation "pure_callback"'):
        expand(callback, jnp.zeros(2), 4)


def test_student_density_has_no_integrable_expansion_of_order_four():
    def student(x):
        return -0.5 * x[0] ** 2 - 2 * jnp.log1p(x[1] ** 2 / 3)

    with pytest.raises(
        ReferenceFitError,
        match=r"order 4 .*parameter 1 it grows .*degree 4 with coefficient 0\.111",
    ):
        expand(student, jnp.zeros(2), 4)
    assert expand(student, jnp.zeros(2), 6).order == 6


def test_narrow_cone_of_growth_is_found_by_ascent():
    needle = np.linspace(1.0, 2.0, 20) * np.resize([1.0, -1.0], 20)
    needle /= np.linalg.norm(needle)
    # Positive only within 13 degrees of the needle, where no axis or random direction comes.
    assert np.max(np.abs(needle)) < np.cos(np.radians(60))

    def log_density(x, height):
        return -0.5 * x @ x - 0.1 * (x @ x) ** 2 + height * (needle @ x) ** 4

    mode = jnp.zeros(20)
    assert expand(lambda x: log_density(x, 0.09), mode, 4).order == 4
    with pytest.raises(ReferenceFitError, match=r"order 4 .*parameter 19 it grows"):
        expand(lambda x: log_density(x, 0.11), mode, 4)


@pytest.mark.parametrize(
    ("log_density", "message"),
    [
        (
            lambda x: -0.5 * x @ x + x[0] ** 3 - x[1] ** 4,
            "parameter 0 .* degree 3 with coefficient 1",
        ),
        (lambda x: -(x[0] ** 4), "parameter 1 it is constant"),
        (lambda x: -0.5 * x @ x + x[0] ** 3 - 0.01 * x[0] ** 4, "parameter 0 it climbs 1.03e.05"),
        (lambda x: x[0] * x[1] ** 2 - x[0] ** 4 - 0.5 * x @ x, "parameter 1 it climbs"),
    ],
    ids=["odd", "flat", "far peak", "growth along a curve"],
)
def test_expansion_that_is_no_density_near_the_mode_is_refused(log_density, message):
    with pytest.raises(ReferenceFitError, match=message):
        expand(log_density, jnp.zeros(2), 4)


def test_verdict_does_not_depend_on_the_units_of_the_parameters():
    def log_density(x, quartic):
        y = x / np.array([1e4, 1e-4])
        return -0.5 * y @ y + quartic * y[0] ** 4 - 0.1 * y[1] ** 4

    assert expand(lambda x: log_density(x, -0.01), jnp.zeros(2), 4).order == 4
    with pytest.raises(ReferenceFitError, match="parameter 0 it grows"):
        expand(lambda x: log_density(x, 0.01), jnp.zeros(2), 4)


def test_gaussian_passes_because_its_vanishing_top_terms_leave_the_quadratic():
    for precision, height in [(1e-8, -1e4), (1e8, 0.0)]:
        matrix = precision * MATRIX
        expansion = expand(lambda x, m=matrix, h=height: h - 0.5 * x @ m @ x, jnp.zeros(3), 4)
        value = quick(expansion.log_density)(jnp.asarray(RAY))
        assert float(value) == pytest.approx(height - 0.5 * RAY @ matrix @ RAY, rel=1e-14)


def test_scale_factor_is_used_where_the_curvature_gives_no_width():
    expansion = expand(
        lambda x: -jnp.sum((x / np.array([1e-3, 1e3])) ** 4),
        jnp.zeros(2),
        4,
        scale_tril=jnp.diag(jnp.array([1e-3, 1e3])),
    )
    assert float(quick(expansion.log_density)(np.array([1e-3, 2e3]))) == pytest.approx(
        -17.0, rel=1e-12
    )
