"""Calibration: its statistics find what is wrong and pass what is right; studies go on and end.

Seeds are fixed, so that nothing here fails by chance; where a rate is compared, the margin says
how far it may stray.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import stats

import refti
from refti.calibrate import checks, choice, coverage, modes, probabilities, table
from refti.calibrate import replicate as replicating
from refti.calibrate.replicate import read_runs, replicate
from refti.calibrate.runs import Job, Run, run_job, suite_target
from refti.cli.main import commands, main
from refti.suite import Target

TINY: dict[str, Any] = {"warmup": 100, "kept": 100, "ladder": [0.0, 0.3, 1.0]}
TINY_OPTIONS = [f"--setting={name}={json.dumps(value)}" for name, value in TINY.items()]


def a_run(seed: int = 0, *, z: float = 0.0, error: float = 0.1, **changes: Any) -> Run:
    """A run that ended z errors from the truth."""
    job = Job("study", changes.pop("target", "gaussian"), seed, changes.pop("arguments", {}))
    known = Run(
        job=job,
        name=job.target,
        dim=3,
        modes=1,
        truth=2.0,
        log_z=2.0 + z * error,
        error=error,
        trusted=True,
        failed=(),
        checks={"overlap": 0.4, "convergence": 1.01},
        rungs=11,
        reference="-",
        gradients=1000,
        densities=100,
        programs=0,
        seconds=1.0,
    )
    return replace(known, **changes)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that were run, in a study whose runs are made up."""
    jobs: list[Job] = []

    def make_up(job: Job, build: Callable[[Job], Target]) -> Run:
        jobs.append(job)
        target = build(job)
        known = {"name": target.name, "modes": target.modes, "trusted": target.modes == 1}
        log_z = target.log_z + 0.1 * job.seed / 7
        return a_run(job=job, truth=target.log_z, log_z=log_z, **known)

    monkeypatch.setattr(replicating, "run_job", make_up)
    return jobs


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
        assert "passes" in coverage.text([found])

    def test_runs_without_a_usable_error_are_left_out(self):
        runs = [a_run(seed, z=z) for seed, z in enumerate(normal(20, 0))]
        runs += [a_run(97, error=math.inf), a_run(98, error=math.nan), a_run(99, error=1e-12)]
        (found,) = coverage.coverage(runs)
        assert found.of_all.left_out == 3
        assert found.of_all.runs == 20

    def test_targets_apart(self):
        runs = [a_run(s, z=z, target=t) for t in ("a", "b") for s, z in enumerate(normal(9, 0))]
        assert [row.target for row in coverage.coverage(runs)] == ["a", "b"]


