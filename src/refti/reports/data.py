"""Data: whether runs were given the same data, as far as they tell, and which belong together."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from refti.reports.runs import Run
from refti.results.result import LogRatio, Result
from refti.results.text import list_names


@dataclass(frozen=True, eq=False)
class Group:
    """Runs that may be compared.

    Attributes:
        runs: one at least.
        number: of the group, from 1; 0 where there is only one.
        is_known: whether all of them tell what their data are.
    """

    runs: tuple[Run, ...]
    number: int
    is_known: bool

    @property
    def title(self) -> str:
        """A heading; "" where there is only one group."""
        return f"Data set {self.number}" if self.number else ""

    @property
    def sentence(self) -> str:
        """Which runs belong to it."""
        return f"{self.title}: {list_names(run.name for run in self.runs)}."


def group_by_data(runs: Sequence[Run]) -> list[Group]:
    """The runs of every data set, in the order in which they come.

    A run that does not tell its data is taken to have those of the others. A ratio of two
    evidences is not compared with anything.
    """
    found: dict[str, list[Run]] = {}
    unknown: list[Run] = []
    alone = [run for run in runs if isinstance(run.result, LogRatio)]
    for run in runs:
        digest = data_digest(run.result)
        if run in alone:
            continue
        if digest is None:
            unknown.append(run)
        else:
            found.setdefault(digest, []).append(run)
    parts = list(found.values()) or ([[]] if unknown else [])
    if parts:
        parts[0] = sorted([*parts[0], *unknown], key=list(runs).index)
    parts += [[run] for run in alone]
    numbered = len(parts) > 1
    return [
        Group(tuple(part), n * numbered, not any(run in unknown for run in part))
        for n, part in enumerate(parts, start=1)
    ]


def data_digest(result: Result) -> str | None:
    """A digest of the values that a model was conditioned on; None where it does not tell them.

    Names do not matter, since two models may call the same data differently, nor does the order.
    """
    told = result.found.get("data")
    if isinstance(told, str):
        return told
    groups = getattr(result, "groups", {})
    observed = groups.get("observed_data")
    if observed is None or not observed.data_vars:
        return None
    parts = sorted(_digest(np.asarray(values)) for values in observed.data_vars.values())
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def _digest(values: np.ndarray) -> str:
    numbers = values.astype(np.float64) if values.dtype.kind in "biuf" else values.astype(str)
    total = hashlib.sha256(f"{numbers.shape}".encode())
    total.update(np.ascontiguousarray(numbers).tobytes())
    return total.hexdigest()
