"""read_study(): from a study.toml to the models of a study, each with all that its run needs."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from refti.errors import RefTIError, SettingsError
from refti.results.text import printable
from refti.run.seeds import seed_of_model
from refti.run.settings import Settings
from refti.study.names import folder_name, name_fault
from refti.study.schema import ModelEntry, StudyFile

Spec = dict[str, Any]
"""A model of a study as plain values: all that a worker needs to run it."""


@dataclass(frozen=True)
class Study:
    """What is to be run.

    Attributes:
        seed: of the whole study.
        store: the folder that keeps it.
        models: their specifications, in the order of the file.
        report: the file of a page on all models, if one is wanted.
    """

    seed: int
    store: Path
    models: tuple[Spec, ...]
    report: Path | None = None


def read_study(path: str | Path) -> Study:
    """The study of a file. Raises SettingsError that names every fault."""
    path = Path(path)
    if not path.is_file():
        raise SettingsError(f"There is no file {path}.")
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}.") from error
    try:
        table = StudyFile.model_validate(found)
    except ValidationError as error:
        faults = [_words(fault) for fault in error.errors(include_url=False)]
        raise SettingsError(f"{path} is no study:\n" + "\n".join(faults)) from error
    faults, specs = [], []
    for name, entry in table.models.items():
        try:
            specs.append(_specify(name, entry, table, path.resolve().parent))
        except (RefTIError, OSError) as error:
            faults.append(f"models.{printable(name)}: {error}")
    if faults:
        raise SettingsError(f"{path} is no study:\n" + "\n".join(faults))
    store = path.parent / (table.outputs.store or f"{path.stem}-runs")
    report = None if table.outputs.report is None else path.parent / table.outputs.report
    return Study(table.seed, store, tuple(specs), report)


def _words(fault: Any) -> str:
    """A fault that pydantic found: where, what was expected, what came."""
    place = ".".join(printable(part) for part in fault["loc"]) or "the file"
    if fault["type"] == "extra_forbidden":
        return f"{place}: there is no such key. See docs/study.schema.json for those there are."
    got = printable(repr(fault.get("input")))
    return f"{place}: {fault['msg']}; got {got if len(got) < 80 else got[:80] + '…'}."


def _specify(name: str, entry: ModelEntry, study: StudyFile, folder: Path) -> Spec:
    """All that the run of one model needs. Raises what is wrong with it."""
    fault = name_fault(name)
    if fault is not None:
        raise SettingsError(fault)
    settings = study.settings.given() | entry.settings.given()
    seed = seed_of_model(study.seed, name)
    data_name = entry.data_name if entry.data_name is not None else study.data_name
    Settings(seed=seed, data_name=data_name, **settings)  # says what is wrong with a value
    return {
        "name": name,
        "folder": folder_name(name),
        "source": _source(entry, folder),
        "settings": settings,
        "seed": seed,
        "data_name": data_name,
        "urgent": entry.urgent,
    }


def _source(entry: ModelEntry, folder: Path) -> dict[str, Any]:
    """Where the model comes from: files with their sha256, so that a changed one is noticed."""
    if (entry.file is None) == (entry.stan is None):
        raise SettingsError('Give one of file = "model.py:name" and stan = "model.stan".')
    if entry.stan is not None:
        files = {"program": entry.stan, "data": entry.data, "prior": entry.prior}
        return {
            "kind": "stan",
            "files": {role: _file(folder / p) for role, p in files.items() if p is not None},
            "solver_limit": entry.solver_limit,
        }
    only_stan = [k for k in ("data", "prior", "solver_limit") if getattr(entry, k) is not None]
    if only_stan:
        raise SettingsError(f"{', '.join(only_stan)}: for Stan programs; this is a Python file.")
    place, _, name = str(entry.file).rpartition(":")
    if not place.endswith(".py") or not name.isidentifier():
        raise SettingsError(f'Expected file = "FILE.py:NAME"; got {entry.file!r}.')
    return {"kind": "python", "files": {"program": _file(folder / place)}, "object": name}


def _file(path: Path) -> dict[str, str]:
    path = path.resolve()
    if not path.is_file():
        raise SettingsError(f"There is no file {path}.")
    return {"path": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
