"""The loop: when it stops, what it may cost, what outlasts an interruption, and fresh draws.

Seeds are fixed. A z-score beyond 4 is a false alarm once in 16,000, one beyond 3.9 once in 10,000.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import refti
from refti import progress as reporters
from refti import suite
from refti.checks.check import Check
from refti.coordinates.links import Links
from refti.coordinates.map import Map
from refti.coordinates.pooling import Pooling
from refti.run import budget, missing_tail, one_run, pilot, rounds, users_draws
from refti.run.rounds import RunState
from refti.run.settings import Settings
from refti.run.tuning import ROUNDS
from refti.sampling import ladder_building, metering
from refti.sampling.engine import Engine
from refti.sampling.streams import GeneratorStream, KeyStream
from refti.search import searched

TARGET = suite.log_gamma()
OUT_OF_REACH = 1e-4  # a target error that no budget here allows


@cache
def model() -> refti.Model:
    return TARGET.model()


@cache
def result(target_error: float = 0.02, seed: int = 0) -> refti.Evidence:
    return refti.evidence(model(), target_error=target_error, seed=seed, progress=False)


@pytest.fixture(autouse=True, scope="module")
def usual_search() -> Iterator[None]:
    """The usual search alone: how long narrow modes are searched for depends on the budget."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(searched, "TUNING", replace(searched.TUNING, narrow_evaluations=0))
        yield


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> list[RunState]:
    """The last state of every run."""
    seen: list[RunState] = []
    run = one_run.run_rounds

    def recorded(state: RunState, engine: Engine) -> RunState:
        seen.append(run(state, engine))
        return seen[-1]

    monkeypatch.setattr(one_run, "run_rounds", recorded)
    return seen


def failed(found: refti.Evidence) -> set[str]:
    return {check.name for check in found.checks if not check.ok}


def evaluations(found: refti.Evidence) -> int:
    return found.cost.gradient_evaluations + found.cost.density_evaluations


class TestStopping:
    """Rounds go on until the error will do."""

    def test_smaller_targets_take_more_draws(self):
        errors = (0.02, 0.01, 0.005)
        found = [result(error) for error in errors]
        for one, error in zip(found, errors, strict=True):
            assert one.trusted, str(one)
            assert one.error <= error
            assert abs(one.value - TARGET.log_z) < 4 * one.error
        sizes = [one.draws[0].delta.size for one in found]
        assert sizes == sorted(sizes)
        # A quarter of the error takes about 16 times the draws, and 4 times at the very least.
        assert sizes[-1] >= 4 * sizes[0]

    def test_rounds_are_as_long_as_it_takes(self):
        told: dict[str, int] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage.startswith("round"):
                told[stage] = total

        found = refti.evidence(model(), target_error=0.005, progress=progress)
        totals = list(told.values())
        assert len(totals) == found.found["rounds"] > 2
        times = [b / a for a, b in pairwise(totals)]
        assert all(ROUNDS.least_growth <= t <= ROUNDS.most_growth for t in times)
        assert times[0] == ROUNDS.most_growth > times[-1]  # the target was far at first
        # Every scan told of is in the result.
        assert found.draws[0].draws == totals[-1] * 25
        assert found.value == result(0.005).value

    def test_it_stops_in_the_first_round_that_will_do(self):
        found = result(0.005)
        leg = found.draws[0]
        assert 0.75 * 0.005 < found.error <= 0.005
        fewer = refti.evidence(
            model(), target_error=0.005, kept=leg.draws // 2, ladder=leg.lambdas, progress=False
        )
        assert "target error" in failed(fewer)

    def test_hopeless_targets_are_given_up_before_the_budget_is_spent(self):
        found = refti.evidence(
            model(), target_error=OUT_OF_REACH, max_evaluations=400_000, progress=False
        )
        assert failed(found) == {"target error"}
        assert evaluations(found) < 200_000
        assert abs(found.value - TARGET.log_z) < 4 * found.error


