"""A run that two processes are told to make: they share its blocks, to the same bits."""

from __future__ import annotations

import io
import json
import shutil
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import refti
from refti.cli.main import commands
from refti.run.join import problem_of_run
from refti.run.store import sharing
from refti.run.store.bundles import Bundles
from refti.run.store.directory import EVENTS, SHARED
from refti.run.store.helping import HELPING, Participant
from refti.run.store.keeper import Keeper
from refti.run.store.manifest import identify
from refti.run.tuning import SharingTuning
from refti.sampling.computing import computing

SETTINGS: dict[str, Any] = {
    "ladder": refti.uniform(4),
    "reference": "diagonal",
    "kept": 50,
    "chains": 4,
    "seed": 2,
    "search": "quick",
}


def bent(x: Any) -> Any:
    return -0.5 * (x[0] / 1.7) ** 2 - 0.5 * (x[1] - 0.3 * x[0] ** 2) ** 2


MODEL = refti.Model(bent, dim=2)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone") / "run"
    refti.evidence(MODEL, **SETTINGS, store=folder, progress=False)
    return folder


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader leaves all blocks that may be shared to those who help."""
    monkeypatch.setattr(sharing, "blocks_at_once", lambda problem: 0)
    tuning = SharingTuning(least_seconds=0.0, look_for_participants=0.0)
    monkeypatch.setattr(sharing, "SHARING", tuning)


def lead(folder: Path, waits: threading.Event, began: threading.Event) -> Any:
    """Leads a run, which begins to sample when it is told to go on."""

    def report(stage: str, done: int, total: int) -> None:
        began.set()
        assert waits.wait(60)

    return refti.evidence(MODEL, **SETTINGS, store=folder, progress=report)


def blocks_shared(folder: Path) -> int:
    events = [json.loads(line) for line in (folder / EVENTS).read_text().splitlines()]
    return sum(event["blocks"] for event in events if event["event"] == "shared")


@pytest.mark.usefixtures("nothing_here")
def test_who_waits_for_a_run_computes_blocks_of_it(alone: Path, tmp_path: Path):
    folder, go_on, began, told = tmp_path / "run", threading.Event(), threading.Event(), set()

    def report(stage: str, done: int, total: int) -> None:
        told.add(stage)
        if list((folder / SHARED).glob("*.participant")):
            go_on.set()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lead, folder, go_on, began)
        assert began.wait(60)
        second = pool.submit(refti.evidence, MODEL, **SETTINGS, store=folder, progress=report)
        results = first.result(), second.result()
    assert HELPING in told
    assert blocks_shared(folder) >= 3
    before = refti.load(alone)
    for found in results:
        assert found.value == before.value
        assert found.cost.gradient_evaluations == before.cost.gradient_evaluations
        np.testing.assert_array_equal(found.draws[0].delta, before.draws[0].delta)
    assert Bundles(folder / "blocks").digest == Bundles(alone / "blocks").digest
    assert not (folder / SHARED).exists()


def test_alone_nothing_is_offered(alone: Path):
    assert blocks_shared(alone) == 0
    assert not (alone / SHARED).exists()


def test_a_block_of_one_who_died_is_taken_over(alone: Path, tmp_path: Path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    folder = shutil.copytree(alone, tmp_path / "run")
    (folder / SHARED).mkdir()
    claim = folder / SHARED / "abc.claim"
    claim.write_text(json.dumps({"host": socket.gethostname(), "process": gone.pid}))
    keeper = Keeper(folder, Bundles(folder / "blocks"))
    with computing():
        shared = sharing.Sharing(keeper, problem_of_run(alone, MODEL))
        with shared._claimed_or_there("block abc", folder / SHARED / "abc") as is_ours:
            assert is_ours
            assert json.loads(claim.read_text())["process"] != gone.pid
    assert not claim.exists()


def hostile(kind: str) -> bytes:
    """What somebody may put where blocks are on offer."""
    file = io.BytesIO()
    if kind == "code":
        tree = json.dumps({"record": ["Popen", {"args": "touch harm"}]}).encode()
        np.savez(file, tree=np.frombuffer(tree, dtype=np.uint8))
    elif kind == "pickle":
        np.savez(file, tree=np.array([Exploding()], dtype=object))
    elif kind == "other value":
        np.savez(file, tree=np.frombuffer(b"7", dtype=np.uint8))
    return file.getvalue()


class Exploding:
    """Raises when it is unpickled."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit('unpickled')",))


@pytest.mark.parametrize("kind", ["empty", "code", "pickle", "other value", "link"])
def test_what_is_no_request_is_left_alone(kind: str, alone: Path, tmp_path: Path):
    folder = shutil.copytree(alone, tmp_path / "run")
    (folder / SHARED).mkdir()
    wanted = folder / SHARED / "abc.npz"
    if kind == "link":
        wanted.symlink_to(folder / "run.json")
    else:
        wanted.write_bytes(hostile(kind))
    with computing():
        problem = problem_of_run(alone, MODEL)
        participant = Participant(folder, problem, identify(problem), lambda *told: None)
        assert not participant.wait()
        participant.leave()
    assert sorted(file.name for file in (folder / SHARED).iterdir()) == ["abc.npz"]
    assert Bundles(folder / "blocks").digest == Bundles(alone / "blocks").digest


def test_a_worker_joins_in_a_run_by_its_model(alone: Path, tmp_path: Path):
    file = tmp_path / "model.py"
    file.write_text(
        "import refti\n\n\ndef bent(x):\n"
        "    return -0.5 * (x[0] / 1.7) ** 2 - 0.5 * (x[1] - 0.3 * x[0] ** 2) ** 2\n\n\n"
        "model = refti.Model(bent, dim=2)\nother = refti.Model(lambda x: bent(x) + 1, dim=2)\n"
    )
    result = CliRunner().invoke(commands, ["worker", str(alone), "--model", f"{file}:model"])
    assert "log z = " in result.output
    with pytest.raises(refti.StoreError, match="another run"):
        CliRunner().invoke(
            commands, ["worker", str(alone), "--model", f"{file}:other"], catch_exceptions=False
        )
    with pytest.raises(refti.SettingsError, match="Give it by --model"):
        CliRunner().invoke(commands, ["worker", str(alone)], catch_exceptions=False)
