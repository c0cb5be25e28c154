"""Models: calling conventions, names and shapes, one run of the user's function, bad input."""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refti
from targets import TARGETS, Target, evaluate, product

TINY = {"warmup": 50, "kept": 20, "ladder": refti.uniform(3)}


def at(model: refti.Model, x: Any) -> float:
    """The log density at one unconstrained point."""
    with jax.enable_x64(True):
        return float(model.log_density(jnp.asarray(x, dtype=jnp.float64)))


def _must_not_run(stage: str, done: int, total: int) -> None:
    raise AssertionError("sampling began")


class TestCalling:
    """The same density written in every way that a model can be given."""

    x = np.array([0.4, -0.3, 1.2])
    scale = math.exp(0.4)
    # log density of (scale, shift) plus the log Jacobian of the exponential, which is x[0].
    expected = -(scale**2) + 2 * -0.3 - 3 * 1.2**2 + 0.4
    supports = {"scale": refti.positive(), "shift": refti.real(shape=(2,))}  # noqa: RUF012

    def test_a_dictionary(self):
        model = refti.Model(
            lambda p: -(p["scale"] ** 2) + 2 * p["shift"][0] - 3 * p["shift"][1] ** 2,
            self.supports,
        )
        assert at(model, self.x) == pytest.approx(self.expected, rel=1e-14)

    def test_keywords_in_any_order(self):
        model = refti.Model(
            lambda shift, scale: -(scale**2) + 2 * shift[0] - 3 * shift[1] ** 2, self.supports
        )
        assert at(model, self.x) == pytest.approx(self.expected, rel=1e-14)

    def test_keywords_besides_arguments_with_defaults(self):
        def log_density(scale, shift, factor=3.0):
            return -(scale**2) + 2 * shift[0] - factor * shift[1] ** 2

        assert at(refti.Model(log_density, self.supports), self.x) == pytest.approx(
            self.expected, rel=1e-14
        )

    def test_a_jitted_function(self):
        model = refti.Model(
            jax.jit(lambda scale, shift: -(scale**2) + 2 * shift[0] - 3 * shift[1] ** 2),
            self.supports,
        )
        assert at(model, self.x) == pytest.approx(self.expected, rel=1e-14)

    def test_prior_and_likelihood_apart(self):
        model = refti.Model(
            log_prior=lambda scale, shift: -(scale**2),
            log_likelihood=lambda p: 2 * p["shift"][0] - 3 * p["shift"][1] ** 2,
            parameters=self.supports,
        )
        assert at(model, self.x) == pytest.approx(self.expected, rel=1e-14)

    def test_a_vector(self):
        model = refti.Model(lambda x: -x[0] + 2 * x[1] - 3 * x[2] ** 2, dim=3)
        assert at(model, self.x) == pytest.approx(-0.4 - 0.6 - 3 * 1.44, rel=1e-14)

    def test_a_value_of_shape_1_is_one_number(self):
        assert at(refti.Model(lambda x: -x, dim=1), [0.7]) == -0.7


def test_numbers_are_64_bit_whatever_the_caller_set():
    third = 1 / 3
    model = refti.Model(lambda x: third * x[0] + np.array([1e-12])[0], dim=1)
    assert at(model, [1.0]) == pytest.approx(third + 1e-12, abs=1e-16)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.usefixtures("x64")
def test_values_go_to_unconstrained_space_and_back(target: Target):
    model = target.model()
    x = np.random.default_rng(3).normal(size=model.dim)

    @jax.jit
    def there_and_back(x):
        values, flat = model.constrain(x), model.supported_space.constrain_flat(x)[0]
        return values, model.unconstrain(values), flat, model.supported_space.unconstrain_flat(flat)

    values, back, flat, flat_back = there_and_back(jnp.asarray(x))
    assert set(values) == set(model.parameters)
    for name, support in model.parameters.items():
        assert values[name].shape == support.shape
    np.testing.assert_allclose(back, x, rtol=1e-9, atol=1e-9)
    ravelled = [np.ravel(values[name]) for name in model.parameters]
    np.testing.assert_allclose(flat, np.concatenate(ravelled), rtol=1e-15)
    np.testing.assert_allclose(flat_back, x, rtol=1e-9, atol=1e-9)


