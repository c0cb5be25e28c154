"""Runs: what is to be reported, read from folders; what cannot be is told in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refti.errors import SettingsError, StoreError
from refti.results.files import read_json
from refti.results.result import Evidence, LogRatio
from refti.results.saved import load
from refti.run.store.status import RUNNING, read_status

Result = Evidence | LogRatio
Given = Mapping[str, Result | str | Path] | Sequence[Result | str | Path] | Result | str | Path


@dataclass(frozen=True, eq=False)
class Run:
    """A result under its name.

    Attributes:
        name: what the model is called.
        result: what came of it.
        record: what its folder says of how it was made.
    """

    name: str
    result: Result
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unread:
    """A folder without a result that can be read, and why, in words."""

    name: str
    reason: str


def read_runs(given: Given) -> tuple[list[Run], list[Unread]]:
    """The runs that can be reported, and those that cannot.

    Args:
        given: results, or folders that hold them, by name or one after the other; a folder of
            folders stands for all runs in it.

    Raises:
        SettingsError: nothing was given, or two have one name.
    """
    named = _named(given)
    if not named:
        raise SettingsError(
            "A report needs at least one run; got none. Give results, or folders that refti run "
            "--store or result.save() wrote."
        )
    names = [name for name, _ in named]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SettingsError(
            f"Runs must have different names; got {', '.join(twice)} more than once. Give a "
            'dictionary, such as {"A": "runs/a", "B": "runs/b"}.'
        )
    runs: list[Run] = []
    unread: list[Unread] = []
    for name, one in named:
        if isinstance(one, Evidence | LogRatio):
            runs.append(Run(name, one))
            continue
        try:
            runs.append(Run(name, load(one), _record(one)))
        except StoreError as error:
            unread.append(Unread(name, _reason(one, error)))
    return runs, unread


def _named(given: Given) -> list[tuple[str, Result | Path]]:
    if isinstance(given, Mapping):
        return [(str(name), _result_or_path(one)) for name, one in given.items()]
    items = [given] if isinstance(given, str | Path | Evidence | LogRatio) else list(given)
    found: list[tuple[str, Result | Path]] = []
    for number, item in enumerate(items, start=1):
        one = _result_or_path(item)
        if isinstance(one, Path):
            found += [(folder.resolve().name, folder) for folder in _folders(one)]
        else:
            found.append((f"model {number}" if len(items) > 1 else "model", one))
    return found


def _result_or_path(one: object) -> Result | Path:
    if isinstance(one, str | Path):
        return Path(one)
    if isinstance(one, Evidence | LogRatio):
        return one
    raise SettingsError(
        f"A report is made from results, or folders with results; got {type(one).__name__}."
    )


def _folders(folder: Path) -> Iterable[Path]:
    """The folder itself if it is a run, or else the runs in it."""
    if (folder / "result.json").exists() or (folder / "run.json").exists():
        return [folder]
    inside = {file.parent for name in ("result", "run") for file in folder.glob(f"*/{name}.json")}
    return sorted(inside) or [folder]


def _record(folder: Path) -> Mapping[str, Any]:
    """What run.json says; a result that was saved by hand has none."""
    try:
        record = read_json(folder / "run.json")
    except StoreError:
        return {}
    return record if isinstance(record, Mapping) else {}


def _reason(folder: Path, error: StoreError) -> str:
    if not folder.exists():
        return f"There is no folder {folder}. Check the path."
    if folder.is_dir() and not any(folder.iterdir()):
        return f"{folder} is empty: no run was started in it. Give the folder of a run."
    if (folder / "run.json").exists() and not (folder / "result.json").exists():
        return _unfinished(folder)
    return str(error)


def _unfinished(folder: Path) -> str:
    """How far the run of a folder is, and how to get its end."""
    status = read_status(folder)
    at = f" (last heard of: {status.stage})" if status.stage else ""
    if status.state == RUNNING:
        return f"{folder} holds an unfinished run, which is still going on{at}. Wait until it ends."
    return (
        f"{folder} holds an unfinished run{at}. Repeat the command that started it, with the same "
        "--store, and it continues where it stopped."
    )
