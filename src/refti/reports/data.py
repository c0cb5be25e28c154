"""Data: whether runs were given the same data, as far as they tell, and which belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refti.reports.runs import Run
from refti.results.of_data import data_of, group_by_data
from refti.results.result import Evidence
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


def group_runs(runs: Sequence[Run]) -> list[Group]:
    """The runs of every data set, in the order in which they come.

    A run that does not tell its data is taken to have those of the others. A ratio of two
    evidences is not compared with anything.
    """
    by_name = {run.name: run for run in runs}
    evidences = {run.name: run.result for run in runs if isinstance(run.result, Evidence)}
    parts = [[by_name[name] for name in group] for group in group_by_data(evidences)]
    parts += [[run] for run in runs if run.name not in evidences]
    return [
        Group(tuple(part), number * (len(parts) > 1), all(_is_told(run) for run in part))
        for number, part in enumerate(parts, start=1)
    ]


def _is_told(run: Run) -> bool:
    mark = data_of(run.result)
    return mark.name is not None or mark.sha256 is not None
