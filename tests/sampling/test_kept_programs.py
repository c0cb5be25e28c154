"""Compiled programs are kept for the next process: the same bits, nothing damaged or planted."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
import warnings
from math import exp, log, pi
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from scipy.integrate import quad

from refti.sampling import kept_programs, program_files
from refti.sampling.computing import computing
from refti.sampling.kept_programs import VARIABLE, why_not_kept
from refti.sampling.program_files import ProgramFiles, bound_programs, programs_place

PROCESS = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
import refti
from refti.sampling.building import built
from refti.sampling.computing import computing

factor = float(sys.argv[1])
def host(x):
    return np.asarray(factor * x)

built()
result = refti.evidence(
    refti.Model(lambda x: -0.5 * jnp.sum((x - 0.3) ** 2) - 0.01 * x[0] ** 4, dim=2),
    kept=50, warmup=50, ladder=[0, 1], search="quick", progress=False,
)
with computing():
    # The same program but for the function on the host, which no file can hold.
    called = jax.jit(lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct((), x.dtype), x))(3.0)
values = jax.config.values
print(json.dumps({
    "log_z": result.log_z.hex(), "error": result.error, "called": float(called),
    "built": built()._asdict(), "least": values["jax_persistent_cache_min_compile_time_secs"],
    "folder": values["jax_compilation_cache_dir"],
    "slow": sorted({"blackjax", "pandas", "xarray", "scipy.interpolate"} & set(sys.modules)),
}))
"""


def run_process(cache: Path, factor: float, **variables: str) -> dict:
    """What a process of its own tells, which must have nothing to complain about."""
    ours = ("JAX_", "XLA_FLAGS")  # of the tests; here programs are compiled as users have them
    plain = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", PROCESS, str(factor)],
        env={**plain, "REFTI_CACHE": str(cache), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_the_next_process_compiles_nothing_and_has_the_same_bits(tmp_path: Path):
    first, second = (run_process(tmp_path, factor) for factor in (2.0, 5.0))
    assert first["log_z"] == second["log_z"]
    mass, _ = quad(lambda x: exp(-0.5 * (x - 0.3) ** 2 - 0.01 * x**4), -10, 10)
    truth = log(mass) + 0.5 * log(2 * pi)
    assert abs(float.fromhex(first["log_z"]) - truth) < 4 * first["error"]
    assert (first["called"], second["called"]) == (6.0, 15.0)
    assert first["built"]["loaded"] <= 3  # programs that it had compiled itself, under another name
    # All but the program that calls Python, which cannot be kept, and one outside of the run.
    assert second["built"]["compiled"] - second["built"]["loaded"] <= 2
    assert second["built"]["compiled"] > 20
    assert second["built"]["compile_seconds"] < first["built"]["compile_seconds"]
    assert first["folder"] is None  # as before


@pytest.mark.long  # that nothing is written then is seen below as well
def test_a_process_that_keeps_nothing_has_the_same_bits(tmp_path: Path):
    first = run_process(tmp_path, 2.0)
    without = run_process(tmp_path / "none", 2.0, **{VARIABLE: "off"})
    assert first["log_z"] == without["log_z"]
    assert without["built"]["loaded"] == 0
    assert (first["least"], first["folder"]) == (without["least"], None)
    assert not (tmp_path / "none").exists()
    assert second["slow"] == []


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of refti's own, though the tests have one for JAX."""
    monkeypatch.setenv("REFTI_CACHE", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    before = jax.config.values["jax_compilation_cache_dir"]
    kept_programs._jaxs_own().reset_cache()
    jax.config.update("jax_compilation_cache_dir", None)
    yield tmp_path
    jax.config.update("jax_compilation_cache_dir", before)
    kept_programs._jaxs_own().reset_cache()


def compile_something(number: float) -> float:
    with computing():
        return float(jax.jit(lambda x: x * number + 1)(jnp.asarray(2.0)))


def kept() -> list[Path]:
    return sorted(programs_place().glob("*/*"))


def test_only_what_is_compiled_within_is_kept(own_cache: Path):
    compile_something(0.7071)
    before = kept()
    assert before
    jax.jit(lambda x: x - 0.12345)(2.0)
    assert kept() == before
    assert {file.stat().st_mode & 0o777 for file in before} == {0o600}


def test_a_folder_of_others_is_not_used_and_told_once(own_cache: Path):
    compile_something(0.1234)
    before = kept()
    programs_place().chmod(0o777)
    kept_programs.KEPT_PROGRAMS._told = False
    with pytest.warns(UserWarning, match=r"not kept: other users own .*rm -r .*REFTI_CACHE"):
        assert compile_something(0.2345) == pytest.approx(1.469)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_something(0.3456)
    assert kept() == before


def test_a_cache_of_the_users_own_is_left_alone(own_cache: Path, monkeypatch: pytest.MonkeyPatch):
    jax.config.update("jax_compilation_cache_dir", str(own_cache / "theirs"))
    assert "of its own" in why_not_kept()
    least = jax.config.values["jax_persistent_cache_min_compile_time_secs"]
    with computing():
        assert jax.config.values["jax_persistent_cache_min_compile_time_secs"] == least
    jax.config.update("jax_compilation_cache_dir", None)
    assert why_not_kept() == ""
    monkeypatch.setenv(VARIABLE, "off")
    assert VARIABLE in why_not_kept()


class TestFiles:
    """Programs in files."""

    def test_damage_and_strangers_are_not_read(self, tmp_path: Path):
        files = ProgramFiles(tmp_path)
        files.put("a/../b", b"program")  # a key is no path
        assert files.get("a/../b") == b"program"
        (file,) = tmp_path.iterdir()
        file.chmod(0o666)
        assert files.get("a/../b") is None
        file.chmod(0o600)
        assert files.get("a/../b") == b"program"
        file.write_bytes(file.read_bytes()[:-1])
        assert files.get("a/../b") is None
        assert not file.exists()
        elsewhere = tmp_path / "elsewhere"
        files.put("a/../b", b"program")
        file.rename(elsewhere)
        file.symlink_to(elsewhere)
        assert files.get("a/../b") is None

    def test_a_full_disk_or_a_missing_folder_costs_nothing(self, tmp_path: Path):
        files = ProgramFiles(tmp_path / "gone")
        files.put("a", b"program")
        assert files.get("a") is None
        assert files.written == 0

    def test_those_used_longest_ago_go_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("REFTI_CACHE", str(tmp_path))
        small = dataclasses.replace(program_files.KEPT_PROGRAMS, most_megabytes=0.0025)
        monkeypatch.setattr(program_files, "KEPT_PROGRAMS", small)
        for age in range(4):
            folder = programs_place() / f"version {age % 2}"
            folder.mkdir(parents=True, exist_ok=True)
            ProgramFiles(folder).put(f"used {age} ago", bytes(968))  # 1,000 with its digest
            used = time.time() - 4000 - age
            os.utime(ProgramFiles(folder)._file(f"used {age} ago"), (used, used))
        (folder / "half").write_bytes(b"left by a killed process")
        os.utime(folder / "half", (0, 0))
        assert bound_programs() == 3
        there = {
            age
            for age in range(4)
            for folder in programs_place().iterdir()
            if ProgramFiles(folder).get(f"used {age} ago")
        }
        assert there == {0, 1}
        os.utime(next(iter(kept())))
        assert bound_programs() == 0
