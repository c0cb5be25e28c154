"""run_models(): all models of a study on shared workers, resumed where it stopped, and ranked."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from refti.executors.cores import cores
from refti.executors.supervisor import Supervisor
from refti.executors.task import Outcome, Spread, Task
from refti.results.compare import compare
from refti.results.comparison import Comparison
from refti.results.of_data import group_by_data
from refti.results.result import Evidence
from refti.results.saved import load
from refti.study.events import ModelState, state_of_receipt
from refti.study.folder import open_study, receipt_of
from refti.study.model_task import BUSY, INTERRUPTED, look_at, run_model
from refti.study.read import Spec, Study
from refti.study.showing import Mode, States, showing
from refti.study.tuning import TUNING


@dataclass(frozen=True)
class StudyResult:
    """The outcome of a study.

    Attributes:
        store: the folder that keeps it.
        receipts: for each finished model, by name: log z, error, verdict, hash of all bits.
        failed: why the others failed, by name.
        folders: the folder of each model, by name.
        spread: what it cost to spread the models over the workers.
        report: the file of the report that the study asks for, written once any model is done.
    """

    store: Path
    receipts: Mapping[str, Mapping[str, Any]]
    failed: Mapping[str, str]
    folders: Mapping[str, Path]
    spread: Spread = field(default_factory=Spread)
    report: Path | None = None

    @cached_property
    def results(self) -> dict[str, Evidence]:
        """The results by name, read from their folders."""
        return {name: cast(Evidence, load(self.folders[name])) for name in self.receipts}

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The models ranked, those of each set of data among themselves."""
        return tuple(compare(group) for group in group_by_data(self.results))

    @property
    def trusted(self) -> bool:
        """Whether every model is done and to be relied on."""
        return not self.failed and all(receipt["trusted"] for receipt in self.receipts.values())


def run_models(
    path: str | Path,
    *,
    executor: Any = "loky",
    workers: int | None = None,
    progress: States | Mode | bool | None = None,
) -> StudyResult:
    """What came of the models that a study.toml names; the arguments are those of `run_study`."""
    study = open_study(path)
    receipts, failed, over = _Found(study).all()
    todo = [spec for spec in study.models if spec["name"] not in receipts]
    spread = Spread()
    if todo:
        most = min(len(todo), workers or cores())
        with (
            Supervisor(executor, workers=most if executor in ("loky", "dask") else workers) as crew,
            showing(study, over, progress),
        ):
            todo = _cheapest_first(todo, crew)
            while todo:
                todo = _run_all(todo, study, crew, receipts, failed, over)
                if todo:  # somebody else works on them
                    time.sleep(TUNING.look_again_seconds)
            spread = crew.spread
    else:
        with showing(study, over, progress):
            pass
    folders = {spec["name"]: study.store / spec["folder"] for spec in study.models}
    in_order = {
        spec["name"]: receipts[spec["name"]] for spec in study.models if spec["name"] in receipts
    }
    return StudyResult(study.store, in_order, failed, folders, spread, study.report)


class _Found:
    """What a study's folder holds already."""

    def __init__(self, study: Study) -> None:
        found = {spec["name"]: receipt_of(spec, study.store) for spec in study.models}
        self.receipts = {name: one for name, one in found.items() if one is not None}

    def all(self) -> tuple[dict[str, Any], dict[str, str], dict[str, ModelState]]:
        """Receipts, no failures as yet, and the states of what is over."""
        over = {name: state_of_receipt(one) for name, one in self.receipts.items()}
        return self.receipts, {}, over


def _run_all(
    todo: list[Spec],
    study: Study,
    crew: Supervisor,
    receipts: dict[str, Any],
    failed: dict[str, str],
    over: dict[str, ModelState],
) -> list[Spec]:
    """Runs models until each is done, has failed, or was found in somebody else's hands."""
    by_name = {spec["name"]: spec for spec in todo}
    busy = []

    def hear(outcome: Outcome) -> None:
        name = outcome.task.name
        value = receipt_of(by_name[name], study.store) if outcome.was_done else outcome.value
        if outcome.error is not None:
            failed[name] = str(outcome.error)
            over[name] = ModelState(name, "failed")
        elif value == INTERRUPTED:
            raise KeyboardInterrupt
        elif value is None or value == BUSY:
            busy.append(by_name[name])
        else:
            receipts[name] = value
            over[name] = state_of_receipt(value)

    crew.run([_task(spec, study) for spec in todo], hear)
    return busy


def _task(spec: Spec, study: Study) -> Task:
    store = study.store.resolve()
    return Task(
        spec["name"],
        run_model,
        (spec, str(store)),
        lambda: receipt_of(spec, store) is not None,
    )


def _cheapest_first(todo: list[Spec], crew: Supervisor) -> list[Spec]:
    """The models in the order in which they begin: urgent ones, then by what they may cost.

    Where all begin at once the order does not matter, and nobody looks. A model that cannot be
    looked at comes first: its run tells at once what is wrong with it.
    """
    if len(todo) > crew.workers > 1:
        costs: dict[str, float] = {}

        def hear(outcome: Outcome) -> None:
            failed = outcome.error is not None
            costs[outcome.task.name] = 0.0 if failed else outcome.value["seconds"]

        crew.run([Task(spec["name"], look_at, (spec,)) for spec in todo], hear)
        todo = sorted(todo, key=lambda spec: costs[spec["name"]])
    return sorted(todo, key=lambda spec: not spec["urgent"])