class TestChoice:
    """Calibration of model probabilities."""

    def runs(self, data_sets: int, spoil: float = 0.0) -> list[Run]:
        """Runs that gave the exact evidence, but for one of the models."""
        found = []
        for job in choice.jobs(data_sets, {}):
            truth = choice.target(job).log_z
            log_z = truth + (spoil if job.target == "second" else 0.0)
            found.append(replace(a_run(), job=job, truth=truth, log_z=log_z))
        return found

    def test_exact_evidences_pass_and_controls_are_rejected(self):
        found = choice.study(self.runs(500))
        verdicts = {name: one.passes for name, one in found.verdicts.items()}
        assert verdicts == {"exact": True, "estimated": True, "bias": False, "noise": False}
        assert found.passes
        assert found.largest_difference == 0
        # Nine tests share a false-alarm rate of 1 %.
        assert len(found.verdicts["exact"].tests) == 9
        assert found.verdicts["exact"].critical == pytest.approx(stats.norm.isf(0.01 / 18))
        assert "both controls are rejected" in choice.text(found)

    def test_biased_estimates_fail(self):
        found = choice.study(self.runs(500, spoil=0.69))
        assert not found.verdicts["estimated"].passes
        assert found.verdicts["exact"].passes
        assert not found.passes
        assert found.largest_difference > 0.1

    def test_noise_is_found_by_the_slope_and_bias_by_the_means(self):
        verdicts = choice.study(self.runs(500)).verdicts
        assert verdicts["noise"].worst.law == "slope"
        assert verdicts["bias"].worst.law in ("mean", "symmetry")

    def test_power_and_false_alarms(self):
        # Over 1,000 studies both controls were rejected every time.
        rates = choice.rejections(500, 25)
        assert rates["bias"] == rates["noise"] == 1
        assert rates["exact"] <= 2 / 25

    def test_each_law_is_a_standard_normal(self):
        """Moments of every test over 75 studies; margins of 4.5 standard errors."""
        scores = []
        for study in range(75):
            data = [choice.data_set(10**6 + 200 * study + i) for i in range(200)]
            log_z = np.array([one.log_z for one in data])
            drawn = np.array([one.drawn for one in data])
            tests = probabilities.verdict(log_z, drawn, choice.PRIOR).tests
            scores.append([test.z for test in tests])
        assert np.all(np.abs(np.mean(scores, axis=0)) < 4.5 / math.sqrt(75))
        assert np.all(np.abs(np.var(scores, axis=0) - 1) < 4.5 * math.sqrt(2 / 75))

    def test_data_sets_with_a_refused_model_are_left_out(self):
        runs = self.runs(10)
        runs[3] = replace(runs[3], log_z=math.nan, message="SamplingError: nothing")
        found = choice.study(runs)
        assert (found.data_sets, found.left_out) == (9, 1)
        with pytest.raises(refti.CompareError, match="two data sets"):
            choice.study(runs[:3])

    def test_exact_evidence_is_the_density_of_the_responses(self):
        data = choice.data_set(7)
        for index, columns in enumerate(choice.COLUMNS.values()):
            design = choice.covariates()[:, list(columns)]
            spread = design @ np.diag(choice.SCALE[list(columns)] ** 2) @ design.T
            mean = design @ choice.MEAN[list(columns)]
            shape = (spread + np.eye(30)) * choice.RATE / choice.SHAPE
            exact = stats.multivariate_t(mean, shape, df=2 * choice.SHAPE)
            assert data.log_z[index] == pytest.approx(exact.logpdf(data.responses), abs=1e-9)

    def test_data_sets_share_one_program(self):
        jobs = choice.jobs(3, TINY)[:3]
        runs = [run_job(job, choice.target) for job in jobs]
        assert [run.programs for run in runs[1:]] == [0, 0]
        assert len({run.truth for run in runs}) == 3
        # A Gaussian posterior: even a tiny run is within a few of its errors.
        assert max(abs(run.log_z - run.truth) for run in runs) < 0.2


