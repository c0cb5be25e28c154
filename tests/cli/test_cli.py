"""The command line: what it prints, and its exit codes."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import refti
from refti.cli.choices import estimators, families, kernels, paths
from refti.cli.main import commands, main
from refti.progress import Display
from refti.run.seeds import seed_of_model

MODELS = """
import jax.numpy as jnp
import numpy as np
import refti

def gaussian(log_height, scale):
    numbers = np.array([log_height, scale])  # data, so that all models are one program

    def log_density(x):
        log_height, scale = jnp.asarray(numbers)
        return log_height - 0.5 * jnp.sum((x / scale) ** 2)

    return refti.Model(log_density, dim=2)

narrow = gaussian(-1.0, 0.5)

def wide():
    return gaussian(0.0, 1.0)

other = wide()

def broken():
    raise ValueError("no data")

number = 3
"""
TINY = ("--warmup", "100", "--kept", "150", "--rungs", "4", "--quiet")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "models.py"
    path.write_text(MODELS)
    return path


def invoke(*arguments: Any) -> Result:
    return CliRunner().invoke(commands, [str(a) for a in arguments], standalone_mode=False)


def exit_code(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    """The exit code of main(), as the shell would see it."""
    monkeypatch.setattr(sys, "argv", ["refti", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    return caught.value.code


class TestRun:
    """refti run."""

    def test_prints_the_evidence_and_returns_the_verdict(self, file: Path):
        result = invoke("run", f"{file}:wide", *TINY)
        assert result.exception is None
        assert result.return_value == 0
        assert "wide: log z = 1.83" in result.output  # log(2 pi) = 1.8379
        assert "trusted" in result.output
        assert "gradients" in result.output

    def test_json_is_json_and_nothing_else(self, file: Path):
        result = invoke("run", f"{file}:wide", *TINY, "--json")
        assert json.loads(result.stdout)["seeds"] == {"wide": 0}
        record = json.loads(result.stdout)["results"]["wide"]
        assert record["value"] == pytest.approx(1.8379, abs=0.01)
        assert record["trusted"] is True
        assert record["settings"]["ladder"] == pytest.approx([0, 1 / 3, 2 / 3, 1])
        wide = runpy.run_path(str(file))["wide"]()
        same = refti.evidence(wide, warmup=100, kept=150, ladder=refti.uniform(4))
        assert record["value"] == same.value

    def test_several_models_are_compared_and_kept(self, file: Path, tmp_path: Path):
        store = tmp_path / "runs"
        result = invoke("run", f"{file}:wide", f"{file}:narrow", *TINY, "--store", store)
        assert result.exception is None
        # log of 1 / (exp(-1) 0.25)
        answer = result.stdout.splitlines()[0]
        assert answer.startswith("wide is preferred: probability 0.91")
        assert "log Bayes factor over narrow 2.38" in " ".join(result.stdout.split())
        assert "its own random numbers" in result.stderr
        for name in ("wide", "narrow"):
            kept = refti.load(store / name)
            assert kept.settings["seed"] == seed_of_model(0, name)
        assert {folder.name for folder in store.iterdir()} == {"wide", "narrow"}
        ranked = invoke("compare", store, "--json")
        table = json.loads(ranked.output)
        assert ranked.return_value == 0
        assert [row["name"] for row in table["rows"]] == ["wide", "narrow"]
        assert table["rows"][1]["log_bayes_factor"] == pytest.approx(-2.386, abs=0.02)
        plain = invoke("compare", store / "wide", store / "narrow")
        assert "probability" in plain.output
        weighted = invoke("compare", store, "--prior", "wide=1", "--prior", "narrow=99", "--json")
        priors = {row["name"]: row["prior"] for row in json.loads(weighted.output)["rows"]}
        unreadable = invoke("compare", store, "--prior", "wide=much")
        assert isinstance(unreadable.exception, refti.SettingsError)
        assert priors == pytest.approx({"wide": 0.01, "narrow": 0.99})

    def test_imprecise_is_1_and_not_called_wrong(
        self, file: Path, monkeypatch: pytest.MonkeyPatch, capsys
    ):
        code = exit_code(monkeypatch, "run", f"{file}:wide", *TINY, "--target-error", "1e-9")
        assert code == 1
        printed = " ".join(capsys.readouterr().out.split())
        assert "LESS PRECISE THAN ASKED" in printed
        assert "NOT TRUSTED" not in printed
        assert "target error: " in printed
        assert "not ≤ 1e-09: the error asked for was not reached" in printed
        assert "raise --kept" in printed


class TestKept:
    """What is said to be kept is kept."""

    @pytest.fixture
    def interrupted(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
        """Makes the user lose patience in the first round of the run of this index."""
        show, begin, runs = Display.__call__, Display.begin, count(-1)
        at = {"run": -1, "wanted": -1}

        def next_run(display: Display, label: str) -> None:
            at["run"] = next(runs) + 1
            begin(display, label)

        def lose_patience(display: Display, stage: str, done: int, total: int) -> None:
            show(display, stage, done, total)
            if at["run"] == at["wanted"] and stage.startswith("round") and done >= 3:
                raise KeyboardInterrupt

        monkeypatch.setattr(Display, "begin", next_run)
        monkeypatch.setattr(Display, "__call__", lose_patience)
        return lambda index: at.update(wanted=index)

    def test_a_finished_run(self, file: Path, tmp_path: Path):
        result = invoke("run", f"{file}:wide", *TINY, "--store", tmp_path / "run")
        assert f"Kept in {tmp_path / 'run'}." in result.output
        assert refti.load(tmp_path / "run").trusted

    def test_a_run_that_spent_its_budget(self, file: Path, tmp_path: Path):
        whole = json.loads(invoke("run", f"{file}:wide", *TINY, "--json").output)
        cost = whole["results"]["wide"]["cost"]
        budget = cost["gradient_evaluations"] + cost["density_evaluations"] - 1000
        arguments = ("run", f"{file}:wide", *TINY, "--max-evaluations", budget)
        result = invoke(*arguments, "--store", tmp_path / "run")
        assert result.return_value == 3
        assert "raise --max-evaluations" in result.output
        assert f"Kept in {tmp_path / 'run'}." in result.output
        assert "budget" in refti.load(tmp_path / "run").found["ended"]

    def test_a_run_that_spent_its_budget_before_an_estimate(self, file: Path, tmp_path: Path):
        arguments = ("run", f"{file}:wide", *TINY, "--max-evaluations", 60)
        result = invoke(*arguments, "--store", tmp_path / "run")
        assert result.return_value == 3
        assert "Raise --max-seconds or --max-evaluations, and choose another" in result.stderr
        assert "run the same command again" not in result.stderr

    def test_an_interrupted_run_is_not(self, file: Path, tmp_path: Path, interrupted):
        interrupted(0)
        result = invoke("run", f"{file}:wide", *TINY, "--store", tmp_path / "run")
        assert result.exception is None
        assert result.return_value == 3
        assert "it was interrupted" in result.output
        assert "STOPPED EARLY" in result.output or "NOT TRUSTED" in result.output
        assert "Kept" not in result.output
        assert not (tmp_path / "run" / "result.json").exists()

    def test_an_interruption_ends_all_and_costs_none_of_the_runs_before(
        self, file: Path, tmp_path: Path, interrupted
    ):
        interrupted(1)
        names = ("wide", "narrow", "other")
        targets = [f"{file}:{name}" for name in names]
        result = invoke("run", *targets, *TINY, "--store", tmp_path)
        assert result.return_value == 3
        assert f"Kept in {tmp_path}: wide." in result.output
        assert {path.parent.name for path in tmp_path.glob("*/result.json")} == {"wide"}
        assert "other:" not in result.output


class TestBadInput:
    """Everything that is the user's mistake exits with 2 and a message without a traceback."""

    @pytest.mark.parametrize(
        ("target", "words"),
        [
            ("nowhere.py:wide", "There is no file nowhere.py"),
            ("models.py", "such as models.py:model"),
            ("{file}", "Expected FILE.py:MODEL"),
            ("{file}:", "Expected FILE.py:MODEL"),
            ("{file}:a b", "Expected FILE.py:MODEL"),
            ("{file}:missing", "has no name 'missing'; models in it: narrow, wide, other, broken"),
            ("{file}:number", "must be a refti.Model"),
            ("{file}:broken", "ValueError: no data"),
        ],
    )
    def test_targets(self, file: Path, monkeypatch, capsys, target: str, words: str):
        assert exit_code(monkeypatch, "run", target.format(file=file), *TINY) == 2
        message = capsys.readouterr().err
        assert words in message
        assert "Traceback" not in message

    def test_a_file_that_fails(self, tmp_path: Path, monkeypatch, capsys):
        path = tmp_path / "bad.py"
        path.write_text("1 / 0\n")
        assert exit_code(monkeypatch, "run", f"{path}:model") == 2
        assert "ZeroDivisionError" in capsys.readouterr().err

    def test_a_model_that_fails(self, tmp_path: Path, monkeypatch, capsys):
        path = tmp_path / "bad.py"
        path.write_text("import refti\nmodel = refti.Model(lambda x: x, dim=2)\n")
        assert exit_code(monkeypatch, "run", f"{path}:model") == 2
        assert "must return one number" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("--rungs", "1"), "'--rungs': 1 is not in the range x>=2"),
            (("--rungs", "many"), "'--rungs': 'many' is not a whole number"),
            (("--target-error", "x"), "'--target-error': 'x' is not a number"),
            (("--exponent", "-1", "--rungs", "4"), "--exponent"),
            (("--exponent", "2"), "--exponent says how --rungs are spaced"),
            (("--kernel", "gibbs"), "must be one of hmc, nuts, elliptical; got 'gibbs'"),
            (("--search", "0"), "--search"),
            (("--search", "hard"), "must be one of quick, default, thorough or a whole number"),
            (("--reference", "normal"), "must be one of auto, covariance"),
            (("--path", "power"), "prior and the likelihood separately"),
            (("--chains", "1", "--seed", "-1"), "--chains"),
            (("--seed", "9999999999999999999"), "--seed must be below 2**63"),
            (("--prior-program", "prior.stan"), "--prior-program is for Stan programs"),
            (("--solver-limit", "9"), "--solver-limit is for Stan programs"),
            (("--draws", "none.csv"), "There is no file none.csv"),
            (("--colour", "red"), "--colour"),
        ],
    )
    def test_options(self, file: Path, monkeypatch, capsys, options, words: str):
        assert exit_code(monkeypatch, "run", f"{file}:wide", *options, "--quiet") == 2
        assert words in capsys.readouterr().err

    def test_two_targets_of_one_name(self, file: Path, monkeypatch, capsys):
        assert exit_code(monkeypatch, "run", f"{file}:wide", f"{file}:wide") == 2
        assert "different names" in capsys.readouterr().err

    def test_a_foreign_store(self, file: Path, tmp_path: Path, monkeypatch, capsys):
        (tmp_path / "mine.txt").write_text("mine")
        arguments = ("run", f"{file}:wide", *TINY, "--store", tmp_path)
        assert exit_code(monkeypatch, *arguments) == 2
        assert "holds no refti run" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("compare", "{folder}"), "no finished result"),
            (("compare", "{folder}/none"), "There is no folder"),
            (("init", "a", "b"), "unexpected extra argument (b). See "),
            (("run", "nowhere.toml"), "There is no file nowhere.toml"),
            (("compare",), "Missing argument"),
            (("compare", "{folder}/a", "{folder}/b/a"), "must differ; got a, a"),
            (("rank",), "No such command"),
            ((), "Usage"),
        ],
    )
    def test_verbs(self, tmp_path: Path, monkeypatch, capsys, arguments, words: str):
        filled = [a.format(folder=tmp_path) for a in arguments]
        assert exit_code(monkeypatch, *filled) == 2
        assert words in capsys.readouterr().err


