"""Ctrl-C and SIGTERM: both end a command quickly, with what there is and exit code 3."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

from refti import interruption
from refti.cli import stopping
from refti.cli.stopping import Stopping
from refti.sampling.metering import Meter

MODELS = """
import os, signal, threading, time
import jax.numpy as jnp
import refti

model = refti.Model(lambda x: -0.5 * jnp.sum(x**2), dim=2)
NUMBER = {number}
RAISED = []
signal.signal(NUMBER, signal.SIG_IGN)  # which may neither fail nor be heeded

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

    @pytest.mark.parametrize(
        "number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM]
    )
    def test_while_a_model_is_loaded(self, tmp_path: Path, number: signal.Signals):
        done = run(tmp_path, number, "models.py:never", "--json")
        assert done.returncode == 3
        told = json.loads(done.stdout)
        assert told["exit_code"] == 3
        assert told["error"]["stage"] == "loading models.py:never"
        assert f"{number.name} was not passed to your program" in done.stderr
        assert "Traceback" not in done.stderr

    def test_while_a_function_is_called_in_other_processes(self, tmp_path: Path):
        done = run(tmp_path, signal.SIGTERM, "models.py:while_running")
        assert done.returncode == 3
        assert "Stopped" in done.stderr
        for word in ("Traceback", "Warning", "warn", "leaked"):
            assert word not in done.stderr


class TestCommand:
    """A command in a thread, told to stop."""

    def stop_soon(self) -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()

    def test_what_the_command_returns_and_raises_comes_through(self):
        assert Stopping().run(lambda: 2, lambda: 3) == 2
        with pytest.raises(ZeroDivisionError):
            Stopping().run(lambda: 1 // 0, lambda: 3)

    def test_one_that_hears_of_it_ends_with_what_it_has(self):
        said: list[str] = []

        def command() -> int:
            meter = Meter()
            try:
                while True:
                    meter.call(_Program())
                    time.sleep(0.01)
            except KeyboardInterrupt:
                meter.call(_Program())  # what concludes calls programs too, and may
                said.append("so far")
                return 3

        waiting = Stopping()
        waiting.listen()
        self.stop_soon()
        assert waiting.run(command, lambda: 99) == 3
        assert said == ["so far"]

    def test_one_that_does_not_is_given_up(self):
        over = threading.Event()
        waiting = Stopping()
        waiting.listen()
        self.stop_soon()
        assert waiting.run(lambda: over.wait(30), lambda: 3) == 3
        assert not waiting.claim_last_word()  # the command may not tell its own end any more
        over.set()
        interruption.forget()


class TestEnd:
    """The end of a process that heard no signal."""

    @pytest.fixture(autouse=True)
    def end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def end_at_once(code: int) -> NoReturn:
            raise EndedAtOnceError(code)

        monkeypatch.setattr("os._exit", end_at_once)
        monkeypatch.setattr(stopping, "_end_children", lambda: None)  # the test's own, here
        monkeypatch.setattr(stopping, "_end_pools", lambda: None)
        monkeypatch.setattr(stopping, "TUNING", replace(stopping.TUNING, seconds_to_tidy=0.05))

    def test_is_pythons_own(self):
        with pytest.raises(SystemExit, match="1"):
            stopping.leave(1)

    def test_does_not_wait_for_what_is_compiled_for_nobody(self):
        over = threading.Event()
        compiling = threading.Thread(target=over.wait, daemon=False)
        compiling.start()
        with pytest.raises(EndedAtOnceError, match="3"):
            stopping.leave(3)
        over.set()
        compiling.join()


class EndedAtOnceError(Exception):
    """In place of the end of this process."""


class _Program:
    """What a meter calls."""

    def _cache_size(self) -> int:
        return 1

    def __call__(self) -> None:
        pass