class TestReplicate:
    """Many runs, in a file that survives."""

    JOBS = tuple(Job("study", name, seed) for seed in range(3) for name in ("gaussian", "lkj"))

    def test_jobs_of_a_target_follow_each_other_and_come_back_in_order(self, made: list[Job]):
        seen: list[tuple[str, int, int]] = []
        runs = replicate(self.JOBS, report=lambda *said: seen.append(said))
        assert [job.target for job in made] == ["gaussian"] * 3 + ["lkj"] * 3
        assert [run.job for run in runs] == list(self.JOBS)
        assert seen == [("study", number, 6) for number in range(1, 7)]

    def test_resume_after_a_torn_line(self, made: list[Job], tmp_path: Path):
        out = tmp_path / "deeper" / "runs.jsonl"
        whole = replicate(self.JOBS, out=out)
        content = out.read_bytes()
        lines = content.splitlines(keepends=True)
        assert len(lines) == 6
        out.write_bytes(b"".join(lines[:3]) + lines[3][:40])
        made.clear()
        finished: list[Run] = []
        assert replicate(self.JOBS, out=out, finished=finished.append) == whole
        assert [job.key for job in made] == [json_key(line) for line in lines[3:]]
        assert len(finished) == 6
        assert out.read_bytes() == content
        made.clear()
        assert replicate(self.JOBS, out=out) == whole
        assert made == []

    def test_other_settings_are_other_runs(self, made: list[Job], tmp_path: Path):
        out = tmp_path / "runs.jsonl"
        replicate(self.JOBS[:1], out=out)
        replicate([replace(self.JOBS[0], settings={"kept": 50})], out=out)
        assert len(made) == 2
        assert len(read_runs(out)) == 2

    def test_a_file_of_something_else_is_refused(self, tmp_path: Path):
        out = tmp_path / "runs.jsonl"
        out.write_text('{"a": 1}\n')
        with pytest.raises(refti.StoreError, match=r"Line 1 .* is no run"):
            replicate(self.JOBS, out=out)
        assert out.read_text() == '{"a": 1}\n'

    def test_a_run_comes_back_from_its_record(self):
        odd = a_run(4, error=math.inf, log_z=-1.5, arguments={"dim": 2}, failed=("overlap",))
        back = Run.from_dict(json.loads(json.dumps(odd.to_dict(), allow_nan=False)))
        assert back == odd
        assert math.isnan(back.z)

    def test_a_refusal_is_a_run_with_a_message(self):
        # The prior of this target is not apart, so power posteriors are refused.
        run = run_job(Job("study", "gaussian", 0, settings={"path": "power"}))
        assert run.message is not None
        assert run.message.startswith("PathError")
        assert not run.trusted
        assert math.isnan(run.log_z)
        assert math.isnan(Run.from_dict(run.to_dict()).z)

    def test_wrong_settings_end_the_study(self):
        with pytest.raises(refti.SettingsError):
            replicate([Job("study", "gaussian", 0, settings={"kept": -1})])

    def test_processes_give_what_one_process_gives(self, tmp_path: Path):
        jobs = [Job("study", "beta_on_2_5", seed, settings=TINY) for seed in range(2)]
        here = replicate(jobs)
        apart = replicate(jobs, workers=2, out=tmp_path / "runs.jsonl")
        assert [run.log_z for run in apart] == [run.log_z for run in here]
        assert [run.error for run in apart] == [run.error for run in here]
        assert len(read_runs(tmp_path / "runs.jsonl")) == 2

    def test_targets_of_jobs(self):
        assert suite_target(Job("study", "lkj", 0)).name == "lkj"
        mixture = {"dim": 2, "distance": 10, "weight": 0.9}
        assert suite_target(Job("study", "bimodal", 0, mixture)).name == "bimodal_2d_10sd_90"


def json_key(line: bytes) -> str:
    return Run.from_dict(json.loads(line)).job.key


def test_modes_are_counted():
    runs = [
        a_run(0, z=1.0),
        a_run(1, z=5.0, error=0.01),  # within 0.2 nats
        a_run(2, z=5.0),
        a_run(3, z=1.0, trusted=False),
        a_run(4, z=9.0, trusted=False),
        a_run(5, error=math.nan, trusted=False),
    ]
    (row,) = modes.count(runs)
    assert (row.runs, row.right, row.wrong, row.untrusted, row.near) == (6, 2, 1, 3, 1)
    assert not modes.passes([row])
    assert modes.passes(modes.count(runs[:2] + runs[3:]))
    assert "2 were trusted and right, 1 trusted and wrong, 3 not trusted" in modes.text([row])


def test_the_mixtures_of_the_study():
    jobs = modes.jobs(50, {})
    assert len(jobs) == 400
    targets = {suite_target(job).name for job in jobs}
    assert len(targets) == 8
    assert "bimodal_10d_30sd_90" in targets


