"""What a worker does for a study: runs one model from its specification, or only looks at it."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from refti.checks.ended import Ended
from refti.executors.leases import leased
from refti.executors.worker_side import worker_name
from refti.models.model import Model
from refti.run.evidence import evidence
from refti.study.bits import bits_of
from refti.study.folder import append_event, digest_of, receipt_of, write_receipt
from refti.study.read import Spec
from refti.study.sources import build_model
from refti.study.tuning import TUNING

BUSY = "busy"  # somebody else works on it
INTERRUPTED = "interrupted"


def run_model(spec: Spec, store: str) -> dict[str, Any] | str:
    """Runs a model, keeps its result in its folder, and returns the receipt; or BUSY."""
    folder = Path(store)
    with leased(folder / "leases" / f"{spec['folder']}.json") as is_ours:
        if not is_ours:
            return BUSY
        done = receipt_of(spec, folder)
        if done is not None:
            return done
        began = time.monotonic()
        append_event(folder, {"event": "begun", "name": spec["name"]})
        result = evidence(
            _model_of(_Key(spec)),
            seed=spec["seed"],
            data_name=spec["data_name"],
            store=folder / spec["folder"],
            progress=False,
            **spec["settings"],
        )
        if result.found.get("ended") == Ended.INTERRUPTED.value:
            return INTERRUPTED
        record = {
            "log_z": result.log_z,
            "error": result.error,
            "trusted": result.trusted,
            "bits": bits_of(result),
            "evaluations": result.cost.gradient_evaluations + result.cost.density_evaluations,
            "seconds": time.monotonic() - began,
            "worker": worker_name(),
        }
        append_event(folder, {"event": "done", "name": spec["name"]})
        return write_receipt(spec, folder, record)


def look_at(spec: Spec) -> dict[str, Any]:
    """What a model is and what its run may cost, from a few evaluations; nothing is sampled."""
    model = _model_of(_Key(spec))
    points = np.repeat(np.asarray(model.start)[None], 8, axis=0)
    model.log_densities(points)  # compiles it
    began = time.perf_counter()
    model.log_densities(points)
    each = (time.perf_counter() - began) / len(points)
    evaluations = TUNING.evaluations * model.dim**TUNING.evaluations_power
    evaluations = min(evaluations, spec["settings"].get("max_evaluations", np.inf))
    cost = TUNING.gradient_cost if model.has_gradient else 1.0
    seconds = TUNING.start_seconds + evaluations * each * cost
    return {
        "name": spec["name"],
        "parameters": model.dim,
        "source": model.source,
        "evaluations": round(evaluations),
        "seconds": min(seconds, spec["settings"].get("max_seconds", np.inf)),
    }


class _Key:
    """A specification by which a model is found again that this process has made already."""

    def __init__(self, spec: Spec) -> None:
        self.spec, self._digest = spec, digest_of(spec)

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other._digest == self._digest


@lru_cache(maxsize=16)
def _model_of(key: _Key) -> Model:
    settings = key.spec["settings"]
    return build_model(
        key.spec["source"],
        check_prior=settings.get("check_prior", True),
        split_prior=settings.get("path") == "power",
    )
