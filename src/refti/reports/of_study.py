"""run_study(): the models of a study run and ranked, and the page written that it asks for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from refti.errors import SettingsError
from refti.plots.drawing import require_packages
from refti.reports.pdf import find_browser
from refti.reports.writing import Format, report
from refti.study.read import read_study
from refti.study.running import StudyResult, run_models
from refti.study.showing import Mode, States


def run_study(
    path: str | Path,
    *,
    executor: Any = "loky",
    workers: int | None = None,
    progress: States | Mode | bool | None = None,
) -> StudyResult:
    """Runs the models that a study.toml names, ranks them, and writes the report it asks for.

    Models that are finished in the study's folder are not run again; one that fails does not stop
    the others. Every model draws its random numbers from the study's seed and its own name, so the
    errors of two models are independent, and where and in which order they run changes no bit.

    Args:
        path: the study.toml, or the folder of a study.
        executor: where the models run: "loky" (processes of this machine), a number of them, None
            (this process, one after the other), "dask" (a cluster of this machine), the address of
            a Dask scheduler, a Dask Client, or any concurrent.futures.Executor.
        workers: processes of "loky" and "dask"; as many as there are cores if not given.
        progress: "auto", "rich", "plain" or "json" shows it on standard error; a function is called
            with the state of each model by name; nothing is shown if not given.

    Raises:
        SettingsError: the file is not a study, or its report could not be written; raised before
            anything is run.
    """
    _require_report(Path(path))
    done = run_models(path, executor=executor, workers=workers, progress=progress)
    if done.report is not None and done.receipts:
        runs = {name: done.folders[name] for name in done.receipts}
        report(runs, done.report, format=_format(done.report))
    return done


def _require_report(path: Path) -> None:
    """Raises SettingsError if the page that a study asks for could not be written."""
    page = read_study(path).report if path.suffix == ".toml" else None
    if page is None:
        return
    require_packages("matplotlib", "jinja2")
    if _format(page) == "pdf":
        find_browser()
    if not os.access(page.parent, os.W_OK):
        raise SettingsError(
            f"outputs.report: {page.parent} is not a folder that can be written to."
        )


def _format(page: Path) -> Format:
    return "pdf" if page.suffix == ".pdf" else "html"