def test_posterior_has_the_users_names_shapes_and_supports():
    settings = {"warmup": 50, "kept": 30, "chains": 3, "ladder": refti.uniform(3)}
    posterior = refti.evidence(product(), **settings, search="quick").posterior
    assert dict(posterior.sizes) == {"chain": 3, "draw": 30, "share_dim_0": 2}
    assert posterior["scale"].dims == ("chain", "draw")
    assert posterior["share"].dims == ("chain", "draw", "share_dim_0")
    assert posterior["shift"].dims == ("chain", "draw")
    assert bool((posterior["scale"] > 0).all())
    assert bool(((posterior["share"] > 2) & (posterior["share"] < 5)).all())
    assert all(variable.dtype == np.float64 for variable in posterior.values())


class TestTwoRunsOfTheFunction:
    """The user's function runs in Python twice, and the world outside is left as it was."""

    def test_for_everything(self):
        calls = []

        def log_density(x):
            calls.append(1)
            return -0.5 * jnp.sum((x - 1) ** 2)

        model = refti.Model(log_density, dim=2)
        refti.evidence(model, **TINY)
        refti.evidence(model, **TINY, seed=1)
        assert len(calls) == 2

    def test_of_each_factor(self):
        calls = []

        def log_prior(x):
            calls.append("prior")
            return -0.5 * jnp.sum(x**2)

        def log_likelihood(x):
            calls.append("likelihood")
            return -0.5 * jnp.sum((x - 1) ** 2)

        model = refti.Model(log_prior=log_prior, log_likelihood=log_likelihood, dim=2)
        at(model, [1.0, 2.0])
        at(model.prior_alone(), [1.0, 2.0])
        assert sorted(calls) == 2 * ["likelihood"] + 2 * ["prior"]

    def test_what_it_read_from_outside_is_fixed(self):
        data = np.array([1.0])
        model = refti.Model(lambda x: -data[0] * x[0] ** 2 - jnp.sum(data) * x[0], dim=1)
        data[0] = 100.0
        assert at(model, [2.0]) == -6.0

    def test_global_configuration_is_unchanged(self):
        assert not jax.config.jax_enable_x64
        refti.evidence(refti.Model(lambda x: -0.5 * jnp.sum((x - 1) ** 2), dim=2), **TINY)
        assert not jax.config.jax_enable_x64
        assert jnp.ones(1).dtype == jnp.float32


class TestSharedPrograms:
    """Models that differ in their data alone share a program, and never each other's data."""

    scales = (np.array([1.0, 2.0]), np.array([3.0, 7.0]))

    @staticmethod
    def captured(scale):
        return lambda x: -0.5 * jnp.sum((x / scale) ** 2)

    @staticmethod
    def jitted(scale):
        inner = jax.jit(lambda x: -0.5 * jnp.sum((x / scale) ** 2))
        return lambda x: inner(x)

    @staticmethod
    def conditional(scale):
        def inside(x):
            return -0.5 * jnp.sum((x / scale) ** 2)

        return lambda x: jax.lax.cond(x[0] > 0, inside, inside, x)

    @staticmethod
    def scanned(scale):
        def step(total, both):
            return total - 0.5 * (both[0] / both[1]) ** 2, None

        return lambda x: jax.lax.scan(step, 0.0, (x, scale))[0]

    @staticmethod
    def literal(scale):
        a, b = float(scale[0]), float(scale[1])
        return lambda x: -0.5 * ((x[0] / a) ** 2 + (x[1] / b) ** 2)

    @staticmethod
    def custom_jvp(scale):
        @jax.custom_jvp
        def inner(x):
            return -0.5 * jnp.sum((x / scale) ** 2)

        inner.defjvp(lambda x, t: (inner(x[0]), -jnp.sum(x[0] * t[0] / scale**2)))
        return lambda x: inner(x)

    @staticmethod
    def custom_vjp(scale):
        @jax.custom_vjp
        def inner(x):
            return -0.5 * jnp.sum((x / scale) ** 2)

        inner.defvjp(lambda x: (inner(x), x), lambda x, g: (-g * x / scale**2,))
        return lambda x: inner(x)

    @pytest.mark.parametrize(
        "make",
        ["captured", "jitted", "conditional", "scanned", "literal", "custom_jvp", "custom_vjp"],
    )
    def test_each_model_keeps_its_own_data(self, make: str):
        @jax.jit
        def both(density, x):
            return jax.value_and_grad(density.log_density)(x)

        x = np.array([0.7, -1.1])
        models = [refti.Model(getattr(self, make)(scale), dim=2) for scale in self.scales]
        with jax.enable_x64(True):
            found = [both(model.density, jnp.asarray(x)) for model in models]
        for scale, (value, gradient) in zip(self.scales, found, strict=True):
            assert float(value) == pytest.approx(-0.5 * np.sum((x / scale) ** 2), rel=1e-12)
            np.testing.assert_allclose(gradient, -x / scale**2, rtol=1e-12)

    def test_one_program_serves_models_that_differ_in_captured_data(self):
        @jax.jit
        def value(density, x):
            return density.log_density(x)

        with jax.enable_x64(True):
            for scale in self.scales:
                value(refti.Model(self.captured(scale), dim=2).density, jnp.ones(2))
        assert value._cache_size() == 1


