"""Targets of `refti run`: FILE.py:NAME, or a Stan program with its data, made into models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refti.errors import ModelError, SettingsError

if TYPE_CHECKING:
    from refti.models.model import Model
    from refti.progress import Progress


@dataclass(frozen=True)
class Target:
    """What is to be run: the text that names it, and the data of a Stan program."""

    text: str
    data: str | None = None

    @property
    def is_stan(self) -> bool:
        """Whether it is a Stan program."""
        return self.text.endswith(".stan")

    @property
    def file(self) -> str | None:
        """The file that it stands in; None if it is in a module that Python has to find."""
        if self.is_stan:
            return self.text
        place = self.text.rpartition(":")[0]
        return place if place.endswith(".py") else None

    @property
    def name(self) -> str:
        """The name of its model, unless two have the same."""
        return Path(self.text).stem if self.is_stan else self.text.rpartition(":")[2]


def pair_with_data(texts: Sequence[str], data: Sequence[str]) -> list[Target]:
    """The targets, of which Stan programs have data: one file for all, or one for each.

    Raises:
        ModelError: one names no model, which is seen before anything is imported for it.
        SettingsError: there are data but no Stan programs, or another number of them.
    """
    for text in texts:
        _require_form(text)
    programs = sum(Target(text).is_stan for text in texts)
    if data and not programs:
        raise SettingsError("--data is for Stan programs; got none.")
    if len(data) not in (0, 1, programs):
        raise SettingsError(
            "--data takes one file for all Stan programs or one for each, in their order; got "
            f"{len(data)} for {programs}."
        )
    files = iter(data if len(data) == programs else [*data] * programs)
    return [Target(t, next(files, None) if Target(t).is_stan else None) for t in texts]


def distinct_names(targets: Sequence[Target]) -> list[str]:
    """A name for each target; Stan programs of one name are called by their data.

    Raises:
        ModelError: two have the same name nevertheless.
    """
    names = [target.name for target in targets]
    names = [
        Path(target.data).stem if target.data is not None and names.count(name) > 1 else name
        for name, target in zip(names, targets, strict=True)
    ]
    if len(set(names)) < len(names):
        raise ModelError(f"Models must have different names; got {', '.join(names)}.")
    return names


def require_files(targets: Sequence[Target], *others: Path) -> None:
    """Raises ModelError if a file is not there, before another one is compiled for nothing."""
    files = [target.file for target in targets] + [target.data for target in targets]
    missing = [
        str(file) for file in (*files, *others) if file is not None and not Path(file).is_file()
    ]
    if missing:
        raise ModelError(f"There is no file {', '.join(dict.fromkeys(missing))}.")


def _require_form(text: str) -> None:
    place, _, name = text.rpartition(":")
    if not text.endswith(".stan") and not (place and name.isidentifier()):
        file = text if text.endswith(".py") else "model.py"
        raise ModelError(
            f"Expected FILE.py:MODEL, such as {file}:model, or FILE.stan; got {text!r}."
        )


def load_models(targets: Sequence[Target], report: Progress, **for_stan: Any) -> list[Model]:
    """The models of the targets; Stan programs are compiled side by side."""
    from concurrent.futures import ThreadPoolExecutor

    import refti
    from refti.inputs.named import from_name

    def compile_program(target: Target) -> Model:
        return refti.from_stan(target.text, target.data, progress=report, **for_stan)

    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        programs = {
            index: pool.submit(compile_program, target)
            for index, target in enumerate(targets)
            if target.is_stan
        }
        models = []
        for index, target in enumerate(targets):
            if index not in programs:
                report(f"loading {target.text}", 0, 1)
            models.append(programs[index].result() if index in programs else from_name(target.text))
        return models
    finally:
        # A program that cannot be used, or Ctrl-C, does not wait for the other compilers.
        pool.shutdown(wait=False, cancel_futures=True)
