"""Replicate: many runs, in a file from which a study goes on."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import refti
from made_up_runs import TINY, a_run, make_up_runs
from refti.calibrate.replicate import read_runs, replicate
from refti.calibrate.runs import Job, Run, run_job, suite_target


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that were run, in a study whose runs are made up."""
    return make_up_runs(monkeypatch)


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
        assert replicate(self.JOBS, out=out) == whole
        assert [job.key for job in made] == [json_key(line) for line in lines[3:]]
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

    @pytest.mark.long  # tests/studies has jobs in processes
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
