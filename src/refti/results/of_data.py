"""The data that a result is of: evidences of different data are not ranked against each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from refti.errors import CompareError
from refti.results.text import list_names, printable


@dataclass(frozen=True)
class DataMark:
    """What tells one set of data from another.

    Attributes:
        name: what the user calls the data; None if nothing.
        sha256: of the data as they were read; None where the model keeps no data of its own.
    """

    name: str | None = None
    sha256: str | None = None

    def __str__(self) -> str:
        if self.name is not None:
            return repr(printable(self.name))
        return "unknown" if self.sha256 is None else f"sha256 {printable(self.sha256)[:12]}…"


def data_of(result: Any) -> DataMark:
    """The data that a result is of, as far as it knows."""
    settings, found = getattr(result, "settings", {}), getattr(result, "found", {})
    origin = found.get("origin")
    digest = origin.get("data_sha256") if isinstance(origin, Mapping) else None
    return DataMark(settings.get("data_name"), digest)


def are_different(first: DataMark, second: DataMark) -> bool:
    """Whether two are known to differ; the user's names count for more than the hashes.

    Files of the same observations differ where one model needs more of them than another, so equal
    names mean equal data.
    """
    if first.name is not None and second.name is not None:
        return first.name != second.name
    return None not in (first.sha256, second.sha256) and first.sha256 != second.sha256


def require_same_data(results: Mapping[str, Any]) -> None:
    """Raises CompareError if two results are known to be of different data."""
    marks = {name: data_of(result) for name, result in results.items()}
    names = list(marks)
    for index, name in enumerate(names):
        for other in names[index + 1 :]:
            if are_different(marks[name], marks[other]):
                raise CompareError(
                    "Evidences of different data cannot be ranked: "
                    f"{list_names([name])} is of data {marks[name]}, {list_names([other])} of "
                    f"{marks[other]}. Compare models of the same data; if these are the same, give "
                    "both the same data_name=, or say different_data=True (--different-data)."
                )


def group_by_data(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results in groups of which none is known to hold different data, in their order."""
    groups: list[dict[str, Any]] = []
    for name, result in results.items():
        mark = data_of(result)
        for group in groups:
            if not any(are_different(mark, data_of(other)) for other in group.values()):
                group[name] = result
                break
        else:
            groups.append({name: result})
    return groups
