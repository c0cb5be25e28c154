"""`refti calibrate`: its studies print what they found, go on, and end with a verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from made_up_runs import TINY, make_up_runs
from refti.calibrate.replicate import read_runs
from refti.calibrate.runs import Job
from refti.cli.main import commands, main

TINY_OPTIONS = [f"--setting={name}={json.dumps(value)}" for name, value in TINY.items()]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that were run, in a study whose runs are made up."""
    return make_up_runs(monkeypatch)


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
