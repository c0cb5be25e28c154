"""Ctrl-C and SIGTERM: both end a command quickly, with what there is and exit code 3."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from refti import interruption
from refti.cli.stopping import run_stoppable
from refti.cli.tuning import TUNING
from refti.sampling.metering import Meter

MODELS = """
import os, signal, threading, time
import jax.numpy as jnp
import refti

model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=2)
NUMBER = {number}
RAISED = []

def send():
    os.kill(os.getpid(), NUMBER)

def never():
    send()
    time.sleep(60)

def while_running():
    threading.Timer(4, send).start()
    return refti.from_callable(slow, dim=1, processes=2)

def slow(x):
    time.sleep(0.05)
    return -0.5 * float(x[0]) ** 2
"""


def run(folder: Path, number: signal.Signals, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "models.py").write_text(MODELS.replace("{number}", str(int(number))))
    program = [sys.executable, "-c", "from refti.cli import main; main()", "run", *arguments]
    return subprocess.run(program, capture_output=True, text=True, cwd=folder, timeout=60)


class TestProcess:
    """A real process that gets a real signal."""

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_while_a_model_is_loaded(self, tmp_path: Path, number: signal.Signals):
        done = run(tmp_path, number, "models.py:never", "--json")
        assert done.returncode == 3
        told = json.loads(done.stdout)
        assert told["exit_code"] == 3
        assert told["error"]["stage"] == "loading models.py:never"
        assert "Traceback" not in done.stderr

    def test_while_a_function_is_called_in_other_processes(self, tmp_path: Path):
        done = run(tmp_path, signal.SIGTERM, "models.py:while_running")
        assert done.returncode == 3
        assert "Stopped" in done.stderr
        for word in ("Traceback", "Warning", "warn", "leaked"):
            assert word not in done.stderr


class TestStoppable:
    """Work in a thread, told to stop."""

    def stop_soon(self) -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    def test_what_the_work_returns_and_raises_comes_through(self):
        assert run_stoppable(lambda: 3, has_estimate=bool, stopping=bool) == 3
        with pytest.raises(ZeroDivisionError):
            run_stoppable(lambda: 1 // 0, has_estimate=bool, stopping=bool)

    def test_work_that_hears_of_it_ends_with_what_it_has(self):
        said: list[str] = []

        def work() -> str:
            meter = Meter()
            try:
                while True:
                    meter.call(_Program())
                    time.sleep(0.01)
            except KeyboardInterrupt:
                meter.call(_Program())  # what concludes calls programs too, and may
                return "so far"

        self.stop_soon()
        stopping = lambda: said.append("stopping")  # noqa: E731
        assert run_stoppable(work, has_estimate=bool, stopping=stopping) == "so far"
        assert said == ["stopping"]

    def test_work_that_does_not_is_left_behind(self):
        over = threading.Event()
        self.stop_soon()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            run_stoppable(lambda: over.wait(30), has_estimate=bool, stopping=bool)
        over.set()
        interruption.forget()
        assert time.monotonic() - begun < TUNING.seconds_to_conclude


class _Program:
    """What a meter calls."""

    def _cache_size(self) -> int:
        return 1

    def __call__(self) -> None:
        pass