class TestBudget:
    """What a run may cost, and what it ends with when that is spent."""

    @pytest.mark.parametrize("factor", [1.1, pytest.param(1.3, marks=pytest.mark.long)])
    def test_evaluations_are_held_to(self, factor: float, monkeypatch: pytest.MonkeyPatch):
        budget = int(factor * evaluations(result()))
        found = refti.evidence(
            model(), target_error=OUT_OF_REACH, max_evaluations=budget, progress=False
        )
        assert "finished" in failed(found)
        assert not found.trusted
        check = next(check for check in found.checks if check.name == "finished")
        assert "evaluations of max_evaluations= were spent" in check.advice
        # One more scan is the difference that 25 more draws make, with no tail followed after it.
        no_tail = replace(missing_tail.TUNING, long_tail=np.inf)
        monkeypatch.setattr(missing_tail, "TUNING", no_tail)
        long, short = (
            refti.evidence(model(), kept=kept, ladder=[0, 1], progress=False) for kept in (75, 50)
        )
        scan = evaluations(long) - evaluations(short)
        assert budget <= evaluations(found) < budget + 1.5 * scan
        assert abs(found.value - TARGET.log_z) < 4 * found.error

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.8])
    def test_too_few_evaluations_for_any_estimate(self, share: float):
        budget = 1 + int(share * evaluations(result()))
        with pytest.raises(refti.SamplingError, match="max_evaluations="):
            refti.evidence(model(), max_evaluations=budget, progress=False)

    def test_too_little_time_for_any_estimate(self):
        with pytest.raises(refti.SamplingError, match="max_seconds="):
            refti.evidence(model(), max_seconds=1e-6, progress=False)

    def test_seconds_are_held_to(self, monkeypatch: pytest.MonkeyPatch):
        clock = SimpleNamespace(now=0.0)
        monkeypatch.setattr(metering, "time", SimpleNamespace(perf_counter=lambda: clock.now))

        def progress(stage: str, done: int, total: int) -> None:
            clock.now = 61.0 if (stage, done) >= ("round 2", 5) else 1.0

        found = refti.evidence(model(), target_error=0.005, max_seconds=60, progress=progress)
        assert {"finished", "target error"} <= failed(found)
        assert found.cost.seconds == 61.0
        assert found.draws[0].draws == 125
        assert abs(found.value - TARGET.log_z) < 4 * found.error


def interrupting(stage: str, done: int = 1) -> Callable[[str, int, int], None]:
    """Progress by which the user loses patience at a given point."""

    def progress(at: str, so_far: int, total: int) -> None:
        if at.startswith(stage) and so_far >= done:
            raise KeyboardInterrupt

    return progress


def caught(progress: Callable[[str, int, int], None], **settings: object) -> refti.Evidence:
    """The result of a run that was interrupted; a failure, not the end of all tests, if none."""
    try:
        return refti.evidence(model(), **settings, progress=progress)
    except KeyboardInterrupt:
        pytest.fail("the interruption went through, and what had been sampled is lost")


class TestInterruption:
    """Ctrl-C gives what there is, if there is anything."""

    def test_in_the_second_round(self):
        found = caught(interrupting("round 2", 6), target_error=0.005)
        assert not found.trusted
        check = next(check for check in found.checks if check.name == "finished")
        assert not check.ok
        assert "interrupted" in check.advice
        assert "interrupted" in str(found)
        # What it has is the beginning of what it would have had.
        whole = result(0.005).draws[0].delta
        np.testing.assert_array_equal(found.draws[0].delta, whole[:, :, :150])
        assert abs(found.value - TARGET.log_z) < 4 * found.error

    @pytest.mark.parametrize("stage", ["finding the modes", "finding the posterior", "drawing"])
    def test_before_there_is_anything(self, stage: str):
        with pytest.raises(KeyboardInterrupt):
            refti.evidence(model(), progress=interrupting(stage))

    def test_an_interrupted_run_is_not_kept_as_finished(self, tmp_path):
        settings = {"target_error": 0.005, "store": tmp_path / "run"}
        caught(interrupting("round 2"), **settings)
        with pytest.raises(refti.StoreError):
            refti.load(tmp_path / "run")
        again = refti.evidence(model(), **settings, progress=False)
        assert again.trusted
        assert again.value == result(0.005).value
        told = []
        kept = refti.evidence(model(), **settings, progress=lambda *said: told.append(said))
        assert kept.value == again.value
        assert told == []

    @pytest.mark.parametrize("stage", ["finding the posterior", "round 1"])
    def test_while_the_prior_is_checked(self, stage: str, tmp_path, monkeypatch):
        # The check is a run of its own, which at first has nothing and later has an estimate.
        whole = refti.Model(
            log_prior=lambda x: -0.5 * x**2 - 0.5 * np.log(2 * np.pi),
            log_likelihood=lambda x: -0.5 * (x - 1) ** 2,
            parameters={"x": refti.real()},
        )
        monkeypatch.setattr(reporters, "silent", interrupting(stage, 3))
        found = refti.evidence(whole, store=tmp_path / "run", progress=lambda *told: None)
        assert failed(found) == {"finished"}
        assert "interrupted" in str(found)
        assert abs(found.value - (-0.25 - 0.5 * np.log(2))) < 4 * found.error
        assert not (tmp_path / "run" / "result.json").exists()
        assert refti.load(tmp_path / "run" / "unfinished").value == found.value


