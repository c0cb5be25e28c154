"""evidence(executor=): blocks that run elsewhere have the bits of those that run here."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import refti
from refti.run import spread_blocks
from refti.run.store.bundles import Bundles
from refti.run.tuning import SpreadTuning

SETTINGS: dict[str, Any] = {
    "ladder": refti.uniform(4),
    "reference": "diagonal",
    "kept": 50,
    "chains": 4,
    "seed": 2,
    "search": "quick",
    "progress": False,
}


def bent(x: Any) -> Any:
    return -0.5 * (x[0] / 1.7) ** 2 - 0.5 * (x[1] - 0.3 * x[0] ** 2) ** 2


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The lambdas of blocks that were sent, all that can be, however cheap they are."""
    monkeypatch.setattr(spread_blocks, "SPREAD", SpreadTuning(least_seconds=0.0, worth=0.0))
    request, lambdas = spread_blocks.request_block, []

    def recorded(problem: Any, leg: Any, rung: Any, *arguments: Any, **options: Any) -> Any:
        lambdas.append(rung.lam)
        return request(problem, leg, rung, *arguments, **options)

    monkeypatch.setattr(spread_blocks, "request_block", recorded)
    return lambdas


def test_the_bits_are_the_same_with_and_without_a_store(sent: list[float], tmp_path: Path):
    here = refti.evidence(refti.Model(bent, dim=2), **SETTINGS, store=tmp_path / "here")
    assert sent == []
    with ThreadPoolExecutor(2) as pool:
        spread = refti.evidence(
            refti.Model(bent, dim=2), **SETTINGS, store=tmp_path / "there", executor=pool
        )
        unkept = refti.evidence(refti.Model(bent, dim=2), **SETTINGS, executor=pool)
    assert set(sent) >= {1 / 3, 2 / 3, 1.0}
    for found in (spread, unkept):
        assert found.value == here.value
        assert found.draws[0].delta.tobytes() == here.draws[0].delta.tobytes()
        assert found.cost.gradient_evaluations == here.cost.gradient_evaluations
    digests = {Bundles(tmp_path / place / "blocks").digest for place in ("here", "there")}
    assert len(digests) == 1


def test_cheap_blocks_are_not_sent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spread_blocks, "request_block", lambda *all, **more: pytest.fail("sent"))
    with ThreadPoolExecutor(1) as pool:
        refti.evidence(refti.Model(bent, dim=2), **SETTINGS, executor=pool)


def test_a_model_that_cannot_be_sent_is_told_before_any_compute():
    pool = ThreadPoolExecutor(1)  # such as no other process can have
    model = refti.Model(lambda x: -0.5 * jnp.sum(x**2) * (pool is not None), dim=1)
    with pytest.raises(refti.ModelError, match="cannot be sent"):
        refti.evidence(model, executor=pool, progress=lambda *told: pytest.fail("it began"))
    pool.shutdown()
