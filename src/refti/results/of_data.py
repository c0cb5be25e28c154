"""The data that a result is of: evidences of different data are not ranked against each other."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from refti.errors import CompareError
from refti.results.text import list_names, printable

if TYPE_CHECKING:
    import xarray


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
    observed = getattr(result, "groups", {}).get("observed_data")
    if digest is None and observed is not None and observed.data_vars:
        digest = observed_digest(observed)
    return DataMark(settings.get("data_name"), digest)


def observed_digest(observed: xarray.Dataset) -> str:
    """A digest of the values that a model of PyMC or NumPyro was conditioned on.

    Neither names nor the order of values matter, since two models may call and arrange the same
    data differently, nor digits beyond those that 32 bits keep.
    """
    parts = [np.ravel(values.values) for values in observed.data_vars.values()]
    values = sorted(f"{v:.6g}" if isinstance(v, Number) else str(v) for p in parts for v in p)
    return hashlib.sha256("\n".join(values).encode()).hexdigest()


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
                    f"Evidences of different data cannot be ranked: {list_names([name])} is of "
                    f"data {marks[name]}, {list_names([other])} of {marks[other]}. Compare models "
                    "of the same data; if these are the same, give both the same data_name=, or "
                    "pass different_data=True (--different-data)."
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
