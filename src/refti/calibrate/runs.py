"""Run: one call of evidence() set beside the truth, as a record of plain values."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Self

import refti
from refti import suite
from refti.calibrate.tuning import TUNING
from refti.studies import plain
from refti.suite import Target


@dataclass(frozen=True)
class Job:
    """A run to make, in plain values: a target of the suite, or a constructor's with arguments."""

    study: str
    target: str
    seed: int
    arguments: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What tells this job from others, in a file too."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Run:
    """What came of a job; where evidence() refused, `message` says why and the numbers are NaN."""

    job: Job
    name: str
    dim: int
    modes: int
    truth: float
    log_z: float
    error: float
    trusted: bool
    failed: tuple[str, ...]
    checks: Mapping[str, float]
    rungs: int
    reference: str
    gradients: int
    densities: int
    programs: int
    seconds: float
    message: str | None = None

    @property
    def z(self) -> float:
        """The distance from the truth in errors; NaN where there is no finite error."""
        if not math.isfinite(self.error):
            return math.nan
        return (self.log_z - self.truth) / max(self.error, TUNING.rounding)

    def to_dict(self) -> dict[str, Any]:
        """The run as plain values, fit for JSON."""
        return {**plain(asdict(self)), "z": plain(self.z)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """The run that `to_dict` wrote down."""
        values = {name: record[name] for name in cls.__dataclass_fields__}
        values["job"] = Job(**record["job"])
        values["failed"] = tuple(record["failed"])
        values["checks"] = {name: float(value) for name, value in record["checks"].items()}
        for name in ("truth", "log_z", "error", "seconds"):
            values[name] = float(record[name])
        return cls(**values)


Build = Callable[[Job], Target]
"""Makes a job's target; a function at the top of a module, so that other processes find it."""


def suite_target(job: Job) -> Target:
    """The target of the suite that a job names, or what a constructor makes of its arguments."""
    if not job.arguments:
        return suite.find(job.target)
    return getattr(suite, job.target)(**job.arguments)


def run_job(job: Job, build: Build = suite_target) -> Run:
    """The run of one job in this process."""
    target = _target(build, job.target, json.dumps(dict(job.arguments), sort_keys=True))
    known = {
        "job": job,
        "name": target.name,
        "dim": target.dim,
        "modes": target.modes,
        "truth": target.log_z,
    }
    try:
        result = refti.evidence(_model(target), seed=job.seed, progress=False, **job.settings)
    except refti.SettingsError:
        raise  # the study's fault, not the target's
    except refti.RefTIError as error:
        nothing = {"rungs": 0, "gradients": 0, "densities": 0, "programs": 0, "seconds": math.nan}
        refusal = {"log_z": math.nan, "error": math.nan, "trusted": False, "reference": "-"}
        message = f"{type(error).__name__}: {error}"
        return Run(**known, **nothing, **refusal, failed=(), checks={}, message=message)  # type: ignore[arg-type]
    except Exception as error:
        error.add_note(f"In the run {job.key}.")
        raise
    if result.found.get("ended") == "interrupted":
        raise KeyboardInterrupt  # half a run is none of the study
    return Run(
        **known,  # type: ignore[arg-type]
        log_z=float(result.log_z),
        error=float(result.error),
        trusted=result.trusted,
        failed=tuple(check.name for check in result.checks if not check.ok),
        checks={check.name: float(check.value) for check in result.checks},
        rungs=sum(len(leg.lambdas) for leg in result.draws),
        reference=str(result.found.get("chosen_reference", "-")),
        gradients=int(result.cost.gradient_evaluations),
        densities=int(result.cost.density_evaluations),
        programs=result.cost.programs,
        seconds=float(result.cost.seconds),
    )


@lru_cache(maxsize=4)
def _target(build: Build, target: str, arguments: str) -> Target:
    return build(Job("", target, 0, json.loads(arguments)))


@lru_cache(maxsize=4)
def _model(target: Target) -> refti.Model:
    return target.model()
