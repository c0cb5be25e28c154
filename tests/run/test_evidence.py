"""The evidence: closed-form truths, laws, every reference and path, honest verdicts.

Seeds are fixed. A z-score beyond 4 is a false alarm once in 16,000, so that the fifty or so
statistical assertions here would raise one with a probability of 0.3 % on new seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from math import lgamma, log

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro import distributions
from scipy import stats
from scipy.special import betaln

import refti
from refti import suite
from refti.estimators import mbar
from refti.references.gaussian import gaussian as gaussian_reference
from refti.results.result import Result
from refti.sampling import density_along_leg
from refti.sampling.density_along_leg import log_density_on
from targets import (
    CUT_LOG_Z,
    GAUSSIAN_FACTOR,
    GAUSSIAN_MEAN,
    LOG_2_PI,
    SHAPES,
    TARGETS,
    Target,
    cut_gaussian,
    declared_cut_gaussian,
    quartic,
    quartic_log_z,
)

SMALL = {"warmup": 200, "kept": 250, "ladder": refti.power(6), "progress": False}
# The search for other modes takes longer than the rest, and these have one.
QUICK = {**SMALL, "search": "quick"}
TOO_FAR = 4.0


def one_sided() -> refti.Model:
    """Gamma densities below 3 and above -1, independent of each other."""
    return refti.Model(
        lambda below, above: (
            1.5 * jnp.log(3 - below) - 2 * (3 - below) + 2 * jnp.log(above + 1) - 0.5 * (above + 1)
        ),
        {"below": refti.upper(3), "above": refti.lower(-1)},
    )


def vectors() -> refti.Model:
    """A normalised Dirichlet density, and three normals in increasing order."""
    dirichlet = distributions.Dirichlet(np.array([2.0, 3.0, 4.5]))
    return refti.Model(
        lambda p, c: dirichlet.log_prob(p) - 0.5 * jnp.sum(((c - 1) / 2) ** 2),
        {"p": refti.simplex(3), "c": refti.ordered(3)},
    )


ALL = {
    target.name: target
    for target in (
        *TARGETS,
        Target("one_sided", one_sided, lgamma(2.5) - 2.5 * log(2) + lgamma(3) + 3 * log(2)),
        Target("vectors", vectors, suite.find("ordered").log_z),
    )
}


@cache
def model_of(name: str) -> refti.Model:
    return ALL[name].model()


@cache
def result_of(name: str, seed: int = 0) -> refti.Evidence:
    return refti.evidence(model_of(name), **SMALL, seed=seed)


@cache
def quick_result() -> refti.Evidence:
    return refti.evidence(model_of("log_gamma"), **QUICK)


@cache
def cut_result(outside: float = -np.inf) -> refti.Evidence:
    return refti.evidence(cut_gaussian(outside), **QUICK)


def distance(result: Result, truth: float) -> float:
    """How many errors the result is from the truth."""
    # Where density and reference coincide the error is zero, and rounding is what is left.
    return abs(result.value - truth) / max(result.error, 1e-9)


def apart(a: Result, b: Result) -> float:
    """How many combined errors two independent results differ by."""
    return abs(a.value - b.value) / float(np.hypot(a.error, b.error))


# The laws of each kind of support by itself are in tests/models.
CLOSED_FORMS = ["gaussian", "log_gamma", "product"]
OTHER_SUPPORTS = [pytest.param(n, marks=pytest.mark.long) for n in ("one_sided", "vectors", "lkj")]


@pytest.mark.parametrize("name", [*CLOSED_FORMS, *OTHER_SUPPORTS])
def test_closed_form_targets(name: str):
    result = result_of(name)
    assert isinstance(result, refti.Evidence)
    assert result.log_z == result.value
    assert distance(result, ALL[name].log_z) < TOO_FAR
    assert result.error < 0.03
    low, high = result.interval(0.95)
    assert high - low == pytest.approx(2 * 1.959964 * result.error, rel=1e-6)


@pytest.mark.parametrize("name", ["log_gamma", "product"])
def test_every_estimator_agrees_with_the_truth(name: str):
    for estimate in result_of(name).estimates.values():
        assert abs(estimate.value - ALL[name].log_z) < TOO_FAR * estimate.error
    assert result_of(name).estimates["stepping_stone"].error < 0.1


# Each family integrates to what it says by tests/laws; other tests have runs by "covariance".
@pytest.mark.parametrize(
    "family",
    [
        *("laplace", "variational"),
        *(
            pytest.param(family, marks=pytest.mark.long)
            for family in ("covariance", "diagonal", "variational_diagonal")
        ),
    ],
)
def test_every_reference_gives_the_same_evidence(family: str):
    result = refti.evidence(model_of("log_gamma"), **QUICK, reference=family)
    assert distance(result, ALL["log_gamma"].log_z) < TOO_FAR
    assert result.error < 0.05


@pytest.mark.long
def test_truncated_reference_gives_the_same_evidence():
    result = refti.evidence(model_of("product"), **QUICK, reference="truncated")
    assert distance(result, ALL["product"].log_z) < TOO_FAR
    assert result.error < 0.05


def test_posterior_draws_follow_the_posterior():
    # A Beta(2.5, 1.5) stretched to (2, 5); draws are correlated, hence their number.
    mean, spread = 2 + 3 * 2.5 / 4, 3 * np.sqrt(2.5 * 1.5 / 16 / 5)
    draws = result_of("product").posterior["share"].values
    worth = result_of("product").draws[0].effective_sample_size()[-1] / 2
    assert np.abs(draws.mean(axis=(0, 1)) - mean).max() < TOO_FAR * spread / np.sqrt(worth)
    np.testing.assert_allclose(draws.std(axis=(0, 1)), spread, rtol=0.15)


class TestSeeds:
    """All randomness comes from the seed."""

    @pytest.mark.long  # test_rounds.py has the same of an adapted run
    def test_same_seed_same_bits(self):
        first = result_of("log_gamma")
        second = refti.evidence(model_of("log_gamma"), **SMALL)
        assert second.value == first.value
        assert second.error == first.error
        np.testing.assert_array_equal(second.draws[0].delta, first.draws[0].delta)
        assert second.posterior.identical(first.posterior)

    def test_another_seed_other_numbers_within_error(self):
        first, second = result_of("log_gamma"), result_of("log_gamma", seed=1)
        assert second.value != first.value
        assert not np.isin(second.draws[0].delta, first.draws[0].delta).any()
        assert apart(first, second) < TOO_FAR
        for one, other in zip(first.draws[0].delta, second.draws[0].delta, strict=True):
            assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 5 / np.sqrt(200)

    def test_rungs_and_chains_are_independent(self):
        delta = result_of("log_gamma").draws[0].delta
        correlations = np.corrcoef(delta.reshape(-1, delta.shape[-1]))
        off_diagonal = correlations[~np.eye(len(correlations), dtype=bool)]
        # Draws are autocorrelated: fifty are worth the 250. 276 pairs, so 5 rather than 4.
        assert np.abs(off_diagonal).max() < 5 / np.sqrt(50)


class TestLaws:
    """What must happen to the evidence when the model is changed in a known way."""

    def test_density_times_c_shifts_by_log_c(self):
        # Chains take the same ways but for rounding, which on some processors ends the climb to the
        # mode at another last digit.
        found = higher_result()
        assert found.value - quick_result().value == pytest.approx(2.5, abs=1e-6)
        assert found.error == pytest.approx(quick_result().error, rel=1e-6)

    def test_affine_change_of_variables_changes_nothing(self):
        found = turned_result()
        assert distance(found, ALL["log_gamma"].log_z) < TOO_FAR
        assert apart(found, quick_result()) < TOO_FAR

    def test_change_of_support_changes_nothing(self):
        gammas = refti.Model(
            lambda y: jnp.sum((SHAPES - 1) * jnp.log(y) - y), {"y": refti.positive(shape=(3,))}
        )
        found = refti.evidence(gammas, **QUICK)
        assert found.value == pytest.approx(quick_result().value, abs=1e-7)

    @pytest.mark.parametrize("seen", [(0.0, 0.0, 0.0), (3.0, 8.0, 0.7)], ids=["no data", "data"])
    def test_of_prior_and_likelihood_by_either_path(self, seen: tuple[float, float, float]):
        successes, failures, precision = seen
        exact = betaln(2 + successes, 3 + failures) - betaln(2, 3) - 0.5 * log(1 + 4 * precision)
        model = conjugate(np.array(seen))
        for path in ("referenced", "power"):
            found = refti.evidence(model, **QUICK, path=path, check_prior=False)
            assert found.found["path"] == path
            assert distance(found, exact) < TOO_FAR
            assert found.error < 0.05
        if not any(seen):  # the prior alone: there is nothing on the way
            assert found.value == pytest.approx(0.0, abs=1e-12)

    def test_reversed_model_switch_flips_the_sign(self):
        settings = {**QUICK, "ladder": refti.uniform(6)}
        narrow, wide = gaussian_at(0.5, 0.5, -1.0), gaussian_at(0.0, 1.0, 0.0)
        there = refti.log_bayes_factor(narrow, wide, **settings)
        back = refti.log_bayes_factor(wide, narrow, **settings)
        exact = -1.0 + 2 * log(0.5)
        assert distance(there, exact) < TOO_FAR
        assert distance(back, -exact) < TOO_FAR
        assert max(there.error, back.error) < 0.06
        assert isinstance(there, refti.LogRatio)
        assert there.log_ratio == there.value
        with pytest.raises(refti.CompareError, match="LogRatio"):
            refti.compare({"ratio": there})


def conjugate(seen: np.ndarray) -> refti.Model:
    """A scale and a share; `seen` are successes, failures and a precision, data of one program."""

    def log_prior(s, p):
        of_scale = distributions.HalfNormal(2.0).log_prob(s)
        return of_scale + distributions.Beta(2.0, 3.0).log_prob(p)

    def log_likelihood(s, p):
        return jnp.sum(seen * jnp.stack([jnp.log(p), jnp.log1p(-p), -0.5 * s**2]))

    return refti.Model(
        log_prior=log_prior,
        log_likelihood=log_likelihood,
        parameters={"s": refti.positive(), "p": refti.interval(0, 1)},
    )


def gaussian_at(mean: float, scale: float, height: float) -> refti.Model:
    """A Gaussian in two dimensions; all of them are one program, since their numbers are data."""
    means, scales, heights = np.full(2, mean), np.full(2, scale), np.full(1, height)
    return refti.Model(
        lambda x: jnp.sum(heights) - 0.5 * jnp.sum(((x - means) / scales) ** 2), dim=2
    )


def moved_log_gamma(matrix: np.ndarray, shift: np.ndarray, height: float) -> refti.Model:
    """Logarithms x = matrix @ y + shift of Gamma variables, times exp(height)."""
    heights = np.full(1, height)

    def log_density(y):
        x = matrix @ y + shift
        return jnp.sum(SHAPES * x - jnp.exp(x)) + jnp.sum(heights)

    return refti.Model(log_density, dim=3)


@cache
def higher_result() -> refti.Evidence:
    return refti.evidence(moved_log_gamma(np.eye(3), np.zeros(3), 2.5), **QUICK)


@cache
def turned_result() -> refti.Evidence:
    """That of other data than the one before, so that its programs are there already."""
    higher_result()
    matrix = np.array([[2.0, 0.0, 1.0], [0.5, -0.3, 0.0], [0.0, 1.0, 4.0]])
    log_jacobian = np.linalg.slogdet(matrix)[1]
    model = moved_log_gamma(matrix, np.array([1.0, -2.0, 0.5]), log_jacobian)
    return refti.evidence(model, **QUICK)


class TestPaths:
    """Telescopic paths."""

    @pytest.mark.long
    def test_telescopic_path_by_the_fourth_order(self):
        found = refti.evidence(
            quartic(5), **{**QUICK, "ladder": refti.power(4)}, reference=["laplace", 4]
        )
        assert found.found["path"] == "telescopic"
        assert len(found.draws) == 2
        assert distance(found, quartic_log_z(5)) < TOO_FAR
        assert found.error < 0.15

    def test_telescopic_path_by_another_model(self):
        other = moved_log_gamma(np.eye(3), np.array([0.1, 0.0, -0.2]), 0.0)
        model = moved_log_gamma(np.eye(3), np.zeros(3), 0.0)
        found = refti.evidence(model, **QUICK, reference=["covariance", other])
        assert distance(found, ALL["log_gamma"].log_z) < TOO_FAR
        assert found.error < 0.06


class TestUndeclaredSupport:
    """A density that is zero, or not a number, where nothing was declared."""

    def test_edge_is_counted_and_agrees_with_the_declared_bound(self):
        undeclared = cut_result()
        declared = refti.evidence(declared_cut_gaussian(), **QUICK, reference="truncated")
        for result in (undeclared, declared):
            assert distance(result, CUT_LOG_Z) < TOO_FAR
            assert result.error < 0.05
        assert apart(undeclared, declared) < TOO_FAR
        (inside, drawn), *_ = undeclared.found["shares"]
        assert 0.3 < inside / drawn < 0.99
        (inside, drawn), *_ = declared.found["shares"]
        assert inside == drawn

    def test_nan_outside_is_zero_outside(self):
        zero, nan = cut_result(), cut_result(np.nan)
        assert nan.value == zero.value
        assert nan.error == zero.error
        np.testing.assert_array_equal(nan.draws[0].delta, zero.draws[0].delta)

    def test_logarithm_that_is_nan_with_its_gradient_outside(self):
        model = refti.Model(
            lambda x: 1.5 * jnp.log(x[0]) - 2 * x[0] - 0.5 * (x[1] - x[0]) ** 2,
            dim=2,
            start=[1.0, 1.0],
        )
        found = refti.evidence(model, **QUICK)
        exact = lgamma(2.5) - 2.5 * log(2) + 0.5 * LOG_2_PI
        assert distance(found, exact) < TOO_FAR
        assert found.error < 0.1
        assert (found.posterior["x"].values[..., 0] > 0).all()

    def test_nan_is_counted_and_located(self):
        check = next(check for check in cut_result(np.nan).checks if check.name == "not a number")
        assert 0.01 < check.value < 0.7
        assert "x = (" in check.advice

    def test_laplace_reference_of_a_cut_density(self):
        found = refti.evidence(_cut_at(-1.0), **QUICK, reference="laplace")
        assert distance(found, LOG_2_PI + float(stats.norm.logsf(-1))) < TOO_FAR

    @pytest.mark.parametrize(
        "flip",
        [False, pytest.param(True, marks=pytest.mark.long)],
        ids=["into the wider", "into the narrower"],
    )
    def test_model_switch_between_different_supports(self, flip: bool):
        pair = _cut_at(-1.0), _cut_at(0.3)
        exact = float(stats.norm.logsf(-1) - stats.norm.logsf(0.3))
        settings = {**QUICK, "ladder": refti.uniform(6)}
        found = refti.log_bayes_factor(*(pair[::-1] if flip else pair), **settings)
        exact = -exact if flip else exact
        # A path that cannot know the part of the wider model outside the other must not be trusted.
        assert not found.trusted or distance(found, exact) < TOO_FAR

    @pytest.mark.long  # the switch above goes between the same two
    def test_telescopic_path_through_a_narrower_support(self):
        found = refti.evidence(_cut_at(-1.0), **QUICK, reference=["covariance", _cut_at(0.3)])
        exact = LOG_2_PI + float(stats.norm.logsf(-1))
        assert not found.trusted or distance(found, exact) < TOO_FAR


def _cut_at(edge: float) -> refti.Model:
    edges = np.full(1, edge)  # data, so that all of them are one program
    return refti.Model(
        lambda x: jnp.where(jnp.all(x[:1] >= edges), -0.5 * jnp.sum(x**2), -jnp.inf),
        dim=2,
        start=[edge + 0.5, 0.0],
    )


class TestVerdict:
    """A result says itself when it is not to be used."""

    def far_away(self) -> refti.Reference:
        with jax.enable_x64(True):
            return gaussian_reference(np.array([40.0, -30.0]), np.array([0.5, 0.5]), 0.0)

    def test_trusted_where_all_is_well(self):
        result = result_of("gaussian")
        assert result.trusted
        assert result.require_trusted() is result

    def test_hopeless_reference_is_not_trusted_for_lack_of_overlap(self):
        settings = {**QUICK, "ladder": refti.uniform(2)}
        result = refti.evidence(gaussian_at(0.0, 1.0, 0.0), **settings, reference=self.far_away())
        assert not result.trusted
        failed = {check.name for check in result.checks if not check.ok}
        assert "overlap" in failed
        assert "overlap" in str(result)
        assert "NOT TRUSTED" in str(result)
        with pytest.raises(refti.NotTrustedError, match="overlap") as caught:
            result.require_trusted()
        assert caught.value.result is result

    def test_error_asked_for_and_not_reached(self):
        result = refti.evidence(model_of("log_gamma"), **QUICK, target_error=1e-6)
        assert [check.name for check in result.checks if not check.ok] == ["target error"]
        assert result.value == quick_result().value

    def test_error_holds_every_part(self):
        result = cut_result()
        (inside, drawn), *_ = result.found["shares"]
        of_share = np.sqrt((drawn - inside) / (inside * drawn))
        of_draws = mbar(result.draws[0]).error
        assert result.error == pytest.approx(np.hypot(of_share, of_draws), rel=1e-3)
        # Both parts must matter for this to say anything.
        assert of_share > 0.1 * of_draws
        assert result.estimates["ti"].quadrature_error > 0


class TestOptions:
    """Kernels, draws, estimators and references of the user's own."""

    @pytest.mark.parametrize(
        "estimator", ["ti", pytest.param("stepping_stone", marks=pytest.mark.long)]
    )
    def test_estimator_chosen_gives_the_value(self, estimator: str):
        found = refti.evidence(model_of("log_gamma"), **QUICK, estimator=estimator)
        chosen = found.estimates[estimator]
        assert (found.value, found.error) == (chosen.value, chosen.error)
        assert found.estimates["mbar"].value == quick_result().value

    @pytest.mark.parametrize(
        "lead",
        [pytest.param((400,), marks=pytest.mark.long), (4, 100)],
        ids=["draw", "chain, draw"],
    )
    def test_draws_take_the_place_of_the_pilots(self, lead: tuple[int, ...]):
        rng = np.random.default_rng(1)
        draws = {
            "scale": np.abs(0.8 * rng.normal(size=lead)),
            "share": 2 + 3 * rng.beta(2.5, 1.5, size=(*lead, 2)),
            "shift": -4 + 3 * rng.normal(size=lead),
        }
        stages = []
        settings = {**QUICK, "progress": lambda stage, done, total: stages.append(stage)}
        found = refti.evidence(model_of("product"), **settings, draws=draws)
        assert distance(found, ALL["product"].log_z) < TOO_FAR
        assert "finding the posterior" not in stages

    @pytest.mark.long  # tests/run/test_users_draws.py has draws that take the place of the pilot's
    def test_draws_in_two_modes_carry_both(self):
        means = 24 * np.array([[-0.4], [0.6]]) * np.array([1.0, 2.0]) / np.sqrt(5)
        draws = {"x": np.concatenate([means, means + np.array([1.0, -0.5])])}
        found = refti.evidence(suite.bimodal(2, 24, 0.5).model(), **QUICK, draws=draws)
        assert distance(found, -3.2) < TOO_FAR

    @pytest.mark.long  # the pages on the paper follow it in every run of the tests
    def test_the_papers_recipe(self):
        settings = {**QUICK, "ladder": refti.uniform(11)}
        found = refti.evidence(model_of("log_gamma"), **settings, estimator="ti")
        assert distance(found, ALL["log_gamma"].log_z) < TOO_FAR
        assert found.draws[0].rungs == 11

    @pytest.mark.parametrize("kernel", ["nuts", pytest.param("hmc", marks=pytest.mark.long)])
    def test_a_reference_of_the_users_own_by_either_kernel(self, kernel: str):
        model = model_of("log_gamma")
        found = refti.evidence(model, **QUICK, reference=Logistic(3), kernel=kernel)
        assert distance(found, ALL["log_gamma"].log_z) < TOO_FAR
        assert found.error < 0.1
        assert found.settings["kernel"] == kernel
        # Delta is the log ratio of the leg's ends.
        x = found.posterior["x"].values.reshape(-1, 3)
        with jax.enable_x64(True):
            ratio = jax.jit(jax.vmap(lambda x: model.log_density(x) - Logistic(3).log_density(x)))
            expected = np.asarray(ratio(jnp.asarray(x)))
        np.testing.assert_allclose(found.draws[0].delta[-1].ravel(), expected, atol=1e-9)

    def test_a_reference_made_outside_64_bit_mode(self):
        reference = gaussian_reference(np.array([-1.0, 0.5, 1.5]), np.ones(3), 0.0)
        found = refti.evidence(model_of("log_gamma"), **QUICK, reference=reference)
        assert distance(found, ALL["log_gamma"].log_z) < TOO_FAR

    def test_a_reference_of_another_dimension_is_refused(self):
        with jax.enable_x64(True):
            reference = gaussian_reference(np.zeros(2), np.ones(2), 0.0)
        with pytest.raises(refti.RefTIError, match="dimension"):
            refti.evidence(model_of("log_gamma"), **QUICK, reference=reference)

    def test_a_reference_that_is_no_pytree_is_refused(self):
        class Plain(Logistic):
            pass

        with pytest.raises(refti.RefTIError, match="pytree"):
            refti.evidence(model_of("log_gamma"), **QUICK, reference=Plain(3))

    def test_whole_numbers_of_numpy_are_whole_numbers_and_progress_is_told(self, tmp_path):
        told = []
        settings = {**QUICK, "warmup": np.int64(200), "kept": np.int64(250)}
        settings["progress"] = lambda *arguments: told.append(arguments)
        found = refti.evidence(
            model_of("log_gamma"), **settings, chains=np.int64(8), store=tmp_path / "run"
        )
        assert found.value == quick_result().value
        # The same run tells its progress to the end.
        assert {stage for stage, _, _ in told} >= {"finding the posterior", "round 1"}
        assert told[-1][1] == told[-1][2]
        assert all(0 <= done <= total for _, done, total in told)