class TestFrozen:
    """Nothing of a model can be changed."""

    def test_attributes(self):
        model = refti.Model(lambda x: -(x[0] ** 2), dim=1)
        with pytest.raises(AttributeError, match="frozen"):
            model.dim = 3
        with pytest.raises(AttributeError, match="frozen"):
            model.anything = 3

    def test_what_it_was_made_from(self):
        plain = refti.Model(lambda x: -(x[0] ** 2), dim=1)
        assert (plain.origin, plain.notes) == (None, ())
        given = {"kind": "made up", "data_sha256": "00"}
        model = refti.Model.assembled(
            plain.space, plain.density, source="here", origin=given, notes=["a note"]
        )
        given["data_sha256"] = "11"
        assert model.origin is not None
        assert model.origin["data_sha256"] == "00"
        with pytest.raises(TypeError):
            model.origin["data_sha256"] = "11"
        result = refti.evidence(model, seed=1, progress=False)
        assert result.found["origin"] == {"kind": "made up", "data_sha256": "00"}
        assert "note: a note" in str(result)

    def test_the_dictionary_given_is_not_the_models(self):
        supports = {"s": refti.positive()}
        model = refti.Model(lambda s: -s, supports)
        supports["t"] = refti.real()
        assert list(model.parameters) == ["s"]


class TestPrecision:
    """Data of 32 bits from outside costs digits, and is told."""

    data = np.array([1.0, 2.0, 3.0]) / 3

    def test_captured_32_bit_arrays_warn_where_the_model_is_made(self):
        data = jnp.asarray(self.data)
        assert data.dtype == jnp.float32
        with pytest.warns(UserWarning, match="32-bit") as caught:
            refti.Model(lambda x: jnp.sum(data * x), dim=3)
        assert caught[0].filename == __file__

    def test_inside_a_jitted_function_too(self):
        data = jnp.asarray(self.data)
        inner = jax.jit(lambda x: jnp.sum(data * x))
        with pytest.warns(UserWarning, match="32-bit"):
            refti.Model(lambda x: inner(x), dim=3)

    def test_64_bit_arrays_do_not_warn(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            refti.Model(lambda x: jnp.sum(self.data * x), dim=3)


def _float(x):
    return float(x[0])


def _branch(x):
    if x[0] > 0:
        return x[0]
    return -x[0]


def _numpy(x):
    return np.sin(x[0])


class TestBadFunctions:
    """Functions that are no log density, told where the model is made."""

    @pytest.mark.parametrize(
        ("function", "line"),
        [(_float, "return float"), (_branch, "if x[0] > 0"), (_numpy, "return np.sin")],
        ids=["float", "branch", "numpy"],
    )
    def test_not_traceable_names_the_line_and_the_way_out(self, function, line):
        source, first = inspect.getsourcelines(function)
        number = first + next(i for i, text in enumerate(source) if line in text)
        with pytest.raises(refti.ModelError) as caught:
            refti.Model(function, dim=1)
        message = str(caught.value)
        assert f"line {number} of {function.__name__}" in message
        assert "cannot be traced by JAX" in message
        assert "refti.from_callable" in message

    @pytest.mark.parametrize(
        ("function", "words"),
        [
            (lambda x: x, "log_density must return one number; got shape (3,)"),
            (lambda x: jnp.zeros((1, 1)), "got shape (1, 1)"),
            (lambda x: (x[0], x[1]), "log_density must return one number"),
            (lambda x: {"a": x[0]}, "log_density must return one number"),
            (lambda x: None, "log_density must return one number"),
            (lambda x: x[0] + 1j, "must return a real number; got complex128"),
            (lambda x: 3, "must return a real number; got int64"),
            (lambda x: x[0] > 0, "must return a real number; got bool"),
        ],
        ids=["vector", "matrix", "tuple", "dict", "none", "complex", "int", "bool"],
    )
    def test_what_it_returns(self, function, words):
        with pytest.raises(refti.ModelError) as caught:
            refti.Model(function, dim=3)
        assert words in str(caught.value)

    def test_vector_result_advises_the_sum(self):
        with pytest.raises(refti.ModelError, match=r"jnp\.sum"):
            refti.Model(lambda x: -(x**2), dim=3)

    def test_wrong_shape_inside(self):
        with pytest.raises(refti.ModelError) as caught:
            refti.Model(lambda x: jnp.dot(x, np.ones(5)), dim=3)
        message = str(caught.value)
        assert "failed when called with an array of shape (3,)" in message
        assert "line " in message

    def test_wrong_shape_inside_the_likelihood_names_it(self):
        with pytest.raises(refti.ModelError, match="log_likelihood failed"):
            refti.Model(
                log_prior=lambda a: -(a**2),
                log_likelihood=lambda a: a @ np.ones(3),
                parameters={"a": refti.real()},
            )

    def test_unknown_name_inside(self):
        with pytest.raises(refti.ModelError) as caught:
            refti.Model(lambda p: p["phi"], {"rho": refti.real()})
        assert "KeyError: 'phi'" in str(caught.value)
        assert "['rho']" in str(caught.value)

    def test_the_users_error_is_kept_as_the_cause(self):
        def log_density(x):
            raise ZeroDivisionError("mine")

        with pytest.raises(refti.ModelError, match="ZeroDivisionError: mine") as caught:
            refti.Model(log_density, dim=1)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)

    def test_not_a_function(self):
        with pytest.raises(refti.ModelError, match="must be a function; got float"):
            refti.Model(3.0, dim=1)

    def test_nan_at_every_start(self):
        model = refti.Model(lambda x: jnp.sum(jnp.log(-1 - x**2)), dim=2)
        with pytest.raises(refti.ModelError) as caught:
            refti.evidence(model, **TINY, progress=_must_not_run)
        assert "not finite at any of" in str(caught.value)
        assert "start=" in str(caught.value)


