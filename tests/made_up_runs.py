"""Runs of calibration that are made up, for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from refti.calibrate import replicate
from refti.calibrate.runs import Job, Run
from refti.suite import Target

TINY: dict[str, Any] = {"warmup": 100, "kept": 100, "ladder": [0.0, 0.3, 1.0]}


def a_run(seed: int = 0, *, z: float = 0.0, error: float = 0.1, **changes: Any) -> Run:
    """A run that ended z errors from the truth."""
    job = Job("study", changes.pop("target", "gaussian"), seed, changes.pop("arguments", {}))
    known = Run(
        job=job,
        name=job.target,
        dim=3,
        modes=1,
        truth=2.0,
        log_z=2.0 + z * error,
        error=error,
        trusted=True,
        failed=(),
        checks={"overlap": 0.4, "convergence": 1.01},
        rungs=11,
        reference="-",
        gradients=1000,
        densities=100,
        programs=0,
        seconds=1.0,
    )
    return replace(known, **changes)


def make_up_runs(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The jobs that are run from now on, whose runs are made up."""
    jobs: list[Job] = []

    def make_up(job: Job, build: Callable[[Job], Target]) -> Run:
        jobs.append(job)
        target = build(job)
        known = {"name": target.name, "modes": target.modes, "trusted": target.modes == 1}
        log_z = target.log_z + 0.1 * job.seed / 7
        return a_run(job=job, truth=target.log_z, log_z=log_z, **known)

    monkeypatch.setattr(replicate, "run_job", make_up)
    return jobs
