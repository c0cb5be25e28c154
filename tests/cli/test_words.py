"""The words of the command line: options for arguments, names, answers first, lines that fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import click
import numpy as np
import pytest
import xarray
from click.testing import CliRunner

import refti
from refti.checks.check import CUT_SHORT, Check, at_least, at_most
from refti.checks.verdict import Verdict, verdict_of
from refti.cli import choices
from refti.cli.doctor import print_finding
from refti.cli.findings import Finding, State
from refti.cli.main import commands
from refti.cli.printing import print_notes, print_results
from refti.cli.wording import OPTIONS, in_command_line_words
from refti.draws.cost import Cost
from refti.draws.draws import Draws
from refti.estimators import Estimate
from refti.models.rejections import Rejections
from refti.references.registry import FAMILIES
from refti.run.settings import EstimatorName, PathName, Settings
from refti.sampling.kernels.registry import KERNELS
from refti.search.searched import Effort

LONG = "a name that somebody gave to a model and that is rather long"


def result(log_z: float, *checks: Check) -> refti.Evidence:
    """A result whose number is made up."""
    draws = Draws([0, 1], np.zeros((2, 2, 4)))
    return refti.Evidence(
        value=log_z,
        error=0.0123,
        estimates={"mbar": Estimate(log_z, 0.0123)},
        checks=checks,
        draws=(draws,),
        posterior=xarray.Dataset(),
        cost=Cost(1200, 340, 1.5, 0.25, 3),
        settings={},
        found={"search": {"sentence": "many words that say what the search could find " * 4}},
    )


def test_notes_on_a_model_are_printed(capsys: pytest.CaptureFixture[str]):
    note = 'a prior is cut; use uniform_priors="normalise" (--uniform-priors normalise)'
    found = {"notes": [note], "rejected": Rejections(7, "no", (0.0,)).record()}
    noted = replace(result(-1.5), found=found)
    print_results({"m": noted}, None)
    print_notes({"a": noted, "b": result(-2.5)})
    printed = " ".join(capsys.readouterr().out.split())
    assert "note: a prior is cut; use --uniform-priors normalise" in printed
    assert "a: note: a prior is cut" in printed
    assert "b: note" not in printed
    assert "rejected 7 of 1,540 points" in printed


PRECISE = at_most("target error", 0.04, 0.05, "raise kept=")
IMPRECISE = at_most("target error", 0.06, 0.05, "raise max_evaluations= or kept=")
WITHOUT_ERROR = at_most("target error", float("inf"), 0.05, "raise max_evaluations=")
WRONG = at_most("convergence", 1.2, 1.03, "the chains disagree; sample longer (warmup=)")
UNSEEN = at_most("missing tail", float("nan"), 0.01, f"{CUT_SHORT}: the run was interrupted")
UNFINISHED = at_most("finished", 1.0, 0.0, "the run was ended early: it was interrupted")


class TestVerdict:
    """Two different words for what may be wrong and what is only imprecise."""

    @pytest.mark.parametrize(
        ("checks", "word"),
        [
            ((PRECISE,), "trusted"),
            ((IMPRECISE,), "less precise than asked"),
            ((IMPRECISE, UNFINISHED), "stopped early"),
            ((PRECISE, UNFINISHED), "stopped early"),
            ((PRECISE, UNSEEN, UNFINISHED), "stopped early"),
            ((PRECISE, UNSEEN), "not trusted"),
            ((WRONG, UNSEEN, UNFINISHED), "not trusted"),
            ((PRECISE, WRONG), "not trusted"),
            ((WITHOUT_ERROR,), "not trusted"),
            ((IMPRECISE, WRONG, UNFINISHED), "not trusted"),
        ],
    )
    def test_of_checks(self, checks: tuple[Check, ...], word: str):
        assert verdict_of(checks).value == word
        assert (verdict_of(checks) is Verdict.TRUSTED) == all(check.ok for check in checks)

    def test_checks_tell_value_direction_and_threshold(self):
        assert str(at_most("convergence", 1.004, 1.03, "x")) == "convergence: R-hat 1.004 ≤ 1.03"
        assert str(at_least("overlap", 0.3, 0.05, "x")) == "overlap: 0.3 ≥ 0.05"
        assert str(WRONG).startswith("convergence: R-hat 1.2, not ≤ 1.03: the chains disagree")
        assert str(at_most("beyond the peaks", 4.7e-54, 0.02, "x")) == "beyond the peaks: 0 ≤ 0.02"
        assert "not ≤" in str(at_most("peak", float("nan"), 1.0, "x"))

    def test_every_check_that_holds_from_below_is_known_as_one(self):
        # The direction is found by the name, which files of results have always had.
        calls = [
            text.split('"')[1]
            for file in Path(refti.__file__).parent.joinpath("checks").glob("*.py")
            if file.name != "check.py"
            for text in file.read_text().split("at_least(\n")[1:]
        ]
        assert calls
        assert all(at_least(name, 1.0, 0.5, "").direction == "≥" for name in calls)


class TestPrinted:
    """What stands in the terminal."""

    @pytest.mark.parametrize("width", [60, 80, 120])
    def test_the_answer_is_first_and_every_line_fits(
        self, width: int, monkeypatch: pytest.MonkeyPatch, capsys
    ):
        monkeypatch.setenv("COLUMNS", str(width))
        results = {"b": result(-12.5, IMPRECISE), LONG: result(-3.25, PRECISE)}
        print_results(results, refti.compare(results))
        lines = capsys.readouterr().out.splitlines()
        assert " ".join(lines).startswith(f"{LONG} is preferred: probability 0.9999")
        assert "LESS PRECISE THAN ASKED: b." in " ".join(lines)
        assert max(map(len, lines)) <= width
        assert LONG in " ".join(" ".join(lines).split())

    def test_what_may_be_wrong_is_said_before_who_is_ahead(self, capsys):
        results = {"a": result(-1.0, WRONG), "b": result(-9.0, PRECISE)}
        print_results(results, refti.compare(results))
        printed = " ".join(capsys.readouterr().out.split())
        assert printed.startswith("Do not rely on this. NOT TRUSTED: a. As it stands, a is ahead")
        assert "sample longer (--warmup)" in printed

    def test_two_that_are_close_are_not_ranked_in_words(self, capsys):
        results = {"a": result(-1.0, PRECISE), "b": result(-1.001, PRECISE)}
        print_results(results, refti.compare(results))
        assert capsys.readouterr().out.startswith("a and b cannot be told apart")

    def test_all_checks_where_they_are_wanted(self, capsys):
        print_results({"a": result(-1.0, PRECISE)}, None)
        assert "target error" not in capsys.readouterr().out
        print_results({"a": result(-1.0, PRECISE)}, None, all_checks=True)
        assert "target error: 0.04 ≤ 0.05" in capsys.readouterr().out


class TestWording:
    """Arguments of Python functions become options."""

    @pytest.mark.parametrize(
        ("said", "told"),
        [
            (
                "Raise max_seconds= or max_evaluations=.",
                "Raise --max-seconds or --max-evaluations.",
            ),
            ('look harder with search="thorough" or', "look harder with --search thorough or"),
            ("set check_prior=False", "set --no-prior-check"),
            ("or leave out witness=", "or leave out --witness"),
            ("let reference='auto' choose", "let --reference auto choose"),
            (
                "Give log_prior= and log_likelihood= apart",
                "Give log_prior= and log_likelihood= apart",
            ),
            ("refti.Model(f, dim=3)", "refti.Model(f, dim=3)"),
        ],
    )
    def test_messages(self, said: str, told: str):
        assert in_command_line_words(said) == told

    def test_every_option_that_stands_for_an_argument_is_there(self):
        there = {name for option in commands.commands["run"].params for name in option.opts}
        assert set(OPTIONS.values()) <= there
        settings = set(Settings.__dataclass_fields__)
        # These two have no option of their own.
        assert settings - {"data_name", "posterior_draws"} <= set(OPTIONS)


class TestChoices:
    """Names that are known without JAX."""

    def test_they_are_those_of_the_registries(self):
        assert tuple(KERNELS) == choices.KERNELS
        assert tuple(FAMILIES) == choices.FAMILIES
        assert get_args(EstimatorName) == choices.ESTIMATORS
        assert get_args(PathName) == choices.PATHS
        assert get_args(Effort) == choices.EFFORTS

    def test_the_shell_completes_them(self):
        from click.shell_completion import ShellComplete

        complete = ShellComplete(commands, {}, "refti", "_REFTI_COMPLETE")
        found = complete.get_completions(["run", "model.py:model", "--kernel"], "el")
        assert [item.value for item in found] == ["elliptical"]
        found = complete.get_completions([], "do")
        assert [item.value for item in found] == ["doctor"]


def every_command(
    group: click.Group, *path: str
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, *path, name)


COMMANDS = {" ".join(path): command for path, command in every_command(commands)}


class TestHelp:
    """Each command says what it does, with an example."""

    @pytest.mark.parametrize("name", COMMANDS)
    def test_it_has_an_example_and_fits(self, name: str):
        told = CliRunner().invoke(commands, [*name.split(), "--help"], prog_name="refti").output
        assert "Example" in told
        assert f"refti {name}" in told.split("Example")[1]
        assert max(map(len, told.splitlines())) <= 80

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_option_is_explained(self, name: str):
        for parameter in COMMANDS[name].params:
            if isinstance(parameter, click.Option):
                assert parameter.help, parameter.name

    @pytest.mark.parametrize("name", [n for n in COMMANDS if n != "calibrate"])
    def test_it_can_answer_in_json(self, name: str):
        assert "--json" in {o for p in COMMANDS[name].params for o in p.opts}


class TestInit:
    """refti init."""

    def test_it_writes_what_runs_and_writes_over_nothing(self, tmp_path: Path):
        done = CliRunner().invoke(commands, ["init", str(tmp_path), "--json"])
        assert {Path(file).name for file in json.loads(done.stdout)["written"]} == {
            "study.toml",
            "model.py",
        }
        from refti.inputs.named import from_name

        assert from_name(f"{tmp_path / 'model.py'}:straight").dim == 3
        assert from_name(f"{tmp_path / 'model.py'}:curved").dim == 4
        again = CliRunner().invoke(commands, ["init", str(tmp_path)], standalone_mode=False)
        assert isinstance(again.exception, refti.SettingsError)
        assert "study.toml and model.py already" in str(again.exception)


class TestDoctor:
    """refti doctor."""

    def test_it_tries_what_is_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("REFTI_CACHE", str(tmp_path))
        done = CliRunner().invoke(commands, ["doctor", "--quick", "--json"], standalone_mode=False)
        found = {one["what"]: one for one in json.loads(done.stdout)["findings"]}
        assert done.return_value == 0
        assert found["precision"]["state"] == "works"
        assert str(tmp_path) in found["cache"]["found"]
        assert {"Stan", "PyMC", "flows", "report", "memory", "cores"} <= set(found)
        assert {found[name]["state"] for name in ("ArviZ", "Dask", "discrete")} == {"works"}
        assert "a discrete variable was summed out" in found["discrete"]["found"]

    def test_it_clears_the_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        from refti.cli import examinations

        monkeypatch.setenv("REFTI_CACHE", str(tmp_path))
        for name in ("stan", "jax", "mine"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").write_bytes(bytes(1_000_000))
        monkeypatch.setattr(examinations, "EXAMINATIONS", ())
        done = CliRunner().invoke(commands, ["doctor", "--clear-cache"], standalone_mode=False)
        assert "2.0 MB of compiled programs removed" in " ".join(done.stderr.split())
        assert [part.name for part in tmp_path.iterdir()] == ["mine"]

    def test_it_fits_the_terminal(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ):
        monkeypatch.setenv("COLUMNS", "60")
        print_finding(Finding("Stan", State.BROKEN, "httpstan 4.13.0; " * 9, "Install it " * 9))
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 60
        assert " ".join(" ".join(lines).split()).endswith("Install it Install it")
        assert all(line.startswith(" " * 18) for line in lines[1:])

    def test_it_says_what_to_do(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        from refti.cli import examinations

        tmp_path.chmod(0o777)
        (tmp_path / "stan").mkdir()
        (tmp_path / "stan").chmod(0o777)
        monkeypatch.setenv("REFTI_CACHE", str(tmp_path))
        missing = examinations.Examination("nothing", str, ("no-such-package",), "stan")
        cache = next(one for one in examinations.EXAMINATIONS if one.what == "cache")
        monkeypatch.setattr(examinations, "EXAMINATIONS", (missing, cache))
        done = CliRunner().invoke(commands, ["doctor", "--quick"], standalone_mode=False)
        assert done.return_value == 1
        told = " ".join(done.stdout.split())
        assert 'pip install "refti[stan]"' in told
        assert "!! cache" in told
        assert "set REFTI_CACHE to another" in told
