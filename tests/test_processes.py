"""The processes that run the tests: what they share is private, small and in order of cost."""

from __future__ import annotations

import ast
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import processes


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


class TestPrivateFolder:
    """Compiled programs are run as they are read, so nobody else may write them."""

    def test_it_is_made_for_the_user_alone_whatever_the_mask(self, tmp_path: Path):
        before = os.umask(0)
        try:
            folder = processes.private_folder(tmp_path / "cache" / "jax")
        finally:
            os.umask(before)
        assert mode(folder) == mode(folder.parent) == 0o700

    @pytest.mark.parametrize("others", [0o770, 0o707, 0o722], ids=oct)
    @pytest.mark.parametrize("inner", [False, True], ids=["above", "itself"])
    def test_one_that_others_can_write_is_refused(self, tmp_path: Path, others: int, inner: bool):
        folder = processes.private_folder(tmp_path / "cache" / "jax")
        (folder if inner else folder.parent).chmod(others)
        with pytest.raises(pytest.UsageError, match="chmod go-w"):
            processes.private_folder(folder)

    def test_one_that_others_can_only_read_will_do(self, tmp_path: Path):
        folder = processes.private_folder(tmp_path / "cache" / "jax")
        folder.chmod(0o755)
        assert processes.private_folder(folder) == folder


def test_processes_that_tests_start_share_what_is_compiled():
    code = "import jax; print(jax.config.jax_compilation_cache_dir)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == os.environ["JAX_COMPILATION_CACHE_DIR"]


def test_pages_are_compiled_as_the_tests_are_and_share_with_them():
    text = (Path(__file__).parents[1] / "docs" / "conf.py").read_text(encoding="utf-8")
    (said,) = re.findall(r"^plainly = (\{.*?\})", text, re.M | re.S)
    assert list(ast.literal_eval(said).items()) == list(processes.PLAINLY.items())


def test_the_dearest_files_are_there_to_be_started_first():
    stems = {file.stem for file in Path(__file__).parent.rglob("test_*.py")}
    assert set(processes.DEAREST_FIRST) <= stems


def test_files_run_whole_and_the_dearest_first():
    names = ["test_ladder", processes.DEAREST_FIRST[1], "test_draws", processes.DEAREST_FIRST[0]]
    items = [
        SimpleNamespace(path=Path(f"{name}.py"), name=f"{name}{i}") for name in names for i in "ab"
    ]
    found = [item.name for item in sorted(items, key=processes.turn)]
    first, second = processes.DEAREST_FIRST[:2]
    expected = [first, second, "test_ladder", "test_draws"]
    assert found == [f"{name}{i}" for name in expected for i in "ab"]


@pytest.mark.parametrize(
    ("test", "group"),
    [
        ("tests/paths/test_path.py::TestEnds::test_one[a::b]", "tests/paths/test_path.py"),
        ("tests/inputs/test_stan.py::test_one", "stan"),
        ("tests/inputs/test_stan_solvers.py::test_one[x]", "stan"),
        ("tests/inputs/test_zoo.py::test_one[shapes-stan]", "stan"),
        ("tests/inputs/test_zoo.py::test_one[bounds-pymc]", "tests/inputs/test_zoo.py"),
        ("tests/test_examples.py::test_one[pymc]", "pymc"),
    ],
)
def test_what_shares_programs_is_one_group(test: str, group: str):
    assert processes.group(test) == group


@pytest.mark.parametrize(("ci", "outcome"), [("true", "failed"), ("", "skipped")])
def test_what_is_skipped_fails_in_continuous_integration(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: str
):
    monkeypatch.setenv("CI", ci)
    report = SimpleNamespace(skipped=True, outcome="skipped", longrepr=("file", 1, "no arviz"))
    processes.fail_if_skipped_in_ci(report)
    assert report.outcome == outcome
    assert "no arviz" in str(report.longrepr)


def test_what_is_expected_to_fail_is_no_skip(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")
    report = SimpleNamespace(skipped=True, outcome="skipped", longrepr="", wasxfail="known")
    processes.fail_if_skipped_in_ci(report)
    assert report.outcome == "skipped"