class TestSpentBudget:
    """A run that spent its budget has come to the end that its settings asked for."""

    def test_it_is_kept_and_read_back(self, tmp_path):
        settings = {
            "target_error": OUT_OF_REACH,
            "max_evaluations": int(1.1 * evaluations(result())),
            "store": tmp_path / "run",
        }
        found = refti.evidence(model(), **settings, progress=False)
        assert "finished" in failed(found)
        told = []
        kept = refti.evidence(model(), **settings, progress=lambda *said: told.append(said))
        assert told == []
        assert (kept.value, kept.error, kept.checks) == (found.value, found.error, found.checks)
        assert kept.found["ended"] == found.found["ended"]
        assert "budget" in kept.found["ended"]

    def test_another_budget_is_another_run(self, tmp_path):
        settings = {
            "target_error": OUT_OF_REACH,
            "max_evaluations": int(1.1 * evaluations(result())),
            "store": tmp_path / "run",
        }
        refti.evidence(model(), **settings, progress=False)
        for name, more in (("max_evaluations", 10**6), ("max_seconds", 1e6)):
            with pytest.raises(refti.StoreError, match=rf"settings\.{name} was"):
                refti.evidence(model(), **{**settings, name: more}, progress=False)

    def test_a_run_that_came_to_its_own_end_says_nothing_of_one(self):
        assert result().found["ended"] is None


class TestSeeds:
    """All randomness comes from the seed, and of nothing else."""

    def test_same_seed_same_bits(self):
        again = refti.evidence(model(), target_error=0.02, progress=False)
        assert (again.value, again.error) == (result().value, result().error)
        np.testing.assert_array_equal(again.draws[0].delta, result().draws[0].delta)
        assert again.posterior.identical(result().posterior)

    def test_other_seeds_other_numbers(self):
        one, other = result(seed=0), result(seed=1)
        assert one.value != other.value
        assert not np.isin(one.draws[0].delta, other.draws[0].delta).any()
        assert abs(one.value - other.value) < 4 * np.hypot(one.error, other.error)


class TestLargeModels:
    """What cannot be interrupted is not begun where the time for it is not there."""

    def test_a_search_that_would_outlast_its_time_is_refused_before_any_compute(self):
        large = refti.from_callable(lambda x: -0.5 * float(np.sum(x**2)), dim=20_000)
        with pytest.raises(refti.SamplingError, match=r"20,000 by 20,000.*max_seconds= allows 5"):
            refti.evidence(large, max_seconds=5, progress=False)

    def test_time_that_is_enough_for_a_step_is_enough_to_begin(self):
        budget.require_time(problem_of_dim(20_000, max_seconds=1e5))
        budget.require_time(problem_of_dim(20_000, max_seconds=None))
        budget.require_time(problem_of_dim(500, max_seconds=1e-6))

    def test_with_gradients_nothing_large_is_factored(self):
        budget.require_time(problem_of_dim(20_000, max_seconds=1.0, has_gradient=True))


def problem_of_dim(dim: int, max_seconds: float | None, has_gradient: bool = False) -> Any:
    settings = SimpleNamespace(max_seconds=max_seconds)
    return SimpleNamespace(
        model=SimpleNamespace(dim=dim, has_gradient=has_gradient), settings=settings
    )


