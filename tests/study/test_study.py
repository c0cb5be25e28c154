"""A study from its file to its ranking: the same bits wherever it runs, whatever is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import refti
from refti.cli.main import commands
from refti.executors.leases import leased
from refti.study.folder import open_study
from refti.study.read import read_study
from refti.study.shards import work_on

MODELS = """
import os
import jax.numpy as jnp
import numpy as np
import refti

def gaussian(log_height, scale):
    numbers = np.array([log_height, scale])  # data, so that all models are one program

    def log_density(x):
        log_height, scale = jnp.asarray(numbers)
        return log_height - 0.5 * jnp.sum((x / scale) ** 2)

    return refti.Model(log_density, dim=1)

narrow = gaussian(0.0, 1.0)
wide = gaussian(1.0, 3.0)

def broken():
    raise ValueError("there is no such model")

def once():
    # Takes its process with it the first time, as the system does for want of memory.
    if not os.path.exists(os.environ["REFTI_TEST_FILE"]):
        open(os.environ["REFTI_TEST_FILE"], "w").close()
        os.kill(os.getpid(), 9)
    return wide
"""
STUDY = """
seed = {seed}
data_name = "none"

[settings]
kept = 50
warmup = 50
search = "quick"

[models."../narrow"]
file = "models.py:narrow"

