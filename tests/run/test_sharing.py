"""A run that two processes are told to make: they share its blocks, to the same bits."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import refti
from refti.run.store import sharing
from refti.run.store.bundles import Bundles
from refti.run.store.directory import EVENTS, SHARED
from refti.run.store.helping import HELPING
from refti.run.tuning import SharingTuning

SETTINGS: dict[str, Any] = {
    "ladder": refti.uniform(4),
    "reference": "diagonal",
    "kept": 50,
    "chains": 4,
    "seed": 2,
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
    tuning = SharingTuning(least_seconds=0.0, look_for_helpers=0.0)
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
        if list((folder / SHARED).glob("*.helper")):
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