class TestAsAsked:
    """What is given is not adapted."""

    def test_a_given_ladder_is_used_as_given(self):
        ladder = [0.0, 0.05, 0.4, 1.0]
        found = refti.evidence(model(), ladder=ladder, progress=False)
        assert found.draws[0].lambdas.tolist() == ladder
        assert found.trusted, str(found)
        assert abs(found.value - TARGET.log_z) < 4 * found.error

    def test_chains_of_inner_legs_are_warmed_up_as_long_as_asked(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        made: list[int] = []
        for module in (pilot, rounds, ladder_building):
            real = module.warm_up

            def recorded(
                leg: Any, rung: Any, iterations: int, *rest: Any, real: Any = real, **more: Any
            ) -> Any:
                made.append(iterations)
                return real(leg, rung, iterations, *rest, **more)

            monkeypatch.setattr(module, "warm_up", recorded)
        refti.evidence(
            model(),
            reference=["laplace", wider()],
            warmup=60,
            kept=20,
            ladder=[0, 0.5, 1],
            progress=False,
        )
        # The pilot, the end of the first leg, the start of the second, and one between on each.
        assert made == [60] * 5

    @pytest.mark.parametrize("kept", [20, 37, 60])
    def test_as_many_draws_as_were_asked_for(self, kept: int):
        found = refti.evidence(model(), kept=kept, ladder=[0, 0.3, 1], progress=False)
        assert found.draws[0].delta.shape == (3, 8, kept)
        assert found.posterior["x"].shape == (8, kept, 3)
        assert found.found["rounds"] == 1


@cache
def wider() -> refti.Model:
    """The model's density, flattened: a station on the way to it."""
    return refti.Model(lambda x: 0.5 * model().density.log_density(x), dim=3)


def few_draws(count: int, seed: int) -> dict[str, np.ndarray]:
    """Exact draws of the target: logarithms of Gamma variables."""
    shapes = suite.tails.SHAPES
    return {"x": np.log(np.random.default_rng(seed).gamma(shapes, size=(count, 3)))}


# Five draws make so poor a covariance that the reference is fitted anew later on.
POOR_START = {"reference": "covariance", "draws": few_draws(5, seed=0), "target_error": 0.02}


@pytest.fixture
def _few_draws_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes draws for what they are, though they are far too few for a reference."""
    lenient = replace(
        users_draws.USERS_DRAWS, fewest=0.0, most_r_hat=np.inf, other_width=1e9, other_place=1e9
    )
    monkeypatch.setattr(users_draws, "USERS_DRAWS", lenient)


@pytest.mark.usefixtures("_few_draws_will_do")
class TestFreshDraws:
    """What a reference was fitted to has no part in the estimate that starts from it."""

    def expect_apart(self, pool: np.ndarray, found: refti.Evidence) -> None:
        # Coordinates are unbounded, so unconstrained ones are the user's own.
        assert not np.isin(pool[:, 0], found.posterior["x"].values[..., 0]).any()

    def test_of_the_pilot(self, states: list[RunState]):
        found = refti.evidence(model(), reference="covariance", progress=False)
        first = states[0].plan.pool.reshape(8, 125, 3)
        # A chain goes on from its last point, which stays a draw while it moves nowhere.
        self.expect_apart(first[:, :-1].reshape(-1, 3), found)
        assert np.isin(first[:, -1], found.posterior["x"].values).sum() <= 3 * 8

    def test_of_a_refit(self, states: list[RunState]):
        found = refti.evidence(model(), **POOR_START, progress=False)
        assert states[0].refits >= 1
        pool = states[0].plan.pool
        assert len(pool) > 100
        repeated = np.isin(pool[:, 0], found.posterior["x"].values[..., 0])
        # Last points of the eight chains, as above, and where they had stood still before.
        assert len(np.unique(pool[repeated, 0])) <= 8
        assert repeated.sum() <= 24
        assert abs(found.value - TARGET.log_z) < 4 * found.error

    def test_interrupted_while_the_ladder_of_a_refit_is_built(self):
        rounds = []

        def progress(stage: str, done: int, total: int) -> None:
            if stage.startswith("round"):
                rounds.append(stage)
            elif rounds:
                raise KeyboardInterrupt

        found = caught(progress, **POOR_START)
        assert rounds
        assert not found.trusted
        assert "interrupted" in str(found)

    def test_evidence_is_not_drawn_to_one_side_by_the_fit(self):
        # A pilot of 500 correlated draws for the 65 numbers of a covariance and a mean: draws used
        # twice would shift the estimate by several errors, always the same way.
        target = suite.skewed(10)
        ten = target.model()
        settings = {"chains": 4, "warmup": 50, "kept": 100, "ladder": [0, 0.4, 1]}
        scores = []
        for seed in range(12):
            found = refti.evidence(
                ten, reference="covariance", **settings, seed=seed, progress=False
            )
            scores.append((found.value - target.log_z) / found.error)
        assert abs(np.mean(scores)) * np.sqrt(len(scores)) < 3.9
        # Errors are about right: the standard deviation of 12 scores is known to 21 %.
        assert 0.3 < np.std(scores, ddof=1) < 1.8


@pytest.mark.usefixtures("_few_draws_will_do")
class TestFreshNumbers:
    """No part of a run gets random numbers that another part has had."""

    @pytest.fixture
    def repeated(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[Any]]:
        """The parts whose randomness another part of the same kind had before."""
        seen: list[tuple[Any, tuple[str, bytes]]] = []
        for name in ("key", "generator"):
            real = getattr(Engine, name)

            def recorded(
                self: Engine, stream: Any, *identity: int, name: str = name, real: Any = real
            ) -> Any:
                # Not the identity itself, for one with a zero at its end may make the same.
                entropy = (self.seed, stream.value[0], *identity)
                words = np.random.SeedSequence(entropy).generate_state(4)
                seen.append(((stream, *identity), (name, words.tobytes())))
                return real(self, stream, *identity)

            monkeypatch.setattr(Engine, name, recorded)

        def repeats() -> set[Any]:
            assert len(seen) > 20
            times = Counter(words for _, words in seen)
            # References are deliberately fitted and scored on the same numbers.
            allowed = KeyStream.REFERENCE_LENGTH, GeneratorStream.REFERENCE_FIT
            return {part for part, words in seen if times[words] > 1 and part[0] not in allowed}

        return repeats

    @pytest.mark.parametrize("ladder", [None, [0, 0.3, 1]], ids=["adapted", "given"])
    def test_after_a_refit(self, states: list[RunState], repeated, ladder: list[float] | None):
        refti.evidence(model(), **POOR_START, ladder=ladder, progress=False)
        assert states[0].refits >= 1
        assert repeated() == set()

    @pytest.mark.long
    def test_on_several_legs(self, repeated):
        refti.evidence(model(), reference=["laplace", wider()], progress=False)
        assert repeated() == set()

    def test_between_two_models(self, repeated):
        refti.log_bayes_factor(model(), model(), progress=False)
        assert repeated() == set()


class TestDivergences:
    """A run goes on with shorter steps in spite of divergences, for a while."""

    @pytest.mark.parametrize("made", [1, ROUNDS.rounds_to_shorten_steps])
    def test_in_the_first_rounds(self, made: int):
        assert not rounds.is_enough(state_with("divergences", made))

    def test_not_for_ever(self):
        assert rounds.is_enough(state_with("divergences", ROUNDS.rounds_to_shorten_steps + 1))

    def test_nor_with_a_fault_that_draws_do_not_mend(self):
        assert rounds.is_enough(state_with("support", 1))


class TestPooledGroups:
    """Groups that scales pool are sampled for longer at first, and leap from the beginning."""

    @pytest.mark.parametrize("pooled", [True, False])
    def test_only_where_there_are_some(self, pooled: bool):
        none = np.zeros((2, 1))
        pooling = Pooling(np.zeros(2), none, np.zeros(2), none) if pooled else None
        links = Links(
            *(np.array([0]), np.zeros(2), none, none, none, none, np.zeros(2), none, none),
            depth=1,
            pooling=pooling,
        )
        problem: Any = SimpleNamespace(way=Map((links,), ""), settings=Settings())
        choice = SimpleNamespace(family="student", lengths={"student": 0.5})
        alone = SimpleNamespace(on_separate_modes=False)
        plan: Any = SimpleNamespace(has_flanks=False, jumps=False, choice=choice, pilot=alone)
        state = rounds.begin(problem, plan)
        wanted = ROUNDS.first_round_of_groups if pooled else ROUNDS.first_round
        assert state.scans_wanted == wanted
        assert rounds._leaps_at_once(state) == pooled


def state_with(failed: str, made: int) -> Any:
    """A state after some rounds in which one check fails and the others hold."""
    checks = (
        Check(failed, 1.0, 0.5, ok=False, advice=""),
        Check("effective draws", 400.0, 200.0, ok=True, advice="", mended_by_draws=True),
        Check("target error", 0.01, 0.05, ok=True, advice="", mended_by_draws=True),
    )
    return SimpleNamespace(
        rounds=made,
        scans_wanted=ROUNDS.first_round,
        conclusion=SimpleNamespace(checks=checks),
        problem=SimpleNamespace(settings=SimpleNamespace(kept=None, max_evaluations=10**6)),
        usage=SimpleNamespace(evaluations=1000),
    )