def test_checks_are_counted_on_good_and_bad_runs():
    fired = {"trusted": False, "failed": ("overlap",)}
    runs = [
        a_run(0, z=2.0),
        a_run(1, z=0.1, **fired),
        a_run(2, z=-4.0),
        a_run(3, z=7.0, trusted=False, failed=("overlap", "convergence")),
        a_run(4, error=math.inf, **fired),
        a_run(5, error=math.nan, trusted=False, checks={}, message="SamplingError: none"),
    ]
    found = checks.firings(runs)
    assert (found.good, found.bad, found.refused) == (2, 4, 1)
    assert (found.trusted_good, found.trusted_bad) == (1, 1)
    overlap, convergence = found.checks
    assert (overlap.on_good, overlap.on_bad) == (1, 2)
    assert (overlap.alone_on_good, overlap.alone_on_bad) == (1, 1)
    assert (convergence.on_good, convergence.on_bad, convergence.alone_on_bad) == (0, 1, 0)
    assert not found.passes
    assert checks.firings(runs[:2]).passes
    assert "Bad: 4 (1 refused), trusted 1." in checks.text(found)


def test_the_table_names_what_is_trusted_and_wrong():
    runs = [
        a_run(target="fine"),
        a_run(target="far", z=-4.0),
        a_run(target="unsure", z=9.0, trusted=False, failed=("overlap",)),
        a_run(target="two", modes=2, trusted=False, failed=("overlap",)),
    ]
    found = table.summary(runs)
    assert found.wrong == ("far",)
    assert not found.passes
    assert (found.trusted, found.unimodal, found.unimodal_trusted) == (2, 3, 2)
    assert "Of the unimodal 2 of 3 are trusted (67 %)" in str(found)
    assert table.line(runs[2]).endswith("no: overlap")
    assert "refused: it" in table.line(a_run(message="it\ncannot"))


class TestCommands:
    """refti calibrate."""

    def invoke(self, *arguments: Any) -> Result:
        everything = ["calibrate", *map(str, arguments)]
        return CliRunner().invoke(commands, everything, standalone_mode=False)

    def test_suite_and_checks(self, made: list[Job], tmp_path: Path):
        asked = ("suite", "--targets", "beta_on_2_5,log_gamma", *TINY_OPTIONS, "--workers", 1)
        result = self.invoke(*asked, "-o", tmp_path)
        assert result.return_value == 0, result.output
        assert [job.settings for job in made] == [TINY, TINY]
        assert "beta_on_2_5" in result.output
        assert "Trusted and wrong" in result.output
        again = self.invoke(*asked, "-o", tmp_path, "--json")
        record = json.loads(again.stdout)
        assert [run["name"] for run in record["runs"]] == ["beta_on_2_5", "log_gamma"]
        assert record["passes"] == (again.return_value == 0)
        assert len(read_runs(tmp_path / "suite.jsonl")) == 2
        counted = self.invoke("checks", tmp_path / "suite.jsonl", "--json")
        assert json.loads(counted.stdout)["good"] + json.loads(counted.stdout)["bad"] == 2

    def test_coverage(self):
        asked = ("--targets", "beta_on_2_5", "--seeds", 4, "--workers", 1, *TINY_OPTIONS)
        record = json.loads(self.invoke("coverage", *asked, "--json").stdout)
        assert record["targets"][0]["runs"] == 4
        assert len(record["targets"][0]["of_all"]["coverage"]) == 4

    def test_choice(self, made: list[Job]):
        asked = ("choice", "--data-sets", 3, "--workers", 1, *TINY_OPTIONS, "--json")
        record = json.loads(self.invoke(*asked).stdout)
        assert record["data_sets"] == 3
        assert len(made) == 9
        assert set(record["verdicts"]) == {"exact", "estimated", "bias", "noise"}

    def test_modes(self, made: list[Job]):
        result = self.invoke("modes", "--quick", "--workers", 1)
        assert result.return_value == 0
        assert "24 not trusted" in result.output
        assert len(made) == 24

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["coverage", "--targets", "gausian"], "Did you mean gaussian"),
            (["suite", "--setting", "kept"], "expected NAME=VALUE"),
            (["suite", "--setting", "keep=3"], "keep is no setting"),
            (["suite", "--setting", "kept=3", "--targets", "lkj"], "kept= must be"),
            (["checks", "nowhere.jsonl"], "does not exist"),
        ],
    )
    def test_bad_input(self, arguments: list[str], words: str, monkeypatch, capsys):
        monkeypatch.setattr(sys, "argv", ["refti", "calibrate", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
