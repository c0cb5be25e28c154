"""`refti calibrate`: its studies print what they found, go on, and end with a verdict."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from made_up_runs import TINY, make_up_runs
from refti import suite
from refti.calibrate.replicate import read_runs
from refti.calibrate.runs import Job
from refti.cli.main import commands, main

HARD = [target.name for target in suite.HARD]
EASY = [target.name for target in suite.EASY]
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
        assert result.stdout.startswith("Trusted: ")
        again = self.invoke(*asked, "-o", tmp_path, "--json")
        record = json.loads(again.stdout)
        assert [run["name"] for run in record["runs"]] == ["beta_on_2_5", "log_gamma"]
        assert record["passes"] == (again.return_value == 0)
        assert len(read_runs(tmp_path / "suite.jsonl")) == 2
        counted = self.invoke("checks", tmp_path / "suite.jsonl", "--json")
        assert json.loads(counted.stdout)["good"] + json.loads(counted.stdout)["bad"] == 2

    def test_suite_over_seeds_goes_on_from_one_seed(self, made: list[Job], tmp_path: Path):
        asked = ("suite", "--targets", "lkj,bimodal_2d_3sd_50", "--workers", 1, "-o", tmp_path)
        self.invoke(*asked)
        assert len(made) == 2
        result = self.invoke(*asked, "--seeds", 3)
        assert result.return_value == 0, result.output
        assert len(made) == 6
        assert "Of 6 runs of 2 targets 3 were trusted and right (50.0 %)" in result.output
        record = json.loads(self.invoke(*asked, "--seeds", 3, "--json").stdout)
        assert [(row["right"], row["untrusted"]) for row in record["targets"]] == [(3, 0), (0, 3)]
        # Made-up runs drift by a seventh of an error a seed: from seed 29 on they are wrong.
        far = self.invoke(*asked, "--seed", 30, "--seeds", 2)
        assert far.return_value == 1
        assert "2 trusted and wrong (|z| > 4) (lkj)" in far.output

    @pytest.mark.parametrize(("flag", "names"), [("--hard", HARD), ("--easy", EASY)])
    def test_hard_and_easy_targets(self, made: list[Job], flag: str, names: list[str]):
        self.invoke("suite", flag, "--workers", 1)
        assert [job.target for job in made] == names

    def test_coverage_of_hard_targets(self, made: list[Job]):
        record = json.loads(self.invoke("coverage", "--hard", "--workers", 1, "--json").stdout)
        assert len(made) == 800
        rows = {row["target"]: row for row in record["targets"]}
        assert len(rows) == 8
        assert rows["mixture_10_5d_box"]["untrusted_share"] == 1

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
            (["suite", "--hard", "--easy"], "one of --targets, --hard and --easy"),
            (["checks", "nowhere.jsonl"], "does not exist"),
        ],
    )
    def test_bad_input(self, arguments: list[str], words: str, monkeypatch, capsys):
        monkeypatch.setattr(sys, "argv", ["refti", "calibrate", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert words in capsys.readouterr().err