class TestShell:
    """The same through a real process."""

    @pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["init", "{folder}"]])
    def test_what_computes_nothing_does_not_import_jax(self, arguments: list[str], tmp_path: Path):
        check = (
            "import sys\n"
            "from refti.cli import main\n"
            "sys.argv = ['refti', *sys.argv[1:]]\n"
            "try:\n    main()\n"
            "except SystemExit as done:\n    code = done.code\n"
            "loaded = {'jax', 'blackjax', 'numpy', 'scipy', 'xarray'} & set(sys.modules)\n"
            "sys.exit(f'imported {loaded}' if loaded else code)\n"
        )
        filled = [argument.format(folder=tmp_path / "new") for argument in arguments]
        program = [sys.executable, "-c", check, *filled]
        done = subprocess.run(program, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def test_help_tells_the_exit_codes(self):
        told = " ".join(invoke("--help").output.split())
        assert "0 trusted, 1 finished but not trusted, 2 bad input, 3 stopped early" in told

    def test_help_of_run_names_everything_that_can_be_chosen(self):
        words = re.split(r"[^\w]+", invoke("run", "--help").output)
        for names in (kernels(), families(), estimators(), paths()):
            assert len(names) > 1
            assert set(names) <= set(words)

    def test_trusted_is_0_and_a_second_run_reads_the_first(self, file: Path, tmp_path: Path):
        arguments = ("run", f"{file}:wide", *TINY, "--json", "--store", tmp_path / "run")
        program = [sys.executable, "-c", "from refti.cli import main; main()"]
        first = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True)
        assert first.returncode == 0, first.stderr
        second = invoke(*arguments)
        assert json.loads(first.stdout) == json.loads(second.stdout)
