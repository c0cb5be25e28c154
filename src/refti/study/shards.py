"""Shards: a study worked on by any number of processes that share nothing but its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from refti.errors import RefTIError, SettingsError
from refti.executors.leases import is_held
from refti.study.folder import open_study, receipt_of
from refti.study.model_task import BUSY, INTERRUPTED, run_model
from refti.study.read import Spec, Study

Told = Callable[[str, dict[str, Any] | str], None]


def parse_shard(text: str) -> tuple[int, int]:
    """The number of a shard, from 1, and how many there are. Raises SettingsError."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise SettingsError(
            f"A shard is given as i/n, such as 1/8 for the first of eight; got {text!r}."
        )
    return int(number), int(count)


def work_on(path: str | Path, shard: tuple[int, int] = (1, 1), told: Told | None = None) -> bool:
    """Runs a share of a study's models, then helps with what is left; whether all are done.

    A model that another process works on is left to it, and not waited for: should that one be
    lost, whoever comes next takes the model over.

    Args:
        path: the study.toml, the folder of the study, or that of one of its models.
        shard: which share comes first, from 1, and of how many.
        told: called with the name of a model, and its receipt or what is wrong with it.
    """
    study = open_study(path)
    number, count = shard
    own = [spec for place, spec in enumerate(study.models) if place % count == number - 1]
    others = [spec for place, spec in enumerate(study.models) if place % count != number - 1]
    # From the back, so that those who help do not all begin with the same model.
    others = others[::-1] if number % 2 else others
    failed: set[str] = set()
    for spec in [*own, *others]:
        _work_on_one(spec, study, failed, told or (lambda name, outcome: None))
    return all(receipt_of(spec, study.store) is not None for spec in study.models)


def in_other_hands(path: str | Path) -> list[str]:
    """The names of models that are not done and that somebody works on."""
    study = open_study(path)
    return [
        spec["name"]
        for spec in study.models
        if receipt_of(spec, study.store) is None
        and is_held(study.store / "leases" / f"{spec['folder']}.json")
    ]


def _work_on_one(spec: Spec, study: Study, failed: set[str], told: Told) -> None:
    if receipt_of(spec, study.store) is not None:
        return
    try:
        found = run_model(spec, str(study.store.resolve()))
    except RefTIError as error:  # one bad model must not cost the others
        failed.add(spec["name"])
        told(spec["name"], str(error))
        return
    if found == INTERRUPTED:
        raise KeyboardInterrupt
    if found != BUSY:
        told(spec["name"], found)
