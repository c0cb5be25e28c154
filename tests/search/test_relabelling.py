"""Modes that are one by another numbering of components are found and made complete."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp
from jax.scipy.stats import norm

import refti
from refti.models.model import ValueAndGradient
from refti.search.curvatures import find_tops
from refti.search.known_peaks import KnownPeaks
from refti.search.modes import find_modes
from refti.search.orbits import Orbits
from refti.search.relabelling import find_relabelling
from refti.search.sign_flips import flips_by_name

pytestmark = pytest.mark.usefixtures("x64")

CENTRES = np.array([-6.0, 0.0, 5.0])
Y = np.concatenate([centre + np.linspace(-1, 1, 9) for centre in CENTRES])


def heaps(lean: float = 0.0) -> refti.Model:
    """Three components with shares, means and spreads; they are told apart if they lean."""

    def log_density(weight: Any, mu: Any, spread: Any) -> Any:
        each = jnp.log(weight) + norm.logpdf(Y[:, None], mu, spread)
        prior = norm.logpdf(mu, lean * jnp.arange(3), 10).sum() + 2 * jnp.log(weight).sum()
        return logsumexp(each, axis=1).sum() + prior + norm.logpdf(jnp.log(spread), 0, 0.5).sum()

    supports = {"weight": refti.simplex(3), "mu": refti.real(shape=(3,))}
    return refti.Model(log_density, {**supports, "spread": refti.positive(shape=(3,))})


def numbered() -> refti.Model:
    """Two components whose parameters have numbers in their names, and one that has none."""

    def log_density(a1: Any, a2: Any, width: Any) -> Any:
        each = jnp.stack([norm.logpdf(Y, a1, width), norm.logpdf(Y, a2, width)])
        prior = norm.logpdf(jnp.stack([a1, a2]), 0, 10).sum() + norm.logpdf(jnp.log(width))
        return logsumexp(each, axis=0).sum() + prior

    return refti.Model(
        log_density, {"a1": refti.real(), "a2": refti.real(), "width": refti.positive()}
    )


def evaluated(model: refti.Model) -> ValueAndGradient:
    program = jax.jit(jax.vmap(jax.value_and_grad(model.density.log_density)))

    def evaluate(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # Two programs for any number of points, since a climb asks for one or a few at a time.
        width = 32 if len(x) <= 32 else 512
        padded = np.concatenate([x, np.repeat(x[-1:], -len(x) % width, axis=0)])
        parts = [program(part) for part in np.split(padded, len(padded) // width)]
        values, gradients = (np.concatenate(part)[: len(x)] for part in zip(*parts, strict=True))
        return values, gradients

    return evaluate


def some_points(model: refti.Model) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(3, model.dim))


def test_points_outside_the_support_tell_nothing():
    """Where only the density knows of its bounds, some points beside a mode are outside."""
    pair = refti.Model(
        lambda x: jnp.where(x.max() < 1.0, -0.5 * jnp.sum(x**2), -jnp.inf),
        {"x": refti.real(shape=(2,))},
    )
    points = np.array([[0.3, -0.4], [2.0, 0.1]])
    found = find_relabelling(pair.space, evaluated(pair), points)
    assert found is not None
    assert found.count == 2
    assert find_relabelling(pair.space, evaluated(pair), points[1:]) is None


def test_components_are_renumbered_along_all_of_their_axes_together():
    model = heaps()
    found = find_relabelling(model.space, evaluated(model), some_points(model))
    assert found is not None
    assert found.count == 6
    ((axes, size),) = found.sets
    assert (size, [axis.names for axis in axes]) == (3, [("weight",), ("mu",), ("spread",)])
    x = model.unconstrain(
        {"weight": np.array([0.2, 0.3, 0.5]), "mu": CENTRES, "spread": np.array([1.0, 2.0, 3.0])}
    )
    image = model.constrain(found.image(np.asarray(x)[None], ((2, 0, 1),))[0])
    np.testing.assert_allclose(image["weight"], [0.5, 0.2, 0.3])
    np.testing.assert_allclose(image["mu"], CENTRES[[2, 0, 1]])
    np.testing.assert_allclose(image["spread"], [3.0, 1.0, 2.0])


def test_components_that_a_prior_tells_apart_are_not_renumbered():
    model = heaps(lean=0.01)
    assert find_relabelling(model.space, evaluated(model), some_points(model)) is None


def test_components_may_be_numbered_by_names():
    model = numbered()
    found = find_relabelling(model.space, evaluated(model), some_points(model))
    assert found is not None
    assert [axis.names for axis in found.sets[0][0]] == [("a1", "a2")]


def two_of_six(model: refti.Model) -> KnownPeaks:
    """Two of the modes of three heaps, as a short search may leave them."""
    evaluate = evaluated(model)
    shares, spreads = np.full(3, 1 / 3), np.full(3, 0.7)
    starts = [
        model.unconstrain({"weight": shares, "mu": CENTRES[list(order)], "spread": spreads})
        for order in ((0, 1, 2), (1, 0, 2))
    ]
    tops = find_tops(evaluate, np.stack(starts), 0.3 * np.eye(model.dim))
    return KnownPeaks(tops.x, tops.heights, tops.factors, np.full(2, True), np.arange(2))


def test_all_images_of_a_mode_are_modes_and_have_its_mass():
    model = heaps()
    orbits, known = Orbits(model.space), two_of_six(model)
    whole = orbits.complete(evaluated(model), known)
    means = [tuple(np.round(np.asarray(model.constrain(x)["mu"])).tolist()) for x in whole.x]
    assert sorted(means) == sorted(permutations(CENTRES))
    assert orbits.added == 4
    np.testing.assert_allclose(whole.log_masses, known.log_masses[0], atol=0.05)
    assert len(orbits.first_ones(np.arange(6))) == 1
    assert len(orbits.complete(evaluated(model), whole)) == 6


def test_a_search_says_what_it_added():
    model, rng = heaps(), np.random.default_rng(2)
    starts = 0.5 * rng.normal(size=(8, model.dim))
    found = find_modes(evaluated(model), starts, rng, evaluations=3000, space=model.space)
    assert found.searched is not None
    assert not found.searched.still_growing
    assert "all 6 numberings of the 3 components of weight, mu, spread" in found.searched.sentence


def factors(lean: float = 0.0) -> refti.Model:
    """Two factors of four columns, each with a sign of its own, scores and loadings together."""
    true = np.random.default_rng(5).normal(size=(6, 2)) @ [[2.0, -1.0, 1.5, 0.5], [0.3, 2, -1, 1]]

    def log_density(loadings: Any, scores: Any, mean: Any) -> Any:
        prior = norm.logpdf(scores, lean, 1).sum() - jnp.abs(loadings).sum() + norm.logpdf(mean)
        return prior + norm.logpdf(true, scores @ loadings + mean, 0.3).sum()

    supports = {"loadings": refti.real(shape=(2, 4)), "scores": refti.real(shape=(6, 2))}
    return refti.Model(log_density, {**supports, "mean": refti.real()})


def test_factors_may_change_their_signs_one_by_one():
    model = factors()
    found = flips_by_name(model.space, evaluated(model), some_points(model), lambda signs: True)
    owners = np.array([label.split("[")[0] for label in model.space.coordinates])
    assert len(found) == 4
    assert np.array_equal(np.abs(found), np.ones((4, model.dim)))
    assert (found[:, owners == "mean"] == 1).all()
    one = found[[(signs < 0).sum() == 10 for signs in found]][0]  # one row of four, a column of six
    x = np.random.default_rng(3).normal(size=model.dim)
    before, after = model.constrain(x), model.constrain(one * x)
    np.testing.assert_allclose(
        before["scores"] @ before["loadings"], after["scores"] @ after["loadings"]
    )
    assert not np.allclose(before["scores"], after["scores"])


def test_factors_that_a_prior_tells_apart_keep_their_signs():
    model = factors(lean=0.01)
    assert (
        len(flips_by_name(model.space, evaluated(model), some_points(model), lambda signs: True))
        == 1
    )


def bent_pair(offset: float) -> refti.Model:
    """A product of two numbers that is 2, in coordinates whose names tell of no signs."""

    def log_density(x: Any) -> Any:
        return -0.5 * ((x[0] * x[1] - 2) ** 2 / 0.01 + (x**2).sum() + offset * x[0])

    return refti.Model(log_density, dim=3)


def test_two_modes_show_which_signs_change_together():
    model = bent_pair(0.0)
    evaluate, orbits = evaluated(model), Orbits(model.space)
    starts = np.array([[1.4, 1.4, 0.1], [-1.4, -1.4, 0.1]])
    tops = find_tops(evaluate, starts, 0.3 * np.eye(3))
    known = KnownPeaks(tops.x, tops.heights, tops.factors, np.full(2, True), np.arange(2))
    orbits.complete(evaluate, known)
    assert orbits.flips is not None
    assert [-1.0, -1.0, 1.0] in orbits.flips.tolist() or [-1.0, -1.0, -1.0] in orbits.flips.tolist()
    assert len(orbits.first_ones(np.arange(2))) == 1


def test_the_image_of_a_mode_by_its_sign_is_added_without_a_climb_to_it():
    def log_density(a: Any, b: Any) -> Any:
        return -0.5 * ((a * b.sum() - 6) ** 2 + ((b - a * jnp.arange(1.0, 3.0)) ** 2).sum())

    model = refti.Model(log_density, {"a": refti.real(), "b": refti.real(shape=(2,))})
    evaluate, orbits = evaluated(model), Orbits(model.space)
    tops = find_tops(evaluate, np.array([[1.4, 1.4, 2.8]]), 0.3 * np.eye(3))
    known = KnownPeaks(tops.x, tops.heights, tops.factors, np.full(1, True), np.arange(1))
    whole = orbits.complete(evaluate, known)
    np.testing.assert_allclose(whole.x[1], -whole.x[0], rtol=1e-3)
    assert "the same under 2 choices of signs of a, b, by which 1 mode was added" in orbits.sentence
    lone = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=3)  # its one mode is its own image
    alone = Orbits(lone.space)
    top = KnownPeaks(np.zeros((1, 3)), np.zeros(1), np.eye(3)[None], np.full(1, True), np.arange(1))
    assert len(alone.complete(evaluated(lone), top)) == 1
    assert alone.sentence == ""