class TestBadParameters:
    """Parameters, dimensions and starts that cannot be."""

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"dim": 1, "parameters": {"a": refti.real()}}, "not both or neither"),
            ({}, "not both or neither"),
            ({"dim": 0}, "at least 1; got 0"),
            ({"dim": 2.0}, "at least 1; got 2.0"),
            ({"dim": "2"}, "at least 1; got '2'"),
            ({"parameters": {}}, "at least one parameter"),
            ({"parameters": [refti.real()]}, "must map names to supports; got list"),
            ({"parameters": {"a": "positive"}}, 'parameter "a" has an unknown support'),
            ({"parameters": {"a": refti.positive}}, "such as refti.positive()"),
            ({"parameters": {"a": 1.0}}, "got 1.0"),
        ],
    )
    def test_are_refused(self, arguments: dict[str, Any], words: str):
        with pytest.raises(refti.ModelError) as caught:
            refti.Model(lambda a: -(a**2), **arguments)
        assert words in str(caught.value)

    def test_faults_are_told_together(self):
        with pytest.raises(refti.ModelError) as caught:
            refti.Model(lambda a, b: a, {"a": "positive", "b": None, "": refti.real()})
        message = str(caught.value)
        assert 'parameter "a"' in message
        assert 'parameter "b"' in message
        assert "non-empty string" in message

    @pytest.mark.parametrize(
        ("functions", "words"),
        [
            ({}, "none of them"),
            ({"log_prior": lambda x: -x[0]}, "got log_prior"),
            ({"log_likelihood": lambda x: -x[0]}, "got log_likelihood"),
            (
                {"log_density": lambda x: -x[0], "log_prior": lambda x: -x[0]},
                "got log_density and log_prior",
            ),
        ],
    )
    def test_half_a_split_is_refused(self, functions: dict[str, Any], words: str):
        with pytest.raises(refti.ModelError) as caught:
            refti.Model(**functions, dim=1)
        assert words in str(caught.value)

    @pytest.mark.parametrize(
        ("support", "start", "words"),
        [
            (refti.positive(), -1.0, "inside the supports"),
            (refti.positive(), 0.0, "inside the supports"),
            (refti.interval(2, 5), 1.5, "inside the supports"),
            (refti.interval(2, 5), 5.0, "inside the supports"),
            (refti.lower(1), 0.5, "inside the supports"),
            (refti.upper(1), 1.5, "inside the supports"),
            (refti.real(), np.nan, "inside the supports"),
            (refti.ordered(2), [2.0, 1.0], "inside the supports"),
            (refti.simplex(3), [0.5, 0.5, 0.5], "inside the supports"),
            (refti.simplex(3), [0.7, 0.7, -0.4], "inside the supports"),
            (refti.correlation_cholesky(2), [[1.0, 0.0], [5.0, 3.0]], "inside the supports"),
            (refti.correlation_cholesky(2), [[1.0, 0.5], [0.0, 1.0]], "inside the supports"),
            (refti.real(), "zero", "start="),
            (refti.real(shape=(2,)), [1.0, 2.0, 3.0], 'gives "a" the shape (3,); expected (2,)'),
            (refti.real(), [1.0], 'gives "a" the shape (1,); expected ()'),
        ],
    )
    def test_starts_outside_are_refused(self, support, start, words):
        with pytest.raises(refti.ModelError) as caught:
            refti.Model(lambda a: -jnp.sum(a**2), {"a": support}, start={"a": start})
        assert words in str(caught.value)

    @pytest.mark.parametrize("start", [{"b": 1.0}, {}, {"a": 1.0, "b": 1.0}, 1.0])
    def test_starts_must_name_the_parameters(self, start: Any):
        with pytest.raises(refti.ModelError, match=r"each of \['a'\]"):
            refti.Model(lambda a: -(a**2), {"a": refti.real()}, start=start)

    def test_start_is_kept_in_unconstrained_coordinates(self):
        model = refti.Model(
            lambda a, b: -a - jnp.sum(b**2),
            {"a": refti.lower(1), "b": refti.real(shape=(2,))},
            start={"b": [3.0, 4.0], "a": 3.0},
        )
        np.testing.assert_allclose(model.start, [math.log(2), 3, 4], rtol=1e-12)


