"""Every model of the zoo has one density, whichever of the four languages it is written in."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import hypot

import jax
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import expon, multivariate_normal

import refti
from zoo import MODELS, SOURCES, shapes
from zoo.own import OWN
from zoo.shared import Shared

pytestmark = pytest.mark.usefixtures("x64")

POINTS, CURVES = 20, 3
EXACT = ("regression",)

# A correlation matrix; every language's own tests have all kinds of bounds.
ALWAYS = ("correlation",)
# A Stan program takes ten seconds to compile, so those of the zoo are left for the long tests. Here
# stands one for them that has parameters of every shape; other tests compile it too.
WRITTEN = {**MODELS, "shapes": shapes}
TAKEN = [*((name, source) for name in MODELS for source in SOURCES), ("shapes", "stan")]


def marks(name: str, source: str) -> list[pytest.MarkDecorator]:
    """Whether tests of a model are left for the long ones."""
    always = (name in ALWAYS and source != "stan") or name == "shapes"
    return [] if always else [pytest.mark.long]


EVERY = [pytest.param(name, source, marks=marks(name, source)) for name, source in TAKEN]
HAVING_ANOTHER_VOICE = [case for case in EVERY if case.values[1] in OWN]


@cache
def model(name: str, source: str) -> refti.Model:
    return SOURCES[source](WRITTEN[name])


@cache
def shared(name: str, source: str) -> Shared:
    return Shared.of(WRITTEN[name], source, model(name, source), model(name, "jax"))


@cache
def coordinates(name: str) -> np.ndarray:
    """Random points of the plain model where its density is not zero, x[point, dim]."""
    plain, rng = model(name, "jax"), np.random.default_rng(0)
    x = plain.start + 0.7 * rng.normal(size=(2 * POINTS, plain.dim))
    inside = x[np.isfinite(plain.log_densities(x))][:POINTS]
    assert len(inside) == POINTS
    return inside


@cache
def points(name: str) -> dict[str, np.ndarray]:
    """The parameters' values [point, *shape] there, which any source can be asked about."""
    return model(name, "jax").space.constrain_all(coordinates(name))


@cache
def said(name: str, source: str) -> list[float]:
    """The log densities of the points by the language itself."""
    own, values = OWN[source](WRITTEN[name]), points(name)
    return [float(own({key: value[i] for key, value in values.items()})) for i in range(POINTS)]


@pytest.mark.parametrize(("name", "source"), EVERY)
def test_parameters_have_the_same_names_shapes_and_values(name: str, source: str):
    seen = shared(name, source)
    back = seen.values(seen.coordinates(points(name)))
    assert set(back) == set(points(name))
    for parameter, value in points(name).items():
        assert np.shape(back[parameter]) == value.shape
        np.testing.assert_allclose(back[parameter], value, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "source"), HAVING_ANOTHER_VOICE)
def test_the_log_density_is_what_the_language_itself_says(name: str, source: str):
    log_densities = shared(name, source).log_densities(points(name))
    np.testing.assert_allclose(log_densities, said(name, source), rtol=1e-9)


@pytest.mark.parametrize(("name", "source"), EVERY)
def test_the_log_density_is_the_same_in_every_language(name: str, source: str):
    log_densities = shared(name, source).log_densities(points(name))
    np.testing.assert_allclose(log_densities, said(name, "jax"), rtol=1e-9)


@pytest.mark.parametrize(("name", "source"), EVERY)
def test_the_gradient_is_the_same_in_every_language(name: str, source: str):
    own, constrain, rng = (
        OWN["jax"](WRITTEN[name]),
        model(name, "jax").constrain,
        np.random.default_rng(1),
    )
    slope = jax.jit(lambda x, along: jax.jvp(lambda x: own(constrain(x)), (x,), (along,))[1])
    for x in coordinates(name)[:CURVES]:
        along = rng.normal(size=x.shape) / np.sqrt(x.size)
        plain = float(slope(x, along))
        assert shared(name, source).slope(x, along) == pytest.approx(plain, rel=1e-6, abs=1e-6)


@pytest.mark.long  # the radiata models of examples/ have exact values from four languages too
@pytest.mark.parametrize("name", EXACT)
def test_evidences_of_the_four_languages_agree(name: str):
    results = {
        # Seeds of their own, or two sources with the same coordinates would agree for that alone.
        source: refti.evidence(model(name, source), target_error=0.05, seed=seed, progress=False)
        for seed, source in enumerate(SOURCES)
    }
    for source, result in results.items():
        assert result.trusted, f"{source}: {result}"
    # 12 pairs and an exact value; 4.5 standard errors are passed by chance once in 9,000 runs.
    for (a, one), (b, other) in combinations(results.items(), 2):
        difference = one.log_z - other.log_z
        assert abs(difference) < 4.5 * hypot(one.error, other.error), f"{a} and {b}"
    if name == "regression":
        for source, result in results.items():
            assert abs(result.log_z - _exact_regression()) < 4.5 * result.error, source


def _exact_regression() -> float:
    """The regression's log evidence: Gaussian given the noise, which quadrature integrates out."""
    data = MODELS["regression"].DATA
    x, y = data["x"], data["y"]
    shared_variance = 25.0 + 4.0 * x @ x.T

    def log_joint(sigma: float) -> float:
        covariance = shared_variance + sigma**2 * np.eye(len(y))
        return float(multivariate_normal.logpdf(y, cov=covariance) + expon.logpdf(sigma))

    peak = log_joint(0.7)
    integral = quad(lambda sigma: np.exp(log_joint(sigma) - peak), 0.2, 5.0, points=[0.7])[0]
    return float(peak + np.log(integral))
