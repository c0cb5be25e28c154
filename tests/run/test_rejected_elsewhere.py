"""Points that a model rejects in other processes are counted with those that it rejects here."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import refti
from refti.models.rejections import Rejections
from refti.run import spread_blocks
from refti.run.elsewhere import Elsewhere, Witnessed
from refti.run.store import sharing
from refti.run.store.directory import SHARED
from refti.run.tuning import SharingTuning, SpreadTuning

PROGRAM = Path(__file__).parents[1] / "stan" / "shapes.stan"
DATA = {"none": 0, "rows": 2, "scale": 4.0, "decays": 0, "left": []}
SETTINGS: dict[str, Any] = {
    "ladder": refti.uniform(4),
    "reference": "diagonal",
    "kept": 50,
    "chains": 4,
    "seed": 2,
    "search": "quick",
    "check_prior": False,
}


def make_model() -> refti.Model:
    """A program that rejects points, compiled once for all tests, with a count of its own."""
    return refti.from_stan(PROGRAM, DATA)


@pytest.fixture(scope="module")
def alone() -> refti.Evidence:
    return refti.evidence(make_model(), **SETTINGS, progress=False)


def test_those_of_blocks_that_were_sent(alone: refti.Evidence, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spread_blocks, "SPREAD", SpreadTuning(least_seconds=0.0, worth=0.0))
    here = make_model()
    with ThreadPoolExecutor(2) as pool:
        spread = refti.evidence(here, **SETTINGS, executor=pool, progress=False)
    assert spread.value == alone.value
    own = here.rejections()
    assert own is not None
    # Part of them elsewhere, all of them told.
    assert own.count < spread.found["rejected"]["count"] == alone.found["rejected"]["count"]


@pytest.mark.long  # the next test has the sum of what is told
def test_those_of_a_process_that_joined(
    alone: refti.Evidence, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sharing, "blocks_at_once", lambda problem: 0)
    tuning = SharingTuning(least_seconds=0.0, look_for_participants=0.0)
    monkeypatch.setattr(sharing, "SHARING", tuning)
    folder, joined, began = tmp_path / "run", threading.Event(), threading.Event()

    def lead(stage: str, done: int, total: int) -> None:
        began.set()
        assert joined.wait(60)

    def join(stage: str, done: int, total: int) -> None:
        if list((folder / SHARED).glob("*.participant")):
            joined.set()

    leader = make_model()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(refti.evidence, leader, **SETTINGS, store=folder, progress=lead)
        assert began.wait(60)
        helper = make_model()
        pool.submit(refti.evidence, helper, **SETTINGS, store=folder, progress=join)
        result = first.result()
    own = leader.rejections()
    assert own is not None
    assert own.count < result.found["rejected"]["count"] == alone.found["rejected"]["count"]


def rejected(count: int) -> tuple[Rejections | None]:
    return (Rejections(count, "no", (0.0,)) if count else None,)


def test_blocks_that_run_at_once_in_one_process_are_not_counted_twice():
    model, elsewhere = make_model(), Elsewhere()
    assert elsewhere.rejections([model]) == (None,)
    # Two blocks of one process that overlap, of which the second ends first.
    elsewhere.hear([model], Witnessed("a", rejected(12), rejected(30)))
    elsewhere.hear([model], Witnessed("a", rejected(10), rejected(50)))
    assert elsewhere.rejections([model]) == rejected(40)
    elsewhere.hear([model], Witnessed("b", rejected(0), rejected(7)))
    assert elsewhere.rejections([model]) == rejected(47)
    assert elsewhere.rejections([make_model()]) == (None,)  # another model's count is its own