@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=["dim"])
@dataclass(frozen=True)
class Logistic:
    """Independent standard logistic densities, times e."""

    dim: int

    @property
    def log_z(self):
        return jnp.ones(())

    def log_density(self, x):
        return 1.0 - jnp.sum(x + 2 * jnp.logaddexp(0.0, -x))

    def sample(self, key):
        return jax.random.logistic(key, (self.dim,))


@pytest.mark.parametrize(
    "reference", ["covariance", pytest.param("laplace", marks=pytest.mark.long)]
)
def test_two_modes_far_apart_are_not_trusted_when_wrong(reference: str):
    """Weights 9 to 1, 14 standard deviations apart; a chain at lambda = 1 cannot cross."""
    target = suite.bimodal(2, 14, 0.9)
    result = refti.evidence(target.model(), reference=reference, progress=False)
    wrong = abs(result.log_z - target.log_z) > 3 * result.error
    assert not (result.trusted and wrong), str(result)


class TestCost:
    """What a run compiles and counts."""

    def test_first_run_compiles_seven_programs_and_the_next_none(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        """They are begin, advance, leaps, fresh steps, exact draws, log densities of model and of
        reference; the leg's gradient is in two of them, and traced once for both.
        """
        traced = []

        def note(*arguments):
            traced.append(arguments)
            return log_density_on(*arguments)

        monkeypatch.setattr(density_along_leg, "log_density_on", note)
        model = refti.Model(lambda x: -0.5 * jnp.sum((x - 0.123) ** 2) - 0.01 * x[1] ** 4, dim=2)
        first = refti.evidence(model, **SMALL)
        assert 0 < first.cost.programs <= 7
        assert len(traced) == 1
        assert 0 < first.cost.compile_seconds < first.cost.seconds
        second = refti.evidence(model, **SMALL, seed=1)
        assert second.cost.programs == 0
        assert len(traced) == 1
        assert second.cost.compile_seconds < first.cost.compile_seconds

    @pytest.mark.long  # the test before sees it by our own count
    def test_second_run_compiles_next_to_nothing_by_jaxs_own_count(self):
        compiled = []

        def listen(event: str, duration: float, **details) -> None:
            if event.endswith("backend_compile_duration"):
                compiled.append(duration)

        result_of("log_gamma")
        jax.monitoring.register_event_duration_secs_listener(listen)
        try:
            refti.evidence(model_of("log_gamma"), **SMALL, seed=5)
        finally:
            jax.monitoring.unregister_event_duration_listener(listen)
        assert len(compiled) <= 1

    def test_models_that_differ_in_data_share_their_programs(self):
        assert turned_result().cost.programs == 0

    def test_evaluations_are_counted(self):
        cost = result_of("log_gamma").cost
        # 5 sampled rungs x 4 chains x 450 iterations, one gradient each at least.
        assert cost.gradient_evaluations > 5 * 4 * 450
        assert cost.density_evaluations >= 1000


def test_gaussian_posterior_has_its_moments():
    draws = result_of("gaussian").posterior["x"].values.reshape(-1, 3)
    white = np.linalg.solve(GAUSSIAN_FACTOR, (draws - GAUSSIAN_MEAN).T)
    # A thousand correlated draws are worth two hundred at least.
    assert np.abs(white.mean(axis=1)).max() < TOO_FAR / np.sqrt(200)
    assert np.abs(np.cov(white) - np.eye(3)).max() < TOO_FAR * np.sqrt(2 / 200)