class TestBadSettings:
    """Options of evidence() are checked together, before any compute."""

    model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=2)

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"seed": -1}, "seed="),
            ({"seed": 1.5}, "seed="),
            ({"seed": True}, "seed="),
            ({"seed": 2**70}, "seed="),
            ({"chains": 1}, "chains= must be a whole number of at least 2; got 1"),
            ({"warmup": 3}, "warmup="),
            ({"kept": 0}, "kept="),
            ({"target_error": 0}, "target_error="),
            ({"target_error": np.nan}, "target_error="),
            ({"target_error": "small"}, "target_error="),
            ({"kernel": "gibbs"}, "kernel= must be one of"),
            ({"estimator": "best"}, "estimator= must be one of"),
            ({"path": "straight"}, "path= must be one of"),
            ({"reference": "normal"}, "reference= must be one of"),
            ({"reference": []}, "reference="),
            ({"reference": 3}, "reference="),
            ({"reference": [4]}, "must begin with a reference"),
            ({"reference": ["laplace", "diagonal"]}, "orders of Taylor expansion"),
        ],
    )
    def test_are_refused(self, settings: dict[str, Any], words: str):
        with pytest.raises(refti.SettingsError) as caught:
            refti.evidence(self.model, progress=_must_not_run, **settings)
        assert words in str(caught.value)

    def test_faults_are_told_together(self):
        bad = {"seed": -1, "chains": 1, "kernel": "gibbs", "reference": "normal", "ladder": [0.5]}
        with pytest.raises(refti.SettingsError) as caught:
            refti.evidence(self.model, progress=_must_not_run, **bad)
        for word in ("seed=", "chains=", "kernel=", "reference=", "Ladder must start at 0"):
            assert word in str(caught.value)

    def test_a_function_is_no_model(self):
        with pytest.raises(refti.SettingsError, match=r"Expected a refti\.Model; got function"):
            refti.evidence(lambda x: x, progress=_must_not_run)

    def test_stations_of_another_dimension(self):
        other = refti.Model(lambda x: -(x[0] ** 2), dim=1)
        with pytest.raises(refti.SettingsError, match="dimension; got 1 and 2"):
            refti.evidence(self.model, reference=["laplace", other], progress=_must_not_run)

    @pytest.mark.parametrize(
        ("draws", "words"),
        [
            ({"y": np.zeros((10, 2))}, "x missing"),
            ({"x": np.zeros((10, 3))}, 'gives "x" the shape (10, 3)'),
            ({"x": np.zeros(2)}, 'gives "x" the shape (2,)'),
            ({"x": np.zeros((1, 2))}, "at least two draws"),
            ({"x": np.full((10, 2), np.nan)}, "outside its support"),
        ],
    )
    def test_draws_that_do_not_fit(self, draws: dict[str, np.ndarray], words: str):
        with pytest.raises(refti.ModelError) as caught:
            refti.evidence(self.model, draws=draws, progress=_must_not_run)
        assert words in str(caught.value)


def test_gradient_of_a_target_agrees_with_differences():
    model = product()
    both = evaluate(model)
    x = np.random.default_rng(5).normal(size=model.dim)
    _, gradient = both(x[None])
    step = 1e-5 * np.eye(model.dim)
    up, down = both(x + step)[0], both(x - step)[0]
    np.testing.assert_allclose(gradient[0], (up - down) / 2e-5, rtol=1e-6, atol=1e-8)
