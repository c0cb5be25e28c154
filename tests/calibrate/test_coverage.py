"""Coverage: errors of the right size pass, others do not.

Seeds are fixed, so that nothing here fails by chance; where a rate is compared, the margin says
how far it may stray.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from made_up_runs import a_run
from refti import suite
from refti.calibrate import coverage


def normal(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=count)


class TestScores:
    """The figures of z-scores, and the verdicts on them."""

    def test_right_errors_pass_nearly_always(self):
        found = [coverage.scores(normal(200, seed)) for seed in range(300)]
        # 0.97 of such studies pass, measured on 1,000 others; 0.90 is 7 standard errors below.
        assert np.mean([one.passes for one in found]) > 0.90
        assert np.mean([one.contradicted for one in found]) < 0.01

    @pytest.mark.parametrize("factor", [0.6, 1.5])
    def test_wrong_errors_are_rejected(self, factor: float):
        found = [coverage.scores(factor * normal(200, seed)) for seed in range(100)]
        assert not any(one.passes or one.equivalent for one in found)

    def test_a_bias_is_rejected(self):
        assert not any(coverage.scores(1.0 + normal(200, seed)).passes for seed in range(100))

    def test_more_runs_prove_equivalence(self):
        assert coverage.scores(normal(2000, 1)).equivalent
        assert not coverage.scores(normal(20, 1)).equivalent
        assert not coverage.scores(1.25 * normal(2000, 1)).equivalent

    def test_few_runs_only_contradict(self):
        assert coverage.scores(normal(8, 3)).passes
        assert not coverage.scores(8 * normal(8, 3)).passes
        assert not coverage.scores(np.zeros(0)).passes

    def test_figures(self):
        z = np.array([-2.5, -1.0, -0.5, 0.0, 0.3, 0.9, 1.7, 2.1])
        found = coverage.scores(z, left_out=3)
        assert (found.runs, found.left_out) == (8, 3)
        assert found.mean == pytest.approx(z.mean())
        assert found.mean_error == pytest.approx(stats.sem(z))
        shares = [np.mean(np.abs(z) < limit) for limit in (0.674, 0.994, 1.645, 1.960)]
        assert [share.value for share in found.coverage] == shares == [3 / 8, 4 / 8, 5 / 8, 6 / 8]

    def test_the_variance_interval_holds_the_variance_99_times_in_100(self):
        found = [coverage.scores(1.3 * normal(30, seed)) for seed in range(2000)]
        held = np.mean([one.variance_low < 1.69 < one.variance_high for one in found])
        assert abs(held - 0.99) < 4 * math.sqrt(0.99 * 0.01 / 2000)

    @pytest.mark.parametrize(("inside", "count"), [(190, 200), (0, 7), (7, 7), (1, 3)])
    def test_wilson_bounds_are_those_of_scipy(self, inside: int, count: int):
        expected = stats.binomtest(inside, count).proportion_ci(method="wilson")
        found = coverage.wilson(inside, count)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


class TestCoverage:
    """From runs to scores."""

    def test_trusted_runs_decide(self):
        good = [a_run(seed, z=z) for seed, z in enumerate(normal(200, 0))]
        bad = [a_run(seed, z=50.0, trusted=False) for seed in range(200, 240)]
        (found,) = coverage.coverage(good + bad)
        assert (found.runs, found.trusted) == (240, 200)
        assert found.passes
        assert found.of_all.variance > 100
        assert not found.of_all.passes
        words = coverage.text([found])
        assert words.startswith("1 of 1 targets pass: ")  # the answer first
        assert "passes" in words
        usual = coverage.text(coverage.coverage(good))
        assert max(map(len, usual.splitlines())) <= 80

    def test_runs_without_a_usable_error_are_left_out(self):
        runs = [a_run(seed, z=z) for seed, z in enumerate(normal(20, 0))]
        runs += [a_run(97, error=math.inf), a_run(98, error=math.nan), a_run(99, error=1e-12)]
        (found,) = coverage.coverage(runs)
        assert found.of_all.left_out == 3
        assert found.of_all.runs == 20

    def test_targets_apart(self):
        runs = [a_run(s, z=z, target=t) for t in ("a", "b") for s, z in enumerate(normal(9, 0))]
        assert [row.target for row in coverage.coverage(runs)] == ["a", "b"]

    def test_hard_targets_are_judged_by_variance_and_mean(self):
        def passes(shift: float, factor: float, count: int) -> bool:
            z = shift + factor * normal(count, 1)
            runs = [a_run(seed, z=one) for seed, one in enumerate(z)]
            runs += [a_run(seed, z=50.0, trusted=False) for seed in range(count, 2 * count)]
            (row,) = coverage.coverage(runs, hard=True)
            assert row.untrusted_share == 0.5
            assert "50 % untrusted" in coverage.text([row])
            return row.passes

        assert passes(0.0, 1.0, 100)
        assert passes(0.1, 1.0, 100)
        assert not passes(0.6, 1.0, 100)
        assert not passes(0.0, 1.5, 100)
        assert not passes(0.0, 0.6, 100)
        # With few runs only what cannot be chance fails.
        assert passes(0.6, 1.0, 10)
        assert not passes(3.0, 1.0, 10)
        assert not passes(0.0, 5.0, 10)

    def test_the_hard_targets_are_eight_of_the_suite(self):
        hard = {target.name for target in suite.HARD}
        assert len(set(coverage.HARD_TARGETS) & hard) == len(coverage.HARD_TARGETS) == 8
        assert not hard & set(coverage.TARGETS)