[models."wide <b>"]
file = "models.py:wide"
"""
BROKEN = '\n[models.broken]\nfile = "models.py:broken"\n'
REPORT = '[outputs]\nreport = "page.html"\n'
EXACT = {"../narrow": 0.5 * 1.8378770664093453, "wide <b>": 1 + 1.0986123 + 0.5 * 1.8378770664}


def write(folder: Path, *, seed: int = 1, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "models.py").write_text(MODELS)
    (folder / "study.toml").write_text(STUDY.format(seed=seed) + more)
    return folder / "study.toml"


def bits(done: refti.StudyResult) -> dict[str, str]:
    return {name: receipt["bits"] for name, receipt in done.receipts.items()}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, refti.StudyResult]:
    study = write(tmp_path_factory.mktemp("alone"), more=f"{BROKEN}\n{REPORT}")
    return study, refti.run_study(study, executor=None)


def test_one_bad_model_does_not_stop_the_others(alone: tuple[Path, refti.StudyResult]):
    _, done = alone
    assert set(done.receipts) == set(EXACT)
    for name, truth in EXACT.items():
        assert abs(done.receipts[name]["log_z"] - truth) < 4 * done.receipts[name]["error"] + 1e-6
    assert "there is no such model" in done.failed["broken"]
    assert not done.trusted
    (table,) = done.comparisons
    assert [row.name for row in table.rows] == ["wide <b>", "../narrow"]
    settings = [result.settings for result in done.results.values()]
    assert settings[0]["seed"] != settings[1]["seed"]
    assert settings[0]["data_name"] == "none"


def test_running_again_reads_what_is_done(alone: tuple[Path, refti.StudyResult]):
    study, done = alone
    again = refti.run_study(study, executor=None)
    assert bits(again) == bits(done)
    assert again.spread.tasks == 1  # the broken one, which may have been mended
    log = (done.store / "events.jsonl").read_text().splitlines()
    begun = [json.loads(line)["name"] for line in log if json.loads(line)["event"] == "begun"]
    assert sorted(begun) == ["../narrow", "broken", "broken", "wide <b>"]


def test_a_report_is_written_where_the_study_asks_for_one(alone: tuple[Path, refti.StudyResult]):
    study, done = alone
    assert done.report == study.parent / "page.html"
    assert "wide &lt;b&gt;" in done.report.read_text()  # by run_study, called from Python
    done.report.unlink()
    found = CliRunner().invoke(commands, ["run", str(study), "--quiet", "--executor", "none"])
    assert f"Report: {done.report}" in found.stderr
    page = done.report.read_text()
    assert "wide &lt;b&gt;" in page
    assert "wide <b>" not in page


def test_a_report_that_cannot_be_written_is_told_before_anything_is_run(tmp_path: Path):
    study = write(tmp_path, more='[outputs]\nreport = "none/page.html"\n')
    found = CliRunner().invoke(commands, ["run", str(study), "--quiet", "--executor", "none"])
    assert "none is not a folder that can be written to" in str(found.exception)
    with pytest.raises(refti.SettingsError, match="none is not a folder that can be written to"):
        refti.run_study(study, executor=None)
    assert not (tmp_path / "study-runs").exists()


def test_another_seed_gives_other_bits(alone: tuple[Path, refti.StudyResult], tmp_path: Path):
    other = bits(refti.run_study(write(tmp_path, seed=2), executor=None))
    assert all(other[name] != value for name, value in bits(alone[1]).items())


def test_processes_and_kills_change_no_bit(
    alone: tuple[Path, refti.StudyResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # The worker is killed by the model that comes first, and the driver when the next one runs.
    monkeypatch.setenv("REFTI_TEST_FILE", str(tmp_path / "was killed"))
    more = '\n[models.killed]\nurgent = true\nfile = "models.py:once"\n'
    study = write(tmp_path, more=more)
    command = [sys.executable, "-m", "refti", "run", str(study), "--executor", "1", "--json"]
    driver = subprocess.Popen([*command, "--progress", "json"], stderr=subprocess.PIPE, text=True)
    assert driver.stderr is not None
    for line in driver.stderr:
        state = json.loads(line)
        if state["name"] in EXACT and state["stage"] != "waiting":
            break
    driver.kill()
    driver.communicate()
    done = refti.run_study(study, executor=1)
    assert (tmp_path / "was killed").exists()
    assert not done.failed
    assert {name: value for name, value in bits(done).items() if name in EXACT} == bits(alone[1])
    assert not list((done.store / "leases").iterdir())


def test_shards_change_no_bit_and_none_is_run_twice(
    alone: tuple[Path, refti.StudyResult], tmp_path: Path
):
    study = write(tmp_path)
    told: list[str] = []
    for number in (2, 1, 3):
        assert work_on(study, (number, 3), lambda name, outcome: told.append(name))
    assert sorted(told) == sorted(EXACT)
    assert bits(refti.run_study(study, executor=None)) == bits(alone[1])


@pytest.mark.long
def test_dask_changes_no_bit(alone: tuple[Path, refti.StudyResult], tmp_path: Path):
    done = refti.run_study(write(tmp_path), executor="dask", workers=2)
    assert bits(done) == bits(alone[1])


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(commands, list(map(str, arguments)), standalone_mode=False)


class TestCommands:
    """refti run, plan, worker and script of a study."""

    def test_run(self, alone: tuple[Path, refti.StudyResult]):
        study, done = alone
        shown = invoke("run", study, "--executor", "none", "--quiet")
        assert shown.return_value == 2  # one model cannot be made
        assert "wide <b>" in shown.output
        assert "broken: " in shown.output
        record = json.loads(invoke("run", study, "--executor", "none", "--quiet", "--json").stdout)
        assert record["models"]["wide <b>"]["bits"] == bits(done)["wide <b>"]
        assert len(record["comparisons"]) == 1

    def test_plan(self, alone: tuple[Path, refti.StudyResult]):
        study, _ = alone
        shown = invoke("plan", study)
        assert shown.return_value == 2
        assert shown.output.startswith("0 of 3 models to run, 1 cannot be made")  # the answer first
        assert max(map(len, shown.output.splitlines())) <= 80
        planned = json.loads(invoke("plan", study, "--json").stdout)["models"]
        assert [model["is_done"] for model in planned] == [True, True, False]
        assert planned[0]["parameters"] == 1

    def test_worker_and_script(self, alone: tuple[Path, refti.StudyResult]):
        study, done = alone
        shown = invoke("worker", done.store, "--shard", "2/2")
        assert shown.return_value == 2
        assert "there is no such model" in shown.output
        assert f"worker {done.store.resolve()} --shard" in invoke("script", study, "--slurm").output

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["run", "{study}", "--target-error", "0.1"], "--target-error belongs in the study"),
            (["run", "{study}", "{study}"], "A study.toml must be the only target"),
            (["run", "model.py:x", "--workers", "2"], "are for a study.toml"),
            (["worker", "{study}", "--shard", "3/2"], "given as i/n"),
            (["script", "{study}"], "--slurm is the only one"),
            (["run", "{study}", "--executor", "nowhere"], "executor= must be"),
        ],
    )
    def test_bad_input(self, arguments: list[str], words: str, tmp_path: Path):
        study = write(tmp_path)
        done = invoke(*(argument.format(study=study) for argument in arguments))
        assert words in str(done.exception)


def test_a_second_driver_waits_for_what_the_first_does(
    alone: tuple[Path, refti.StudyResult], tmp_path: Path
):
    study = write(tmp_path)
    leases, receipts = tmp_path / "study-runs" / "leases", tmp_path / "study-runs" / "receipts"
    folder = {spec["name"]: spec["folder"] for spec in read_study(study).models}
    open_study(study)
    with ThreadPoolExecutor(1) as thread:
        with leased(leases / f"{folder['../narrow']}.json"):
            second = thread.submit(refti.run_study, study, executor=None)
            while not (receipts / f"{folder['wide <b>']}.json").exists():
                assert not second.done()
                time.sleep(0.05)
            assert not (receipts / f"{folder['../narrow']}.json").exists()
        assert bits(second.result()) == bits(alone[1])
