"""from_callable(executor=): the function is called by workers of an executor, to the same bits."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import refti
from refti.inputs.python.calls import Call
from refti.inputs.python.sent_calls import SentCalls
from refti.models.density import OutOfTimeError


def log_density(x: np.ndarray) -> float:
    if x[0] > 3:
        raise ValueError("too far out")
    return float(-0.5 * x @ x)


class Recording(ThreadPoolExecutor):
    """A pool that counts what it is sent."""

    sent = 0

    def submit(self, *call: Any, **more: Any) -> Future[Any]:
        self.sent += 1
        return super().submit(*call, **more)


def test_the_evidence_is_that_of_this_process():
    settings: dict[str, Any] = {"max_evaluations": 4000, "seed": 1, "search": "quick"}
    here = refti.evidence(refti.from_callable(log_density, dim=2, processes=1), **settings)
    with Recording(2) as pool:
        there = refti.evidence(refti.from_callable(log_density, dim=2, executor=pool), **settings)
        assert pool.sent > 100
    assert there.log_z == here.log_z
    assert there.cost.density_evaluations == here.cost.density_evaluations
    assert there.found["rejected"] == here.found["rejected"]


def test_points_that_raise_are_told_by_their_place():
    with ThreadPoolExecutor(2) as pool:
        calls = SentCalls(Call(log_density, "log_density", "vector", False, True), pool)
        x = np.zeros((40, 2))
        x[[7, 33], 0] = 4.0
        answers = calls({"x": x})
    assert list(answers.messages) == [7, 33]
    assert np.isnan(answers.values[[7, 33]]).all()
    assert np.isfinite(np.delete(answers.values, [7, 33])).all()


def test_a_deadline_is_kept():
    with ThreadPoolExecutor(1) as pool:
        calls = SentCalls(Call(lambda x: time.sleep(0.2) or 0.0, "f", "vector", False, True), pool)
        with pytest.raises(OutOfTimeError):
            calls({"x": np.zeros((1, 1))}, time.perf_counter() + 0.01)


def test_what_cannot_be_is_told_at_once():
    with pytest.raises(refti.ModelError, match="not both"):
        refti.from_callable(log_density, dim=2, processes=2, executor=2)
    with pytest.raises(refti.ExecutorError, match="executor= must be"):
        refti.from_callable(log_density, dim=2, executor="nowhere")
