"""plan_study(): what a study would run, and what that may cost, without running it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refti.executors.supervisor import Supervisor
from refti.executors.task import Outcome, Task
from refti.results.text import fitted_table, printable, wrapped
from refti.study.folder import read_manifest, receipt_of
from refti.study.model_task import look_at
from refti.study.read import Study, read_study


@dataclass(frozen=True)
class PlannedModel:
    """One task of a study.

    Attributes:
        name: the model's.
        folder: where it is kept.
        is_done: whether it is done already.
        parameters: how many; None where the model cannot be made.
        evaluations: a rough guess of how many it takes.
        seconds: a rough guess for one core.
        fault: why the model cannot be made; "" if it can.
    """

    name: str
    folder: str
    is_done: bool
    parameters: int | None = None
    evaluations: int | None = None
    seconds: float | None = None
    fault: str = ""


def plan_study(
    path: str | Path, *, executor: Any = None, workers: int | None = None
) -> list[PlannedModel]:
    """The tasks of a study in the order of the file; models are made, and nothing is sampled."""
    path = Path(path)
    study = read_study(path) if path.suffix == ".toml" else read_manifest(path)
    found: dict[str, Outcome] = {}
    with Supervisor(executor, workers=workers) as crew:
        tasks = [Task(spec["name"], look_at, (spec,)) for spec in study.models]
        crew.run(tasks, lambda outcome: found.update({outcome.task.name: outcome}))
    return [_planned(spec, study, found[spec["name"]]) for spec in study.models]


def _planned(spec: dict[str, Any], study: Study, outcome: Outcome) -> PlannedModel:
    is_done = receipt_of(spec, study.store) is not None
    if outcome.error is not None:
        return PlannedModel(spec["name"], spec["folder"], is_done, fault=str(outcome.error))
    seen = {key: outcome.value[key] for key in ("parameters", "evaluations", "seconds")}
    return PlannedModel(spec["name"], spec["folder"], is_done, **seen)


def plan_text(plan: list[PlannedModel], workers: int, width: int) -> str:
    """The plan as a table that fits a width, after what is left to do in all."""
    rows = [
        (
            printable(model.name),
            "" if model.parameters is None else f"{model.parameters:,}",
            "" if model.evaluations is None else f"{model.evaluations:,}",
            "" if model.seconds is None else f"{model.seconds:,.0f}",
            "done" if model.is_done else "cannot be made" if model.fault else "to run",
            model.folder,
        )
        for model in plan
    ]
    header = ("model", "parameters", "evaluations", "seconds", "state", "folder")
    left = [m.seconds for m in plan if not m.is_done and m.seconds is not None]
    bad = sum(bool(model.fault) for model in plan)
    wall = max(sum(left) / workers, max(left, default=0.0))
    summary = (
        f"{len(left)} of {len(plan)} models to run"
        + (f", {bad} cannot be made" if bad else "")
        + f": very roughly {sum(left):,.0f} s on one core, {wall:,.0f} s with {workers} workers. "
        "Hard shapes and small errors cost many times as much."
    )
    faults = [f"{printable(model.name)}: {model.fault}" for model in plan if model.fault]
    told = [line for text in (summary, *faults) for line in wrapped(text, width)]
    return "\n".join([*told, "", *fitted_table(header, rows, width, words=(0, 4, 5), spare=(5, 2))])
